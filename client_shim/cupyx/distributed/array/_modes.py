"""Modes: what the pieces of a distributed array mean where they overlap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from cupool.client_shim import cupy


def _extreme(dtype: np.dtype[Any], name: str) -> Any:
    """Return the least ("min") or greatest ("max") value of a real dtype."""
    if dtype.kind == "f":
        return dtype.type(-np.inf if name == "min" else np.inf)
    if dtype.kind == "b":
        return dtype.type(name == "max")
    if dtype.kind in "iu":
        return dtype.type(getattr(np.iinfo(dtype), name))
    raise RuntimeError(f"Unsupported type: {dtype}")


class _OpMode:
    """A mode in which the array is a combination of its pieces.

    Args:
        name: as the documentation writes it.
        function: name of the ufunc that combines.
        idempotent: whether a value may be combined with itself without harm.
        identity_of: dtype -> the value that changes nothing.
    """

    def __init__(
        self,
        name: str,
        function: str,
        idempotent: bool,
        identity_of: Callable[[np.dtype[Any]], Any],
    ) -> None:
        self.name = name
        self.func = getattr(cupy, function)
        self.numpy_func = getattr(np, function)
        self.idempotent = idempotent
        self.identity_of = identity_of

    def __repr__(self) -> str:
        return f"cupyx.distributed.array.{self.name.upper()}"


Mode = _OpMode | None

REPLICA: Final[None] = None
MIN = _OpMode("min", "minimum", True, lambda dtype: _extreme(dtype, "max"))
MAX = _OpMode("max", "maximum", True, lambda dtype: _extreme(dtype, "min"))
SUM = _OpMode("sum", "add", False, lambda dtype: dtype.type(0))
PROD = _OpMode("prod", "multiply", False, lambda dtype: dtype.type(1))

_BY_NAME: dict[str, Mode] = {mode.name: mode for mode in (MIN, MAX, SUM, PROD)}
_BY_NAME["replica"] = REPLICA


def mode_of(given: Any) -> Mode:
    """Return a mode, which may be given by its name ("replica", "sum", ...).

    Raises:
        ValueError: there is none of that name.
    """
    if given is None or isinstance(given, _OpMode):
        return given
    if given not in _BY_NAME:
        raise ValueError(f"no mode {given!r}: the modes are {', '.join(sorted(_BY_NAME))}")
    return _BY_NAME[given]
