"""Matrices of blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim import cupy
from cupool.client_shim.cupyx.scipy.sparse import _base, _coo, _csc, _csr, _sputils

__all__ = ["block_diag", "bmat", "hstack", "vstack"]


def _has_array(blocks: Any) -> bool:
    return any(isinstance(b, _base.sparray) for b in blocks)


def _rows_of(blocks: Any) -> list[Any]:
    """Return blocks, vectors as matrices of one row."""
    return [b._as_2d() if _base.issparse(b) and b.ndim == 1 else b for b in blocks]


def hstack(blocks: Any, format: str | None = None, dtype: Any = None) -> Any:
    """Return matrices side by side; see `bmat`."""
    return bmat([_rows_of(blocks)], format=format, dtype=dtype)


def vstack(blocks: Any, format: str | None = None, dtype: Any = None) -> Any:
    """Return matrices below each other; see `bmat`."""
    return bmat([[b] for b in _rows_of(blocks)], format=format, dtype=dtype)


def bmat(blocks: Any, format: str | None = None, dtype: Any = None) -> Any:
    """Return a matrix of blocks, in COO unless all are CSR below each other or CSC in a row.

    Args:
        blocks: rows of matrices; None for zeros.

    Raises:
        ValueError: shapes that do not fit.
    """
    rows = [list(row) for row in blocks]
    height, width = len(rows), len(rows[0])
    flat = [b for row in rows for b in row[:width] if b is not None]
    if not flat:
        return _coo.coo_matrix((0, 0), dtype=dtype)
    for axis, fmt, lines in ((0, "csr", width), (1, "csc", height)):
        same = all(_base.issparse(b) and b.format == fmt for b in flat)
        if same and lines == 1 and format in (None, fmt):
            made = _stack_compressed(flat, axis)
            return made if dtype is None else made.astype(dtype)
    make = _coo.coo_array if _has_array(flat) else _coo.coo_matrix
    wide = any(_index_dtype(b) == np.int64 for b in flat)
    placed = [
        (i, j, _coo.coo_matrix(rows[i][j]))
        for i in range(height)
        for j in range(width)
        if rows[i][j] is not None
    ]
    heights = _lengths(placed, 0, height)
    widths = _lengths(placed, 1, width)
    shape = (sum(heights), sum(widths))
    if dtype is None:
        dtype = _sputils.upcast(*(b.dtype for _, _, b in placed))
    index_dtype = np.int64 if wide else _sputils.get_index_dtype(maxval=max(shape) - 1)
    above, before = np.cumsum([0, *heights]), np.cumsum([0, *widths])
    row = [b.row.astype(index_dtype) + index_dtype(above[i]) for i, _, b in placed]
    col = [b.col.astype(index_dtype) + index_dtype(before[j]) for _, j, b in placed]
    data = [b.data.astype(dtype, copy=False) for _, _, b in placed]
    values, rows_of, cols_of = (cupy.concatenate(a) for a in (data, row, col))
    return make._from_parts(values, rows_of, cols_of, shape).asformat(format)


def _index_dtype(block: Any) -> Any:
    for name in ("indices", "row", "offsets"):
        array = getattr(block, name, None)
        if array is not None:
            return array.dtype
    return None


def _lengths(placed: list[tuple[int, int, Any]], axis: int, count: int) -> list[int]:
    """Return the height of each row of blocks (axis 0) or the width of each column (axis 1)."""
    lengths = [0] * count
    for i, j, block in placed:
        line, got = (i, j)[axis], block.shape[axis]
        if lengths[line] not in (0, got):
            name = ("row", "column")[axis]
            where = f"{i},:" if axis == 0 else f":,{j}"
            raise ValueError(
                f"blocks[{where}] has incompatible {name} dimensions. "
                f"Got blocks[{i},{j}].shape[{axis}] == {got}, expected {lengths[line]}."
            )
        lengths[line] = got
    return lengths


def _stack_compressed(blocks: list[Any], axis: int) -> Any:
    """Stack CSR below each other (axis 0) or CSC side by side (axis 1), which nothing waits for."""
    other = 1 - axis
    constant = blocks[0].shape[other]
    if any(b.shape[other] != constant for b in blocks):
        raise ValueError(f"incompatible dimensions for axis {other}")
    data = cupy.concatenate([b.data for b in blocks])
    used = [array for b in blocks for array in (b.indptr, b.indices)]
    dtype = _sputils.get_index_dtype(used, maxval=max(data.size, constant))
    indices = cupy.concatenate([b.indices.astype(dtype, copy=False) for b in blocks])
    begins = np.cumsum([0, *(b.nnz for b in blocks)])
    pointers = [
        b.indptr[:-1].astype(dtype) + dtype(n) for b, n in zip(blocks, begins[:-1], strict=True)
    ]
    indptr = cupy.concatenate([*pointers, cupy.full(1, begins[-1], dtype=dtype)])
    total = sum(b.shape[axis] for b in blocks)
    kind = "array" if _has_array(blocks) else "matrix"
    make = getattr(_csr, f"csr_{kind}") if axis == 0 else getattr(_csc, f"csc_{kind}")
    shape = (total, constant) if axis == 0 else (constant, total)
    return make._from_parts(data, indices, indptr, shape)


def block_diag(mats: Any, format: str | None = None, dtype: Any = None) -> Any:
    """Return a matrix with the given ones along its diagonal, in COO unless a format is named.

    Args:
        mats: sparse matrices, or dense ones, all of whose elements are stored.
    """
    mats = list(mats)
    rows, cols, data, wide = [], [], [], []
    height = width = 0
    for matrix in mats:
        if _base.issparse(matrix):
            coo = matrix.tocoo()
            shape, (values, row, col) = coo.shape, (coo.data, coo.row, coo.col)
            wide += [a for a in (row, col) if a.dtype == np.int64]
        else:
            dense = cupy.atleast_2d(cupy.asarray(matrix))
            if not _sputils.is_data_dtype(dense.dtype):
                dense = dense.astype(np.float64)
            shape, values = dense.shape, dense.ravel()
            row, col = cupy.divmod(cupy.arange(dense.size), max(shape[1], 1))
        rows.append(row + height)
        cols.append(col + width)
        data.append(values)
        height, width = height + shape[0], width + shape[1]
    index_dtype = _sputils.get_index_dtype(wide, maxval=max(height, width))
    make = _coo.coo_array if _has_array(mats) else _coo.coo_matrix
    if not mats:
        none = cupy.zeros(0, dtype=index_dtype)
        return make._from_parts(cupy.zeros(0, dtype=dtype or "d"), none, none, (0, 0))
    row, col = (cupy.concatenate(a).astype(index_dtype, copy=False) for a in (rows, cols))
    made = make._from_parts(cupy.concatenate(data), row, col, (height, width))
    return (made if dtype is None else made.astype(dtype)).asformat(format)
