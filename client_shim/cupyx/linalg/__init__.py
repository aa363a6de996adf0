"""`cupyx.linalg`: solving with Cholesky factors, and sparse systems."""

from __future__ import annotations

from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupyx.linalg import sparse
from cupool.client_shim.cupyx.linalg._solve import cho_solve, invh

__all__ = ["cho_solve", "invh", "sparse"]

_unsupported.fill(globals(), "cupyx.linalg")
