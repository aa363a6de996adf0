"""Matrices that are known by their products."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from cupool.client_shim import cupy
from cupool.client_shim.cupyx.scipy.sparse import _base, _sputils

__all__ = ["LinearOperator", "aslinearoperator"]

_ADJOINT = {"matvec": "rmatvec", "rmatvec": "matvec", "matmat": "rmatmat", "rmatmat": "matmat"}


class LinearOperator:
    """A matrix that is known by its products.

    ``LinearOperator(shape, matvec, rmatvec=None, matmat=None, dtype=None, rmatmat=None)`` makes
    one of functions; a subclass has `_matvec` or `_matmat`, and calls ``__init__(dtype, shape)``.
    """

    ndim = 2
    dtype: Any
    shape: tuple[int, ...]

    def __new__(cls, *args: Any, **kwargs: Any) -> LinearOperator:
        if cls is LinearOperator:
            return super().__new__(_CustomLinearOperator)
        made = super().__new__(cls)
        own = (type(made)._matvec, type(made)._matmat)
        if own == (LinearOperator._matvec, LinearOperator._matmat):
            text = "LinearOperator subclass should implement at least one of _matvec and _matmat."
            warnings.warn(text, RuntimeWarning, stacklevel=2)
        return made

    def __init__(self, dtype: Any, shape: Any) -> None:
        shape = tuple(shape)
        if not _sputils.is_shape(shape):
            raise ValueError(f"invalid shape {shape!r} (must be 2-d)")
        self.dtype = None if dtype is None else np.dtype(dtype)
        self.shape = shape

    def _init_dtype(self) -> None:
        """Find the dtype by a product, if it is not known."""
        if self.dtype is None:
            self.dtype = self.matvec(cupy.zeros(self.shape[-1])).dtype

    # ---------------------------------------------------------------- for subclasses

    def _matvec(self, x: Any) -> Any:
        return self.matmat(x.reshape(-1, 1))

    def _matmat(self, X: Any) -> Any:
        return cupy.hstack([self.matvec(column.reshape(-1, 1)) for column in X.T])

    def _rmatvec(self, x: Any) -> Any:
        if type(self)._adjoint == LinearOperator._adjoint:
            raise NotImplementedError
        return self.H.matvec(x)

    def _rmatmat(self, X: Any) -> Any:
        if type(self)._adjoint == LinearOperator._adjoint:
            return cupy.hstack([self.rmatvec(column.reshape(-1, 1)) for column in X.T])
        return self.H.matmat(X)

    def _adjoint(self) -> LinearOperator:
        return _Derived(self.dtype, self.shape[::-1], (self,), _adjoint_product)

    def _transpose(self) -> LinearOperator:
        return _Derived(self.dtype, self.shape[::-1], (self,), _transposed_product)

    # ---------------------------------------------------------------- products

    def matvec(self, x: Any) -> Any:
        """Return the product with a vector, shape (N,) or (N, 1)."""
        return self._vector_product(self._matvec, x, self.shape)

    def rmatvec(self, x: Any) -> Any:
        """Return the adjoint's product with a vector, shape (M,) or (M, 1)."""
        return self._vector_product(self._rmatvec, x, self.shape[::-1])

    @staticmethod
    def _vector_product(multiply: Callable[[Any], Any], x: Any, shape: tuple[int, ...]) -> Any:
        if x.shape not in ((shape[1],), (shape[1], 1)):
            raise ValueError("dimension mismatch")
        return multiply(x).reshape((shape[0],) if x.ndim == 1 else (shape[0], 1))

    def matmat(self, X: Any) -> Any:
        """Return the product with a matrix, shape (N, K)."""
        self._check_matrix(X, self.shape[1])
        return self._matmat(X)

    def rmatmat(self, X: Any) -> Any:
        """Return the adjoint's product with a matrix, shape (M, K)."""
        self._check_matrix(X, self.shape[0])
        return self._rmatmat(X)

    def _check_matrix(self, X: Any, length: int) -> None:
        if X.ndim != 2:
            raise ValueError(f"expected 2-d ndarray or matrix, not {X.ndim}-d")
        if X.shape[0] != length:
            raise ValueError(f"dimension mismatch: {self.shape!r}, {X.shape!r}")

    def dot(self, x: Any) -> Any:
        """Return the product with a vector or matrix, a scalar, or another operator."""
        if isinstance(x, LinearOperator):
            return _product(self, x)
        if cupy.isscalar(x):
            return _scaled(self, x)
        if x.ndim == 1 or (x.ndim == 2 and x.shape[1] == 1):
            return self.matvec(x)
        if x.ndim == 2:
            return self.matmat(x)
        raise ValueError(f"expected 1-d or 2-d array, got {x!r}")

    def __call__(self, x: Any) -> Any:
        return self * x

    def __mul__(self, x: Any) -> Any:
        return self.dot(x)

    def __rmul__(self, x: Any) -> Any:
        return _scaled(self, x) if cupy.isscalar(x) else NotImplemented

    def __matmul__(self, other: Any) -> Any:
        _refuse_scalar(other)
        return self.__mul__(other)

    def __rmatmul__(self, other: Any) -> Any:
        _refuse_scalar(other)
        return self.__rmul__(other)

    def __pow__(self, p: Any) -> Any:
        return _powered(self, p) if cupy.isscalar(p) else NotImplemented

    def __add__(self, x: Any) -> Any:
        return _sum(self, x) if isinstance(x, LinearOperator) else NotImplemented

    def __neg__(self) -> Any:
        return _scaled(self, -1)

    def __sub__(self, x: Any) -> Any:
        return self.__add__(-x)

    def __repr__(self) -> str:
        dtype = "unspecified dtype" if self.dtype is None else f"dtype={self.dtype}"
        rows, columns = self.shape
        return f"<{rows}x{columns} {type(self).__name__} with {dtype}>"

    def adjoint(self) -> Any:
        """Return the conjugate transpose."""
        return self._adjoint()

    H = property(adjoint, doc="The conjugate transpose.")

    def transpose(self) -> Any:
        """Return the transpose."""
        return self._transpose()

    T = property(transpose, doc="The transpose.")


def _refuse_scalar(x: Any) -> None:
    if cupy.isscalar(x):
        raise ValueError("Scalar operands are not allowed, use '*' instead")


class _CustomLinearOperator(LinearOperator):
    """An operator of functions."""

    def __init__(
        self,
        shape: Any,
        matvec: Any,
        rmatvec: Any = None,
        matmat: Any = None,
        dtype: Any = None,
        rmatmat: Any = None,
    ) -> None:
        super().__init__(dtype, shape)
        self.args: tuple[Any, ...] = ()
        self._functions = {
            "matvec": matvec,
            "rmatvec": rmatvec,
            "matmat": matmat,
            "rmatmat": rmatmat,
        }
        self._init_dtype()

    def _matvec(self, x: Any) -> Any:
        return self._functions["matvec"](x)

    def _matmat(self, X: Any) -> Any:
        function = self._functions["matmat"]
        return super()._matmat(X) if function is None else function(X)

    def _rmatvec(self, x: Any) -> Any:
        if self._functions["rmatvec"] is None:
            raise NotImplementedError("rmatvec is not defined")
        return self._functions["rmatvec"](x)

    def _rmatmat(self, X: Any) -> Any:
        function = self._functions["rmatmat"]
        if function is not None:
            return function(X)
        return cupy.hstack([self.rmatvec(column.reshape(-1, 1)) for column in X.T])

    def _adjoint(self) -> LinearOperator:
        functions = {name: self._functions[_ADJOINT[name]] for name in _ADJOINT}
        return _CustomLinearOperator(self.shape[::-1], dtype=self.dtype, **functions)


_Multiply = Callable[[Any, str, Any], Any]


class _Derived(LinearOperator):
    """An operator of other operators: `multiply(args, kind of product, x)` does it."""

    def __init__(
        self,
        dtype: Any,
        shape: Any,
        args: tuple[Any, ...],
        multiply: _Multiply,
        adjoint: Callable[[], Any] | None = None,
    ) -> None:
        super().__init__(dtype, shape)
        self.args = args
        self._multiply = multiply
        self._make_adjoint = adjoint

    def _matvec(self, x: Any) -> Any:
        return self._multiply(self.args, "matvec", x)

    def _rmatvec(self, x: Any) -> Any:
        return self._multiply(self.args, "rmatvec", x)

    def _matmat(self, X: Any) -> Any:
        return self._multiply(self.args, "matmat", X)

    def _rmatmat(self, X: Any) -> Any:
        return self._multiply(self.args, "rmatmat", X)

    def _adjoint(self) -> Any:
        return super()._adjoint() if self._make_adjoint is None else self._make_adjoint()


def _adjoint_product(args: Any, kind: str, x: Any) -> Any:
    return getattr(args[0], f"_{_ADJOINT[kind]}")(x)


def _transposed_product(args: Any, kind: str, x: Any) -> Any:
    return cupy.conj(_adjoint_product(args, kind, cupy.conj(x)))


def _sum(a: LinearOperator, b: LinearOperator) -> LinearOperator:
    if a.shape != b.shape:
        raise ValueError(f"cannot add {a!r} and {b!r}: shape mismatch")

    def multiply(args: Any, kind: str, x: Any) -> Any:
        return getattr(a, kind)(x) + getattr(b, kind)(x)

    dtype = _common_dtype(a, b)
    return _Derived(dtype, a.shape, (a, b), multiply, lambda: a.H + b.H)


def _product(a: LinearOperator, b: LinearOperator) -> LinearOperator:
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"cannot multiply {a!r} and {b!r}: shape mismatch")

    def multiply(args: Any, kind: str, x: Any) -> Any:
        first, second = (a, b) if kind[0] == "r" else (b, a)
        return getattr(second, kind)(getattr(first, kind)(x))

    shape = (a.shape[0], b.shape[1])
    return _Derived(_common_dtype(a, b), shape, (a, b), multiply, lambda: b.H * a.H)


def _scaled(a: LinearOperator, factor: Any) -> LinearOperator:
    def multiply(args: Any, kind: str, x: Any) -> Any:
        scalar = np.conj(factor) if kind[0] == "r" else factor
        return scalar * getattr(a, kind)(x)

    dtype = np.result_type(*(d for d in (a.dtype, type(factor)) if d is not None))
    return _Derived(dtype, a.shape, (a, factor), multiply, lambda: a.H * np.conj(factor))


def _powered(a: LinearOperator, power: Any) -> LinearOperator:
    if a.shape[0] != a.shape[1]:
        raise ValueError(f"square LinearOperator expected, got {a!r}")
    if not _sputils.is_int_like(power) or power < 0:
        raise ValueError("non-negative integer expected as p")

    def multiply(args: Any, kind: str, x: Any) -> Any:
        x = cupy.array(x, copy=True)
        for _ in range(int(power)):
            x = getattr(a, kind)(x)
        return x

    return _Derived(a.dtype, a.shape, (a, power), multiply, lambda: a.H**power)


def _common_dtype(*operators: LinearOperator) -> Any:
    return np.result_type(*(a.dtype for a in operators if a.dtype is not None))


class MatrixLinearOperator(LinearOperator):
    """The operator of a dense or sparse matrix."""

    def __init__(self, A: Any) -> None:
        super().__init__(A.dtype, A.shape)
        self.A = A
        self.args = (A,)
        self._made_adjoint: MatrixLinearOperator | None = None

    def _matmat(self, X: Any) -> Any:
        return self.A.dot(X)

    def _adjoint(self) -> Any:
        if self._made_adjoint is None:
            self._made_adjoint = MatrixLinearOperator(self.A.T.conj())
            self._made_adjoint._made_adjoint = self
        return self._made_adjoint


class IdentityOperator(LinearOperator):
    """The identity: products are the operand itself."""

    def __init__(self, shape: Any, dtype: Any = None) -> None:
        super().__init__(dtype, shape)

    def _same(self, X: Any) -> Any:
        return X

    _matvec = _rmatvec = _matmat = _rmatmat = _same  # type: ignore[assignment]

    def _adjoint(self) -> Any:
        return self


def aslinearoperator(A: Any) -> Any:
    """Return a matrix, or what has `shape` and `matvec`, as an operator.

    Raises:
        ValueError: an array of more than two dimensions.
        TypeError: something else.
    """
    if isinstance(A, LinearOperator):
        return A
    if _sputils.is_dense(A):
        if A.ndim > 2:
            raise ValueError("array must have ndim <= 2")
        return MatrixLinearOperator(cupy.atleast_2d(A))
    if _base.issparse(A):
        return MatrixLinearOperator(A)
    if not (hasattr(A, "shape") and hasattr(A, "matvec")):
        raise TypeError("type not understood")
    known = {name: getattr(A, name, None) for name in ("rmatvec", "rmatmat", "dtype")}
    return _CustomLinearOperator(A.shape, A.matvec, **known)
