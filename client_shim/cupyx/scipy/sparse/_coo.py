"""COO: rows, columns and elements, in any order."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim import cupy
from cupool.client_shim.cupyx.scipy.sparse import _base, _kernels, _keys, _sputils
from cupool.client_shim.cupyx.scipy.sparse._compressed import refuse_axes
from cupool.client_shim.cupyx.scipy.sparse._coordinates import CooInit
from cupool.client_shim.cupyx.scipy.sparse._data import _data_matrix

__all__ = ["coo_array", "coo_matrix", "isspmatrix_coo"]


class _coo_base(CooInit, _data_matrix):
    """Base of `coo_matrix` and `coo_array`.

    Attributes:
        data, row, col: the stored elements, shape (nnz,). A vector has zeros as rows.
        has_canonical_format: whether known to be sorted by row and column without duplicates.
    """

    format = "coo"
    row: Any
    col: Any
    has_canonical_format: bool

    @classmethod
    def _from_parts(
        cls, data: Any, row: Any, col: Any, shape: Any, has_canonical_format: bool = False
    ) -> Any:
        """Make a matrix of its arrays without looking at their values.

        Raises:
            ValueError: dimensions, lengths or dtypes that cannot be.
        """
        shape = _sputils.check_shape(shape, cls._allow_nd)
        if data.ndim != 1 or row.ndim != 1 or col.ndim != 1:
            raise ValueError("data, row, and col must be 1-D")
        if row.dtype != col.dtype:
            raise ValueError(f"row and col must have the same dtype: {row.dtype}, {col.dtype}")
        if not data.size == row.size == col.size:
            sizes = f"{data.size}, {row.size}, and {col.size}"
            raise ValueError(f"data, row, and col must have the same length, got {sizes}")
        if max(shape) > np.iinfo(row.dtype).max:
            raise ValueError(f"shape {shape} too large for index dtype {row.dtype}")
        made = cls.__new__(cls)
        made.data, made.row, made.col, made._shape = data, row, col, shape
        made.has_canonical_format = has_canonical_format
        return made

    def _with_data(self, data: Any, copy: bool = True) -> Any:
        row, col = self.row, self.col
        if copy:
            row, col = row.copy(), col.copy()
        return type(self)._from_parts(data, row, col, self.shape, self.has_canonical_format)

    def _as_2d(self) -> Any:
        if self.ndim != 1:
            return self
        arrays = (self.data, self.row, self.col)
        return type(self)._from_parts(*arrays, self._shape_as_2d, self.has_canonical_format)

    @property
    def coords(self) -> tuple[Any, ...]:
        """The indices of the elements, one array for each axis."""
        return (self.col,) if self.ndim == 1 else (self.row, self.col)

    @coords.setter
    def coords(self, value: Any) -> None:
        if not isinstance(value, tuple) or len(value) != self.ndim:
            raise ValueError(f"coords must be a {self.ndim}-tuple of arrays")
        self.col = value[-1]
        self.row = value[0] if self.ndim == 2 else cupy.zeros_like(self.col)

    # ---------------------------------------------------------------- elements

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(self, _base.sparray):
            raise TypeError(f"'{type(self).__name__}' object is not subscriptable")
        keys = key if isinstance(key, tuple) else (key,)
        if len(keys) == self.ndim and all(_keys.is_index(k) for k in keys):
            return self._one(keys)
        result = self.tocsr()[key]
        if _base.issparse(result):
            return result.tocoo()
        return type(self)(result) if result.ndim else result

    def _one(self, keys: tuple[int, ...]) -> Any:
        """Return the sum of the elements at one place, shape ()."""
        names = ("index",) if self.ndim == 1 else ("row", "column")
        mask: Any = True
        for coord, k, length, name in zip(self.coords, keys, self.shape, names, strict=True):
            mask = (coord == _keys.normalized(k, length, name)) & mask
        total = cupy.where(mask, self.data, cupy.zeros((), self.dtype)).sum()
        return total.astype(self.dtype)

    def _getnnz(self, axis: Any = None) -> int:
        if axis is not None:
            raise NotImplementedError("getnnz over an axis is not implemented for COO format")
        return int(self.data.size)

    def count_nonzero(self, axis: Any = None) -> Any:
        """Return how many elements are not zero, in all or along an axis."""
        self.sum_duplicates()
        if self.ndim == 1:
            _sputils.check_axis_1d(axis)
            axis = None
        if axis is None:
            return int(cupy.count_nonzero(self.data))
        if not -2 <= axis <= 1:
            raise ValueError("axis out of bounds")
        counts = cupy.zeros(self.shape[1 - axis % 2], dtype=cupy.intp)
        at = self.col if axis % 2 == 0 else self.row
        cupy.add.at(counts, at, (self.data != 0).astype(cupy.intp))
        return counts

    def diagonal(self, k: int = 0) -> Any:
        """Return the k-th diagonal as a dense vector."""
        self._require_2d("diagonal")
        rows, columns = self.shape
        if k <= -rows or k >= columns:
            return cupy.empty(0, dtype=self.dtype)
        return self.tocsr().diagonal(k=k)

    def setdiag(self, values: Any, k: int = 0) -> None:
        """Set the k-th diagonal.

        Args:
            values: a scalar, or a vector, of which what is too long is not used.
        """
        self._require_2d("setdiag")
        rows, columns = self.shape
        if (k > 0 and k >= columns) or (k < 0 and -k >= rows):
            raise ValueError("k exceeds matrix dimensions")
        values = cupy.asarray(values, dtype=self.dtype)
        if values.ndim > 1:
            raise ValueError("values must be 0-d or 1-d")
        if values.ndim and not len(values):
            return
        length = min(rows + min(k, 0), columns - max(k, 0))
        length = min(length, len(values)) if values.ndim else length
        if values.ndim == 0:
            values = cupy.full(length, values, dtype=self.dtype)
        dtype = self.row.dtype
        first_row, first_col = max(0, -k), max(0, k)
        along = self.col if k < 0 else self.row
        keep = cupy.flatnonzero((self.col - self.row != k) | (along >= length))
        row = cupy.arange(first_row, first_row + length, dtype=dtype)
        col = cupy.arange(first_col, first_col + length, dtype=dtype)
        self.row = cupy.concatenate((self.row[keep], row))
        self.col = cupy.concatenate((self.col[keep], col))
        self.data = cupy.concatenate((self.data[keep], values[:length]))
        self.has_canonical_format = False

    def eliminate_zeros(self) -> None:
        """Remove explicit zeros in place; waits once."""
        kept = cupy.flatnonzero(self.data)
        self.data, self.row, self.col = self.data[kept], self.row[kept], self.col[kept]

    def sum_duplicates(self) -> None:
        """Sort by row and column, and add elements at the same place, in place; waits once."""
        if self.has_canonical_format:
            return
        if self.data.size:
            arrays = _kernels.sum_coordinates(self.data, self.row, self.col)
            self.data, self.row, self.col = arrays
        self.has_canonical_format = True

    # ---------------------------------------------------------------- conversions

    def get(self, stream: Any = None) -> Any:
        """Return SciPy's object of the same format on the host."""
        make = getattr(_sputils.host_sparse(), f"coo_{self._kind}")
        data = self.data.get(stream)
        coords = tuple(coord.get(stream) for coord in self.coords)
        return make((data, coords), shape=self.shape)

    def tocoo(self, copy: bool = False) -> Any:
        """Return the matrix itself, or a copy."""
        return self.copy() if copy else self

    def tocsr(self, copy: bool = False) -> Any:
        """Return the matrix in the format CSR; waits once unless it is known to be canonical."""
        parts = self._compressed(0)
        return self._csr_container._from_parts(*parts, self.shape, True)

    def tocsc(self, copy: bool = False) -> Any:
        """Return the matrix in the format CSC; waits once unless it is known to be canonical."""
        if self.ndim == 1:
            raise ValueError("Cannot convert a 1-D sparse array to csc format")
        parts = self._compressed(1)
        return self._csc_container._from_parts(*parts, self.shape, True)

    def _compressed(self, axis: int) -> _kernels.Parts:
        """Return the parts, sorted by an axis."""
        rows, columns = self._shape_as_2d
        length = columns if axis else rows
        dtype = self.row.dtype
        if self.nnz == 0:
            none = cupy.empty(0, dtype)
            return cupy.empty(0, self.dtype), none, cupy.zeros(length + 1, dtype)
        if not self.has_canonical_format:
            major, minor = (self.col, self.row) if axis else (self.row, self.col)
            return _kernels.from_coordinates(self.data, major, minor, length)
        parts = (self.data.copy(), self.col.copy(), _kernels.condense(self.row, rows))
        return _kernels.transpose(parts, columns) if axis else parts

    def reshape(self, *shape: Any, order: str = "C") -> Any:
        """Return the matrix in another shape, which shares the elements."""
        shape = _sputils.new_shape(shape, self.shape, self._allow_nd)
        if shape == self.shape:
            return self
        rows, columns = self._shape_as_2d
        new_rows, new_columns = (1, shape[0]) if len(shape) == 1 else shape
        last = max(0, rows * columns - 1)
        dtype = _sputils.get_index_dtype((self.row,), maxval=max(last, *shape))
        row, col = self.row.astype(dtype), self.col.astype(dtype)
        if order == "C":
            row, col = cupy.divmod(row * dtype(columns) + col, dtype(max(new_columns, 1)))
        elif order == "F":
            col, row = cupy.divmod(col * dtype(rows) + row, dtype(max(new_rows, 1)))
        else:
            raise ValueError("'order' must be 'C' or 'F'")
        return type(self)._from_parts(self.data, row, col, shape)

    def transpose(self, axes: Any = None, copy: bool = False) -> Any:
        """Return the transpose, which shares arrays unless `copy`."""
        refuse_axes(axes)
        source = self.copy() if copy else self
        if self.ndim == 1:
            return source
        return type(self)._from_parts(source.data, source.col, source.row, self.shape[::-1])

    def dot(self, other: Any) -> Any:
        """Return the product with a scalar, vector or matrix."""
        if _sputils.is_scalar_like(other):
            return self._with_data(self.data * other)
        return self @ other


class coo_matrix(_base.spmatrix, _coo_base):
    """Coordinate format matrix."""


class coo_array(_coo_base, _base.sparray):
    """Coordinate format array, of one or two dimensions."""

    _allow_nd = (1, 2)


def isspmatrix_coo(x: Any) -> bool:
    """Return whether `x` is a `coo_matrix`."""
    return isinstance(x, coo_matrix)
