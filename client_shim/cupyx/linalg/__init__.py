"""`cupyx.linalg`: solving with Cholesky factors."""

from __future__ import annotations

from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupyx.linalg._solve import cho_solve, invh

__all__ = ["cho_solve", "invh"]

_unsupported.fill(globals(), "cupyx.linalg")
