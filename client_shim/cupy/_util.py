"""`cupy._util`: the private names that other libraries use."""

from __future__ import annotations

import os
import warnings

from cupool.client_shim.cupy._core import foreign
from cupool.client_shim.cupy._misc.memoization import clear_memo, memoize

__all__ = ["PerformanceWarning", "clear_memo", "experimental", "memoize"]

ENABLE_SLICE_COPY = False
CUDA_ARRAY_INTERFACE_SYNC = bool(int(os.environ.get("CUPY_CUDA_ARRAY_INTERFACE_SYNC", "1")))
CUDA_ARRAY_INTERFACE_EXPORT_VERSION = foreign.VERSION


class PerformanceWarning(RuntimeWarning):
    """Something works, but slower than need be."""

    __module__ = "cupy._util"


def experimental(api_name: str) -> None:
    """Warn that a function may change, as CuPy does.

    Args:
        api_name: of the function, with its module.
    """
    warnings.warn(
        f"{api_name} is experimental. The interface can change in the future.",
        category=FutureWarning,
        stacklevel=3,
    )
