"""Comparing whole arrays, and within tolerances."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls, core
from cupool.client_shim.cupy._core._kernel import broadcast_shapes
from cupool.client_shim.cupy._creation.from_data import array, asanyarray

__all__ = ["allclose", "array_equal", "array_equiv", "isclose"]
ndarray = core.ndarray
_BOOL = np.dtype(np.bool_)


def isclose(
    a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False
) -> ndarray:
    """Return, element by element, whether `|a - b| <= atol + rtol * |b|`.

    Raises:
        ValueError: shapes that do not broadcast.
    """
    a, b = asanyarray(a), asanyarray(b)
    arrays = [x for x in (a, b, rtol, atol) if isinstance(x, ndarray)]
    shape = broadcast_shapes([x.shape for x in arrays])
    args = (a, b, rtol, atol, bool(equal_nan))
    return calls.call_one("isclose", args, None, shape, _BOOL)


def allclose(
    a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False
) -> ndarray:
    """Return whether all elements are close, a 0-d boolean array; no wait."""
    a, b = asanyarray(a), asanyarray(b)
    broadcast_shapes([a.shape, b.shape])
    args = (a, b, rtol, atol, bool(equal_nan))
    return calls.call_one("allclose", args, None, (), _BOOL)


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> ndarray:
    """Return whether shapes and elements are equal, a 0-d boolean array; no wait."""
    if a1.shape != a2.shape:
        return array(False)
    args = (a1, a2, bool(equal_nan))
    return calls.call_one("array_equal", args, None, (), _BOOL)


def array_equiv(a1: Any, a2: Any) -> ndarray:
    """Return whether elements are equal after broadcasting, a 0-d boolean array; no wait."""
    try:
        broadcast_shapes([a1.shape, a2.shape])
    except ValueError:
        return array(False)
    return calls.call_one("array_equiv", (a1, a2), None, (), _BOOL)
