"""Memory of `cupy.cuda`: addresses, pools, allocators, hooks, page-locked memory."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable

import cupy
import numpy as np
import pytest

from cupool.errors import OperationNotSupported

UNIT = 512


def test_views_are_at_their_offset_from_the_owners_address() -> None:
    a = cupy.arange(24.0).reshape(4, 6)
    assert a[1:, 2:].data.ptr == a.data.ptr + (6 + 2) * 8
    assert a.data.ptr == a.data.ptr > 0
    assert a[::-1].data.ptr == a.data.ptr + 3 * 6 * 8
    assert (a.data + 16 - 8).ptr == a.data.ptr + 8


def test_an_array_over_anothers_memory_shares_it() -> None:
    a = cupy.arange(6.0)
    b = cupy.ndarray((2, 2), a.dtype, a.data + 8, strides=(16, 8))
    b[...] = 7
    assert a.get().tolist() == [0, 7, 7, 7, 7, 5]
    reverse = cupy.ndarray((6,), a.dtype, a[5:].data, strides=(-8,))
    assert reverse.get().tolist() == [5, 7, 7, 7, 7, 0]
    assert reverse[::2].data.ptr == a.data.ptr + 40
    assert (b.base, b.flags.owndata) == (None, True)


def test_an_array_over_memory_keeps_the_memory() -> None:
    pool = cupy.get_default_memory_pool()
    gc.collect()
    before = pool.used_bytes()
    b = cupy.ndarray((64,), "f8", cupy.arange(64.0).data)
    assert pool.used_bytes() == before + UNIT
    assert b.sum() == 64 * 63 / 2
    del b
    assert pool.used_bytes() == before


def test_results_lie_where_the_allocator_says() -> None:
    pool = cupy.cuda.MemoryPool()
    with cupy.cuda.using_allocator(pool.malloc):
        a = cupy.arange(10.0)
        b = a + 1
        c = cupy.asarray(np.arange(5))
        d = a[a > 4]
    assert pool.used_bytes() == 4 * UNIT
    assert b.get().tolist() == list(range(1, 11))
    assert c.get().tolist() == list(range(5))
    assert d.get().tolist() == [5, 6, 7, 8, 9]
    assert isinstance(b.data.mem, cupy.cuda.memory.PooledMemory)
    assert b[3:].data.ptr == b.data.ptr + 24
    del a, b, c, d
    assert pool.used_bytes() == 0
    assert pool.n_free_blocks() > 0
    pool.free_all_blocks()
    assert pool.total_bytes() == 0


def test_a_script_pool_gives_back_what_is_free_before_it_fails() -> None:
    pool = cupy.cuda.MemoryPool()
    pool.set_limit(size=4 * UNIT)
    held = pool.malloc(UNIT)
    freed = pool.malloc(3 * UNIT)
    del freed
    small = pool.malloc(2 * UNIT)  # a part of the freed block
    with pytest.raises(cupy.cuda.memory.OutOfMemoryError, match="limit set to: 2,048 bytes"):
        pool.malloc(2 * UNIT)
    del small
    pool.malloc(3 * UNIT)
    del held


def test_a_raw_allocation_beyond_the_device_is_cudas_error() -> None:
    _, total = cupy.cuda.Device().mem_info
    with pytest.raises(cupy.cuda.runtime.CUDARuntimeError, match="out of memory") as caught:
        cupy.cuda.runtime.malloc(total + 1)
    assert caught.value.status == 2
    assert cupy.arange(3).sum() == 3  # the failure was told, and is over


def test_raw_allocations_count_against_the_device() -> None:
    gc.collect()
    free, total = cupy.cuda.Device().mem_info
    ptr = cupy.cuda.runtime.malloc(1 << 20)
    assert ptr % 256 == 0
    assert cupy.cuda.Device().mem_info == (free - (1 << 20), total)
    cupy.cuda.runtime.free(ptr)
    assert cupy.cuda.Device().mem_info == (free, total)
    with pytest.raises(cupy.cuda.runtime.CUDARuntimeError, match="invalid argument"):
        cupy.cuda.runtime.free(ptr)


def test_copies_by_address() -> None:
    runtime = cupy.cuda.runtime
    host = np.arange(16, dtype=np.uint8)
    back = np.zeros(16, np.uint8)
    first, second = runtime.malloc(16), runtime.malloc(16)
    runtime.memcpy(first, host.ctypes.data, 16, runtime.memcpyHostToDevice)
    runtime.memset(second, 255, 16)
    runtime.memcpy(second + 4, first, 8, runtime.memcpyDeviceToDevice)
    runtime.memcpy(back.ctypes.data, second, 16, runtime.memcpyDeviceToHost)
    assert back.tolist() == [255] * 4 + list(range(8)) + [255] * 4
    runtime.memcpy2D(first, 8, second, 4, 4, 2, runtime.memcpyDeviceToDevice)
    runtime.memcpy(back.ctypes.data, first, 16, runtime.memcpyDefault)
    assert back.tolist() == [255] * 4 + [4, 5, 6, 7] + [0, 1, 2, 3] + [12, 13, 14, 15]
    for ptr in (first, second):
        runtime.free(ptr)
    with pytest.raises(runtime.CUDARuntimeError, match="invalid argument"):
        runtime.memcpy(back.ctypes.data, first, 16, runtime.memcpyDeviceToHost)


def test_a_copy_beyond_an_allocation_is_refused() -> None:
    a = cupy.zeros(4, np.uint8)
    host = (ctypes.c_uint8 * 64)()
    with pytest.raises(Exception, match="leaves its owner's 4 bytes"):
        a.data.copy_to_host(ctypes.addressof(host), 64)


def test_pointer_attributes_tell_device_from_host() -> None:
    runtime = cupy.cuda.runtime
    a = cupy.arange(4)
    found = runtime.pointerGetAttributes(a[1:].data.ptr)
    assert (found.type, found.device) == (runtime.memoryTypeDevice, 0)
    pinned = cupy.cuda.alloc_pinned_memory(100)
    assert runtime.pointerGetMemoryType(pinned.ptr) == runtime.memoryTypeHost
    assert runtime.pointerGetMemoryType(12345) == runtime.memoryTypeUnregistered


def test_the_default_pools_limit() -> None:
    pool = cupy.get_default_memory_pool()
    gc.collect()  # or it would make room when the limit is met
    pool.free_all_blocks()
    try:
        pool.set_limit(size=pool.total_bytes() + 4 * UNIT)
        with pytest.raises(cupy.cuda.memory.OutOfMemoryError):
            cupy.zeros(8 * UNIT, np.uint8).sum().item()
        pool.set_limit(fraction=0.5)
        assert pool.get_limit() == cupy.cuda.Device().mem_info[1] // 2
    finally:
        pool.set_limit(size=0)
    assert pool.get_limit() == 0


@pytest.mark.parametrize("how", ["call", "operator"])
def test_an_error_that_is_kept_does_not_spoil_the_account(how: str) -> None:
    """It keeps its frames, and they what was not to be had: later errors came a call too late."""
    total_bytes = cupy.cuda.Device().mem_info[1]
    small, huge = cupy.zeros(1), (total_bytes // 8 + 1,)
    wide = cupy.broadcast_to(small, huge)
    ask = {"call": lambda: cupy.empty(huge), "operator": lambda: wide + wide}[how]
    for _ in range(3):
        with pytest.raises(cupy.cuda.memory.OutOfMemoryError) as kept:
            ask()
        cupy.zeros(4)  # the account is settled with the error alive
        del kept
        gc.collect()


class _Cycle:
    """Garbage that only the collector finds, with an array in it."""

    def __init__(self, array: cupy.ndarray) -> None:
        self.array = array
        self.itself = self


@pytest.mark.parametrize("how", ["call", "operator", "upload"])
def test_garbage_is_collected_before_memory_is_out(how: str) -> None:
    host = np.ones(6 * UNIT, np.uint8)
    make = {
        "call": lambda: cupy.ones(6 * UNIT, np.uint8),
        "operator": lambda: one + six,
        "upload": lambda: cupy.asarray(host),
    }[how]
    pool = cupy.get_default_memory_pool()
    gc.collect()
    gc.disable()
    try:
        one, six = cupy.zeros(1, np.uint8), cupy.ones(6 * UNIT, np.uint8)
        pool.free_all_blocks()
        pool.set_limit(size=pool.total_bytes() + 8 * UNIT)
        for _ in range(3):
            _Cycle(make())
            assert int(cupy.max(six)) == 1  # a failed allocation would be raised here
    finally:
        pool.set_limit(size=0)
        gc.enable()


class _Recorder(cupy.cuda.MemoryHook):  # type: ignore[misc]
    name = "recorder"

    def __init__(self) -> None:
        self.calls: list[tuple[str, int]] = []

    def malloc_postprocess(self, **told: int) -> None:
        self.calls.append(("malloc", told["size"]))
        assert told["mem_ptr"]

    def free_postprocess(self, **told: int) -> None:
        self.calls.append(("free", told["mem_size"]))


def test_hooks_hear_of_arrays_of_the_default_pool() -> None:
    recorder = _Recorder()
    with recorder:
        a = cupy.zeros(10, np.float32)
        b = a + 1
        del a
    assert recorder.calls == [("malloc", 40), ("malloc", 40), ("free", UNIT)]
    assert b.get().tolist() == [1.0] * 10
    cupy.zeros(3)
    assert len(recorder.calls) == 3


def test_python_functions_allocate() -> None:
    log: list[str] = []

    def malloc(size: int, device: int) -> int:
        log.append(f"malloc {size}")
        return int(cupy.cuda.runtime.malloc(size))

    def free(ptr: int, device: int) -> None:
        log.append("free")
        cupy.cuda.runtime.free(ptr)

    allocator = cupy.cuda.PythonFunctionAllocator(malloc, free)
    with cupy.cuda.using_allocator(allocator.malloc):
        a = cupy.arange(4, dtype=np.int32)
        assert a.get().tolist() == [0, 1, 2, 3]
        del a
    assert log == ["malloc 16", "free"]


def test_what_cannot_be_is_refused_with_a_reason() -> None:
    with pytest.raises(OperationNotSupported, match="C functions of this machine"):
        cupy.cuda.CFunctionAllocator(0, 0, 0, None)
    with pytest.raises(OperationNotSupported, match="not of this machine"):
        cupy.cuda.memory.malloc_system(8)
    with pytest.raises(OperationNotSupported, match="inter-process"):
        cupy.cuda.runtime.ipcGetMemHandle(1)


@pytest.mark.parametrize(
    "name",
    [
        "texture.CUDAarray",
        "texture.ChannelFormatDescriptor",
        "texture.ResourceDescriptor",
        "texture.SurfaceObject",
        "texture.TextureDescriptor",
        "texture.TextureObject",
        "runtime.mallocArray",
        "runtime.malloc3DArray",
        "runtime.createTextureObject",
        "runtime.createSurfaceObject",
        "runtime.memcpy2DToArray",
        "runtime.memcpy3D",
    ],
)
def test_textures_are_refused_with_the_reason(name: str) -> None:
    module, _, short = name.partition(".")
    with pytest.raises(OperationNotSupported, match="texture units"):
        getattr(getattr(cupy.cuda, module), short)(1, 2, 3)


def test_page_locked_memory_is_a_buffer() -> None:
    pool = cupy.cuda.PinnedMemoryPool()
    pointer = pool.malloc(1000)
    array = np.frombuffer(pointer, np.float64, 100)
    array[...] = 3
    assert (array.ctypes.data, pointer.mem.size, pointer.size()) == (pointer.ptr, 1024, 1024)
    a = cupy.empty(100)
    a.data.copy_from_host_async(pointer.ptr, 800, cupy.cuda.Stream.null)
    assert a.get().tolist() == [3.0] * 100
    del array, pointer
    assert pool.n_free_blocks() == 1


def test_device_attributes_and_properties_agree() -> None:
    device = cupy.cuda.Device(0)
    properties = cupy.cuda.runtime.getDeviceProperties(0)
    assert properties["maxThreadsPerBlock"] == device.attributes["MaxThreadsPerBlock"] == 1024
    assert properties["maxGridSize"][0] == device.attributes["MaxGridDimX"]
    assert f"{properties['major']}{properties['minor']}" == device.compute_capability
    assert cupy.cuda.Device.from_pci_bus_id(device.pci_bus_id) == device
    with pytest.raises(cupy.cuda.runtime.CUDARuntimeError):
        cupy.cuda.runtime.deviceGetAttribute(10_000, 0)


def test_the_runtime_remembers_the_last_error() -> None:
    runtime = cupy.cuda.runtime
    runtime.getLastError()
    with pytest.raises(runtime.CUDARuntimeError):
        runtime.setDevice(77)
    assert (runtime.peekAtLastError(), runtime.getLastError(), runtime.getLastError()) == (
        101,
        101,
        0,
    )


@pytest.mark.parametrize("shape", [(2**45,), (2**62,), (2**31, 2**31), (2**60, 2**60)])
@pytest.mark.parametrize("make", [cupy.empty, cupy.zeros, cupy.ones])
def test_shapes_beyond_every_device_are_out_of_memory(
    shape: tuple[int, ...], make: Callable[..., cupy.ndarray]
) -> None:
    held = cupy.arange(3)
    with pytest.raises(cupy.cuda.memory.OutOfMemoryError, match="Out of memory allocating"):
        make(shape)
    wide = cupy.broadcast_to(held[:1], (2**45,))
    with pytest.raises(cupy.cuda.memory.OutOfMemoryError):
        wide + wide
    assert held.sum() == 3


# ------------------------------------------------------------------- sizes that cannot be

POINTERS: dict[str, Callable[[], cupy.cuda.MemoryPointer]] = {
    "pool": lambda: cupy.cuda.MemoryPool().malloc(1000),
    "alloc": lambda: cupy.cuda.alloc(1000),
    "memory": lambda: cupy.cuda.MemoryPointer(cupy.cuda.Memory(1000), 0),
    "managed": lambda: cupy.cuda.MemoryPointer(cupy.cuda.ManagedMemory(1000), 0),
    "array": lambda: cupy.zeros(1000, "u1").data,
}


@pytest.mark.parametrize("kind", POINTERS)
def test_bytes_beyond_an_allocation_are_an_invalid_argument(kind: str) -> None:
    pointer, other = POINTERS[kind](), cupy.cuda.alloc(9000)
    host = np.ones(9000, np.uint8)
    address = ctypes.c_void_p(host.ctypes.data)
    for call in (
        lambda: pointer.memset(0, 5000),
        lambda: (pointer + 900).memset(0, 200),
        lambda: (pointer - 8).memset(0, 8),
        lambda: pointer.copy_from_host(address, 9000),
        lambda: pointer.copy_to_host(address, 9000),
        lambda: pointer.copy_from_device(other, 9000),
        lambda: other.copy_from_device(pointer, 9000),
        lambda: cupy.cuda.runtime.memset(pointer.ptr, 0, 5000),
    ):
        with pytest.raises(cupy.cuda.runtime.CUDARuntimeError, match="cudaErrorInvalidValue"):
            call()
    assert host.all()
    pointer.memset(3, 1000)
    pointer.copy_to_host(address, 1000)
    assert host[:1001].tolist() == [3] * 1000 + [1]


@pytest.mark.parametrize(
    ("size", "error"),
    [(-1, OverflowError), (1 << 64, OverflowError), (1.5, TypeError)],
)
def test_sizes_are_those_of_c(size: int, error: type[Exception]) -> None:
    runtime, pointer = cupy.cuda.runtime, cupy.cuda.alloc(8)
    for call in (
        cupy.cuda.alloc,
        cupy.cuda.MemoryPool().malloc,
        cupy.cuda.MemoryAsyncPool().malloc,
        cupy.cuda.PinnedMemoryPool().malloc,
        cupy.cuda.alloc_pinned_memory,
        cupy.cuda.Memory,
        runtime.malloc,
        lambda n: runtime.hostAlloc(n, 0),
        lambda n: runtime.memset(pointer.ptr, 0, n),
        lambda n: runtime.memcpy(pointer.ptr, pointer.ptr, n, runtime.memcpyDeviceToDevice),
        lambda n: pointer.memset(0, n),
        lambda n: pointer.copy_from(pointer, n),
        lambda n: pointer.copy_to_host(ctypes.c_void_p(1), n),
    ):
        with pytest.raises(error):
            call(size)


def test_more_than_any_device_has_is_out_of_memory() -> None:
    runtime, size = cupy.cuda.runtime, 1 << 50
    for call in (runtime.malloc, cupy.cuda.Memory, cupy.cuda.ManagedMemory):
        with pytest.raises(runtime.CUDARuntimeError, match="cudaErrorMemoryAllocation"):
            call(size)
    for pool in (cupy.cuda.MemoryPool(), cupy.cuda.MemoryAsyncPool(), cupy.cuda):
        allocate = pool.alloc if pool is cupy.cuda else pool.malloc
        with pytest.raises(cupy.cuda.memory.OutOfMemoryError):
            allocate(size)
    with pytest.raises(runtime.CUDARuntimeError, match="cudaErrorMemoryAllocation"):
        runtime.hostAlloc(1 << 60, 0)


def test_page_locked_memory_is_given_to_a_pool() -> None:
    pool = cupy.cuda.PinnedMemoryPool()
    memory = cupy.cuda.PinnedMemory(1024)
    pool.free(memory, 1000)
    assert pool.n_free_blocks() == 1
    assert pool.malloc(1024).ptr == memory.ptr
