"""Sums, products, comparisons of compressed matrices."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from cupool.client_shim import cupy
from cupool.client_shim.cupyx.scipy.sparse import _base, _kernels, _sputils


class Arithmetic:
    """Sums, differences and matrix products of CSR and CSC."""

    # ---------------------------------------------------------------- sums

    def __add__(self: Any, other: Any) -> Any:
        return _add(self, other, 1, 1)

    def __radd__(self: Any, other: Any) -> Any:
        return _add(self, other, 1, 1)

    def __sub__(self: Any, other: Any) -> Any:
        return _add(self, other, 1, -1)

    def __rsub__(self: Any, other: Any) -> Any:
        return _add(self, other, -1, 1)

    # ---------------------------------------------------------------- products

    def _matmul_dispatch(self: Any, other: Any) -> Any:
        """Multiply by a scalar, or as matrices; only sparse results wait."""
        if cupy.isscalar(other):
            return self._with_data(self.data * other)
        if self.ndim != 2 or (_base.issparse(other) and other.ndim != 2):
            return _matmul_1d(self, other)
        if _base.issparse(other):
            return _matmul_sparse(self.tocsr(), other.tocsr(), self._csr_container)
        if not _sputils.is_dense(other):
            return NotImplemented
        if other.ndim == 0:
            return self._with_data(self.data * other)
        if other.ndim > 2:
            raise ValueError("could not interpret dimensions")
        if self.shape[1] != other.shape[0]:
            raise ValueError("dimension mismatch")
        shape, transposed = self._major_shape, self._major_axis == 1
        return _kernels.matmul_dense(self._parts, shape, other, transposed)


def _add(a: Any, b: Any, alpha: int, beta: int) -> Any:
    if cupy.isscalar(b):
        if b != 0:
            raise NotImplementedError("adding a nonzero scalar to a sparse matrix is not supported")
        return a.copy() if alpha > 0 else -a
    if _base.issparse(b):
        if a.ndim != 2 or b.ndim != 2:
            return a._run_1d_backing_op(b, lambda x, y: _add(x, y, alpha, beta))
        b = b.asformat(a.format)
        if a.shape != b.shape:
            raise ValueError("inconsistent shapes")
        parts = _kernels.add(a._parts, alpha, b._parts, beta, a._major_shape)
        return getattr(a, f"_{a.format}_container")._from_parts(*parts, a.shape, True)
    if not _sputils.is_dense(b):
        return NotImplemented
    if alpha < 0:
        return b - a.todense()
    return a.todense() + b if beta > 0 else a.todense() - b


def _matmul_sparse(a: Any, b: Any, container: Any) -> Any:
    if a.shape[1] != b.shape[0]:
        raise ValueError("mismatched shape")
    parts = _kernels.matmul(a._parts, a.shape, b._parts, b.shape)
    return container._from_parts(*parts, (a.shape[0], b.shape[1]), True)


def _matmul_1d(a: Any, b: Any) -> Any:
    """Multiply where an operand is a vector: the axis of length 1 goes."""
    vectors = (a.ndim == 1, getattr(b, "ndim", 0) == 1)
    right = b._as_2d().T if _base.issparse(b) and b.ndim == 1 else b
    result = a._as_2d() @ right
    if all(vectors):
        return (result.toarray() if _base.issparse(result) else result).reshape(())
    if not _base.issparse(result):
        return result.reshape(-1)
    rows, columns = result.shape
    return result.reshape((columns if rows == 1 else rows,))


class Pointwise:
    """What is done element by element, always in CSR."""

    # ---------------------------------------------------------------- comparisons

    def __eq__(self, other: Any) -> Any:
        return _compare(self, other, "eq")

    def __ne__(self, other: Any) -> Any:
        return _compare(self, other, "ne")

    def __lt__(self, other: Any) -> Any:
        return _compare(self, other, "lt")

    def __gt__(self, other: Any) -> Any:
        return _compare(self, other, "gt")

    def __le__(self, other: Any) -> Any:
        return _compare(self, other, "le")

    def __ge__(self, other: Any) -> Any:
        return _compare(self, other, "ge")

    __hash__ = None  # type: ignore[assignment]

    def maximum(self, other: Any) -> Any:
        """Return the larger of both element by element; dense if `other` is an array."""
        return _larger(self, other, "maximum", lambda x: x > 0)

    def minimum(self, other: Any) -> Any:
        """Return the smaller of both element by element; dense if `other` is an array."""
        return _larger(self, other, "minimum", lambda x: x < 0)

    # ---------------------------------------------------------------- products

    def multiply(self: Any, other: Any) -> Any:
        """Return the product element by element, with broadcasting, as a sparse matrix."""
        if cupy.isscalar(other):
            return self._with_data(self.data * other)
        if self.ndim != 2:
            return self._run_1d_backing_op(other, lambda a, o: a.multiply(o))
        if _sputils.is_dense(other):
            return _multiply_dense(self, cupy.atleast_2d(other))
        if _base.issparse(other):
            if other.ndim != 2:
                other = other._as_2d()
            return _binary(self, other.tocsr(), "multiply")
        raise TypeError("expected scalar, dense matrix/vector or csr matrix")

    def __truediv__(self: Any, other: Any) -> Any:
        """Divide by a scalar or array, which stays sparse, or by a sparse matrix: dense."""
        if _sputils.is_scalar_like(other):
            dtype = np.dtype(np.float64) if self.dtype == np.float32 else self.dtype
            dtype = cupy.result_type(dtype, other)
            dtype = dtype if _sputils.is_data_dtype(dtype) else np.dtype(np.float64)
            return self._with_data(self.data * cupy.reciprocal(other, dtype=dtype))
        if self.ndim != 2:
            return self._run_1d_backing_op(other, lambda a, o: a.__truediv__(o))
        if _sputils.is_dense(other):
            other = cupy.broadcast_to(cupy.atleast_2d(other), self.shape)
            coo = self.tocoo()
            divisor = other[coo.row, coo.col]
            coo.data = (coo.data / divisor).astype(np.promote_types(self.dtype, divisor.dtype))
            return coo
        if not _base.issparse(other):
            return NotImplemented
        if other.shape != self.shape:
            raise ValueError("inconsistent shape")
        dtype = np.promote_types(self.dtype, other.dtype)
        if dtype.char not in "FD":
            dtype = np.promote_types(np.float64, dtype)
        return self.todense().astype(dtype, copy=False) / other.todense()

    def __rtruediv__(self, other: Any) -> Any:
        return NotImplemented

    def __div__(self, other: Any) -> Any:
        raise NotImplementedError

    def __rdiv__(self, other: Any) -> Any:
        raise NotImplementedError


_OPERATORS: dict[str, tuple[Callable[[Any, Any], Any], str, str]] = {
    "eq": (operator.eq, "==", "!="),
    "ne": (operator.ne, "!=", "=="),
    "lt": (operator.lt, "<", ">="),
    "gt": (operator.gt, ">", "<="),
    "le": (operator.le, "<=", ">"),
    "ge": (operator.ge, ">=", "<"),
}
_OPPOSITE = {"eq": "ne", "le": "gt", "ge": "lt"}


def _check_broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, int]:
    """Return the common shape.

    Raises:
        ValueError: there is none.
    """
    for m, n in zip(a, b, strict=True):
        if m != n and 1 not in (m, n):
            raise ValueError("inconsistent shape")
    return max(a[0], b[0]), max(a[1], b[1])


def _binary(a: Any, b: Any, name: str) -> Any:
    shape = _check_broadcast(a.shape, b.shape)
    parts = _kernels.binary(name, a._parts, a.shape, b._parts, b.shape)
    return type(a)._from_parts(*parts, shape, True)


def _warn_inefficient(text: str) -> None:
    warnings.warn(text, _base.SparseEfficiencyWarning, stacklevel=4)


def _compare(a: Any, b: Any, name: str) -> Any:
    if a.ndim != 2:
        return a._run_1d_backing_op(b, lambda x, y: _compare(x, y, name))
    if _sputils.is_scalar_like(b):
        return _compare_scalar(a, b, name)
    if _sputils.is_dense(b):
        return _OPERATORS[name][0](a.todense(), b)
    if not _base.issparse(b):
        raise NotImplementedError
    b = b.tocsr()
    if name not in _OPPOSITE:
        return _binary(a, b, name)
    _warn_inefficient(
        "Comparing sparse matrices using ==, <=, and >= is inefficient, "
        "try using !=, <, or > instead."
    )
    opposite = _binary(a, b, _OPPOSITE[name])
    return type(a)(cupy.logical_not(opposite.toarray()))


def _compare_scalar(a: Any, b: Any, name: str) -> Any:
    """Compare with a scalar: where zeros fulfil it too, the result is full, with a warning."""
    compare, symbol, instead = _OPERATORS[name]
    b = b.item() if _sputils.is_dense(b) else b
    scalar = np.asarray(b).astype(a.dtype)[()]
    if np.isnan(scalar):
        if name == "ne":
            return type(a)(cupy.ones(a.shape, dtype=np.bool_))
        return type(a)(a.shape, dtype=np.bool_)
    zero = a.dtype.type(0)
    ordered = name in ("eq", "ne") or a.dtype.kind != "c"
    if ordered and not compare(zero, scalar):
        a.sum_duplicates()
        hits = compare(a.data, scalar)
        parts = _kernels.compress((hits, a.indices, a.indptr))
        return type(a)._from_parts(*parts, a.shape, True)
    _warn_inefficient(
        f"Comparing a sparse matrix with {scalar} using {symbol} is inefficient. "
        f"Try using {instead} instead."
    )
    index_dtype = a.indices.dtype
    one = type(a)._from_parts(
        cupy.full((1,), scalar, dtype=a.dtype),
        cupy.zeros((1,), dtype=index_dtype),
        cupy.arange(2, dtype=index_dtype),
        (1, 1),
    )
    return _binary(a, one, name)


def _larger(a: Any, b: Any, name: str, fills: Callable[[Any], Any]) -> Any:
    function = getattr(cupy, name)
    if _sputils.is_scalar_like(b):
        dtype = cupy.result_type(a.dtype, b)
        if fills(b):
            return type(a)(function(a.todense(), cupy.asarray(b).astype(dtype, copy=False)))
        a.sum_duplicates()
        data = function(a.data, cupy.asarray(b)).astype(dtype, copy=False)
        return a._with_data(data, copy=False)
    if a.ndim != 2:
        return a._run_1d_backing_op(b, lambda x, y: _larger(x, y, name, fills))
    if _sputils.is_dense(b):
        return function(a.todense(), cupy.atleast_2d(b))
    if _base.issparse(b):
        return _binary(a, b.tocsr(), name)
    raise NotImplementedError


def _multiply_dense(a: Any, dense: Any) -> Any:
    """Multiply by a dense matrix: the structure is known, nothing waits."""
    shape = _check_broadcast(a.shape, dense.shape)
    dtype = np.promote_types(a.dtype, dense.dtype)
    row = _kernels.expand(a.indptr, a.nnz)
    col, data, indptr = a.indices, a.data, a.indptr
    if a.shape[1] == 1 < shape[1]:
        col = cupy.tile(cupy.arange(shape[1], dtype=col.dtype), a.nnz)
        row, data = cupy.repeat(row, shape[1]), cupy.repeat(data, shape[1])
        indptr = indptr * indptr.dtype.type(shape[1])
    if a.shape[0] == 1 < shape[0]:
        count = data.size
        indptr = cupy.arange(shape[0] + 1, dtype=indptr.dtype) * indptr.dtype.type(count)
        row = cupy.repeat(cupy.arange(shape[0], dtype=row.dtype), count)
        col, data = cupy.tile(col, shape[0]), cupy.tile(data, shape[0])
    at_row = row if dense.shape[0] == shape[0] else cupy.zeros_like(row)
    at_col = col if dense.shape[1] == shape[1] else cupy.zeros_like(col)
    values = (data * dense[at_row, at_col]).astype(dtype, copy=False)
    return type(a)._from_parts(values, col, indptr, shape)
