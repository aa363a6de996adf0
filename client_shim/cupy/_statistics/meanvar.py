"""`mean`, `var`, `std`, `median`, `average` and those that leave nan out."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import _reduction, calls, core, views
from cupool.client_shim.cupy._core._dtype import check_sortable
from cupool.client_shim.cupy._core.routines_indexing import normalize_axes, normalize_axis
from cupool.client_shim.cupy._creation.from_data import asarray

__all__ = [
    "average",
    "mean",
    "median",
    "nanmean",
    "nanmedian",
    "nanstd",
    "nanvar",
    "std",
    "var",
]
ndarray = core.ndarray


def median(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False
) -> ndarray:
    """Return the median along axes; of integers in float64. nan gives nan.

    `overwrite_input` is accepted and changes nothing: the input is never altered.
    """
    check_sortable(views.require(a).dtype)
    return _reduction.reduce("median", a, axis, None, out, keepdims)


def nanmedian(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False
) -> ndarray:
    """Return the median along axes of what is not nan."""
    a = views.require(a)
    name = "nanmedian" if a.dtype.kind in "fc" else "median"
    return _reduction.reduce(name, a, axis, None, out, keepdims)


def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False
) -> Any:
    """Return the weighted mean along axes; with `returned` also the sum of the weights.

    Weights that sum to zero raise ZeroDivisionError where the result is waited for.

    Raises:
        TypeError, ValueError: weights of a shape that does not fit.
    """
    a = asarray(a)
    if weights is None:
        mean_value = a.mean(axis=axis, keepdims=keepdims)
        if not returned:
            return mean_value
        count = mean_value.dtype.type(a.size / mean_value.size)
        total = ndarray(mean_value.shape, mean_value.dtype)
        total.fill(count)
        return mean_value, total
    weights = asarray(weights)
    floor = "f8" if a.dtype.kind in "biu" else a.dtype
    dtype = np.promote_types(np.promote_types(a.dtype, weights.dtype), floor)
    if a.shape != weights.shape:
        if axis is None:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        if weights.ndim != 1:
            raise TypeError("1D weights expected when shapes of a and weights differ.")
        if weights.shape[0] != a.shape[normalize_axis(axis, a.ndim)]:
            raise ValueError("Length of weights not compatible with specified axis.")
    axes = normalize_axes(axis, a.ndim)
    shape = _reduction.reduced_shape(a.shape, axes, bool(keepdims))
    kwargs: dict[str, Any] = {"axis": axis, "weights": weights, "returned": True}
    if keepdims:
        kwargs["keepdims"] = True
    spec = (shape, dtype, "C")
    results = calls.call("average", (a,), kwargs, spec, spec)
    return tuple(results) if returned else results[0]


def mean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False
) -> Any:
    """Return the arithmetic mean along axes; of integers in float64."""
    return a.mean(axis=axis, dtype=dtype, out=out, keepdims=keepdims)


def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: int = 0,
    keepdims: bool = False,
) -> Any:
    """Return the variance along axes, with divisor N - `ddof`; real, also of complex input."""
    return a.var(axis=axis, dtype=dtype, out=out, ddof=ddof, keepdims=keepdims)


def std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: int = 0,
    keepdims: bool = False,
) -> Any:
    """Return the standard deviation along axes, with divisor N - `ddof`."""
    return a.std(axis=axis, dtype=dtype, out=out, ddof=ddof, keepdims=keepdims)


def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False
) -> Any:
    """Return the mean along axes of what is not nan."""
    if a.dtype.kind in "biu":
        return a.mean(axis=axis, dtype=dtype, out=out, keepdims=keepdims)
    return _reduction.reduce("nanmean", a, axis, dtype, out, keepdims)


def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: int = 0,
    keepdims: bool = False,
) -> Any:
    """Return the variance along axes of what is not nan."""
    if a.dtype.kind in "biu":
        return a.var(axis=axis, dtype=dtype, out=out, ddof=ddof, keepdims=keepdims)
    return _reduction.reduce("nanvar", a, axis, dtype, out, keepdims, ddof=ddof)


def nanstd(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: int = 0,
    keepdims: bool = False,
) -> Any:
    """Return the standard deviation along axes of what is not nan."""
    if a.dtype.kind in "biu":
        return a.std(axis=axis, dtype=dtype, out=out, ddof=ddof, keepdims=keepdims)
    return _reduction.reduce("nanstd", a, axis, dtype, out, keepdims, ddof=ddof)
