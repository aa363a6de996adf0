"""DIA: diagonals, one in each row of `data`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim import cupy
from cupool.client_shim.cupyx.scipy.sparse import _base, _kernels, _sputils
from cupool.client_shim.cupyx.scipy.sparse._data import _data_matrix

__all__ = ["dia_array", "dia_matrix", "isspmatrix_dia"]


class _dia_base(_data_matrix):
    """Base of `dia_matrix` and `dia_array`.

    Attributes:
        data: shape (diagonals, length); `data[i, j]` is the element in column j of diagonal i.
        offsets: which diagonals, shape (diagonals,).
    """

    format = "dia"
    offsets: Any

    def __init__(
        self,
        arg1: Any,
        shape: Any = None,
        dtype: Any = None,
        copy: bool = False,
        *,
        maxprint: int | None = None,
    ) -> None:
        """Make a matrix of (data, offsets), or of one of SciPy's.

        Args:
            shape: needed unless `arg1` is a matrix.
            dtype: of the elements.
            copy: whether the arrays must be new ones.

        Raises:
            ValueError: an argument of another form, or offsets that are there twice (one wait
                unless they are on the host).
        """
        if maxprint is not None:
            self.maxprint = maxprint
        if _sputils.is_scipy_sparse(arg1):
            x = arg1.todia()
            data, offsets, shape, dtype, copy = x.data, x.offsets, x.shape, x.dtype, False
        elif not isinstance(arg1, tuple):
            raise ValueError("unrecognized form for dia_matrix constructor")
        else:
            data, offsets = arg1
            if shape is None:
                raise ValueError("expected a shape argument")
        data = cupy.atleast_2d(cupy.array(data, dtype=dtype, copy=copy or None))
        known = offsets.get() if _sputils.is_dense(offsets) else np.asarray(offsets)
        dtype = _sputils.get_index_dtype(maxval=max(shape))
        offsets = cupy.atleast_1d(cupy.array(offsets, dtype=dtype, copy=copy or None))
        if offsets.ndim != 1:
            raise ValueError("offsets array must have rank 1")
        if data.ndim != 2:
            raise ValueError("data array must have rank 2")
        if data.shape[0] != len(offsets):
            raise ValueError(
                f"number of diagonals ({data.shape[0]}) does not match the number of "
                f"offsets ({len(offsets)})"
            )
        if len(np.unique(known)) != known.size:
            raise ValueError("offset array contains duplicate values")
        self.data, self.offsets = data, offsets
        self._shape = _sputils.check_shape(shape)

    @classmethod
    def _from_parts(cls, data: Any, offsets: Any, shape: tuple[int, ...]) -> Any:
        """Make a matrix of arrays that another one had."""
        made = cls.__new__(cls)
        made.data, made.offsets, made._shape = data, offsets, shape
        return made

    def _with_data(self, data: Any, copy: bool = True) -> Any:
        offsets = self.offsets.copy() if copy else self.offsets
        return type(self)._from_parts(data, offsets, self._shape)

    def _detail(self) -> str:
        return f" ({len(self.offsets)} diagonals)"

    def get(self, stream: Any = None) -> Any:
        """Return SciPy's object of the same format on the host."""
        make = getattr(_sputils.host_sparse(), f"dia_{self._kind}")
        return make((self.data.get(stream), self.offsets.get(stream)), shape=self._shape)

    def _getnnz(self, axis: Any = None) -> int:
        """Return how many places the diagonals have within the matrix; waits once."""
        if axis is not None:
            raise NotImplementedError("getnnz over an axis is not implemented for DIA format")
        rows, columns = self.shape
        length = min(self.data.shape[1], columns)
        offsets = self.offsets.get().astype(np.int64)
        counts = np.minimum(rows + offsets, length) - np.maximum(offsets, 0)
        return int(np.maximum(counts, 0).sum())

    def count_nonzero(self, axis: Any = None) -> int:
        """Return how many elements within the matrix are not zero."""
        if axis is not None:
            raise NotImplementedError(
                "count_nonzero over an axis is not implemented for DIA format"
            )
        return int(cupy.count_nonzero(self._data_mask() & (self.data != 0)))

    def _data_mask(self) -> Any:
        """Return which elements of `data` are within the matrix."""
        rows, columns = self.shape
        column = cupy.arange(self.data.shape[1])
        row = column - self.offsets[:, None]
        return (row >= 0) & (row < rows) & (column < columns)

    def todia(self, copy: bool = False) -> Any:
        """Return the matrix itself, or a copy."""
        return self.copy() if copy else self

    def tocsc(self, copy: bool = False) -> Any:
        """Return the matrix in the format CSC, without zeros; waits once."""
        if self.data.size == 0:
            return self._csc_container(self.shape, dtype=self.dtype)
        parts = _kernels.from_diagonals(self.data, self.offsets, self._shape)
        return self._csc_container._from_parts(*parts, self._shape, None, None)

    def tocsr(self, copy: bool = False) -> Any:
        """Return the matrix in the format CSR, without zeros; waits once."""
        return self.tocsc().tocsr()

    def diagonal(self, k: int = 0) -> Any:
        """Return the k-th diagonal as a dense vector; waits once."""
        rows, columns = self.shape
        if k <= -rows or k >= columns:
            return cupy.empty(0, dtype=self.dtype)
        first, last = max(0, k), min(rows + k, columns)
        found = np.flatnonzero(self.offsets.get() == k)
        if not found.size:
            return cupy.zeros(last - first, dtype=self.dtype)
        return self.data[int(found[0]), first:last]


class dia_matrix(_base.spmatrix, _dia_base):
    """Diagonal format matrix."""


class dia_array(_dia_base, _base.sparray):
    """Diagonal format array."""


def isspmatrix_dia(x: Any) -> bool:
    """Return whether `x` is a `dia_matrix`."""
    return isinstance(x, dia_matrix)
