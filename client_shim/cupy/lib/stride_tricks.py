"""`cupy.lib.stride_tricks`: views with explicit strides."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import core, views
from cupool.client_shim.cupy._core.routines_indexing import normalize_axes
from cupool.client_shim.cupy._creation.from_data import array

__all__ = ["as_strided", "sliding_window_view"]
ndarray = core.ndarray


def as_strided(x: Any, shape: Any = None, strides: Any = None) -> ndarray:
    """Return a view of `x`'s memory with any shape and strides in bytes.

    The device checks, when the view is first used, that it stays within the memory.
    """
    x = views.require(x)
    return views.as_strided(
        x, x.shape if shape is None else shape, x.strides if strides is None else strides
    )


def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> ndarray:
    """Return a view whose last axes are windows that slide along axes.

    Args:
        window_shape: int, or one for each axis.
        axis: axes to slide along; all of them for None.

    Raises:
        NotImplementedError: `writeable` is true.
        ValueError: windows that are negative, too large, or not one for each axis.
    """
    if writeable:
        raise NotImplementedError("Writeable views are not supported.")
    window = tuple(window_shape) if np.iterable(window_shape) else (window_shape,)
    window = tuple(int(n) for n in window)
    x = array(x, copy=None, subok=subok)
    if any(n < 0 for n in window):
        raise ValueError("`window_shape` cannot contain negative values")
    if axis is None:
        axes = tuple(range(x.ndim))
        if len(window) != len(axes):
            raise ValueError(
                "Since axis is `None`, must provide window_shape for all dimensions of `x`; got"
                f" {len(window)} window_shape elements and `x.ndim` is {x.ndim}."
            )
    else:
        axes = normalize_axes(axis, x.ndim)
        if len(window) != len(axes):
            raise ValueError(
                f"Must provide matching length window_shape and axis; got {len(window)}"
                f" window_shape elements and {len(axes)} axes elements."
            )
    lengths = list(x.shape)
    for along, length in zip(axes, window, strict=True):
        if lengths[along] < length:
            raise ValueError("window shape cannot be larger than input array shape")
        lengths[along] -= length - 1
    strides = x.strides + tuple(x.strides[along] for along in axes)
    return views.as_strided(x, (*lengths, *window), strides)
