"""`cupy.cuda.driver`: modules and functions by number, occupancy, contexts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import cupy as cp
import numpy as np
import pytest
from cupy.cuda import driver

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
