"""`cupy.cuda`: devices, streams, events, graphs, memory and the runtime."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupy.cuda import (
    compiler,
    cublas,
    cufft,
    curand,
    cusolver,
    cusparse,
    device,
    driver,
    function,
    graph,
    memory,
    memory_hook,
    memory_hooks,
    nccl,
    nvrtc,
    nvtx,
    pinned_memory,
    profiler,
    runtime,
    stream,
    texture,
)
from cupool.client_shim.cupy.cuda.device import Device, get_cublas_handle, get_device_id
from cupool.client_shim.cupy.cuda.function import Function, Module
from cupool.client_shim.cupy.cuda.graph import Graph
from cupool.client_shim.cupy.cuda.memory import (
    BaseMemory,
    CFunctionAllocator,
    ManagedMemory,
    Memory,
    MemoryAsync,
    MemoryAsyncPool,
    MemoryPointer,
    MemoryPool,
    PythonFunctionAllocator,
    UnownedMemory,
    alloc,
    get_allocator,
    malloc_async,
    malloc_managed,
    set_allocator,
)
from cupool.client_shim.cupy.cuda.memory_hook import MemoryHook
from cupool.client_shim.cupy.cuda.pinned_memory import (
    PinnedMemory,
    PinnedMemoryPointer,
    PinnedMemoryPool,
    alloc_pinned_memory,
    set_pinned_memory_allocator,
)
from cupool.client_shim.cupy.cuda.stream import (
    Event,
    ExternalStream,
    Stream,
    get_current_stream,
    get_elapsed_time,
)

__all__ = [
    "BaseMemory",
    "CFunctionAllocator",
    "Device",
    "Event",
    "ExternalStream",
    "Function",
    "Graph",
    "ManagedMemory",
    "Memory",
    "MemoryAsync",
    "MemoryAsyncPool",
    "MemoryHook",
    "MemoryPointer",
    "MemoryPool",
    "Module",
    "PinnedMemory",
    "PinnedMemoryPointer",
    "PinnedMemoryPool",
    "PythonFunctionAllocator",
    "Stream",
    "UnownedMemory",
    "alloc",
    "alloc_pinned_memory",
    "compiler",
    "cublas",
    "cufft",
    "curand",
    "cusolver",
    "cusparse",
    "device",
    "driver",
    "function",
    "get_allocator",
    "get_cublas_handle",
    "get_current_stream",
    "get_device_id",
    "get_elapsed_time",
    "get_local_runtime_version",
    "get_nvcc_path",
    "graph",
    "is_available",
    "malloc_async",
    "malloc_managed",
    "memory",
    "memory_hook",
    "memory_hooks",
    "nccl",
    "nvrtc",
    "nvtx",
    "pinned_memory",
    "profile",
    "profiler",
    "runtime",
    "set_allocator",
    "set_pinned_memory_allocator",
    "stream",
    "texture",
    "using_allocator",
]


def is_available() -> bool:
    """Return whether a device can be used: asks for the lease."""
    return runtime.getDeviceCount() > 0


def get_nvcc_path() -> str | None:
    """Return $NVCC, or where nvcc is on this machine; None if it is not: nothing here needs it."""
    return os.environ.get("NVCC") or shutil.which("nvcc")


def get_cuda_path() -> str | None:
    """Return $CUDA_PATH; None if it is not set: nothing here needs it."""
    return os.environ.get("CUDA_PATH")


def get_rocm_path() -> str | None:
    """Return $ROCM_HOME; None if it is not set."""
    return os.environ.get("ROCM_HOME")


def get_hipcc_path() -> str | None:
    """Return $HIPCC, or where hipcc is on this machine; None if it is not."""
    return os.environ.get("HIPCC") or shutil.which("hipcc")


def get_local_runtime_version() -> int:
    """Return the version of the CUDA runtime that is mimicked; there is none on this machine."""
    return runtime.runtimeGetVersion()


@contextmanager
def using_allocator(allocator: Any = None) -> Iterator[None]:
    """Let `allocator(size) -> MemoryPointer` allocate for this thread within; None: no pool."""
    before = memory._get_thread_local_allocator()
    memory._set_thread_local_allocator(memory._malloc if allocator is None else allocator)
    try:
        yield
    finally:
        memory._set_thread_local_allocator(before)


@contextmanager
def profile() -> Iterator[None]:
    """Deprecated: `cupyx.profiler.profile`."""
    warnings.warn(
        "cupy.cuda.profile has been deprecated since CuPy v10 and will be removed in the future."
        " Use cupyx.profiler.profile instead.",
        stacklevel=3,
    )
    profiler.start()
    try:
        yield
    finally:
        profiler.stop()


def _fill() -> dict[str, Any]:
    names: dict[str, Any] = globals()
    for sub in ("cub", "cutensor", "thrust", "common", "jitify"):
        names.setdefault(sub, _unsupported.module(f"cupy.cuda.{sub}"))
    _unsupported.fill(names, "cupy.cuda")
    return names


_fill()
