"""Matrices by rule: diagonals, random ones, products of Kronecker."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from cupool.client_shim import cupy
from cupool.client_shim.cupyx.scipy.sparse import _base, _coo, _csc, _csr, _dia, _sputils
from cupool.client_shim.cupyx.scipy.sparse._blocks import block_diag, bmat, hstack, vstack

__all__ = [
    "block_array",
    "block_diag",
    "bmat",
    "diags",
    "diags_array",
    "eye",
    "eye_array",
    "hstack",
    "identity",
    "kron",
    "kronsum",
    "matrix_transpose",
    "permute_dims",
    "rand",
    "random",
    "random_array",
    "spdiags",
    "swapaxes",
    "vstack",
]


def _coo_class(*matrices: Any) -> Any:
    """Return `coo_array` if one of the matrices is a sparse array, else `coo_matrix`."""
    arrays = any(isinstance(a, _base.sparray) for a in matrices)
    return _coo.coo_array if arrays else _coo.coo_matrix


# ------------------------------------------------------------------- axes


def _require_sparse(A: Any, name: str) -> None:
    if not _base.issparse(A):
        raise TypeError(f"{name} expected a sparse object")


def matrix_transpose(A: Any) -> Any:
    """Return the transpose of a sparse matrix."""
    _require_sparse(A, "matrix_transpose")
    return A.transpose()


def swapaxes(A: Any, axis1: int, axis2: int) -> Any:
    """Return a sparse matrix with two axes exchanged."""
    _require_sparse(A, "swapaxes")
    if not (-2 <= axis1 < 2 and -2 <= axis2 < 2):
        raise ValueError("axis out of range for 2-D sparse object")
    return A.copy() if axis1 % 2 == axis2 % 2 else A.transpose()


def permute_dims(A: Any, axes: Any = None, copy: bool = False) -> Any:
    """Return a sparse matrix with its axes in another order, exchanged for None."""
    _require_sparse(A, "permute_dims")
    order = [a + 2 if a < 0 else a for a in ((1, 0) if axes is None else axes)]
    if sorted(order) != [0, 1]:
        raise ValueError("axes must be a permutation of (0, 1)")
    if order == [0, 1]:
        return A.copy() if copy else A
    return A.transpose(copy=copy)


# ------------------------------------------------------------------- diagonals


def eye(
    m: int, n: int | None = None, k: int = 0, dtype: Any = "d", format: str | None = None
) -> Any:
    """Return a matrix with ones on the k-th diagonal, in DIA unless a format is named."""
    m = operator.index(m) if hasattr(m, "__index__") else int(m)
    n = m if n is None else int(n)
    if m == n and k == 0 and format in ("csr", "csc", "coo"):
        index_dtype = _sputils.get_index_dtype(maxval=n)
        data = cupy.ones(n, dtype=dtype)
        at = cupy.arange(n, dtype=index_dtype)
        if format == "coo":
            return _coo.coo_matrix._from_parts(data, at, at.copy(), (n, n), True)
        make = _csr.csr_matrix if format == "csr" else _csc.csc_matrix
        return make._from_parts(data, at, cupy.arange(n + 1, dtype=index_dtype), (n, n), True)
    ones = cupy.ones((1, max(0, min(m + k, n))), dtype=dtype)
    return spdiags(ones, k, m, n).asformat(format)


def identity(n: int, dtype: Any = "d", format: str | None = None) -> Any:
    """Return the identity, in DIA unless a format is named."""
    return eye(n, n, dtype=dtype, format=format)


def spdiags(data: Any, diags: Any, m: int, n: int, format: str | None = None) -> Any:
    """Return a matrix of diagonals as DIA keeps them."""
    return _dia.dia_matrix((data, diags), shape=(m, n)).asformat(format)


def diags(
    diagonals: Any,
    offsets: Any = 0,
    shape: Any = None,
    format: str | None = None,
    dtype: Any = None,
) -> Any:
    """Return a matrix of diagonals.

    Args:
        diagonals: arrays, or numbers for constant diagonals.
        offsets: which diagonals; 0 is the main one.
        shape: square, as small as the first diagonal allows, for None.
        format: DIA for None.

    Raises:
        ValueError: diagonals that do not fit the offsets or the shape.
    """
    if _sputils.is_scalar_like(offsets):
        if len(diagonals) and not _sputils.is_scalar_like(diagonals[0]):
            raise ValueError("Different number of diagonals and offsets.")
        lines = [cupy.atleast_1d(cupy.asarray(diagonals))]
    else:
        lines = [cupy.atleast_1d(cupy.asarray(d)) for d in diagonals]
    places = np.atleast_1d(offsets.get() if _sputils.is_dense(offsets) else offsets)
    if len(lines) != len(places):
        raise ValueError("Different number of diagonals and offsets.")
    if shape is None:
        side = len(lines[0]) + abs(int(places[0]))
        shape = (side, side)
    if dtype is None:
        dtype = cupy.common_type(*lines)
    m, n = (int(length) for length in shape)
    width = max(0, *(min(m + k, n - k) + max(0, k) for k in places.tolist()), 0)
    data = cupy.zeros((len(places), width), dtype=dtype)
    for j, (k, line) in enumerate(zip(places.tolist(), lines, strict=True)):
        length = min(m + k, n - k, m, n)
        if length < 0:
            raise ValueError(f"Offset {k} (index {j}) out of bounds")
        if len(line) < length and len(line) != 1:
            raise ValueError(
                f"Diagonal length (index {j}: {len(line)} at offset {k}) does not agree with "
                f"matrix size ({m}, {n})."
            )
        data[j, max(0, k) : max(0, k) + length] = line[..., :length]
    return _dia.dia_matrix((data, places), shape=(m, n)).asformat(format)


# ------------------------------------------------------------------- random


def random(
    m: int,
    n: int,
    density: float = 0.01,
    format: str = "coo",
    dtype: Any = None,
    random_state: Any = None,
    data_rvs: Any = None,
) -> Any:
    """Return a matrix with random elements at random places.

    Args:
        density: how much of it has elements, 0 to 1.
        dtype: float32 or float64.
        random_state: a `RandomState` or its seed; the global one for None.
        data_rvs: called with how many elements; uniform over [0, 1) for None.
    """
    if not 0 <= density <= 1:
        raise ValueError("density expected to be 0 <= density <= 1")
    dtype = np.dtype(dtype)
    if dtype.char not in "fd":
        raise NotImplementedError(f"type {dtype} not supported")
    count = int(density * m * n)
    if random_state is None:
        random_state = cupy.random
    elif isinstance(random_state, (int, np.integer)):
        random_state = cupy.random.RandomState(random_state)
    if data_rvs is None:
        data_rvs = random_state.rand
    places = random_state.choice(m * n, size=count, replace=False)
    places = places.astype(_sputils.get_index_dtype(maxval=m * n - 1), copy=False)
    column = places // m
    row = places - column * m
    values = data_rvs(count).astype(dtype)
    return _coo.coo_matrix._from_parts(values, row, column, (m, n)).asformat(format)


def rand(
    m: int,
    n: int,
    density: float = 0.01,
    format: str = "coo",
    dtype: Any = None,
    random_state: Any = None,
) -> Any:
    """Return a matrix with uniform random elements at random places, see `random`."""
    return random(m, n, density, format, dtype, random_state)


# ------------------------------------------------------------------- products


def kron(A: Any, B: Any, format: str | None = None) -> Any:
    """Return the Kronecker product, in COO unless a format is named."""
    make = _coo_class(A, B)
    A, B = make(A), make(B)
    shape = (A.shape[0] * B.shape[0], A.shape[1] * B.shape[1])
    if A.nnz == 0 or B.nnz == 0:
        return make(shape).asformat(format)
    arrays = (A.row, B.row) if make is _coo.coo_array else ()
    dtype = _sputils.get_index_dtype(arrays, maxval=max(shape))
    row, col = (
        (a.astype(dtype)[:, None] * dtype(length) + b.astype(dtype)).ravel()
        for a, b, length in ((A.row, B.row, B.shape[0]), (A.col, B.col, B.shape[1]))
    )
    data = (A.data[:, None] * B.data).ravel()
    return make._from_parts(data, row, col, shape).asformat(format)


def kronsum(A: Any, B: Any, format: str | None = None) -> Any:
    """Return the Kronecker sum of square matrices, in CSR unless a format is named."""
    make = _coo_class(A, B)
    A, B = make(A), make(B)
    for name, matrix in (("A", A), ("B", B)):
        if matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"{name} is not square matrix")
    dtype = _sputils.upcast(A.dtype, B.dtype)
    left = kron(eye(B.shape[0], dtype=dtype), A, format=format)
    right = kron(B, eye(A.shape[0], dtype=dtype), format=format)
    return (left + right).asformat(format)


# ------------------------------------------------------------------- arrays


def _as_array(matrix: Any, format: str | None) -> Any:
    """Return a matrix as the sparse array of a format."""
    kind: Any = {
        "csr": _csr.csr_array,
        "csc": _csc.csc_array,
        "coo": _coo.coo_array,
        "dia": _dia.dia_array,
    }.get(format or matrix.format, _csr.csr_array)
    if isinstance(matrix, kind):
        return matrix
    if matrix.format == "dia":
        if kind is _dia.dia_array:
            return kind._from_parts(matrix.data, matrix.offsets, matrix.shape)
        matrix = matrix.tocsr()
    if kind is _dia.dia_array:  # CuPy has no way there either
        kind = _csr.csr_array
    return kind(matrix)


def eye_array(
    m: int, n: int | None = None, *, k: int = 0, dtype: Any = float, format: str | None = None
) -> Any:
    """Return a sparse array with ones on the k-th diagonal."""
    return _as_array(eye(m, n, k=k, dtype=dtype, format=format), format)


def diags_array(
    diagonals: Any,
    /,
    *,
    offsets: Any = 0,
    shape: Any = None,
    format: str | None = None,
    dtype: Any = None,
) -> Any:
    """Return a sparse array of diagonals, see `diags`."""
    return _as_array(diags(diagonals, offsets, shape, format, dtype), format)


def block_array(blocks: Any, *, format: str | None = None, dtype: Any = None) -> Any:
    """Return a sparse array of blocks, see `bmat`."""
    result = bmat(blocks, format=format, dtype=dtype)
    return result if isinstance(result, _base.sparray) else _as_array(result, format)


def random_array(
    shape: tuple[int, ...],
    *,
    density: float = 0.01,
    format: str = "coo",
    dtype: Any = None,
    rng: Any = None,
    data_sampler: Any = None,
) -> Any:
    """Return a sparse array with random elements at random places, see `random`."""
    rows, columns = (1, shape[0]) if len(shape) == 1 else shape
    made = random(rows, columns, density, "coo", dtype, rng, data_sampler)
    if len(shape) == 1:
        arrays = (made.data, made.row, made.col)
        return _coo.coo_array._from_parts(*arrays, shape).asformat(format)
    return _as_array(made.asformat(format), format)
