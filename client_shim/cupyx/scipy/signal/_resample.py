"""Other sampling rates."""

from __future__ import annotations

from typing import Any

from cupool.client_shim.cupyx.scipy._declared import declared

__all__ = [
    "resample_poly",
]
_operation = declared("scipy.signal")


@_operation
def resample_poly(
    x: Any,
    up: Any,
    down: Any,
    axis: int = 0,
    window: Any = ("kaiser", 5.0),
    padtype: Any = "constant",
    cval: Any = None,
) -> Any:
    """Resample by a ratio, with a filter."""
    return 1
