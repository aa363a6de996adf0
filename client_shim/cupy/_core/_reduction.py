"""Reductions and scans: shape from the axes, dtype by the rule of the function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls, core
from cupool.client_shim.cupy._core._dtype import accumulator, get_dtype, real_of, to_inexact
from cupool.client_shim.cupy._core.routines_indexing import normalize_axes, normalize_axis
from cupool.client_shim.cupy._core.views import require
from cupool.client_shim.cupy._functions import warn_complex

ndarray = core.ndarray
DType = np.dtype[Any]

_BOOL = np.dtype(np.bool_)
_INT = np.dtype(np.int64)


def _bool(dtype: DType) -> DType:
    return _BOOL


def _same(dtype: DType) -> DType:
    return dtype


def _index(dtype: DType) -> DType:
    return _INT


def _spread(dtype: DType) -> DType:
    return real_of(to_inexact(dtype))


RESULT: dict[str, Callable[[DType], DType]] = {
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
    "all": _bool,
    "any": _bool,
    "argmax": _index,
    "argmin": _index,
    "nanargmax": _index,
    "nanargmin": _index,
    "count_nonzero": _index,
}
"""Operation -> its result dtype for an input dtype, where no `dtype=` is given."""

_NO_IDENTITY = {"max", "min", "nanmax", "nanmin", "argmax", "argmin", "nanargmax", "nanargmin"}
_COMPLEX_TO_REAL = {"sum", "prod", "mean"}
_SPREADS = {"var", "std", "nanvar", "nanstd"}


def reduced_shape(shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> Any:
    """Return a shape with the axes removed, or of length one."""
    if keepdims:
        return tuple(1 if i in axes else n for i, n in enumerate(shape))
    return tuple(n for i, n in enumerate(shape) if i not in axes)


def _result_dtype(name: str, source: DType, dtype: Any) -> DType:
    """Return the result dtype of a reduction with `dtype=` given or None.

    CuPy's spreads come out in float16, float32 or float64 only; the nan- ones ignore the request
    but for its precision among complex types.
    """
    if dtype is None:
        return RESULT[name](source)
    wanted = get_dtype(dtype)
    if name in ("var", "std"):
        return wanted if wanted.char in "ef" else np.dtype(np.float64)
    if name == "nanvar":
        return _spread(source)
    if name == "nansum" and source.kind == "c" and wanted.kind != "c":
        return source
    if wanted.kind != "c" and source.kind == "c" and name in _COMPLEX_TO_REAL:
        warn_complex()
    return wanted


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
        AxisError, ValueError: bad axes; max or min of no elements; `out` of another shape.
    """
    a = require(a)
    axes = normalize_axes(axis, a.ndim)
    shape = reduced_shape(a.shape, axes, bool(keepdims))
    if name in _NO_IDENTITY and 0 in a.shape and 0 not in shape:
        raise ValueError(
            f"zero-size array to reduction operation cupy_{name} which has no identity"
        )
    kwargs: dict[str, Any] = dict(options)
    if axis is not None:
        kwargs["axis"] = axes[0] if len(axes) == 1 and not isinstance(axis, (tuple, list)) else axes
    if keepdims:
        kwargs["keepdims"] = True
    result_dtype = _result_dtype(name, a.dtype, dtype)
    if dtype is not None:
        kwargs["dtype"] = get_dtype(dtype)
    result = calls.call_one(name, (a,), kwargs, shape, result_dtype)
    return calls.with_out(result, out)


def scan(name: str, a: Any, axis: Any, dtype: Any, out: Any) -> ndarray:
    """Queue a running sum or product; along the flattened array for axis None.

    With `out` the computing is done in its dtype, whatever `dtype` says.

    Raises:
        TypeError: not a device array.
        AxisError: no such axis.
    """
    a = require(a)
    if out is not None:
        if not isinstance(out, ndarray):
            raise TypeError(f"return arrays must be of ArrayType, not {type(out)}")
        dtype = out.dtype
        if a.dtype.kind == "c" and out.dtype.kind != "c":
            warn_complex()
    result_dtype = accumulator(a.dtype) if dtype is None else get_dtype(dtype)
    kwargs: dict[str, Any] = {}
    if axis is None:
        shape: tuple[int, ...] = (a.size,)
    else:
        kwargs["axis"] = normalize_axis(axis, a.ndim)
        shape = a.shape
    if dtype is not None:
        kwargs["dtype"] = result_dtype
    result = calls.call_one(name, (a,), kwargs, shape, result_dtype)
    if out is not None and out.shape != result.shape and out.size == result.size:
        result = result.reshape(out.shape)
    return calls.with_out(result, out)


# ------------------------------------------------------------------- methods of ufuncs

_REDUCE_BY = {"add": "sum", "multiply": "prod"}
_SCAN_BY = {"add": "cumsum", "multiply": "cumprod"}


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
    """Do `ufunc.accumulate` for add and multiply.

    Raises:
        NotImplementedError: CuPy has no scan for this ufunc either.
    """
    name = _SCAN_BY.get(ufunc.__name__)
    if name is None:
        raise NotImplementedError(f"`{ufunc.name}.accumulate` is not supported yet")
    return scan(name, array, axis, dtype, out)


def ufunc_reduceat(
    ufunc: Any, array: Any, indices: Any, axis: int, dtype: Any, out: Any
) -> ndarray:
    """Do `ufunc.reduceat` for add.

    Raises:
        NotImplementedError: another ufunc.
    """
    if ufunc.__name__ != "add":
        raise NotImplementedError(f"`{ufunc.name}.reduceat` is not supported yet")
    from cupool.client_shim.cupy._core.routines_indexing import _index_array

    a = require(array)
    index = _index_array(indices)
    axis = normalize_axis(axis, a.ndim)
    shape = (*a.shape[:axis], index.size, *a.shape[axis + 1 :])
    if dtype is None:
        result_dtype = accumulator(a.dtype) if out is None else out.dtype
    else:
        result_dtype = get_dtype(dtype)
    kwargs = {"axis": axis, "dtype": result_dtype}
    args = (a, index)
    return calls.with_out(calls.call_one("add.reduceat", args, kwargs, shape, result_dtype), out)
