"""DLPack and `__cuda_array_interface__`: to the host by copy, to ourselves without."""

from __future__ import annotations

import gc
from typing import Any

import cupy
import numpy as np
import pytest

from cupool.errors import OperationNotSupported


class _Like:
    """Another library's object: shows what it is given."""

    def __init__(self, **shown: Any) -> None:
        self.__dict__.update(shown)


def test_our_arrays_come_back_without_a_copy() -> None:
    a = cupy.arange(12.0).reshape(3, 4)[1:, ::2]
    b = cupy.from_dlpack(a)
    assert (b.data.ptr, b.shape, b.strides) == (a.data.ptr, a.shape, a.strides)
    b[...] = 1
    assert a.get().tolist() == [[1, 1], [1, 1]]
    assert a.__dlpack_device__() == (2, 0)


def test_a_capsule_keeps_its_array_until_it_is_done() -> None:
    pool = cupy.cuda.MemoryPool()
    with cupy.cuda.using_allocator(pool.malloc):
        a = cupy.arange(10)
    capsule = a.__dlpack__(max_version=(1, 0))
    del a
    assert (pool.n_free_blocks(), '"dltensor_versioned"' in repr(capsule)) == (0, True)
    b = cupy.from_dlpack(capsule)
    assert b.sum() == 45
    with pytest.raises(ValueError, match="consumed multiple times"):
        cupy.from_dlpack(capsule)
    del b
    assert pool.n_free_blocks() == 1
    again = cupy.arange(3).__dlpack__()
    del again
    gc.collect()


def test_to_the_host_by_copy() -> None:
    a = cupy.asfortranarray(cupy.arange(6, dtype=np.int16).reshape(2, 3))
    host = np.from_dlpack(
        _Host(a.__dlpack__(dl_device=(1, 0)))  # what numpy.from_dlpack(a, device="cpu") does
    )
    assert (host.tolist(), host.dtype) == ([[0, 1, 2], [3, 4, 5]], np.int16)
    a[...] = 0
    assert host[1, 2] == 5
    with pytest.raises(ValueError, match="without copy"):
        a.__dlpack__(dl_device=(1, 0), copy=False)
    with pytest.raises(BufferError):
        a.__dlpack__(dl_device=(2, 99))
    with pytest.raises(BufferError):
        a.__dlpack__(copy=True)


class _Host:
    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def test_a_library_of_this_machine_refuses_memory_that_is_not_there() -> None:
    a = cupy.arange(3.0)
    with pytest.raises((BufferError, RuntimeError)):
        np.from_dlpack(_Host(a.__dlpack__()))
    with pytest.raises(TypeError, match=r"cupy.array\(numpy.from_dlpack"):
        cupy.from_dlpack(np.arange(3))


@pytest.mark.parametrize(
    "asked", ["x.__dlpack_device__()", "x.__dlpack__(stream=1)", "x.__cuda_array_interface__"]
)
def test_a_library_with_gpu_arrays_of_its_own_is_told_why(asked: str) -> None:
    x = cupy.arange(3)
    with pytest.raises(BufferError, match=r"torch asks .* x\.get\(\)"):
        eval(asked, {"__name__": "torch.utils.dlpack", "x": x})
    assert eval(asked, {"__name__": "torchlike", "x": x})
    capsule = eval("x.__dlpack__(dl_device=(1, 0))", {"__name__": "torch.utils.dlpack", "x": x})
    assert np.from_dlpack(_Host(capsule)).tolist() == [0, 1, 2]
    assert np.from_dlpack(x, device="cpu").tolist() == [0, 1, 2]


def test_streams_of_others_by_their_protocol() -> None:
    ours = cupy.cuda.Stream(non_blocking=True)
    theirs = cupy.cuda.Stream.from_external(_Theirs(ours.ptr))
    with theirs:
        made = cupy.arange(4) * 2
    theirs.synchronize()
    assert (theirs.ptr, made.get().tolist()) == (ours.ptr, [0, 2, 4, 6])
    assert ours.__cuda_stream__() == (0, ours.ptr)
    with pytest.raises(TypeError, match="CUDA stream protocol"):
        cupy.cuda.Stream.from_external(object())


class _Theirs:
    def __init__(self, pointer: int) -> None:
        self._pointer = pointer

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, self._pointer)


def test_the_array_interface_leads_back_by_the_address() -> None:
    a = cupy.arange(8.0)
    part = a[2:6]
    shown = part.__cuda_array_interface__
    assert shown["data"] == (a.data.ptr + 16, False)
    back = cupy.asarray(_Like(__cuda_array_interface__=shown))
    back += 1
    assert a.get().tolist() == [0, 1, 3, 4, 5, 6, 6, 7]


def test_an_address_of_elsewhere_is_refused() -> None:
    host = np.arange(4.0)
    shown = {"shape": (4,), "typestr": "<f8", "data": (host.ctypes.data, False), "version": 3}
    with pytest.raises(OperationNotSupported, match="not memory of this session's GPU"):
        cupy.asarray(_Like(__cuda_array_interface__=shown))


def test_an_interface_that_claims_more_than_there_is_fails() -> None:
    a = cupy.arange(4.0)
    shown = dict(a.__cuda_array_interface__, shape=(1000,))
    with pytest.raises(Exception, match="leaves its owner"):
        cupy.asarray(_Like(__cuda_array_interface__=shown)).get()
