"""Objects that offer an array by a protocol only."""

from __future__ import annotations

from typing import Any

from cupool.client_shim.cupy import cuda
from cupool.client_shim.cupy._core.core import ndarray

max_cuda_array_interface_version = 3


class DummyObjectWithCudaArrayInterface:
    """Offers `__cuda_array_interface__` and nothing else.

    Args:
        a: a device array, or a tuple (shape, strides, typestr, descr, address).
        ver: version of the protocol.
        include_strides: True gives them, None gives None, False leaves them out; an array that
            is not C-contiguous always gives them.
        mask, stream: put into the description unless None.
    """

    def __init__(
        self,
        a: Any,
        ver: int = 3,
        include_strides: bool | None = False,
        mask: Any = None,
        stream: Any = None,
    ) -> None:
        if ver not in range(max_cuda_array_interface_version + 1):
            raise AssertionError(f"the protocol has no version {ver}")
        self.a: Any = None
        needed = False
        if isinstance(a, ndarray):
            self.a = a
            parts = (a.shape, a.strides, a.dtype.str, a.dtype.descr, a.data.ptr)
            needed = not a.flags.c_contiguous
        else:
            parts = a
        self.shape, self.strides, self.typestr, self.descr, self.data = parts
        self._strides_needed = needed
        self.ver = ver
        self.include_strides = include_strides
        self.mask = mask
        self.stream = stream

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        description = {
            "shape": self.shape,
            "typestr": self.typestr,
            "descr": self.descr,
            "data": (self.data, False),
            "version": self.ver,
        }
        if self._strides_needed or self.include_strides:
            description["strides"] = self.strides
        elif self.include_strides is None:
            description["strides"] = None
        if self.mask is not None:
            description["mask"] = self.mask
        if self.stream is not None:
            description["stream"] = _stream_number(self.stream)
        return description


class DummyObjectWithCuPyGetNDArray:
    """Offers `__cupy_get_ndarray__` and nothing else."""

    def __init__(self, a: Any) -> None:
        self.a = a

    def __cupy_get_ndarray__(self) -> Any:
        return self.a


def _stream_number(stream: Any) -> int:
    runtime: Any = cuda.runtime
    if stream is cuda.Stream.null:
        return int(runtime.streamLegacy)
    if stream is getattr(cuda.Stream, "ptds", None):
        return int(runtime.streamPerThread)
    return int(stream.ptr)
