"""Reductions and scans: shape from the axes, dtype by the rule of the function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls, core
from cupool.client_shim.cupy._core._dtype import accumulator, get_dtype, real_of, to_inexact
from cupool.client_shim.cupy._core.routines_indexing import normalize_axes, normalize_axis
from cupool.client_shim.cupy._core.views import require

ndarray = core.ndarray

_BOOL = np.dtype(np.bool_)
_INT = np.dtype(np.int64)


def _bool(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return _BOOL


def _same(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return dtype


def _index(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return _INT


def _spread(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return real_of(to_inexact(dtype))


RESULT: dict[str, Callable[[np.dtype[Any]], np.dtype[Any]]] = {
    "sum": accumulator,
    "prod": accumulator,
    "nansum": accumulator,
    "nanprod": accumulator,
    "mean": to_inexact,
    "nanmean": to_inexact,
    "var": _spread,
    "std": _spread,
    "nanvar": _spread,
    "nanstd": _spread,
    "median": to_inexact,
    "nanmedian": to_inexact,
    "max": _same,
    "min": _same,
    "nanmax": _same,
    "nanmin": _same,
    "ptp": _same,
    "all": _bool,
    "any": _bool,
    "argmax": _index,
    "argmin": _index,
    "nanargmax": _index,
    "nanargmin": _index,
    "count_nonzero": _index,
}
"""Operation -> its result dtype for an input dtype, where no `dtype=` is given."""

_NEEDS_ELEMENTS = {"max", "min", "nanmax", "nanmin", "ptp"}
_ARG = {"argmax", "argmin", "nanargmax", "nanargmin"}


def reduced_shape(shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> Any:
    """Return a shape with the axes removed, or of length one."""
    if keepdims:
        return tuple(1 if i in axes else n for i, n in enumerate(shape))
    return tuple(n for i, n in enumerate(shape) if i not in axes)


def reduce(
    name: str,
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    **options: Any,
) -> ndarray:
    """Queue a reduction.

    Args:
        name: a key of `RESULT`.
        options: further keyword arguments of the operation, e.g. `ddof`.

    Raises:
        TypeError: not a device array.
        AxisError, ValueError: bad axes; max or min of no elements.
    """
    a = require(a)
    axes = normalize_axes(axis, a.ndim)
    shape = reduced_shape(a.shape, axes, bool(keepdims))
    if name in _NEEDS_ELEMENTS and any(a.shape[i] == 0 for i in axes):
        raise ValueError(f"zero-size array to reduction operation {name} which has no identity")
    if name in _ARG and any(a.shape[i] == 0 for i in axes):
        raise ValueError(f"attempt to get {name} of an empty sequence")
    kwargs: dict[str, Any] = dict(options)
    if axis is not None:
        kwargs["axis"] = axes[0] if len(axes) == 1 and not isinstance(axis, (tuple, list)) else axes
    if keepdims:
        kwargs["keepdims"] = True
    if dtype is None:
        result_dtype = RESULT[name](a.dtype)
    else:
        result_dtype = get_dtype(dtype)
        kwargs["dtype"] = result_dtype
    result = calls.call_one(name, (a,), kwargs, shape, result_dtype)
    return calls.with_out(result, out)


def scan(name: str, a: Any, axis: Any, dtype: Any, out: Any) -> ndarray:
    """Queue a running sum or product; along the flattened array for axis None."""
    a = require(a)
    result_dtype = accumulator(a.dtype) if dtype is None else get_dtype(dtype)
    kwargs: dict[str, Any] = {}
    if axis is None:
        shape: tuple[int, ...] = (a.size,)
    else:
        kwargs["axis"] = normalize_axis(axis, a.ndim)
        shape = a.shape
    if dtype is not None:
        kwargs["dtype"] = result_dtype
    return calls.with_out(calls.call_one(name, (a,), kwargs, shape, result_dtype), out)


# ------------------------------------------------------------------- methods of ufuncs

_REDUCE_BY = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
}


def ufunc_reduce(
    ufunc: Any, array: Any, axis: Any, dtype: Any, out: Any, keepdims: bool
) -> ndarray:
    """Do `ufunc.reduce` by the reduction that it is (`add` -> `sum`).

    Raises:
        NotImplementedError: CuPy has no reduction for this ufunc either.
    """
    name = _REDUCE_BY.get(ufunc.__name__)
    if name is None:
        raise NotImplementedError(f"`{ufunc.name}.reduce` is not supported yet")
    return reduce(name, array, axis, dtype, out, keepdims)


def ufunc_accumulate(ufunc: Any, array: Any, axis: int, dtype: Any, out: Any) -> ndarray:
    """Do `ufunc.accumulate` for add and multiply."""
    name = {"add": "cumsum", "multiply": "cumprod"}.get(ufunc.__name__)
    if name is None:
        raise NotImplementedError(f"`{ufunc.name}.accumulate` is not supported yet")
    return scan(name, array, axis, dtype, out)


def ufunc_reduceat(
    ufunc: Any, array: Any, indices: Any, axis: int, dtype: Any, out: Any
) -> ndarray:
    """Do `ufunc.reduceat` for add."""
    if ufunc.__name__ != "add":
        raise NotImplementedError(f"`{ufunc.name}.reduceat` is not supported yet")
    from cupool.client_shim.cupy._core.routines_indexing import _index_array

    a = require(array)
    index = _index_array(indices)
    axis = normalize_axis(axis, a.ndim)
    shape = (*a.shape[:axis], index.size, *a.shape[axis + 1 :])
    result_dtype = accumulator(a.dtype) if dtype is None else get_dtype(dtype)
    kwargs = {"axis": axis, "dtype": result_dtype}
    args = (a, index)
    return calls.with_out(calls.call_one("add.reduceat", args, kwargs, shape, result_dtype), out)
