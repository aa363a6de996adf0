"""`cupyx.linalg.sparse`: solving sparse systems by direct methods."""

from __future__ import annotations

from cupool.client_shim.cupyx.linalg.sparse._solve import lschol

__all__ = ["lschol"]
