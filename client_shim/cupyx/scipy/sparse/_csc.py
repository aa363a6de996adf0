"""CSC: sorted by column."""

from __future__ import annotations

from typing import Any

from cupool.client_shim.cupyx.scipy.sparse import _base, _kernels
from cupool.client_shim.cupyx.scipy.sparse._arithmetic import Arithmetic
from cupool.client_shim.cupyx.scipy.sparse._compressed import _compressed_sparse_matrix

__all__ = ["csc_array", "csc_matrix", "isspmatrix_csc"]


class _csc_base(Arithmetic, _compressed_sparse_matrix):
    format = "csc"
    _major_axis = 1

    def tocsc(self, copy: bool | None = None) -> Any:
        """Return the matrix itself, or a copy."""
        return self.copy() if copy else self

    def tocsr(self, copy: bool = False) -> Any:
        """Return the matrix in the format CSR."""
        return self._other_format(self._csr_container)

    def tocoo(self, copy: bool = False) -> Any:
        """Return the matrix in the format COO; data and rows are shared unless `copy`."""
        data, row = self.data, self.indices
        if copy:
            data, row = data.copy(), row.copy()
        col = _kernels.expand(self.indptr, self.nnz)
        return self._coo_container._from_parts(data, row, col, self.shape)

    def setdiag(self, values: Any, k: int = 0) -> None:
        """Set the k-th diagonal."""
        coo = self.tocoo()
        coo.setdiag(values, k=k)
        self.data, self.indices, self.indptr = coo.tocsc()._parts


class csc_matrix(_base.spmatrix, _csc_base):
    """Compressed sparse column matrix."""


class csc_array(_csc_base, _base.sparray):
    """Compressed sparse column array."""


def isspmatrix_csc(x: Any) -> bool:
    """Return whether `x` is a `csc_matrix`."""
    return isinstance(x, csc_matrix)
