"""Device kinds by name; a kind's module is imported when it is first asked for."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from cupool.errors import ConfigurationError
from cupool.pool_server.devices.base import Device
from cupool.proto.operations import TABLE

KINDS = ("mock", "cuda", "rocm", "null")


def open_device(
    kind: str,
    server: str = "local",
    ordinal: int = 0,
    memory_bytes: int = 0,
    options: Mapping[str, Any] | None = None,
) -> Device:
    """Make a device for one session.

    Args:
        memory_bytes: what the session may use; 0 = the device's own size.

    Raises:
        ConfigurationError: no such kind or option.
    """
    options = dict(options or {})
    if kind == "mock":
        from cupool.pool_server.devices.mock import MockDevice, MockOptions

        return MockDevice(server, ordinal, memory_bytes or 4 << 30, MockOptions.read(options))
    if kind == "null":
        from cupool.pool_server.devices.null import NullDevice

        return NullDevice(server, ordinal, memory_bytes or 4 << 30)
    if kind in ("cuda", "rocm"):  # the same API: CuPy's ROCm build
        from cupool.pool_server.devices.cuda import CudaDevice

        return CudaDevice(server, ordinal, memory_bytes)
    raise ConfigurationError(f"no device kind {kind!r}; known are {', '.join(KINDS)}")


def warm(kind: str) -> list[str]:
    """Import what a kind needs; return the modules that can wait until there is time."""
    if kind == "null":
        importlib.import_module("cupool.pool_server.devices.null")
        return []
    if kind in ("cuda", "rocm"):
        importlib.import_module("cupool.pool_server.devices.cuda")
        importlib.import_module("cupy")
        return []
    importlib.import_module("cupool.pool_server.devices.mock")
    importlib.import_module("cupool.transport.zeromq")
    names = {row.numpy.rpartition(".")[0] for row in TABLE.values() if row.numpy}
    return sorted(names - {"numpy"})
