"""Picking elements: `take`, `choose`, `compress`, `extract`, `select`, `diagonal`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls, core, routines_indexing, views
from cupool.client_shim.cupy._core._kernel import broadcast_shapes
from cupool.client_shim.cupy._core.routines_indexing import normalize_axis
from cupool.client_shim.cupy._creation.from_data import upload

__all__ = [
    "choose",
    "compress",
    "diagonal",
    "extract",
    "select",
    "take",
    "take_along_axis",
]
ndarray = core.ndarray


def take(a: Any, indices: Any, axis: Any = None, out: Any = None) -> ndarray:
    """Return elements at indices along an axis, flattened for None; out of range wraps.

    Raises:
        AxisError: no such axis.
        IndexError: an int out of range, or nothing to take from.
    """
    return routines_indexing.take(views.require(a), indices, axis, out)


def take_along_axis(a: Any, indices: Any, axis: Any) -> ndarray:
    """Return elements at indices that are given for each lane along an axis.

    Raises:
        IndexError: not integers, or shapes that do not broadcast.
        ValueError: another number of axes.
    """
    a, indices = views.require(a), views.require(indices)
    if indices.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    if axis is None:
        a, axis = views.ravel(a), 0
    axis = normalize_axis(axis, a.ndim)
    if a.ndim != indices.ndim:
        raise ValueError("`indices` and `a` must have the same number of dimensions")
    shape = along_axis_shape(a, indices, axis)
    if a.shape[axis] == 0 and 0 not in shape:
        raise IndexError("cannot do a non-empty take from an empty axes.")
    return calls.call_one("take_along_axis", (a, indices, axis), None, shape, a.dtype)


def along_axis_shape(a: ndarray, indices: ndarray, axis: int) -> tuple[int, ...]:
    """Return the shape of what lane-wise indices pick."""
    lanes = tuple(n if i != axis else 1 for i, n in enumerate(a.shape))
    try:
        return broadcast_shapes([lanes, indices.shape])
    except ValueError:
        raise IndexError(
            "shape mismatch: indexing arrays could not be broadcast together with shapes"
            f" {lanes} {indices.shape}"
        ) from None


def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> ndarray:
    """Return elements of `choices[i]` where `a` is i.

    Args:
        choices: device array; its first axis is what `a` counts.
        mode: "wrap", "clip", or "raise", which costs a wait.

    Raises:
        ValueError: an unknown mode; out of range with "raise"; shapes that do not broadcast.
    """
    a, choices = views.require(a), views.require(choices)
    shape = broadcast_shapes([a.shape, choices.shape[1:]])
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError("clipmode not understood")
    result = calls.call_one("choose", (a, choices, None, mode), None, shape, choices.dtype)
    if mode == "raise":
        core.session_of(result).synchronize()
    return calls.with_out(result, out)


def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> ndarray:
    """Return slices along an axis where a condition holds, flattened for None.

    Args:
        condition: host booleans, or a device array, which costs a wait.

    Raises:
        ValueError: a condition that is not one axis.
    """
    a = views.require(a)
    if np.isscalar(condition):
        raise ValueError("condition must be a 1-d array")
    if isinstance(condition, ndarray):
        if condition.ndim == 0:
            raise ValueError("condition must be a 1-d array")
        if axis is not None:
            axis = normalize_axis(axis, max(a.ndim, 1))
        result = calls.call_unknown("compress", (condition, a, axis))[0]
        return calls.with_out(result, out)
    host = np.asarray(condition)
    if host.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    return routines_indexing.take(a, np.flatnonzero(host), axis, out)


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> ndarray:
    """Return the diagonal of two axes as the last axis, a writable view."""
    return views.diagonal(views.require(a), offset, axis1, axis2)


def extract(condition: Any, a: Any) -> ndarray:
    """Return the elements of `a`, flattened, where a condition holds.

    Args:
        condition: host booleans, or a device array, which costs a wait.

    Raises:
        TypeError: `a` is not a device array.
    """
    if not isinstance(a, ndarray):
        raise TypeError("extract requires input array to be cupy.ndarray")
    if isinstance(condition, ndarray):
        return calls.call_unknown("extract", (condition, a))[0]
    places = np.flatnonzero(np.asarray(condition))
    return routines_indexing.take(views.ravel(a), upload(places))


def select(condlist: Any, choicelist: Any, default: Any = 0) -> ndarray:
    """Return, for each element, that of the first choice whose condition holds.

    Args:
        default: scalar where none holds.

    Raises:
        ValueError: no or not equally many conditions and choices; conditions not boolean.
        TypeError: choices that are not device arrays; a default that is not a scalar.
    """
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if len(condlist) == 0:
        raise ValueError("select with an empty condition list is not possible")
    if not np.isscalar(default):
        raise TypeError("default only accepts scalar values")
    for position, (cond, choice) in enumerate(zip(condlist, choicelist, strict=True)):
        if not isinstance(choice, ndarray):
            raise TypeError("choicelist only accepts lists of cupy ndarrays")
        if cond.dtype != np.bool_:
            raise ValueError(f"invalid entry {position} in condlist: should be boolean ndarray")
    dtype = np.result_type(*(c.dtype for c in choicelist))
    if type(default) in (bool, int, float, complex):
        np.copyto(np.empty((), dtype), default, casting="same_kind")
    elif not np.can_cast(np.asarray(default).dtype, dtype, "same_kind"):
        raise TypeError(f"Cannot cast {default!r} to {dtype} in same_kind casting mode")
    shape = broadcast_shapes([x.shape for x in (*condlist, *choicelist)])
    args = (list(condlist), list(choicelist), default)
    return calls.call_one("select", args, None, shape, dtype)
