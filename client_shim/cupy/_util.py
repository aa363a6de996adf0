"""`cupy._util`: the private names that other libraries use."""

from __future__ import annotations

import os

from cupool.client_shim.cupy._core import foreign
from cupool.client_shim.cupy._misc.memoization import clear_memo, memoize

__all__ = ["PerformanceWarning", "clear_memo", "memoize"]

ENABLE_SLICE_COPY = False
CUDA_ARRAY_INTERFACE_SYNC = bool(int(os.environ.get("CUPY_CUDA_ARRAY_INTERFACE_SYNC", "1")))
CUDA_ARRAY_INTERFACE_EXPORT_VERSION = foreign.VERSION


class PerformanceWarning(RuntimeWarning):
    """Something works, but slower than need be."""

    __module__ = "cupy._util"
