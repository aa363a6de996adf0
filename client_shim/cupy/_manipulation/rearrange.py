"""`flip` and its relatives, `rot90` (views) and `roll` (a copy)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cupool.client_shim import shadow as _shadow
from cupool.client_shim.cupy._core import calls, core, views
from cupool.client_shim.cupy._core.routines_indexing import normalize_axes, normalize_axis

__all__ = ["flip", "fliplr", "flipud", "roll", "rot90"]
ndarray = core.ndarray


def _reversed(a: ndarray, axes: Sequence[int]) -> ndarray:
    key = [slice(None)] * a.ndim
    for axis in axes:
        key[axis] = slice(None, None, -1)
    return core.view_of(a, a._shadow[tuple(key) or ...])


def flip(a: Any, axis: Any = None) -> ndarray:
    """Return `a` with axes reversed, all of them for None; a view."""
    a = views.require(a)
    return _reversed(a, normalize_axes(axis, a.ndim))


def fliplr(a: Any) -> ndarray:
    """Return `a` with its second axis reversed, a view."""
    a = views.require(a)
    if a.ndim < 2:
        raise ValueError("Input must be >= 2-d")
    return _reversed(a, (1,))


def flipud(a: Any) -> ndarray:
    """Return `a` with its first axis reversed, a view."""
    a = views.require(a)
    if a.ndim < 1:
        raise ValueError("Input must be >= 1-d")
    return _reversed(a, (0,))


def rot90(a: Any, k: int = 1, axes: Any = (0, 1)) -> ndarray:
    """Return `a` turned by `k` quarter turns in the plane of two axes, a view.

    Raises:
        ValueError: less than two axes; the axes are not two different ones of the array.
    """
    a = views.require(a)
    if a.ndim < 2:
        raise ValueError("Input must be >= 2-d")
    axes = tuple(axes)
    if len(axes) != 2:
        raise ValueError("len(axes) must be 2")
    first, second = axes
    if first == second or abs(first - second) == a.ndim:
        raise ValueError("axes must be different")
    if not all(-a.ndim <= axis < a.ndim for axis in axes):
        raise ValueError(f"axes must be >= {-a.ndim} and < {a.ndim}")
    return core.view_of(a, np.rot90(a._shadow, k, axes))


def roll(a: Any, shift: Any, axis: Any = None) -> ndarray:
    """Return a copy with elements moved along axes, those that leave entering at the other end.

    Args:
        shift: int, sequence of ints or device array.
        axis: one for each shift; None moves along the flattened array.

    Raises:
        AxisError: out of range.
        ValueError: shifts and axes do not go together.
    """
    a = views.require(a)
    if axis is None:
        return views.reshape(roll(views.ravel(a), shift, 0), a.shape)
    given = (axis,) if np.isscalar(axis) else axis
    axes = tuple(normalize_axis(x, a.ndim) for x in given)
    if isinstance(shift, ndarray):
        flat = views.ravel(shift)
        np.broadcast_shapes((len(axes),), flat.shape)
        return calls.call_one("roll", (a, flat, axes), None, a.shape, a.dtype)
    pairs = np.broadcast(shift, axes)
    if pairs.nd > 1:
        raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
    rows = [(int(by), int(along)) for by, along in pairs]
    shifts, along = tuple(r[0] for r in rows), tuple(r[1] for r in rows)
    layout = _shadow.keep_order_strides(a._shadow)
    return calls.call_one("roll", (a, shifts, along), None, a.shape, a.dtype, layout)
