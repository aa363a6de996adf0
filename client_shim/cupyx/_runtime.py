"""`get_runtime_info`: versions here and on the servers; nothing of a local CUDA is looked for."""

from __future__ import annotations

import platform
from collections.abc import Callable
from importlib import metadata
from typing import Any

import numpy as np

from cupool import __version__
from cupool.client_shim import cupy
from cupool.client_shim import session as _session
from cupool.client_shim.cupy_backends.cuda.api import runtime
from cupool.config import load

__all__ = ["get_runtime_info"]


def _or_error(function: Callable[[], Any]) -> Any:
    try:
        return function()
    except RuntimeError as error:
        return repr(error)


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


class _RuntimeInfo:
    """Versions as attributes; printed, a table of them, the pool and the devices."""

    def __init__(self) -> None:
        self.cupy_version = cupy.__version__
        self.numpy_version = np.__version__
        self.scipy_version = _version("scipy")
        self.cuda_driver_version = _or_error(lambda: runtime.driverGetVersion())
        self.cuda_runtime_version = _or_error(lambda: runtime.runtimeGetVersion())

    def __str__(self) -> str:
        rows = [
            ("OS", platform.platform()),
            ("Python Version", platform.python_version()),
            ("CuPy Version", f"{self.cupy_version} (provided by cupool {__version__})"),
            ("NumPy Version", self.numpy_version),
            ("SciPy Version", self.scipy_version),
            ("CUDA Driver Version", self.cuda_driver_version),
            ("CUDA Runtime Version", self.cuda_runtime_version),
        ]
        rows.append(("Pool", load().settings.pool or "embedded in this process"))
        for one in _session.sessions():
            info, device = one.info, f"Device {one.ordinal}"
            rows += [
                (f"{device} Name", info.name),
                (f"{device} Compute Capability", info.compute_capability.replace(".", "")),
                (f"{device} Memory", f"{info.memory_bytes:,} bytes"),
                (f"{device} Server", info.server),
                (f"{device} Session", str(one.granted.session_id)),
            ]
        width = max(len(name) for name, _ in rows) + 2
        return "".join(f"{name:<{width}}: {value}\n" for name, value in rows)


def get_runtime_info(*, full: bool = True) -> _RuntimeInfo:
    """Return what runs here and on the servers.

    Args:
        full: without effect: paths of a server's libraries are not told.
    """
    return _RuntimeInfo()
