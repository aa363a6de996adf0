"""CSR: sorted by row."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim import cupy
from cupool.client_shim.cupyx.scipy.sparse import _base, _kernels
from cupool.client_shim.cupyx.scipy.sparse._arithmetic import Arithmetic, Pointwise
from cupool.client_shim.cupyx.scipy.sparse._compressed import _compressed_sparse_matrix

__all__ = ["csr_array", "csr_matrix", "isspmatrix_csr"]


class _csr_base(Arithmetic, Pointwise, _compressed_sparse_matrix):
    format = "csr"
    _major_axis = 0

    def tocsr(self, copy: bool = False) -> Any:
        """Return the matrix itself, or a copy."""
        return self.copy() if copy else self

    def tocsc(self, copy: bool = False) -> Any:
        """Return the matrix in the format CSC."""
        if self.ndim == 1:
            raise ValueError("Cannot convert a 1-D sparse array to csc format")
        return self._other_format(self._csc_container)

    def tocoo(self, copy: bool = False) -> Any:
        """Return the matrix in the format COO; data and columns are shared unless `copy`."""
        if self.ndim == 1:
            return self._as_2d().tocoo(copy=copy).reshape(self.shape)
        data, col = self.data, self.indices
        if copy:
            data, col = data.copy(), col.copy()
        row = _kernels.expand(self.indptr, self.nnz)
        canonical = bool(self.__dict__.get("_has_canonical_format", False))
        return self._coo_container._from_parts(data, row, col, self.shape, canonical)

    def setdiag(self, values: Any, k: int = 0) -> None:
        """Set the k-th diagonal; waits once.

        Args:
            values: a scalar, or a vector, of which what is too long is not used.
        """
        self._require_2d("setdiag")
        rows, columns = self.shape
        row, col = max(0, -k), max(0, k)
        length = min(rows - row, columns - col)
        if length <= 0:
            raise ValueError("k exceeds matrix dimensions")
        values = cupy.asarray(values, dtype=self.dtype)
        if values.ndim > 1:
            raise ValueError("values must be 0-d or 1-d")
        if values.ndim == 0:
            values = cupy.full((length,), values, dtype=self.dtype)
        length = min(length, values.size)
        dtype = self.indices.dtype
        counts = np.clip(np.arange(rows + 1) - row, 0, length).astype(dtype)
        indices = cupy.arange(col, col + length, dtype=dtype)
        data = values[:length] - self.diagonal(k=k)[:length]
        change = type(self)._from_parts(data, indices, cupy.asarray(counts), self.shape)
        self.data, self.indices, self.indptr = (self + change)._parts


class csr_matrix(_base.spmatrix, _csr_base):
    """Compressed sparse row matrix, see https://docs.cupy.dev `cupyx.scipy.sparse.csr_matrix`."""


class csr_array(_csr_base, _base.sparray):
    """Compressed sparse row array, of one or two dimensions."""

    _allow_nd = (1, 2)


def isspmatrix_csr(x: Any) -> bool:
    """Return whether `x` is a `csr_matrix`."""
    return isinstance(x, csr_matrix)
