"""Signed infinities; `isfinite`, `isinf`, `isnan` are ufuncs."""

from __future__ import annotations

from typing import Any

from cupool.client_shim.cupy._core import _operators, core

__all__ = ["isneginf", "isposinf"]
ndarray = core.ndarray


def _signbit(x: Any) -> Any:
    try:
        return _operators.ufuncs.signbit(x)
    except TypeError as exc:
        raise TypeError(
            f"This operation is not supported for {x.dtype} values because it would be ambiguous."
        ) from exc


def isneginf(x: Any, out: Any = None) -> Any:
    """Return, element by element, whether it is negative infinity.

    Raises:
        TypeError: complex.
    """
    u = _operators.ufuncs
    return u.logical_and(u.isinf(x), _signbit(x), out=out)


def isposinf(x: Any, out: Any = None) -> Any:
    """Return, element by element, whether it is positive infinity.

    Raises:
        TypeError: complex.
    """
    u = _operators.ufuncs
    return u.logical_and(u.isinf(x), u.logical_not(_signbit(x)), out=out)
