"""Applying functions along axes, and writing along an axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls, core, views
from cupool.client_shim.cupy._core.routines_indexing import normalize_axis
from cupool.client_shim.cupy._creation.basic import empty
from cupool.client_shim.cupy._creation.from_data import asarray
from cupool.client_shim.cupy._indexing.indexing import along_axis_shape
from cupool.client_shim.cupy._indexing.insert import put
from cupool.client_shim.cupy._manipulation.dims import expand_dims

__all__ = ["apply_along_axis", "apply_over_axes", "put_along_axis"]
ndarray = core.ndarray


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any
) -> ndarray:
    """Call a function on every vector along an axis and return the results in its place.

    Raises:
        AxisError: no such axis.
        ValueError: there is no vector.
    """
    arr = views.require(arr)
    axis = normalize_axis(axis, arr.ndim)
    lanes = core.view_of(arr, np.moveaxis(arr._shadow, axis, -1))
    made: ndarray | None = None
    for index in np.ndindex(lanes.shape[:-1]):
        result = asarray(func1d(lanes[(*index, ...)], *args, **kwargs))
        if made is None:
            made = empty(lanes.shape[:-1] + result.shape, result.dtype)
            result_ndim = result.ndim
        made[(*index, ...)] = result
    if made is None:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    shadow = made._shadow
    for _ in range(result_ndim):
        shadow = np.moveaxis(shadow, -1, axis)
    return core.view_of(made, shadow)


def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> ndarray:
    """Call `func(array, axis)` for each axis in turn; results that lack the axis get it back.

    Raises:
        ValueError: a result with another number of axes.
        AxisError: no such axis.
    """
    made = asarray(a)
    ndim = made.ndim
    for axis in (axes,) if np.ndim(axes) == 0 else axes:
        along = normalize_axis(axis, ndim)
        result = func(made, along)
        if result.ndim != made.ndim:
            result = expand_dims(result, along)
        if result.ndim != made.ndim:
            raise ValueError("function is not returning an array of the correct shape")
        made = result
    return made


def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    """Write values at indices that are given for each lane along an axis; out of range wraps.

    Raises:
        IndexError: not integers.
        ValueError: another number of axes; values that do not broadcast.
        NotImplementedError: indices of several axes for axis None.
    """
    arr, indices = views.require(arr), views.require(indices)
    if axis is None:
        if indices.ndim != 1:
            raise NotImplementedError("Tuple setitem isn't supported for flatiter.")
        put(arr, indices, values)
        return
    axis = normalize_axis(axis, arr.ndim)
    if indices.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    if arr.ndim != indices.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    shape = along_axis_shape(arr, indices, axis)
    if isinstance(values, ndarray):
        views.broadcast_to(values, shape)
    elif not isinstance(values, (bool, int, float, complex, np.generic)):
        raise TypeError(f"Unsupported type {type(values)}")
    calls.call_into("put_along_axis", (arr, indices, values, axis))
