"""What an array is without its data: a NumPy array over memory that is reserved and never touched.

NumPy computes shapes, strides, flags, slices and their errors exactly, in ~0.2 us and without
memory. Every owner's shadow begins at the start of one process-wide region, so a view's byte
offset in its owner is the distance of its shadow from the region's start.

Nothing may ever read or write through a shadow: the region has no access rights.
"""

from __future__ import annotations

import ctypes
import mmap
from math import prod
from typing import Any, TypeAlias

import numpy as np

Shadow: TypeAlias = "np.ndarray[Any, Any]"
Order: TypeAlias = "str | tuple[int, ...]"

_SIZES_BYTES = (1 << 44, 1 << 40, 1 << 36, 1 << 33, 1 << 31)
"""Address space to try for, largest first: `ulimit -v` may leave less than 16 TiB."""


def _reserve() -> mmap.mmap:
    """Reserve address space without memory (PROT_NONE, not charged by strict overcommit)."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
    for size_bytes in _SIZES_BYTES:
        try:
            return mmap.mmap(-1, size_bytes, flags=flags, prot=0)
        except (OSError, ValueError):
            continue
    raise MemoryError("cupool: no address space can be reserved, not even 2 GiB; see `ulimit -v`")


_reserved = _reserve()
REGION_BYTES = len(_reserved)
START: int = np.ndarray((1,), np.uint8, _reserved).ctypes.data
"""Address of the region."""
# A mapping without access rights counts as read-only; NumPy must take it for writable, or flags
# and in-place rules come out wrong.
_region: Any = (ctypes.c_char * REGION_BYTES).from_address(START)


def too_large(size_bytes: int) -> MemoryError:
    """Make the error for an array that no device has room for; `cupy.cuda.memory` has CuPy's."""
    return MemoryError(f"an array of {size_bytes:,} bytes")


def make(shape: tuple[int, ...], dtype: np.dtype[Any], order: Order = "C") -> Shadow:
    """Return the shadow of a new owner.

    Raises:
        OutOfMemoryError: larger than the reserved region, and so than any device.

    One without elements lies elsewhere: NumPy gives it strides of its own only when it allocates.
    """
    try:
        if 0 in shape and isinstance(order, str):
            return np.empty(shape, dtype, order)  # type: ignore[call-overload,no-any-return]
        if order == "C":
            return np.ndarray(shape, dtype, _region)
        if order == "F":
            return np.ndarray(shape, dtype, _region, 0, None, "F")
        return np.ndarray(shape, dtype, _region, 0, tuple(order))  # type: ignore[arg-type]
    except (TypeError, ValueError) as exc:
        size_bytes = prod(shape) * dtype.itemsize
        if size_bytes > REGION_BYTES:
            raise too_large(size_bytes) from exc
        raise


def offset_bytes(shadow: Shadow) -> int:
    """Return where in its owner a shadow begins."""
    return int(shadow.__array_interface__["data"][0]) - START


def at(
    shape: tuple[int, ...], dtype: np.dtype[Any], offset: int, strides: tuple[int, ...]
) -> Shadow:
    """Return the shadow of a view with explicit layout, as `as_strided` needs."""
    return np.ndarray(shape, dtype, _region, offset, strides)


def order_of(shadow: Shadow) -> Order:
    """Return "C", "F" or the strides: the layout as the wire knows it."""
    flags = shadow.flags
    if flags.c_contiguous:
        return "C"
    if flags.f_contiguous:
        return "F"
    return shadow.strides


def keep_order_strides(source: Shadow) -> Order:
    """Return the layout of a copy made with ``order="K"``: the source's axis order, packed."""
    flags = source.flags
    if flags.c_contiguous:
        return "C"
    if flags.f_contiguous:
        return "F"
    axes = sorted(range(source.ndim), key=lambda i: (-abs(source.strides[i]), i))
    strides = [0] * source.ndim
    step = source.itemsize
    for axis in reversed(axes):
        strides[axis] = step
        step *= max(source.shape[axis], 1)
    order = tuple(strides)
    packed = make(source.shape, source.dtype, order)
    return order_of(packed)
