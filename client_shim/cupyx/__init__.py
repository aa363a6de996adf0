"""`cupyx`: there to be imported; what is not supported yet raises when it is used."""

from __future__ import annotations

from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupy._core.routines_indexing import scatter_add, scatter_max, scatter_min
from cupool.client_shim.cupyx import cusolver
from cupool.client_shim.cupyx._ufunc_config import errstate, geterr, seterr

__all__ = ["cusolver", "errstate", "geterr", "scatter_add", "scatter_max", "scatter_min", "seterr"]


_unsupported.submodules("cupyx")
_unsupported.fill(globals(), "cupyx")
