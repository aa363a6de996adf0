"""`show_config`: what this session is; nothing of the local machine is looked for."""

from __future__ import annotations

import platform
import sys

import numpy as np

from cupool import __version__
from cupool.client_shim import session as _session
from cupool.config import load

__all__ = ["show_config"]


def show_config(*, _full: bool = False) -> None:
    """Print the pool, the session and its devices."""
    from cupool.client_shim import cupy

    settings = load().settings
    rows = [
        ("OS", platform.platform()),
        ("Python Version", sys.version.split()[0]),
        ("CuPy Version", f"{cupy.__version__} (provided by cupool {__version__})"),
        ("NumPy Version", np.__version__),
        ("Pool", getattr(settings, "pool", "") or "embedded in this process"),
    ]
    for one in _session.sessions():
        info = one.info
        rows += [
            (f"Device {one.ordinal} Name", info.name),
            (f"Device {one.ordinal} Compute Capability", info.compute_capability.replace(".", "")),
            (f"Device {one.ordinal} Memory", f"{info.memory_bytes:,} bytes"),
            (f"Device {one.ordinal} Server", info.server),
            (f"Device {one.ordinal} Session", str(one.granted.session_id)),
        ]
    width = max(len(name) for name, _ in rows)
    print("\n".join(f"{name:<{width}} : {value}" for name, value in rows))
