"""`apply_along_axis`, `apply_over_axes`: the user's function runs here, on device arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import core, views
from cupool.client_shim.cupy._core.routines_indexing import normalize_axis
from cupool.client_shim.cupy._creation.from_data import asarray
from cupool.client_shim.cupy._manipulation.transpose import moveaxis

__all__ = ["apply_along_axis", "apply_over_axes"]
ndarray = core.ndarray


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any
) -> ndarray:
    """Call a function on every vector along an axis and put the results in its place.

    Args:
        func1d: takes a vector, then `args` and `kwargs`.

    Raises:
        ValueError: another axis has no elements.
        AxisError: no such axis.
    """
    arr = views.require(arr)
    axis = normalize_axis(axis, arr.ndim)
    vectors = moveaxis(arr, axis, -1)
    lengths = vectors.shape[:-1]
    if 0 in lengths:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    made: ndarray | None = None
    tail = 0
    for index in np.ndindex(lengths):
        result = asarray(func1d(vectors[(*index, Ellipsis)], *args, **kwargs))
        if made is None:
            made = ndarray((*lengths, *result.shape), result.dtype)
            tail = result.ndim
        made[(*index, Ellipsis)] = result
    assert made is not None
    for _ in range(tail):
        made = moveaxis(made, -1, axis)
    return made


def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> ndarray:
    """Call a function with one axis after the other, on the result of the call before.

    Args:
        func: takes an array and an axis; a result that lacks the axis gets it back.

    Raises:
        ValueError: a result has another number of axes.
    """
    result = asarray(a)
    ndim = result.ndim
    for axis in (axes,) if np.ndim(axes) == 0 else axes:
        axis = normalize_axis(axis, ndim)
        made = func(result, axis)
        if made.ndim != result.ndim:
            made = core.view_of(made, np.expand_dims(made._shadow, axis))
            if made.ndim != result.ndim:
                raise ValueError("function is not returning an array of the correct shape")
        result = made
    return result
