"""`cupyx`: what CuPy has beyond NumPy; what is not supported yet raises when it is used."""

from __future__ import annotations

import importlib as _importlib
from typing import Any

from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupy._core._ufuncs import build_elsewhere as _build
from cupool.client_shim.cupy._core.routines_indexing import scatter_add, scatter_max, scatter_min
from cupool.client_shim.cupy._core.syncdetect import DeviceSynchronized, allow_synchronize
from cupool.client_shim.cupyx._gufunc import GeneralizedUFunc
from cupool.client_shim.cupyx._pinned_array import (
    empty_like_pinned,
    empty_pinned,
    zeros_like_pinned,
    zeros_pinned,
)
from cupool.client_shim.cupyx._runtime import get_runtime_info
from cupool.client_shim.cupyx._ufunc_config import errstate, geterr, seterr
from cupool.proto.operations.api import listing as _listing

rsqrt = _build("cupyx")["rsqrt"]

from cupool.client_shim.cupyx import cusolver, linalg, optimizing, scipy, time  # noqa: E402

__all__ = [
    "DeviceSynchronized",
    "GeneralizedUFunc",
    "allow_synchronize",
    "cusolver",
    "empty_like_pinned",
    "empty_pinned",
    "errstate",
    "get_runtime_info",
    "geterr",
    "linalg",
    "optimizing",
    "rsqrt",
    "scatter_add",
    "scatter_max",
    "scatter_min",
    "scipy",
    "seterr",
    "time",
    "zeros_like_pinned",
    "zeros_pinned",
]

_unsupported.submodules("cupyx")
_unsupported.fill(globals(), "cupyx")


def __getattr__(name: str) -> Any:
    if _listing().kind(f"cupyx.{name}") == "module":
        return _importlib.import_module(f"cupool.client_shim.cupyx.{name}")
    raise AttributeError(f"module 'cupyx' has no attribute {name!r}")
