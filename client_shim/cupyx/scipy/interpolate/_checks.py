"""What CuPy refuses because of values: asked for in one wait, so that it is raised at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim import cupy
from cupool.client_shim.cupy._core import core

__all__ = ["float_dtype", "numeric", "points_of", "refuse", "restore_axis"]
ndarray = core.ndarray


def refuse(*faults: tuple[Any, str]) -> None:
    """Wait once, and raise ValueError with the text of the first fault that is there.

    Args:
        faults: pairs of a bool array, any element of which is the fault, and a text.
    """
    found = [(flags.any().reshape(1), text) for flags, text in faults if flags.size]
    if not found:
        return
    seen = cupy.concatenate([flag for flag, _ in found]).get()
    for flag, (_, text) in zip(seen, found, strict=True):
        if flag:
            raise ValueError(text)


def float_dtype(*dtypes: Any) -> np.dtype[Any]:
    """Return complex128 if any dtype is complex, else float64."""
    return np.dtype(np.complex128 if any(np.dtype(d).kind == "c" for d in dtypes) else np.float64)


def numeric(a: Any) -> ndarray:
    """Return a contiguous array of float64 or complex128."""
    a = cupy.asarray(a)
    return cupy.ascontiguousarray(a, dtype=float_dtype(a.dtype))


def points_of(x: Any) -> tuple[ndarray, tuple[int, ...]]:
    """Return the points as one axis of float64, and the shape they had."""
    x = cupy.asarray(x)
    return cupy.ascontiguousarray(x.ravel(), dtype=np.float64), x.shape


def restore_axis(
    values: ndarray, points_shape: tuple[int, ...], rest: tuple[int, ...], axis: int
) -> ndarray:
    """Give flat results the shape of the points in the place of the data's axis."""
    values = values.reshape(points_shape + rest)
    if axis == 0:
        return values
    ndim = len(points_shape)
    order = list(range(values.ndim))
    return values.transpose(order[ndim : ndim + axis] + order[:ndim] + order[ndim + axis :])  # type: ignore[no-any-return]
