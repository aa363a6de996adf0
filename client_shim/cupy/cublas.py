"""`cupy.cublas`: only the limit of batched solves; the routines raise when they are used."""

from __future__ import annotations

from cupool.client_shim.cupy import _unsupported

__all__ = ["get_batched_gesv_limit", "set_batched_gesv_limit"]

_batched_gesv_limit = 256


def get_batched_gesv_limit() -> int:
    """Return up to what size matrices are solved as a batch; a hint, kept on this side."""
    return _batched_gesv_limit


def set_batched_gesv_limit(limit: int) -> None:
    """Set up to what size matrices are solved as a batch."""
    global _batched_gesv_limit
    _batched_gesv_limit = limit


_unsupported.fill(globals(), "cupy.cublas")
