"""Design of filters of finite length."""

from __future__ import annotations

from typing import Any

from cupool.client_shim.cupyx.scipy._declared import declared

__all__ = [
    "firls",
    "minimum_phase",
]
_operation = declared("scipy.signal")


@_operation
def firls(
    numtaps: Any,
    bands: Any,
    desired: Any,
    weight: Any = None,
    fs: Any = 2,
) -> Any:
    """Design a filter by least squares."""
    return 1


@_operation
def minimum_phase(
    h: Any,
    method: Any = "homomorphic",
    n_fft: Any = None,
    half: Any = True,
) -> Any:
    """Return the filter of minimum phase that goes with one of linear phase."""
    return 1
