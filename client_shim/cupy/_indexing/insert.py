"""Writing at indices: `put`, `place`, `putmask`, `fill_diagonal`, and indices of diagonals."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls, core, routines_indexing, views
from cupool.client_shim.cupy._creation.from_data import array, asarray
from cupool.client_shim.cupy._creation.ranges import arange

__all__ = ["diag_indices", "diag_indices_from", "fill_diagonal", "place", "put", "putmask"]
ndarray = core.ndarray


def place(arr: Any, mask: Any, vals: Any) -> None:
    """Write the first of `vals` where a mask holds, in order, repeated as needed.

    Raises:
        ValueError: another number of elements; nothing to write (this case costs a wait).
    """
    arr = views.require(arr)
    mask = asarray(mask)
    if arr.size != mask.size:
        raise ValueError("Mask and data must be the same size.")
    vals = asarray(vals)
    calls.call_into("place", (arr, mask, vals))
    if not vals.size:
        core.session_of(arr).synchronize()


def put(a: Any, ind: Any, v: Any, mode: str = "wrap") -> None:
    """Write values at flat indices, repeated as needed.

    Args:
        mode: what to do with an index out of range: "wrap", "clip", or "raise", which costs a
            wait.

    Raises:
        ValueError: an unknown mode.
        IndexError: out of range with "raise".
    """
    a = views.require(a)
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError("clipmode not understood")
    index = ind if isinstance(ind, ndarray) else array(ind)
    values = v if isinstance(v, ndarray) else array(v, dtype=a.dtype)
    if values.size == 0:
        return
    calls.call_into("put", (a, index, values, mode))
    if mode == "raise":
        core.session_of(a).synchronize()


def putmask(a: Any, mask: Any, values: Any) -> None:
    """Write `values`, repeated to the size of `a`, where a mask holds.

    Raises:
        TypeError: not device arrays, or a cast that is not safe.
        ValueError: a mask of another shape.
    """
    for name, value in (("a", a), ("mask", mask)):
        if not isinstance(value, ndarray):
            raise TypeError(f"`{name}` should be of type cupy.ndarray")
    if not (np.isscalar(values) or isinstance(values, ndarray)):
        raise TypeError("`values` should be of type cupy.ndarray")
    if a.shape != mask.shape:
        raise ValueError("mask and data must be the same size")
    if isinstance(values, ndarray) and not np.can_cast(values.dtype, a.dtype):
        raise TypeError(
            f"Cannot cast array data from {values.dtype} to {a.dtype} according to the rule 'safe'"
        )
    calls.call_into("putmask", (a, mask, values))


def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """Write on the main diagonal of an array of at least two axes.

    Args:
        val: scalar or array, repeated along the diagonal.
        wrap: begin again below in a matrix that is higher than wide.

    Raises:
        ValueError: one axis; more than two axes that are not equally long.
    """
    a = views.require(a)
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    end = None
    if a.ndim == 2:
        step = a.shape[1] + 1
        if not wrap:
            end = a.shape[1] * a.shape[1]
    else:
        if len(set(a.shape)) > 1:
            raise ValueError("All dimensions of input must be of equal length")
        step = 1 + int(np.cumprod(a.shape[:-1]).sum())
    write_flat(a, slice(None, end, step), val)


def write_flat(a: ndarray, key: slice, value: Any) -> None:
    """Do `a.flat[key] = value`: in C order, the value repeated as needed."""
    start, stop, step = key.indices(a.size)
    count = len(range(start, stop, step))
    if not count:
        return
    values = asarray(value, a.dtype)
    flat = views.reshape_view(a, (a.size,))
    if flat is not None and values.size in (1, count):
        shape = (count,) if values.size == count else (1,)
        target = core.view_of(flat, flat._shadow[key])
        routines_indexing.assign(target, views.reshape(values, shape))
        return
    put(a, arange(start, stop, step), values)


def diag_indices(n: int, ndim: int = 2) -> tuple[ndarray, ...]:
    """Return the indices of the main diagonal of an array with axes of length n."""
    return (arange(n),) * ndim


def diag_indices_from(arr: Any) -> tuple[ndarray, ...]:
    """Return the indices of the main diagonal of an array.

    Raises:
        TypeError: not a device array.
        ValueError: less than two axes, or axes of different lengths.
    """
    if not isinstance(arr, ndarray):
        raise TypeError("Argument must be cupy.ndarray")
    if arr.ndim < 2:
        raise ValueError("input array must be at least 2-d")
    if len(set(arr.shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    return diag_indices(arr.shape[0], arr.ndim)
