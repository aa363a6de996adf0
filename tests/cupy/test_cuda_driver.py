"""`cupy.cuda.driver`: modules and functions by number, launches, links, occupancy, contexts."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cupy as cp
import numpy as np
import pytest
from cupy.cuda import driver, nvrtc
from cupy.cuda.function import LinkState

from cupool.errors import OperationNotSupported

SOURCE = r"""
__device__ int factor = 3;
extern "C" __global__ void times(int* x) {
    __shared__ int kept[64];
    kept[threadIdx.x % 64] = factor;
    __syncthreads();
    x[threadIdx.x] *= kept[threadIdx.x % 64];
}
"""


@pytest.fixture
def ptx(tmp_path: Path) -> bytes:
    code, _ = cp.cuda.compiler.compile_using_nvrtc(SOURCE, arch="80")
    return code if isinstance(code, bytes) else code.encode()


@pytest.fixture
def module(ptx: bytes) -> Iterator[int]:
    made = driver.moduleLoadData(ptx)
    yield made
    driver.moduleUnload(made)


def test_a_module_by_number(ptx: bytes, tmp_path: Path) -> None:
    (tmp_path / "code.ptx").write_bytes(ptx)
    module = driver.moduleLoad(str(tmp_path / "code.ptx"))
    function = driver.moduleGetFunction(module, "times")
    assert driver.funcGetAttribute(1, function) == 256  # bytes of static shared memory
    factor = driver.moduleGetGlobal(module, "factor")
    place = cp.cuda.MemoryPointer(cp.cuda.UnownedMemory(factor, 4, None), 0)
    assert cp.ndarray((1,), np.int32, place).get().tolist() == [3]
    with pytest.raises(driver.CUDADriverError, match="named symbol not found"):
        driver.moduleGetFunction(module, "absent")
    driver.moduleUnload(module)
    for call in (
        lambda: driver.moduleGetFunction(module, "times"),
        lambda: driver.moduleUnload(module),
        lambda: driver.funcGetAttribute(1, function),
    ):
        with pytest.raises(driver.CUDADriverError, match="INVALID_HANDLE"):
            call()
    with pytest.raises(driver.CUDADriverError, match="FILE_NOT_FOUND"):
        driver.moduleLoad(str(tmp_path / "absent"))


def test_attributes_are_set_as_the_kernel_sees_them(module: int) -> None:
    function = driver.moduleGetFunction(module, "times")
    driver.funcSetAttribute(function, 8, 1024)
    assert driver.funcGetAttribute(8, function) == 1024
    for call in (
        lambda: driver.funcGetAttribute(99, function),
        lambda: driver.funcSetAttribute(function, 4, 1),
    ):
        with pytest.raises(driver.CUDADriverError, match="INVALID_VALUE"):
            call()


def test_occupancy_by_each_of_its_limits() -> None:
    kernel = cp.RawKernel(SOURCE, "times")
    function = kernel.kernel.ptr
    limits = cp.cuda.Device().attributes
    threads = limits["MaxThreadsPerMultiProcessor"]
    most, shared = limits["MaxBlocksPerMultiprocessor"], limits["MaxSharedMemoryPerMultiprocessor"]
    active = driver.occupancyMaxActiveBlocksPerMultiprocessor
    assert active(function, 1024, 0) == threads // 1024
    assert active(function, 33, 0) == min(most, threads // 64)  # two warps
    assert active(function, 1, 0) == most
    own = 256 + limits["ReservedSharedMemoryPerBlock"]
    assert active(function, 32, 20_000) == shared // (-(-(own + 20_000) // 128) * 128)
    assert active(function, 1025, 0) == 0
    with pytest.raises(driver.CUDADriverError, match="INVALID_VALUE"):
        active(function, 0, 0)
    blocks, size = driver.occupancyMaxPotentialBlockSize(function, 0, 0)
    assert (blocks * size, size) == (threads * limits["MultiProcessorCount"], 1024)
    assert driver.occupancyMaxPotentialBlockSize(function, 0, 48)[1] == 48


def test_contexts_stand_for_devices() -> None:
    context = driver.ctxGetCurrent()
    driver.ctxSetCurrent(context)
    assert driver.ctxGetDevice() == 0
    with pytest.raises(driver.CUDADriverError, match="INVALID_CONTEXT"):
        driver.ctxSetCurrent(context + 1)


# ------------------------------------------------------------------- launches by address

LAUNCHED = """
struct Pair { double factor; int plus; };
extern "C" __global__ void fill(float* a, short n, Pair pair, char last) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = i * pair.factor + pair.plus + last;
}
extern "C" __global__ void nothing() {}
"""


class Pair(ctypes.Structure):
    _fields_ = (("factor", ctypes.c_double), ("plus", ctypes.c_int))


def arguments(out: cp.ndarray) -> list[Any]:
    return [
        ctypes.c_void_p(out.data.ptr),
        ctypes.c_short(5),
        Pair(1.5, 2),
        ctypes.c_char(b"\x03"),
    ]


def pointers_to(values: list[Any]) -> Any:
    return (ctypes.c_void_p * len(values))(*[ctypes.addressof(v) for v in values])


@pytest.fixture
def fill() -> cp.RawKernel:
    kernel = cp.RawKernel(LAUNCHED, "fill")
    try:
        kernel.kernel.parameter_places()
    except OperationNotSupported as exc:  # a GPU's driver before CUDA 12.4
        pytest.skip(str(exc))
    return kernel


EXPECTED = [5, 6.5, 8, 9.5, 11, 0]


def test_a_launch_by_pointers_to_its_arguments(fill: cp.RawKernel) -> None:
    out = cp.zeros(6, "f")
    values = arguments(out)
    places = pointers_to(values)
    ptr = fill.kernel.ptr
    stream = cp.cuda.Stream()
    address = ctypes.addressof(places)
    driver.launchKernel(ptr, 3, 1, 1, 2, 1, 1, 0, stream.ptr, address, 0)
    values[1].value = 0  # it was read when it was called
    stream.synchronize()
    assert out.get().tolist() == EXPECTED
    assert fill.kernel.parameter_places() == [(0, 8), (8, 2), (16, 16), (32, 1)]


def test_a_launch_by_one_buffer(fill: cp.RawKernel) -> None:
    out = cp.zeros(6, "f")
    pointer, n, pair, last = (bytes(v) for v in arguments(out))
    packed = ctypes.create_string_buffer(pointer + n + bytes(6) + pair + last, 33)
    size = ctypes.c_size_t(33)
    extra = (ctypes.c_void_p * 5)(1, ctypes.addressof(packed), 2, ctypes.addressof(size), 0)
    ptr = fill.kernel.ptr
    driver.launchKernel(ptr, 3, 1, 1, 2, 1, 1, 0, 0, 0, ctypes.addressof(extra))
    assert out.get().tolist() == EXPECTED
    size.value = 32
    with pytest.raises(driver.CUDADriverError, match="INVALID_VALUE"):
        driver.launchKernel(ptr, 3, 1, 1, 2, 1, 1, 0, 0, 0, ctypes.addressof(extra))


def test_what_cannot_be_launched(fill: cp.RawKernel) -> None:
    out = cp.zeros(6, "f")
    values = arguments(out)
    places, nulls = pointers_to(values), (ctypes.c_void_p * 4)()
    address, ptr = ctypes.addressof(places), fill.kernel.ptr
    for sizes, given in (
        ((3, 1, 1, 2, 1, 1, 0), (0, 0)),  # no arguments
        ((3, 1, 1, 2, 1, 1, 0), (address, address)),
        ((3, 1, 1, 2, 0, 1, 0), (address, 0)),
        ((0, 1, 1, 2, 1, 1, 0), (address, 0)),
        ((3, 1, 1, 2, 1, 1, -1), (address, 0)),
        ((3, 1, 1, 2, 1, 1, 0), (ctypes.addressof(nulls), 0)),
    ):
        with pytest.raises(driver.CUDADriverError, match="INVALID_VALUE"):
            driver.launchKernel(ptr, *sizes, 0, *given)
    with pytest.raises(driver.CUDADriverError, match="INVALID_HANDLE"):
        driver.launchKernel(ptr + 12345, 3, 1, 1, 2, 1, 1, 0, 0, address, 0)
    assert not out.get().any()
    kept = cp.RawKernel(LAUNCHED, "nothing").kernel
    nothing = kept.ptr
    driver.launchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0)
    driver.launchCooperativeKernel(nothing, 1, 1, 1, 1, 1, 1, 0, 0, 0)
    cp.cuda.Device().synchronize()


# ------------------------------------------------------------------- linking

CALLER = """
extern __device__ int scale;
extern __device__ float twice(float);
static __device__ int own = 5;
static __device__ __noinline__ float plus() { return own; }
extern "C" __global__ void k(float* a) { a[0] = twice(a[0]) * scale + plus(); }
"""
CALLED = """
__device__ int scale = 3;
static __device__ int own[2] = {7, 8};
static __device__ __noinline__ float plus() { return own[1]; }
__device__ float twice(float x) { return 2 * x + plus(); }
"""


def to_ptx(source: str) -> bytes:
    program = nvrtc.createProgram(source, "linked.cu", (), ())
    nvrtc.compileProgram(program, ("-arch=compute_80", "-rdc=true"))
    return bytes(nvrtc.getPTX(program))


@pytest.mark.parametrize("order", [(CALLER, CALLED), (CALLED, CALLER)])
def test_sources_are_linked(order: tuple[str, str]) -> None:
    link = LinkState()
    for number, source in enumerate(order):
        link.add_ptr_data(to_ptx(source), f"source{number}")
    module = cp.cuda.Module()
    module.load(link.complete())
    a = cp.ones(1, "f")
    module.get_function("k")((1,), (1,), (a,))
    assert float(a[0]) == (2 * 1 + 8) * 3 + 5


def test_one_source_is_its_own_link(ptx: bytes) -> None:
    state = driver.linkCreate()
    driver.linkAddData(state, driver.CU_JIT_INPUT_PTX, ptx, "one")
    module = driver.moduleLoadData(driver.linkComplete(state))
    assert driver.moduleGetFunction(module, "times")
    driver.linkDestroy(state)
    with pytest.raises(driver.CUDADriverError, match="INVALID_HANDLE"):
        driver.linkComplete(state)


def test_what_cannot_be_linked(ptx: bytes, tmp_path: Path) -> None:
    state = driver.linkCreate()
    with pytest.raises(driver.CUDADriverError, match="INVALID_SOURCE"):
        driver.linkComplete(state)
    with pytest.raises(driver.CUDADriverError, match=r"INVALID_PTX.*garbage"):
        driver.linkAddData(state, driver.CU_JIT_INPUT_PTX, b"garbage", "garbage")
    with pytest.raises(OperationNotSupported, match="links PTX only"):
        driver.linkAddData(state, driver.CU_JIT_INPUT_CUBIN, b"\x7fELF", "cubin")
    with pytest.raises(driver.CUDADriverError, match="FILE_NOT_FOUND"):
        driver.linkAddFile(state, driver.CU_JIT_INPUT_PTX, str(tmp_path / "absent"))
    (tmp_path / "code.ptx").write_bytes(to_ptx(CALLER))
    driver.linkAddFile(state, driver.CU_JIT_INPUT_PTX, str(tmp_path / "code.ptx"))
    driver.linkAddData(state, driver.CU_JIT_INPUT_PTX, ptx, "other")
    with pytest.raises(driver.CUDADriverError, match=r"twice\w* is defined nowhere"):
        driver.linkComplete(state)
    driver.linkAddData(state, driver.CU_JIT_INPUT_PTX, ptx, "again")
    with pytest.raises(driver.CUDADriverError, match="is defined twice"):
        driver.linkComplete(state)
