"""`cupy._util`: the private names that other libraries use."""

from __future__ import annotations

from cupool.client_shim.cupy._misc.memoization import clear_memo, memoize

__all__ = ["PerformanceWarning", "clear_memo", "memoize"]

ENABLE_SLICE_COPY = False


class PerformanceWarning(RuntimeWarning):
    """Something works, but slower than need be."""

    __module__ = "cupy._util"
