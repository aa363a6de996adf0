"""`cupyx`: there to be imported; what is not supported yet raises when it is used."""

from __future__ import annotations

from typing import Any

from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupy._core.routines_indexing import scatter_add, scatter_max, scatter_min
from cupool.client_shim.cupyx import cusolver
from cupool.client_shim.cupyx._ufunc_config import errstate, geterr, seterr
from cupool.proto.operations.api import listing

__all__ = ["cusolver", "errstate", "geterr", "scatter_add", "scatter_max", "scatter_min", "seterr"]


def _modules() -> None:
    """Make every submodule that CuPy has, parents first, and hang it on its parent."""
    for name in sorted(n for n, row in listing().names.items() if row[0] == "module"):
        if not name.startswith("cupyx.") or name == "cupyx.cusolver":
            continue
        made = _unsupported.module(name)
        parent: Any = globals()
        for part in name.split(".")[1:-1]:
            found = parent[part]
            parent = found.__dict__
        parent[name.rpartition(".")[2]] = made


_modules()
_unsupported.fill(globals(), "cupyx")
