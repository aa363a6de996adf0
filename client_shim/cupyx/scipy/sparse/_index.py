"""Indexing of compressed matrices: one wait for what has unknown elements, none for one element."""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np

from cupool.client_shim import cupy
from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupyx.scipy.sparse import _base, _kernels, _sputils
from cupool.client_shim.cupyx.scipy.sparse._keys import (
    INTEGERS,
    as_indices,
    is_index,
    normalize_1d_key,
    normalized,
    unpack,
)

_EXPENSIVE = "Changing the sparsity structure of a {}_matrix is expensive."


class IndexMixin:
    """`a[key]` and `a[key] = x` of CSR and CSC."""

    # ---------------------------------------------------------------- reading

    def __getitem__(self: Any, key: Any) -> Any:
        if self.ndim == 1:
            return self._getitem_1d(key)
        row, col = self._parse_indices(key)
        result = self._getitem_2d(row, col)
        if isinstance(self, _base.sparray) and _base.issparse(result):
            if is_index(row) != is_index(col):
                length = result.shape[1] if is_index(row) else result.shape[0]
                result = result.tocoo().reshape((length,))
        return result

    def _parse_indices(self: Any, key: Any) -> tuple[Any, Any]:
        row, col = unpack(key)
        rows, columns = self.shape
        return (
            _selector(row, rows, "row", self.indices.dtype),
            _selector(col, columns, "column", self.indices.dtype),
        )

    def _getitem_2d(self: Any, row: Any, col: Any) -> Any:
        if is_index(row) and is_index(col):
            return self._one(row, col)
        if isinstance(row, slice) and isinstance(col, slice) and row == col == slice(None):
            return self.copy()
        for one, other in ((row, col), (col, row)):
            if getattr(one, "ndim", 0) == 2 and isinstance(other, slice):
                raise IndexError("index results in >2 dimensions")
        if is_index(row) and getattr(col, "ndim", 1) == 2:
            raise IndexError("index results in >2 dimensions")
        simple = (int, np.integer, slice)
        if isinstance(row, simple) or isinstance(col, simple):
            return self._outer(row, col)
        if row.ndim == 2 and row.shape[1] == 1 and (col.ndim == 1 or col.shape[0] == 1):
            return self._select(row[:, 0], col.ravel())
        return self._pairs(row, col)

    def _one(self: Any, row: int, col: int) -> Any:
        """Return an element, shape ()."""
        place = [cupy.full((1,), n, dtype=self.indices.dtype) for n in self._swap(row, col)]
        return _kernels.sample(self._parts, self._major_shape, *place).reshape(())

    def _outer(self: Any, row: Any, col: Any) -> Any:
        """Take rows and columns, at least one of them by a number or a slice."""
        stepped = isinstance(col, slice) and col.step not in (1, None)
        if stepped and self.format == "csr" and not isinstance(row, (*INTEGERS, slice)):
            # As CuPy and SciPy do it: pairs of rows and columns.
            start, stop, step = col.indices(self.shape[1])
            return self._pairs(row, cupy.arange(start, stop, step, dtype=self.indices.dtype))
        if row is not None and getattr(row, "ndim", 0) == 2 and is_index(col):
            row = row.ravel()
        return self._select(row, col)

    def _select(self: Any, row: Any, col: Any) -> Any:
        """Return the matrix of some rows and some columns."""
        lengths, selectors = [], []
        for wanted, length in zip((row, col), self.shape, strict=True):
            count, selector = self._range(wanted, length)
            lengths.append(count)
            selectors.append(selector)
        shape = tuple(lengths)
        if self.nnz == 0 or 0 in shape:
            return self._empty_like(shape)
        major, minor = self._swap(*selectors)
        if major is None and minor is None:
            return self.copy()
        parts = _kernels.select(self._parts, self._major_shape, major, minor)
        canonical = self.__dict__.get("_has_canonical_format")
        in_order = self.__dict__.get("_has_sorted_indices")
        if _sputils.is_dense(minor):
            canonical = in_order = None
        return type(self)._from_parts(*parts, shape, canonical and in_order, in_order)

    def _range(self: Any, wanted: Any, length: int) -> tuple[int, Any]:
        """Return how many indices are wanted, and which: None for all, (start, stop), an array."""
        if is_index(wanted):
            return 1, (int(wanted), int(wanted) + 1)
        if not isinstance(wanted, slice):
            return wanted.size, wanted
        start, stop, step = wanted.indices(length)
        count = len(range(start, stop, step))
        if step != 1:
            return count, cupy.arange(start, stop, step, dtype=self.indices.dtype)
        return count, None if count == length else (start, stop)

    def _pairs(self: Any, row: Any, col: Any) -> Any:
        """Return the elements at pairs of indices, in a row or in the indices' shape."""
        try:
            row, col = cupy.broadcast_arrays(row, col)
        except ValueError as exc:
            raise IndexError(
                "shape mismatch: indexing arrays could not be broadcast together with shapes "
                f"{row.shape} {col.shape}"
            ) from exc
        if row.size == 0:
            return type(self)(cupy.atleast_2d(row).shape, dtype=self.dtype)
        major, minor = (a.astype(self.indices.dtype).ravel() for a in self._swap(row, col))
        values = _kernels.sample(self._parts, self._major_shape, major, minor)
        if row.ndim != 1:
            return type(self)(values.reshape(row.shape))
        return values if isinstance(self, _base.sparray) else values[None]

    def _getitem_1d(self: Any, key: Any) -> Any:
        key, before, after = normalize_1d_key(key)
        base = self._getitem_1d_axis(key)
        axes = before + after
        if axes == 0:
            return base
        if not _base.issparse(base) and axes <= 2:
            return type(self)((cupy.atleast_1d if axes == 1 else cupy.atleast_2d)(base))
        if axes > 1 or base.ndim != 1:
            raise IndexError("Indexing that leads to more than 2 dimensions is not supported")
        length = base.shape[0]
        return base.reshape((1, length) if before else (length, 1))

    def _getitem_1d_axis(self: Any, key: Any) -> Any:
        matrix = self._as_2d()
        row, col = matrix._parse_indices((0, key))
        if getattr(col, "ndim", 0) == 2:
            return self._squeeze_to_1d(matrix._getitem_2d(0, col.ravel())).reshape(col.shape)
        result = matrix._getitem_2d(row, col)
        return self._squeeze_to_1d(result) if _base.issparse(result) else result

    def _getrow(self: Any, i: int) -> Any:
        result = self._select(slice(i, i + 1), slice(None))
        return result.tocsr()

    def _getcol(self: Any, i: int) -> Any:
        return self._select(slice(None), slice(i, i + 1))

    # ---------------------------------------------------------------- writing

    def __setitem__(self: Any, key: Any, x: Any) -> None:
        if self.ndim == 1:
            key = normalize_1d_key(key)[0]
            x = x._as_2d() if _base.issparse(x) and x.ndim == 1 else x
            self._apply_2d_inplace(lambda m: m.__setitem__((0, key), x))
            return
        row, col = self._parse_indices(key)
        if is_index(row) and is_index(col):
            x = cupy.asarray(x.toarray() if _base.issparse(x) else x, dtype=self.dtype)
            if x.size != 1:
                raise ValueError("Trying to assign a sequence to an item")
            self._set_many(row, col, x.reshape(1))
            return
        i, j = self._grid(row, col)
        if _base.issparse(x):
            self._set_sparse(i, j, x)
            return
        x = cupy.broadcast_arrays(cupy.asarray(x, dtype=self.dtype), i)[0]
        if x.size:
            self._set_many(i, j, x.reshape(i.shape))

    def _grid(self: Any, row: Any, col: Any) -> tuple[Any, Any]:
        """Return the indices that are written to, as two arrays of one shape."""
        if isinstance(row, slice):
            row = cupy.arange(*row.indices(self.shape[0]))[:, None]
        else:
            row = cupy.atleast_1d(cupy.asarray(row))
        if isinstance(col, slice):
            col = cupy.arange(*col.indices(self.shape[1]))[None, :]
            row = row[:, None] if row.ndim == 1 else row
        else:
            col = cupy.atleast_1d(cupy.asarray(col))
        i, j = cupy.broadcast_arrays(row, col)
        if i.shape != j.shape:
            raise IndexError("number of row and column indices differ")
        return i, j

    def _set_sparse(self: Any, i: Any, j: Any, x: Any) -> None:
        """Write a sparse matrix: what it has not becomes an explicit zero where we have one."""
        if i.ndim == 1:
            i, j = i[None], j[None]
        tall = x.shape[0] == 1 and i.shape[0] != 1
        wide = x.shape[1] == 1 and i.shape[1] != 1
        fits = (tall or x.shape[0] == i.shape[0]) and (wide or x.shape[1] == i.shape[1])
        if not fits:
            raise ValueError("shape mismatch in assignment")
        if x.size == 0:
            return
        x = x.tocoo(copy=True)
        x.sum_duplicates()
        self.data[...] = _kernels.clear(self._parts, self._major_shape, *self._places(i, j))
        rows, columns = i.shape
        r, c, values = x.row, x.col, x.data.astype(self.dtype)
        if tall:
            r = cupy.repeat(cupy.arange(rows), r.size)
            c, values = cupy.tile(c, rows), cupy.tile(values, rows)
        if wide:
            r, values = cupy.repeat(r, columns), cupy.repeat(values, columns)
            c = cupy.tile(cupy.arange(columns), c.size)
        self._set_many(i[r, c], j[r, c], values)

    def _places(self: Any, i: Any, j: Any) -> tuple[Any, Any]:
        """Return major and minor indices, flat and in the index dtype."""
        dtype = self.indices.dtype
        major, minor = (
            cupy.array(n, dtype=dtype, copy=True, ndmin=1).ravel() for n in self._swap(i, j)
        )
        return major, minor

    def _set_many(self: Any, i: Any, j: Any, x: Any) -> None:
        """Write values; a place that has no element yet changes the structure."""
        if not getattr(x, "size", 1):
            return
        major, minor = self._places(i, j)
        values = cupy.array(x, dtype=self.dtype, copy=True, ndmin=1).ravel()
        parts = _kernels.assign(self._parts, self._major_shape, major, minor, values)
        if parts[0].size == self.nnz and self.__dict__.get("_has_sorted_indices", True):
            self.data[...] = parts[0]
            self.indices[...] = parts[1]
            return
        text = _EXPENSIVE.format(self.format)
        warnings.warn(text, _base.SparseEfficiencyWarning, stacklevel=3)
        self.data, self.indices, self.indptr = parts
        self.has_canonical_format = True


def _selector(wanted: Any, length: int, name: str, dtype: Any) -> Any:
    """Return a number or slice, or indices from 0 on."""
    if isinstance(wanted, (core.ndarray, np.ndarray)) and wanted.ndim == 0:
        wanted = wanted.item()
    if is_index(wanted):
        return normalized(operator.index(wanted), length, name)
    return wanted if isinstance(wanted, slice) else as_indices(wanted, length, dtype)
