"""Sorting and partitioning, by value and by index."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from cupool.client_shim import shadow as _shadow
from cupool.client_shim.cupy._core import calls, core, views
from cupool.client_shim.cupy._core._dtype import check_sortable
from cupool.client_shim.cupy._core.routines_indexing import normalize_axis
from cupool.client_shim.cupy._creation.basic import empty
from cupool.client_shim.cupy._creation.from_data import array

__all__ = [
    "argpartition",
    "argsort",
    "lexsort",
    "msort",
    "partition",
    "sort",
    "sort_complex",
]
ndarray = core.ndarray
_INT = np.dtype(np.intp)


def _check_kind(kind: Any) -> None:
    if kind is not None and kind != "stable":
        raise ValueError("kind can only be None or 'stable'")


def _axis_in_place(a: ndarray, axis: int) -> int:
    """Return the axis to sort along in place.

    Raises:
        AxisError: no axes, or no such axis.
        NotImplementedError: not C contiguous.
    """
    if a.ndim == 0:
        raise np.exceptions.AxisError("Sorting arrays with the rank of zero is not supported")
    if not a.flags.c_contiguous:
        raise NotImplementedError("Sorting non-contiguous array is not supported.")
    check_sortable(a.dtype)
    return normalize_axis(axis, a.ndim)


def sort_in_place(a: ndarray, axis: int = -1, kind: Any = None) -> None:
    """Do `a.sort(axis)`, a stable sort."""
    _check_kind(kind)
    axis = _axis_in_place(a, axis)
    if a.shape[axis] > 1:
        calls.call_into("sort_in_place", (a, axis))


def partition_in_place(a: ndarray, kth: Any, axis: int = -1) -> None:
    """Do `a.partition(kth, axis)`."""
    axis = _axis_in_place(a, axis)
    places = _check_kth(kth, a.shape[axis])
    if a.shape[axis] > 1:
        calls.call_into("partition_in_place", (a, places, axis))


def _check_kth(kth: Any, length: int) -> list[int]:
    """Return the places as a list of ints.

    Raises:
        ValueError: out of range.
    """
    places = []
    for k in (kth,) if isinstance(kth, (int, np.integer)) else kth:
        place = int(k) + length if k < 0 else int(k)
        if not 0 <= place < length:
            raise ValueError(f"kth(={place}) out of bounds {length}")
        places.append(place)
    return places


def sort(a: Any, axis: Any = -1, kind: Any = None) -> ndarray:
    """Return a sorted copy along an axis, flattened for None; the sort is stable.

    Raises:
        AxisError: no axes, or no such axis.
        ValueError: another `kind` than "stable".
    """
    a = views.require(a)
    _check_kind(kind)
    if axis is None:
        a, axis = views.ravel(a), -1
    if a.ndim == 0:
        raise np.exceptions.AxisError("Sorting arrays with the rank of zero is not supported")
    axis = normalize_axis(axis, a.ndim)
    check_sortable(a.dtype)
    return calls.call_one("sort", (a, axis), None, a.shape, a.dtype)


def argsort(a: Any, axis: Any = -1, kind: Any = None) -> ndarray:
    """Return the indices that sort along an axis, in the flattened array for None; stable.

    Raises:
        AxisError: no such axis.
        ValueError: another `kind` than "stable".
    """
    a = views.require(a)
    _check_kind(kind)
    if axis is None or a.ndim == 0:
        if axis is not None:
            normalize_axis(axis, 1)
        a, axis = views.ravel(a), -1
    axis = normalize_axis(axis, a.ndim)
    check_sortable(a.dtype)
    return calls.call_one("argsort", (a, axis), None, a.shape, _INT, _rolled(a.shape, axis))


def _rolled(shape: tuple[int, ...], axis: int) -> Any:
    """Return the layout of an index array that was made with `axis` as its last axis."""
    moved = (*shape[:axis], *shape[axis + 1 :], shape[axis])
    made = np.moveaxis(_shadow.make(moved, _INT), -1, axis)
    return _shadow.order_of(made)


def lexsort(keys: Any) -> ndarray:
    """Return the indices that sort by several keys, the last of them first.

    Args:
        keys: device array with a key in each row.

    Raises:
        NotImplementedError: more than two axes.
        TypeError: no keys.
    """
    if not isinstance(keys, ndarray):
        raise AttributeError(f"{type(keys).__name__!r} object has no attribute 'ndim'")
    if keys.ndim == 0:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    if keys.ndim == 1:
        return array(0, dtype=_INT)
    if keys.ndim > 2:
        raise NotImplementedError("Keys with the rank of three or more is not supported in lexsort")
    check_sortable(keys.dtype)
    return calls.call_one("lexsort", (keys,), None, keys.shape[1:], _INT)


def msort(a: Any) -> ndarray:
    """Return a copy sorted along the first axis (deprecated, as in CuPy)."""
    warnings.warn(
        "msort is deprecated, use cupy.sort(a, axis=0) instead",
        DeprecationWarning,
        stacklevel=2,
    )
    return sort(a, axis=0)


def sort_complex(a: Any) -> ndarray:
    """Return a complex copy sorted along the last axis by real, then imaginary part."""
    a = views.require(a)
    made: ndarray = a.astype(np.complex64 if a.dtype.char in "bhBHF" else np.complex128)
    if not made.flags.c_contiguous:
        raise NotImplementedError("Sorting non-contiguous array is not supported.")
    return sort(made)


def partition(a: Any, kth: Any, axis: Any = -1) -> ndarray:
    """Return a copy in which the k-th elements are in their sorted places.

    Raises:
        ValueError: a place out of range.
        AxisError: no axes, or no such axis.
    """
    a = views.require(a)
    if axis is None:
        a, axis = views.ravel(a), -1
    if a.ndim == 0:
        raise np.exceptions.AxisError("Sorting arrays with the rank of zero is not supported")
    axis = normalize_axis(axis, a.ndim)
    check_sortable(a.dtype)
    places = _check_kth(kth, a.shape[axis])
    return calls.call_one("partition", (a, places, axis), None, a.shape, a.dtype)


def argpartition(a: Any, kth: Any, axis: Any = -1) -> ndarray:
    """Return indices that bring the k-th elements into their sorted places.

    Raises:
        ValueError: a place out of range.
        AxisError: no such axis.
    """
    a = views.require(a)
    if axis is None:
        a, axis = views.ravel(a), -1
    axis = normalize_axis(axis, a.ndim)
    if a.shape[axis] == 0:
        return empty((0,), np.int64)
    check_sortable(a.dtype)
    places = _check_kth(kth, a.shape[axis])
    layout = _rolled(a.shape, axis)
    return calls.call_one("argpartition", (a, places, axis), None, a.shape, _INT, layout)
