"""`byte_bounds`."""

from __future__ import annotations

from typing import Any

from cupool.client_shim.cupy._core import views

__all__ = ["byte_bounds"]


def bounds(a: Any) -> tuple[int, int]:
    """Return the first byte of an array and the one after its last, relative to its element 0."""
    low, high = 0, int(a.itemsize)
    for length, stride in zip(a.shape, a.strides, strict=True):
        if length == 0:
            return 0, 0
        reach = (length - 1) * stride
        if reach > 0:
            high += reach
        else:
            low += reach
    return low, high


def byte_bounds(a: Any) -> tuple[int, int]:
    """Return the (opaque) addresses of an array's first byte and of the one after its last."""
    a = views.require(a)
    low, high = bounds(a)
    start = int(a.data.ptr)
    return start + low, start + high
