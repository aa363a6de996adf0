"""Places of extremes and of nonzero elements, `where`, `searchsorted`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls, core, views
from cupool.client_shim.cupy._core._dtype import NUMERIC_CHARS
from cupool.client_shim.cupy._core._kernel import broadcast_shapes
from cupool.client_shim.cupy._core._reduction import reduce
from cupool.client_shim.cupy._creation.basic import zeros
from cupool.proto.bfloat16 import is_bfloat16

__all__ = [
    "argmax",
    "argmin",
    "argwhere",
    "flatnonzero",
    "nanargmax",
    "nanargmin",
    "nonzero",
    "searchsorted",
    "where",
]
ndarray = core.ndarray
_INT = np.dtype(np.int64)


def _extreme(name: str, a: Any, axis: Any, dtype: Any, out: Any, keepdims: bool) -> ndarray:
    return reduce(name, a, axis, dtype, out, keepdims)


def argmax(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False
) -> ndarray:
    """Return where the maximum is along an axis, in the flattened array for None.

    Raises:
        ValueError: no elements.
    """
    return _extreme("argmax", a, axis, dtype, out, keepdims)


def argmin(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False
) -> ndarray:
    """Return where the minimum is along an axis, in the flattened array for None.

    Raises:
        ValueError: no elements.
    """
    return _extreme("argmin", a, axis, dtype, out, keepdims)


def nanargmax(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False
) -> ndarray:
    """Return where the maximum is, NaN left aside; -1 where all is NaN."""
    name = "argmax" if views.require(a).dtype.kind in "biu" else "nanargmax"
    return _extreme(name, a, axis, dtype, out, keepdims)


def nanargmin(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False
) -> ndarray:
    """Return where the minimum is, NaN left aside; -1 where all is NaN."""
    name = "argmin" if views.require(a).dtype.kind in "biu" else "nanargmin"
    return _extreme(name, a, axis, dtype, out, keepdims)


def _require(a: Any) -> ndarray:
    if not isinstance(a, ndarray):
        raise TypeError(f"Wrong type for a: {type(a)}; it must be a cupy.ndarray")
    return a


def nonzero(a: Any) -> tuple[ndarray, ...]:
    """Return the indices of the nonzero elements, an array for each axis; costs a wait.

    Raises:
        TypeError: not a device array.
        ValueError: no axes.
    """
    a = _require(a)
    if a.ndim == 0:
        raise ValueError(
            "Calling nonzero on 0d arrays is not allowed. Use"
            " cp.atleast_1d(scalar).nonzero() instead."
        )
    places = argwhere(a)
    return tuple(core.view_of(places, places._shadow[:, axis]) for axis in range(a.ndim))


def flatnonzero(a: Any) -> ndarray:
    """Return the flat indices of the nonzero elements; costs a wait."""
    return nonzero(views.ravel(_require(a)))[0]


def argwhere(a: Any) -> ndarray:
    """Return a row of indices for each nonzero element; costs a wait."""
    return calls.call_unknown("argwhere", (_require(a),))[0]


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """Return elements of `x` where a condition holds, of `y` elsewhere.

    With the condition alone: `nonzero(condition)`, which costs a wait.

    Raises:
        ValueError: only one of `x` and `y`; shapes that do not broadcast.
        TypeError: neither device arrays nor scalars.
    """
    if (x is None) != (y is None):
        raise ValueError("Must provide both 'x' and 'y' or neither.")
    if x is None:
        return nonzero(condition)
    if not isinstance(condition, (ndarray, np.generic)):
        raise AttributeError(f"{type(condition).__name__!r} object has no attribute 'astype'")
    x, y = _choice(x), _choice(y)
    dtype = _common_dtype(x, y)
    arrays = [v for v in (condition, x, y) if isinstance(v, ndarray)]
    shape = broadcast_shapes([v.shape for v in arrays] or [()])
    return calls.call_one("where", (condition, x, y), None, shape, dtype)


def _choice(value: Any) -> Any:
    if isinstance(value, (ndarray, np.generic, bool, int, float, complex)):
        return value
    convert = getattr(value, "__cupy_get_ndarray__", None)
    if convert is None:
        raise TypeError(f"Unsupported type {type(value)}")
    return convert()


def _common_dtype(x: Any, y: Any) -> np.dtype[Any]:
    kinds = [v.dtype if isinstance(v, (ndarray, np.generic)) else v for v in (x, y)]
    dtype = np.result_type(*kinds)
    if is_bfloat16(dtype):
        dtype = np.dtype(np.float32)  # the first on CuPy's list that takes it
    elif dtype.char not in NUMERIC_CHARS and dtype.kind not in "mM":
        raise TypeError(f"cupy_where has no loop for {dtype}")
    for value in (x, y):
        if type(value) is int and dtype.kind in "iu":
            info = np.iinfo(dtype)
            if not info.min <= value <= info.max:
                raise OverflowError(f"Python integer {value} out of bounds for {dtype}")
    return dtype


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> ndarray:
    """Return where values would go into a sorted vector.

    Args:
        v: device array or scalar.
        side: before ("left") or after ("right") equal elements.
        sorter: integers that sort `a`.

    Raises:
        NotImplementedError: `a` or `v` of another type.
        ValueError: `a` is no vector; a sorter of another size.
        TypeError: a sorter that is not of integers.
    """
    if not isinstance(a, ndarray):
        raise NotImplementedError("Only int or ndarray are supported for a")
    if not isinstance(v, ndarray) and not isinstance(v, (int, float, complex)):
        raise NotImplementedError("Only python scalars or ndarrays are supported for v")
    if a.ndim > 1:
        raise ValueError("object too deep for desired array")
    if a.ndim < 1:
        raise ValueError("object of too small depth for desired array")
    shape = v.shape if isinstance(v, ndarray) else ()
    if a.size == 0:
        return zeros(shape, _INT)
    if sorter is not None:
        if sorter.dtype.kind not in "iu":
            raise TypeError("sorter must be of integer type")
        if sorter.size != a.size:
            raise ValueError("sorter.size must equal a.size")
    args = (a, v, "right" if side == "right" else "left", sorter)
    return calls.call_one("searchsorted", args, None, shape, _INT)
