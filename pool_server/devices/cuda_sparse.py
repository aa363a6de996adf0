"""Sparse matrices on the CUDA device: a closed table of the operations of `operations.sparse`.

The wire knows a matrix's arrays only; here it is put together, CuPy does the work by its public
methods, and the arrays of what comes out are returned. Sparse *arrays* are used, not matrices:
they keep the dtype of indices.
"""

from __future__ import annotations

import importlib
import operator
import re
from collections.abc import Callable
from typing import Any, TypeAlias

Parts: TypeAlias = tuple[Any, Any, Any]
Shape: TypeAlias = tuple[int, int]

_COMPARE = {name: getattr(operator, name) for name in ("lt", "gt", "le", "ge", "eq", "ne")}


class SparseOperations:
    """The operations, on whatever `cupy` is given.

    Args:
        cupy: the module; `cupyx` is imported beside it.
    """

    def __init__(self, cupy: Any) -> None:
        self._xp = cupy
        self._sparse = importlib.import_module("cupyx.scipy.sparse")
        self._linalg = importlib.import_module("cupyx.scipy.sparse.linalg")
        self._cusparse = importlib.import_module("cupyx.cusparse")

    def table(self) -> dict[str, Callable[..., Any]]:
        """Return the functions by their names on the wire: the public methods of this class."""
        names = [n for n in vars(type(self)) if not n.startswith("_") and n != "table"]
        return {f"sparse.{name}": getattr(self, name) for name in names}

    # ---------------------------------------------------------------- matrices and their parts

    def _csr(self, parts: Parts, shape: Shape) -> Any:
        return self._sparse.csr_array(tuple(parts), shape=tuple(shape))

    def _canonical(self, parts: Parts, shape: Shape) -> Any:
        matrix = self._csr(parts, shape).copy()
        matrix.sum_duplicates()
        return matrix

    def _narrow(self, parts: Parts) -> Any:
        """Make a matrix that is just as wide as its indices need."""
        indices, indptr = parts[1], parts[2]
        width = int(indices.max()) + 1 if indices.size else 1
        return self._csr(parts, (indptr.size - 1, width))

    # ---------------------------------------------------------------- formats

    def from_dense(self, a: Any, index_dtype: Any) -> Parts:
        rows, columns = a.nonzero()
        indptr = self.condense(rows.astype(index_dtype), a.shape[0])
        return a[rows, columns], columns.astype(index_dtype), indptr

    def to_dense(self, parts: Parts, shape: Shape) -> Any:
        return self._csr(parts, shape).toarray()

    def from_coordinates(self, data: Any, major: Any, minor: Any, length: int) -> Parts:
        data, major, minor = self.sum_coordinates(data, major, minor)
        return data, minor, self.condense(major, length)

    def sum_coordinates(self, data: Any, row: Any, col: Any) -> Parts:
        matrix = self._sparse.coo_array((data, (row, col)), copy=True)
        matrix.sum_duplicates()
        return matrix.data, matrix.row, matrix.col

    def is_canonical(self, indices: Any, indptr: Any) -> Any:
        matrix = self._narrow((self._xp.ones(indices.size), indices, indptr))
        return self._xp.array([matrix.has_sorted_indices, matrix.has_canonical_format])

    def canonicalize(self, parts: Parts) -> Parts:
        matrix = self._narrow(parts)
        if matrix.has_canonical_format:
            return parts[0][:0], parts[1][:0], parts[2][:0]
        matrix = matrix.copy()
        matrix.sum_duplicates()
        return _parts(matrix)

    def transpose(self, parts: Parts, minor_length: int) -> Parts:
        return _parts(self._csr(parts, (parts[2].size - 1, minor_length)).tocsc())

    def expand(self, indptr: Any, count: int) -> Any:
        major = self._xp.arange(indptr.size - 1, dtype=indptr.dtype)
        return self._xp.repeat(major, self._xp.diff(indptr))

    def condense(self, major: Any, length: int) -> Any:
        begins = self._xp.arange(length + 1, dtype=major.dtype)
        return self._xp.searchsorted(major, begins).astype(major.dtype)

    def sort(self, parts: Parts) -> tuple[Any, Any]:
        matrix = self._narrow(parts).sorted_indices()
        return matrix.data, matrix.indices

    def compress(self, parts: Parts, tolerance: float) -> Parts:
        data, indices, indptr = parts
        mask = abs(data) > tolerance if tolerance > 0 else data != 0
        major = self.expand(indptr, data.size)[mask]
        return data[mask], indices[mask], self.condense(major, indptr.size - 1)

    def from_diagonals(self, data: Any, offsets: Any, shape: Shape) -> Parts:
        return _parts(self._sparse.dia_array((data, offsets), shape=tuple(shape)).tocsc())

    # ---------------------------------------------------------------- products and sums

    def matmul_dense(self, parts: Parts, shape: Shape, x: Any, transposed: bool) -> Any:
        matrix = self._csr(parts, shape)
        return (matrix.T if transposed else matrix) @ x

    def matmul(self, a: Parts, a_shape: Shape, b: Parts, b_shape: Shape) -> Parts:
        return _parts(self._csr(a, a_shape) @ self._csr(b, b_shape))

    def add(self, a: Parts, alpha: Any, b: Parts, beta: Any, shape: Shape) -> Parts:
        left, right = self._canonical(a, shape), self._canonical(b, shape)
        if alpha != 1:
            left = -left if alpha == -1 else left * alpha
        if beta == -1:
            return _parts(left - right)
        return _parts(left + (right if beta == 1 else right * beta))

    def binary(self, name: str, a: Parts, a_shape: Shape, b: Parts, b_shape: Shape) -> Parts:
        left, right = self._csr(a, a_shape), self._csr(b, b_shape)
        if name not in _COMPARE:
            return _parts(_METHODS[name](left, right))
        if name in ("le", "ge", "eq") and tuple(b_shape) == (1, 1):
            right = right.sum()  # what it is compared with is one number
        return _parts(_COMPARE[name](left, right))

    # ---------------------------------------------------------------- elements

    def select(self, parts: Parts, shape: Shape, major: Any, minor: Any) -> Parts:
        matrix = self._csr(parts, shape)
        if major is not None:
            matrix = matrix[slice(*major) if isinstance(major, (tuple, list)) else major]
        if minor is not None:
            matrix = matrix[:, slice(*minor) if isinstance(minor, (tuple, list)) else minor]
        return _parts(matrix)

    def sample(self, parts: Parts, shape: Shape, major: Any, minor: Any) -> Any:
        return self._csr(parts, shape)[major, minor]

    def clear(self, parts: Parts, shape: Shape, major: Any, minor: Any) -> Any:
        data = parts[0].copy()
        numbers = self._xp.arange(1.0, data.size + 1)
        found = self._csr((numbers, parts[1], parts[2]), shape)[major, minor]
        data[found[found > 0].astype(self._xp.int64) - 1] = 0
        return data

    def assign(self, parts: Parts, shape: Shape, major: Any, minor: Any, values: Any) -> Parts:
        matrix = self._canonical(parts, shape)
        matrix[major, minor] = values
        return _parts(matrix)

    def diagonal(self, parts: Parts, shape: Shape, k: int) -> Any:
        return self._csr(parts, shape).diagonal(k)

    def extreme(self, name: str, parts: Parts, shape: Shape, explicit: bool) -> Any:
        matrix = self._csr(parts, shape)
        find = matrix.max if name == "max" else matrix.min
        return find(axis=1, explicit=explicit).toarray().real.astype(self._xp.float64)

    def arg_extreme(self, name: str, parts: Parts, shape: Shape) -> Any:
        matrix = self._csr(parts, shape)
        return matrix.argmax(axis=1) if name == "max" else matrix.argmin(axis=1)

    # ---------------------------------------------------------------- solvers

    def solve(self, parts: Parts, b: Any) -> Any:
        return self._linalg.spsolve(self._csr(parts, (b.shape[0], b.shape[0])), b)

    def solve_triangular(self, parts: Parts, b: Any, lower: bool, unit: bool, trans: str) -> Any:
        matrix = self._canonical(parts, (b.shape[0], b.shape[0]))
        b = self._xp.asfortranarray(b)
        return self._cusparse.spsm(matrix, b, lower=lower, unit_diag=unit, transa=trans)

    def ilu0(self, parts: Parts) -> tuple[Any, Any]:
        side = parts[2].size - 1
        matrix = self._csr(parts, (side, side)).copy()
        wrong = [-1, -1]
        try:
            self._cusparse.csrilu02(matrix)
        except ValueError as exc:
            found = re.fullmatch(r"([au])\((\d+),\d+\) is .*", str(exc))
            if found is None:
                raise
            wrong["au".index(found[1])] = int(found[2])
        return matrix.data, self._xp.array(wrong, dtype=self._xp.int32)


_METHODS: dict[str, Callable[[Any, Any], Any]] = {
    "maximum": lambda a, b: a.maximum(b),
    "minimum": lambda a, b: a.minimum(b),
    "multiply": lambda a, b: a.multiply(b),
}


def _parts(matrix: Any) -> Parts:
    return matrix.data, matrix.indices, matrix.indptr
