"""Parts of matrices by where they are."""

from __future__ import annotations

from typing import Any

from cupool.client_shim import cupy
from cupool.client_shim.cupyx.scipy.sparse import _base, _coo, _sputils

__all__ = ["find", "tril", "triu"]


def _coordinates(A: Any, copy: bool) -> Any:
    if not (_sputils.is_dense(A) or _base.issparse(A)):
        raise TypeError("A must be cupy.ndarray or cupyx.scipy.sparse")
    make = _coo.coo_array if isinstance(A, _base.sparray) else _coo.coo_matrix
    return make(A, copy=copy)


def find(A: Any) -> tuple[Any, Any, Any]:
    """Return rows, columns and values of the elements that are not zero."""
    coo = _coordinates(A, copy=True)
    coo.sum_duplicates()
    kept = cupy.flatnonzero(coo.data)
    return coo.row[kept], coo.col[kept], coo.data[kept]


def tril(A: Any, k: int = 0, format: str | None = None) -> Any:
    """Return the elements on and below the k-th diagonal, in COO unless a format is named."""
    coo = _coordinates(A, copy=False)
    return _masked(coo, coo.row + k >= coo.col, format)


def triu(A: Any, k: int = 0, format: str | None = None) -> Any:
    """Return the elements on and above the k-th diagonal, in COO unless a format is named."""
    coo = _coordinates(A, copy=False)
    return _masked(coo, coo.row + k <= coo.col, format)


def _masked(coo: Any, mask: Any, format: str | None) -> Any:
    kept = cupy.flatnonzero(mask)
    arrays = (coo.data[kept], coo.row[kept], coo.col[kept])
    return type(coo)._from_parts(*arrays, coo.shape, coo.has_canonical_format).asformat(format)
