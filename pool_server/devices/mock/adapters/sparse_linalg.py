"""Solving with sparse matrices: the rest of the chapter `proto.operations.sparse`."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from cupool.pool_server.devices.base import Layout
from cupool.pool_server.devices.mock.adapters.sparse_parts import NpArray, Parts, csr
from cupool.pool_server.devices.mock.calls import adapter


@adapter("sparse.solve", wants_outs=True)
def solve(parts: Parts, b: NpArray, outs: list[Layout | None]) -> NpArray:
    """A singular matrix gives nan, as it does on a GPU, not an error."""
    from scipy.sparse.linalg import spsolve

    matrix = csr(parts, (len(b), len(b)))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        x = np.asarray(spsolve(matrix.tocsc(), b)).reshape(b.shape)  # SciPy drops an axis of one
    promised = outs[0]
    return np.asarray(x, dtype=None if promised is None else promised.dtype, order="F")


@adapter("sparse.solve_triangular")
def solve_triangular(parts: Parts, b: NpArray, lower: bool, unit: bool, trans: str) -> NpArray:
    """Only the triangle is looked at; a zero on the diagonal divides."""
    n = len(b)
    matrix = csr(parts, (n, n))
    if trans != "N":
        matrix = (matrix.conj() if trans == "H" else matrix).T.tocsr()
        lower = not lower
    matrix.sum_duplicates()
    x = np.array(b, order="F")
    with np.errstate(all="ignore"):
        for row in range(n) if lower else range(n - 1, -1, -1):
            cells = slice(matrix.indptr[row], matrix.indptr[row + 1])
            columns, values = matrix.indices[cells], matrix.data[cells]
            known = columns < row if lower else columns > row
            x[row] -= values[known] @ x[columns[known]]
            if not unit:
                x[row] /= values[columns == row].sum()
    return x


@adapter("sparse.ilu0")
def ilu0(parts: Parts) -> tuple[NpArray, NpArray]:
    """Factor incompletely, in the places of the matrix's own elements.

    Returns:
        the elements of both factors; the first row without a diagonal element and the first with
        a zero pivot, -1 for none, int32.
    """
    data, indices, indptr = parts[0].copy(), parts[1], parts[2]
    csr(parts, (len(indptr) - 1, len(indptr) - 1))
    rows = [
        {int(c): start + i for i, c in enumerate(indices[start:stop])}
        for start, stop in zip(indptr[:-1].tolist(), indptr[1:].tolist(), strict=True)
    ]
    missing = next((i for i, row in enumerate(rows) if i not in row), -1)
    if missing >= 0:
        return data, np.array([missing, -1], np.int32)
    zero = -1
    with np.errstate(all="ignore"):
        for i, row in enumerate(rows):
            _eliminate(data, rows, i)
            if zero < 0 and data[row[i]] == 0:
                zero = i
    return data, np.array([-1, zero], np.int32)


def _eliminate(data: NpArray, rows: list[dict[int, Any]], i: int) -> None:
    """Subtract the rows before row i from it, where it has elements."""
    row = rows[i]
    for k in sorted(c for c in row if c < i):
        factor = data[row[k]] / data[rows[k][k]]
        data[row[k]] = factor
        for j, place in rows[k].items():
            if j > k and j in row:
                data[row[j]] -= factor * data[place]
