"""Sums, products, running ones, differences, gradients."""

from __future__ import annotations

import builtins
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from cupool.client_shim import shadow as _shadow
from cupool.client_shim.cupy._core import _reduction, _ufuncs, calls, core, views
from cupool.client_shim.cupy._core._dtype import accumulator, get_dtype
from cupool.client_shim.cupy._core.routines_indexing import normalize_axes, normalize_axis
from cupool.client_shim.cupy._creation.from_data import asanyarray

__all__ = [
    "cumprod",
    "cumproduct",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "ediff1d",
    "gradient",
    "nancumprod",
    "nancumsum",
    "nanprod",
    "nansum",
    "prod",
    "product",
    "sum",
    "trapezoid",
    "trapz",
]
ndarray = core.ndarray


def sum(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False
) -> Any:
    """Return the sum along axes; small integers add up in 64 bits."""
    return a.sum(axis, dtype, out, keepdims)


def prod(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False
) -> Any:
    """Return the product along axes; small integers multiply in 64 bits."""
    return a.prod(axis, dtype, out, keepdims)


def nansum(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False
) -> ndarray:
    """Return the sum along axes with nan taken as 0."""
    return _reduction.reduce("nansum", a, axis, dtype, out, keepdims)


def nanprod(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False
) -> ndarray:
    """Return the product along axes with nan taken as 1."""
    return _reduction.reduce("nanprod", a, axis, dtype, out, keepdims)


def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> ndarray:
    """Return the running sum along an axis, of the flattened array for None."""
    return _reduction.scan("cumsum", a, axis, dtype, out)


def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> ndarray:
    """Return the running product along an axis, of the flattened array for None."""
    return _reduction.scan("cumprod", a, axis, dtype, out)


def nancumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> ndarray:
    """Return the running sum along an axis with nan taken as 0."""
    return _reduction.scan("nancumsum", a, axis, dtype, out)


def nancumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> ndarray:
    """Return the running product along an axis with nan taken as 1."""
    return _reduction.scan("nancumprod", a, axis, dtype, out)


def _cumulative(
    x: Any,
    scan: Callable[..., ndarray],
    start: int,
    axis: Any,
    dtype: Any,
    out: Any,
    include_initial: bool,
) -> ndarray:
    if not isinstance(x, ndarray):
        raise TypeError("`x` should be of type cupy.ndarray")
    if x.ndim == 0:
        x = views.reshape(x, (1,))
    if axis is None:
        if x.ndim > 1:
            raise ValueError(
                "For arrays which have more than one dimension ``axis`` argument is required."
            )
        axis = 0
    axis = normalize_axis(axis, x.ndim)
    extra = 1 if include_initial else 0
    shape = tuple(n + extra if i == axis else n for i, n in enumerate(x.shape))
    if out is not None and out.shape != shape:
        raise ValueError(f"out.shape {out.shape} does not match expected shape {shape}")
    if not include_initial:
        return scan(x, axis=axis, dtype=dtype, out=out)
    if out is None:
        out = ndarray(shape, accumulator(x.dtype) if dtype is None else get_dtype(dtype))
    before = (slice(None),) * axis
    out[(*before, 0)] = start
    scan(x, axis=axis, dtype=dtype, out=out[(*before, slice(1, None))])
    return out  # type: ignore[no-any-return]


def cumulative_sum(
    x: Any,
    /,
    *,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    include_initial: bool = False,
) -> ndarray:
    """Return the running sum along an axis (array API name).

    Args:
        include_initial: begin with a zero; the axis is longer by one.

    Raises:
        TypeError: not a device array.
        ValueError: several axes and none named, `out` of another shape.
    """
    return _cumulative(x, cumsum, 0, axis, dtype, out, include_initial)


def cumulative_prod(
    x: Any,
    /,
    *,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    include_initial: bool = False,
) -> ndarray:
    """Return the running product along an axis; see `cumulative_sum`, the first is a one."""
    return _cumulative(x, cumprod, 1, axis, dtype, out, include_initial)


def _along(ndim: int, axis: int, part: Any) -> tuple[Any, ...]:
    return tuple(part if i == axis else slice(None) for i in range(ndim))


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Return the `n`-th difference of neighbours along an axis.

    Args:
        prepend, append: values to put before and after, of which scalars are stretched.

    Raises:
        ValueError: `n` is negative.
        AxisError: no such axis.
    """
    if n == 0:
        return a
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    a = asanyarray(a)
    axis = normalize_axis(axis, a.ndim)
    parts = []
    for value in (prepend, a, append):
        if value is None:
            continue
        value = asanyarray(value)
        if value.ndim == 0 and value is not a:
            value = views.broadcast_to(value, _reduction.reduced_shape(a.shape, (axis,), True))
        parts.append(value)
    if len(parts) > 1:
        from cupool.client_shim.cupy._manipulation.join import concatenate

        a = concatenate(parts, axis)
    later, earlier = _along(a.ndim, axis, slice(1, None)), _along(a.ndim, axis, slice(None, -1))
    step = _ufuncs.not_equal if a.dtype.kind == "b" else _ufuncs.subtract
    for _ in range(n):
        a = step(a[later], a[earlier])
    return a


def ediff1d(arr: Any, to_end: Any = None, to_begin: Any = None) -> ndarray:
    """Return the differences of neighbours of the flattened array.

    Args:
        to_end, to_begin: device arrays to put after and before.

    Raises:
        TypeError: not device arrays, or dtypes that do not cast by the "same_kind" rule.
    """
    if not isinstance(arr, ndarray):
        raise TypeError("`arr` should be of type cupy.ndarray")
    arr = views.ravel(arr)
    lengths = []
    for name, value in (("to_begin", to_begin), ("to_end", to_end)):
        if value is None:
            lengths.append(0)
            continue
        if not isinstance(value, ndarray):
            raise TypeError(f"`{name}` should be of type cupy.ndarray")
        if not np.can_cast(value.dtype, arr.dtype, "same_kind"):
            raise TypeError(
                f"dtype of `{name}` must be compatible with input `arr` under the `same_kind` rule."
            )
        lengths.append(value.size)
    if to_begin is None and to_end is None:
        return arr[1:] - arr[:-1]  # type: ignore[no-any-return]
    inner = max(arr.size - 1, 0)
    first, last = lengths
    made = ndarray((first + inner + last,), arr.dtype)
    if first:
        made[:first] = views.ravel(to_begin)
    if last:
        made[first + inner :] = views.ravel(to_end)
    _ufuncs.subtract(arr[1:], arr[:-1], made[first : first + inner])
    return made


def _ndim(value: Any) -> int:
    return value.ndim if isinstance(value, ndarray) else np.ndim(value)


def _spacings(f: ndarray, axes: tuple[int, ...], varargs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Check the distances that `gradient` was given; one for each axis, or one for all."""
    if not varargs:
        return ()
    if len(varargs) == 1 and _ndim(varargs[0]) == 0:
        return varargs
    if len(varargs) != len(axes):
        raise TypeError("invalid number of arguments")
    for i, distances in enumerate(varargs):
        if _ndim(distances) == 0:
            continue
        if _ndim(distances) != 1:
            raise ValueError("distances must be either scalars or 1d")
        if len(distances) != f.shape[axes[i]]:
            raise ValueError(
                "when 1d, distances must match the length of the corresponding dimension"
            )
    return varargs


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Return central differences along axes, one-sided ones at the ends.

    Args:
        varargs: one distance for all axes, or for each axis one or a vector of coordinates.
        axis: one or several axes, all of them by default.
        edge_order: 1 or 2, the accuracy at the ends.

    Returns:
        an array for one axis, else a list of one for each.

    Raises:
        ValueError, TypeError: distances that do not fit, too few elements, another edge order.
    """
    f = asanyarray(f)
    if f.dtype.kind == "b":
        raise TypeError("gradient cannot be computed of boolean arrays")
    axes = normalize_axes(axis, f.ndim)
    distances = _spacings(f, axes, varargs)
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    if builtins.any(f.shape[i] < edge_order + 1 for i in axes):
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, "
            "at least (edge_order + 1) elements are required."
        )
    dtype = f.dtype if f.dtype.kind in "fc" else np.dtype(np.float64)
    order = _shadow.keep_order_strides(core.shadow_of_type(f._shadow, dtype))
    kwargs: dict[str, Any] = {"edge_order": edge_order}
    if axis is not None:
        kwargs["axis"] = axes if isinstance(axis, (tuple, list)) else axes[0]
    specs = [(f.shape, dtype, order)] * len(axes)
    results = calls.call("gradient", (f, *distances), kwargs, *specs)
    return results[0] if len(axes) == 1 else results


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> ndarray:
    """Integrate along an axis by the trapezoidal rule.

    Args:
        x: the sample points, evenly spaced by `dx` if not given.

    Raises:
        TypeError: not device arrays.
    """
    if not isinstance(y, ndarray):
        raise TypeError("`y` should be of type cupy.ndarray")
    axis = normalize_axis(axis, y.ndim)
    if x is None:
        step = dx
    elif not isinstance(x, ndarray):
        raise TypeError("`x` should be of type cupy.ndarray")
    elif x.ndim == 1:
        step = diff(x)
        step = views.reshape(step, tuple(step.size if i == axis else 1 for i in range(y.ndim)))
    else:
        step = diff(x, axis=axis)
    later, earlier = _along(y.ndim, axis, slice(1, None)), _along(y.ndim, axis, slice(None, -1))
    return (step * (y[later] + y[earlier]) / 2.0).sum(axis)  # type: ignore[no-any-return]


def trapz(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> ndarray:
    """Old name of `trapezoid`."""
    warnings.warn("Please use `trapezoid` instead.", DeprecationWarning, stacklevel=2)
    return trapezoid(y, x, dx, axis)


def product(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False
) -> Any:
    """Old name of `prod`."""
    warnings.warn("Please use `prod` instead.", DeprecationWarning, stacklevel=2)
    return prod(a, axis, dtype, out, keepdims)


def cumproduct(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> ndarray:
    """Old name of `cumprod`."""
    warnings.warn("Please use `cumprod` instead.", DeprecationWarning, stacklevel=2)
    return cumprod(a, axis, dtype, out)
