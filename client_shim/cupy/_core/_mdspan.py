"""`ndarray.mdspan`: an array as a kernel's `cuda::std::mdspan` with dynamic extents."""

from __future__ import annotations

from typing import Any

import numpy as np

_INT32_MAX = (1 << 31) - 1


class mdspan:
    """An argument of `RawKernel`: pointer, extents, and strides in elements.

    Args:
        array: the array, which is kept.
        index_type: int32 or int64, of extents and strides.
        allow_unsafe: allow extents of 0 and strides that are not positive.

    Raises:
        ValueError: another index type, or an array too large for it.
        RuntimeError: such an extent or stride.
    """

    __slots__ = ("array", "index_bytes")

    def __init__(self, array: Any, index_type: Any, allow_unsafe: bool) -> None:
        dtype = np.dtype(index_type)
        if dtype not in (np.dtype(np.int32), np.dtype(np.int64)):
            raise ValueError(f"index_type is cupy.int32 or cupy.int64, not {index_type}")
        if dtype.itemsize == 4 and array.size > _INT32_MAX:
            raise ValueError(
                f"Array size {array.size} exceeds int32 maximum ({_INT32_MAX}). Use"
                " index_type=cupy.int64 instead."
            )
        if not allow_unsafe:
            for axis, length in enumerate(array.shape):
                if length == 0:
                    raise RuntimeError(f"{axis}-th dimension has size zero")
            for axis, stride in enumerate(array.strides):
                if stride <= 0:
                    raise RuntimeError(f"{axis}-th dimension has non-positive stride")
        self.array = array
        self.index_bytes = dtype.itemsize
