"""What all sparse arrays and matrices have in common."""

from __future__ import annotations

import importlib
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from cupool.client_shim import cupy
from cupool.client_shim.cupyx.scipy.sparse import _sputils
from cupool.client_shim.cupyx.scipy.sparse._kinds import sparray, spmatrix

try:
    from scipy.sparse import SparseEfficiencyWarning, SparseWarning
except ImportError:

    class SparseWarning(Warning):  # type: ignore[no-redef]
        """Something about sparse matrices that a user may want to know."""

    class SparseEfficiencyWarning(SparseWarning):  # type: ignore[no-redef,misc]
        """A sparse matrix is used in a way that is slow."""


__all__ = [
    "SparseEfficiencyWarning",
    "SparseWarning",
    "_spbase",
    "issparse",
    "isspmatrix",
    "sparray",
    "spmatrix",
]

_NAMES = {
    "csr": "Compressed Sparse Row",
    "csc": "Compressed Sparse Column",
    "coo": "COOrdinate",
    "dia": "DIAgonal",
}


def _container(fmt: str, kind: str) -> Any:
    module = importlib.import_module(f"cupool.client_shim.cupyx.scipy.sparse._{fmt}")
    return getattr(module, f"{fmt}_{kind}")


class _spbase:
    """Base of all formats, of arrays and of matrices.

    A format has `format`, `dtype`, `_shape`, `_getnnz` and the conversion `tocsr`; what it does
    not do by itself is done by its CSR form.
    """

    __array_priority__ = 101
    maxprint = 50
    format: str
    dtype: Any
    _shape: tuple[int, ...]
    _allow_nd: tuple[int, ...] = (2,)
    """Dimensions that the class can have."""

    def __class_getitem__(cls, args: Any) -> types.GenericAlias:
        return types.GenericAlias(cls, args)

    # ---------------------------------------------------------------- attributes

    @property
    def device(self) -> Any:
        """The device on which the arrays lie."""
        raise NotImplementedError

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self._shape)

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return self._shape

    @property
    def nnz(self) -> int:
        """Number of stored elements, explicit zeros among them."""
        return int(self._getnnz())

    size = nnz

    @property
    def T(self) -> Any:
        """The transpose."""
        return self.transpose()

    @property
    def mT(self) -> Any:
        """The transpose of a matrix.

        Raises:
            ValueError: a vector.
        """
        if self.ndim < 2:
            raise ValueError(f"Array must be at least 2-dimensional, but it is {self.ndim}-D")
        return self.transpose()

    @property
    def _kind(self) -> str:
        return "array" if isinstance(self, sparray) else "matrix"

    @property
    def _csr_container(self) -> Any:
        return _container("csr", self._kind)

    @property
    def _csc_container(self) -> Any:
        return _container("csc", self._kind)

    @property
    def _coo_container(self) -> Any:
        return _container("coo", self._kind)

    @property
    def _dia_container(self) -> Any:
        return _container("dia", self._kind)

    # ---------------------------------------------------------------- as text and truth

    def get(self, stream: Any = None) -> Any:
        """Return SciPy's object of the same format on the host."""
        raise NotImplementedError

    def __len__(self) -> int:
        raise TypeError("sparse array length is ambiguous; use shape[0] or .nnz")

    def __repr__(self) -> str:
        return (
            f"<{_NAMES[self.format]} sparse {self._kind} of dtype '{self.dtype}'\n"
            f"\twith {self.nnz} stored elements{self._detail()} and shape {self.shape}>"
        )

    def _detail(self) -> str:
        return ""

    def __str__(self) -> str:
        try:
            return str(self.get())
        except (RuntimeError, NotImplementedError):
            return repr(self)

    def __iter__(self) -> Iterator[Any]:
        for i in range(self.shape[0]):
            yield self[i] if self.ndim == 1 else self[i, :]  # type: ignore[index]

    def __bool__(self) -> bool:
        if self.shape == (1, 1):
            return self.nnz != 0
        raise ValueError(
            "The truth value of an array with more than one element is ambiguous. "
            "Use a.any() or a.all()."
        )

    __nonzero__ = __bool__

    # ---------------------------------------------------------------- vectors as matrices

    @property
    def _shape_as_2d(self) -> tuple[int, int]:
        return (1, self._shape[-1]) if self.ndim == 1 else self._shape  # type: ignore[return-value]

    def _as_2d(self) -> Any:
        """Return a matrix, a vector as its only row; the arrays are shared."""
        raise NotImplementedError

    def _require_2d(self, name: str) -> None:
        if self.ndim != 2:
            raise ValueError(f"{name} requires two dimensions")

    def _squeeze_to_1d(self, result: Any) -> Any:
        """Return a matrix of one row as a vector."""
        if not issparse(result):
            return result.reshape(-1)
        if result.shape[0] != 1:
            raise ValueError(f"cannot squeeze a {result.shape} result to 1-D")
        if result.format == "csr":
            return result._like(self._csr_container, (result.shape[1],))
        return result.reshape((result.shape[1],))

    def _run_1d_backing_op(self, other: Any, run: Callable[[Any, Any], Any]) -> Any:
        """Run an operation of two matrices, where at least one operand is a vector."""
        right = other._as_2d() if issparse(other) and other.ndim == 1 else other
        result = run(self._as_2d(), right)
        two = self.ndim == 2 or (getattr(other, "ndim", 0) == 2)
        return result if result is NotImplemented or two else self._squeeze_to_1d(result)

    # ---------------------------------------------------------------- products

    def __mul__(self, other: Any) -> Any:
        return self.multiply(other)

    def __rmul__(self, other: Any) -> Any:
        return self.multiply(other)

    def __pow__(self, other: Any) -> Any:
        return self.power(other)

    def __matmul__(self, other: Any) -> Any:
        _refuse_scalar(other)
        return self._matmul_dispatch(other)

    def __rmatmul__(self, other: Any) -> Any:
        _refuse_scalar(other)
        return self._rmatmul_dispatch(other)

    def _matmul_dispatch(self, other: Any) -> Any:
        return self.tocsr()._matmul_dispatch(other)

    def _rmatmul_dispatch(self, other: Any) -> Any:
        if _sputils.is_scalar_like(other):
            return self._matmul_dispatch(other)
        if not hasattr(other, "T"):
            return NotImplemented
        result = self.T._matmul_dispatch(other.T)
        return result if result is NotImplemented else result.T

    def __iadd__(self, other: Any) -> Any:
        return NotImplemented

    __isub__ = __imul__ = __itruediv__ = __iadd__

    def __idiv__(self, other: Any) -> Any:
        return self.__itruediv__(other)

    def dot(self, other: Any) -> Any:
        """Return the product with a scalar, vector or matrix."""
        return self * other if np.isscalar(other) else self @ other

    def multiply(self, other: Any) -> Any:
        """Return the product element by element."""
        return self.tocsr().multiply(other.tocsr() if issparse(other) else other)

    def power(self, n: Any, dtype: Any = None) -> Any:
        """Return each element to the power of `n`."""
        return self.tocsr().power(n, dtype=dtype)

    def maximum(self, other: Any) -> Any:
        """Return the larger of both element by element."""
        return self.tocsr().maximum(other)

    def minimum(self, other: Any) -> Any:
        """Return the smaller of both element by element."""
        return self.tocsr().minimum(other)

    # ---------------------------------------------------------------- conversions

    def asformat(self, format: str | None) -> Any:
        """Return the matrix in a format: "csr", "csc", "coo"; None for the one it has."""
        if format is None or format == self.format:
            return self
        return getattr(self, f"to{format}")()

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        """Return the matrix with another dtype."""
        if self.dtype != np.dtype(dtype):
            return self.tocsr().astype(dtype, copy=copy).asformat(self.format)
        return self.copy() if copy else self

    def conj(self, copy: bool = True) -> Any:
        """Return the complex conjugate."""
        if self.dtype.kind == "c":
            return self.tocsr(copy=copy).conj(copy=False)
        return self.copy() if copy else self

    def conjugate(self, copy: bool = True) -> Any:
        """Return the complex conjugate."""
        return self.conj(copy=copy)

    def copy(self) -> Any:
        """Return a matrix with arrays of its own."""
        return type(self)(self, copy=True)  # type: ignore[call-arg]

    def reshape(self, *shape: Any, order: str = "C") -> Any:
        """Return the matrix in another shape, in the format COO unless it is the same shape."""
        wanted = _sputils.new_shape(shape, self.shape, self._allow_nd)
        if wanted == self.shape:
            return self
        return self.tocoo().reshape(wanted, order=order)

    def toarray(self, order: str | None = None, out: Any = None) -> Any:
        """Return a dense array."""
        return self.tocsr().toarray(order=order, out=out)

    def todense(self, order: str | None = None, out: Any = None) -> Any:
        """Return a dense array, never a matrix."""
        return self.toarray(order=order, out=out)

    def tocsr(self, copy: bool = False) -> Any:
        """Return the matrix in the format CSR."""
        raise NotImplementedError

    def tocoo(self, copy: bool = False) -> Any:
        """Return the matrix in the format COO."""
        return self.tocsr(copy=copy).tocoo(copy=False)

    def tocsc(self, copy: bool = False) -> Any:
        """Return the matrix in the format CSC."""
        return self.tocsr(copy=copy).tocsc(copy=False)

    def todia(self, copy: bool = False) -> Any:
        """Not implemented in CuPy."""
        return self.tocsr(copy=copy).todia(copy=False)

    def todok(self, copy: bool = False) -> Any:
        """Not implemented in CuPy."""
        return self.tocsr(copy=copy).todok(copy=False)

    def tolil(self, copy: bool = False) -> Any:
        """Not implemented in CuPy."""
        return self.tocsr(copy=copy).tolil(copy=False)

    def tobsr(self, blocksize: Any = None, copy: bool = False) -> Any:
        """Not implemented in CuPy."""
        return self.tocsr(copy=copy).tobsr(copy=False)

    def transpose(self, axes: Any = None, copy: bool = False) -> Any:
        """Return the transpose, which shares arrays unless `copy`."""
        return self.tocsr(copy=copy).transpose(axes=axes, copy=False)

    # ---------------------------------------------------------------- elements

    def _getnnz(self, axis: Any = None) -> int:
        raise NotImplementedError

    def count_nonzero(self, axis: Any = None) -> Any:
        """Return how many elements are not zero."""
        raise NotImplementedError

    def nonzero(self) -> tuple[Any, ...]:
        """Return the indices of elements that are not zero, one array for each axis."""
        a = self.tocoo()
        a.sum_duplicates()
        mask = a.data != 0
        return (a.col[mask],) if a.ndim == 1 else (a.row[mask], a.col[mask])

    def diagonal(self, k: int = 0) -> Any:
        """Return the k-th diagonal as a dense vector."""
        return self.tocsr().diagonal(k=k)

    def setdiag(self, values: Any, k: int = 0) -> None:
        """Set the k-th diagonal."""
        raise NotImplementedError

    def trace(self, offset: int = 0) -> Any:
        """Return the sum of a diagonal."""
        return self.diagonal(k=offset).sum()

    # ---------------------------------------------------------------- reductions

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """Return the sum of all elements or along an axis, as a dense array.

        Matrices keep the axis with length 1, arrays drop it.
        """
        if self.dtype == bool:
            total = cupy.int64 if dtype is None else dtype
            return self._bool_reduction_carrier().sum(axis=axis, dtype=total, out=out)
        if self.ndim == 1:
            _sputils.check_axis_1d(axis)
            return self.data.sum(dtype=dtype, out=out)  # type: ignore[attr-defined]
        axis = _sputils.collapse_axis(axis)
        _sputils.check_axis(axis)
        rows, columns = self.shape
        if axis is None:
            ones = cupy.ones(columns, dtype=self.dtype)
            return self.dot(ones).sum(dtype=dtype, out=out)
        if axis % 2 == 0:
            result = self.T.dot(cupy.ones(rows, dtype=self.dtype))
            kept = (1, columns)
        else:
            result = self.dot(cupy.ones(columns, dtype=self.dtype))
            kept = (rows, 1)
        if not isinstance(self, sparray):
            result = result.reshape(kept)
        if out is not None:
            if out.shape != result.shape:
                raise ValueError("dimensions do not match")
            out[...] = result
            return out
        return result if dtype is None else result.astype(dtype, copy=False)

    def _bool_reduction_carrier(self) -> Any:
        raise NotImplementedError

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """Return the mean of all elements or along an axis, as a dense array."""
        return self.tocsr().mean(axis=axis, dtype=dtype, out=out)


def _refuse_scalar(other: Any) -> None:
    if _sputils.is_scalar_like(other):
        raise ValueError("Scalar operands are not allowed, use '*' instead")


def _by_csr(name: str) -> Callable[..., Any]:
    def method(self: _spbase, *args: Any) -> Any:
        return getattr(self.tocsr(), name)(*args)

    method.__name__ = name
    method.__qualname__ = f"_spbase.{name}"
    return method


for _name in (
    "__abs__ __neg__ __add__ __radd__ __sub__ __rsub__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ "
    "__div__ __rdiv__ __truediv__ __rtruediv__"
).split():
    setattr(_spbase, _name, _by_csr(_name))
_spbase.__hash__ = None  # type: ignore[assignment]


def issparse(x: Any) -> bool:
    """Return whether `x` is a sparse array or matrix."""
    return isinstance(x, _spbase)


def isspmatrix(x: Any) -> bool:
    """Return whether `x` is a sparse matrix."""
    return isinstance(x, spmatrix)
