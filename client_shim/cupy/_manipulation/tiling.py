"""`tile` and `repeat`."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls, core, views
from cupool.client_shim.cupy._core.routines_indexing import normalize_axis
from cupool.client_shim.cupy._creation.from_data import array

__all__ = ["repeat", "tile"]
ndarray = core.ndarray


def tile(A: Any, reps: Any) -> ndarray:
    """Return copies of `A` side by side, `reps` times along each axis."""
    times = tuple(reps) if np.iterable(reps) else (reps,)
    if isinstance(A, ndarray) and all(n == 1 for n in times):
        return array(A, copy=True, ndmin=len(times))
    times = tuple(operator.index(n) for n in times)
    a = array(A, copy=None, ndmin=len(times))
    times = (1,) * (a.ndim - len(times)) + times
    shape = tuple(length * n for length, n in zip(a.shape, times, strict=True))
    return calls.call_one("tile", (a, times), None, shape, a.dtype)


def repeat(a: Any, repeats: Any, axis: Any = None) -> ndarray:
    """Return each element repeated along an axis, of the flattened array for None.

    Args:
        repeats: how often: an int, or a sequence with one int for each element. With a device
            array the result's length depends on data, which costs a wait.

    Raises:
        TypeError: not integers, or a NumPy array.
        ValueError: negative, or not one for each element.
        AxisError: out of range.
    """
    a = views.require(a)
    if isinstance(repeats, ndarray):
        return _repeat_by_array(a, repeats, axis)
    if isinstance(repeats, np.ndarray):
        raise TypeError("'repeats' does not accept numpy.ndarray; convert with cupy.array() first")
    counts = _counts(repeats)
    if axis is None:
        a, axis = views.ravel(a), 0
    axis = normalize_axis(axis, a.ndim)
    length = a.shape[axis]
    sent: Any = counts
    if isinstance(counts, int):
        total = length * counts
    elif len(counts) == 1:
        sent, total = counts[0], length * counts[0]
    elif len(counts) != length:
        raise ValueError(
            f"'repeats' and 'axis' of 'a' should be same length: {length} != {len(counts)}"
        )
    else:
        total = sum(counts)
    if isinstance(sent, int) and sent < 0:
        raise ValueError(f"'repeats' should not be negative: {sent}")
    if isinstance(sent, list) and any(n < 0 for n in sent):
        raise ValueError("all elements of 'repeats' should not be negative")
    shape = (*a.shape[:axis], total, *a.shape[axis + 1 :])
    return calls.call_one("repeat", (a, sent, axis), None, shape, a.dtype)


def _counts(repeats: Any) -> int | list[int]:
    try:
        return operator.index(repeats)
    except TypeError:
        if not hasattr(repeats, "__getitem__"):
            raise ValueError(f"'repeats' should be int or sequence: {repeats}") from None
    counts = np.asarray(repeats, dtype=np.intp)
    if counts.ndim > 1:
        raise ValueError("object too deep for desired array")
    return [int(n) for n in counts]


def _repeat_by_array(a: ndarray, repeats: ndarray, axis: Any) -> ndarray:
    if not np.can_cast(repeats.dtype, np.intp, casting="safe"):
        raise TypeError(
            f"Cannot cast array data from {repeats.dtype!r} to {np.dtype(np.intp)!r} according to"
            " the rule 'safe'"
        )
    if repeats.ndim > 1:
        raise ValueError("object too deep for desired array")
    if axis is None:
        a, axis = views.ravel(a), 0
    axis = normalize_axis(axis, a.ndim)
    length = a.shape[axis]
    if repeats.size == 1:
        return repeat(a, int(repeats.item()), axis)
    if repeats.size != length:
        raise ValueError(
            f"'repeats' and 'axis' of 'a' should be same length: {length} != {repeats.size}"
        )
    return calls.call_unknown("repeat", (a, repeats, axis))[0]
