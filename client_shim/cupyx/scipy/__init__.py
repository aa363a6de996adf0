"""`cupyx.scipy`: SciPy's functions for device arrays. Its parts are loaded on first use."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import Any

from cupool.client_shim.cupy._core import core
from cupool.proto.operations.api import listing

__all__ = ["get_array_module"]

_scipy_available = find_spec("scipy") is not None
_PARTS = frozenset(
    name
    for name in listing().members("cupyx.scipy")
    if listing().kind(f"cupyx.scipy.{name}") == "module"
)


def _is_sparse(value: Any) -> bool:
    home = ("cupyx.scipy.sparse", "cupool.client_shim.cupyx.scipy.sparse")
    return any(kind.__module__.startswith(home) for kind in type(value).__mro__)


def get_array_module(*args: Any) -> Any:
    """Return `cupyx.scipy` if any argument is a device array, else `scipy`."""
    if any(isinstance(a, core.ndarray) or _is_sparse(a) for a in args):
        return importlib.import_module("cupool.client_shim.cupyx.scipy")
    return importlib.import_module("scipy")


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return importlib.import_module(f"cupool.client_shim.cupyx.scipy.{name}")
    raise AttributeError(f"module 'cupyx.scipy' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_PARTS})
