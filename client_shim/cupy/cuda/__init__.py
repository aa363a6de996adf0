"""`cupy.cuda`: devices, streams, events, memory pools and the runtime, as far as they are here."""

from __future__ import annotations

from typing import Any

from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupy.cuda import cufft, device, memory, runtime, stream
from cupool.client_shim.cupy.cuda.device import Device, get_device_id
from cupool.client_shim.cupy.cuda.memory import (
    MemoryPointer,
    MemoryPool,
    PinnedMemoryPool,
    alloc,
)
from cupool.client_shim.cupy.cuda.stream import (
    Event,
    Stream,
    get_current_stream,
    get_elapsed_time,
)

__all__ = [
    "Device",
    "Event",
    "MemoryPointer",
    "MemoryPool",
    "PinnedMemoryPool",
    "Stream",
    "alloc",
    "cufft",
    "device",
    "get_current_stream",
    "get_device_id",
    "get_elapsed_time",
    "is_available",
    "memory",
    "runtime",
    "stream",
]


def is_available() -> bool:
    """Return whether a device can be used: asks for the lease."""
    return runtime.getDeviceCount() > 0


def _fill() -> dict[str, Any]:
    names: dict[str, Any] = globals()
    for sub in ("compiler", "function", "graph", "memory_hooks", "nvtx", "profiler", "texture"):
        names.setdefault(sub, _unsupported.module(f"cupy.cuda.{sub}"))
    for sub in ("cublas", "curand", "cusolver", "cusparse", "driver", "nccl", "nvrtc"):
        names.setdefault(sub, _unsupported.module(f"cupy.cuda.{sub}"))
    for sub in ("pinned_memory", "cub", "cutensor", "thrust", "common"):
        names.setdefault(sub, _unsupported.module(f"cupy.cuda.{sub}"))
    _unsupported.fill(names, "cupy.cuda")
    return names


_fill()
