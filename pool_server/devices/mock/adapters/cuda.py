"""cuBLAS by NumPy: what `cupy.cublas` computes; many functions write into an argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cupool.pool_server.devices.mock.calls import adapter

NpArray = np.ndarray[Any, Any]


def _op(a: NpArray, trans: str) -> NpArray:
    if trans == "N":
        return a
    return a.T if trans == "T" else a.T.conj()


def _scalar(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return a factor in the matrix' type, so that it does not widen the result."""
    return np.asarray(value, dtype).reshape(())


def _magnitude(x: NpArray) -> NpArray:
    """BLAS's |x|: the sum of the parts for complex numbers."""
    return np.abs(x.real) + np.abs(x.imag) if x.dtype.kind == "c" else np.abs(x)


def _result(name: str) -> Callable[[Callable[..., Any]], Any]:
    """Register a function of one result, which goes into `out` if that is given."""

    def register(function: Callable[..., Any]) -> Any:
        def run(*args: Any, out: Any = None, **kwargs: Any) -> Any:
            result = function(*args, **kwargs)
            if out is None:
                return result
            np.copyto(out, result, casting="unsafe")
            return None

        return adapter(f"cublas.{name}")(run)

    return register


@_result("iamax")
def iamax(x: NpArray) -> Any:
    return np.int32(np.argmax(_magnitude(x)) + 1)


@_result("iamin")
def iamin(x: NpArray) -> Any:
    return np.int32(np.argmin(_magnitude(x)) + 1)


@_result("asum")
def asum(x: NpArray) -> Any:
    return np.sum(_magnitude(x), dtype=x.real.dtype)


@_result("nrm2")
def nrm2(x: NpArray) -> Any:
    return np.asarray(np.linalg.norm(x), x.real.dtype)


@_result("dot")
def dot(x: NpArray, y: NpArray) -> Any:
    return np.dot(x, y)


@_result("dotu")
def dotu(x: NpArray, y: NpArray) -> Any:
    return np.dot(x, y)


@_result("dotc")
def dotc(x: NpArray, y: NpArray) -> Any:
    return np.vdot(x, y)


@adapter("cublas.axpy")
def axpy(a: Any, x: NpArray, y: NpArray) -> None:
    y += _scalar(a, x.dtype) * x


@adapter("cublas.scal")
def scal(a: Any, x: NpArray) -> None:
    x *= _scalar(a, x.dtype)


@adapter("cublas.gemv")
def gemv(transa: str, alpha: Any, a: NpArray, x: NpArray, beta: Any, y: NpArray) -> None:
    product = _scalar(alpha, a.dtype) * (_op(a, transa) @ x)
    y[...] = _plus(product, beta, y)


@adapter("cublas.ger", "cublas.geru")
def ger(alpha: Any, x: NpArray, y: NpArray, a: NpArray) -> None:
    a += _scalar(alpha, a.dtype) * np.outer(x, y)


@adapter("cublas.gerc")
def gerc(alpha: Any, x: NpArray, y: NpArray, a: NpArray) -> None:
    a += _scalar(alpha, a.dtype) * np.outer(x, y.conj())


@adapter("cublas.sbmv")
def sbmv(
    k: int, alpha: Any, a: NpArray, x: NpArray, beta: Any, y: NpArray, lower: bool = False
) -> None:
    """`a` holds diagonals in its rows, as BLAS stores a symmetric band matrix."""
    n = x.size
    full = np.zeros((n, n), a.dtype)
    for offset in range(k + 1):
        length = n - offset
        diagonal = a[offset, :length] if lower else a[k - offset, offset:n]
        rows = np.arange(length)
        full[rows + offset, rows] = full[rows, rows + offset] = diagonal
    y[...] = _plus(_scalar(alpha, a.dtype) * (full @ x), beta, y)


def _plus(product: NpArray, beta: Any, y: NpArray) -> NpArray:
    """Add beta * y; with beta = 0, BLAS does not read y."""
    factor = _scalar(beta, y.dtype)
    return product if factor == 0 else product + factor * y


@adapter("cublas.gemm")
def gemm(
    transa: str,
    transb: str,
    a: NpArray,
    b: NpArray,
    out: Any = None,
    alpha: Any = 1.0,
    beta: Any = 0.0,
) -> Any:
    product = _scalar(alpha, a.dtype) * (_op(a, transa) @ _op(b, transb))
    if out is None:
        return np.asfortranarray(product)
    out[...] = _plus(product, beta, out)
    return None


@adapter("cublas.syrk")
def syrk(
    trans: str, a: NpArray, out: Any = None, alpha: Any = 1.0, beta: Any = 0.0, lower: bool = False
) -> Any:
    """Only one triangle is written."""
    product = _scalar(alpha, a.dtype) * (a @ a.T if trans == "N" else a.T @ a)
    new = np.zeros(product.shape, a.dtype, "F") if out is None else out
    rows, columns = (np.tril_indices if lower else np.triu_indices)(len(product))
    new[rows, columns] = _plus(product[rows, columns], beta, new[rows, columns])
    return new if out is None else None


@_result("geam")
def geam(transa: str, transb: str, alpha: Any, a: NpArray, beta: Any, b: NpArray) -> NpArray:
    first = _scalar(alpha, a.dtype) * _op(a, transa)
    return np.asfortranarray(first + _scalar(beta, b.dtype) * _op(b, transb))


@_result("dgmm")
def dgmm(side: str, a: NpArray, x: NpArray, incx: int = 1) -> NpArray:
    flat = x.reshape(-1, order="A")
    count = a.shape[0 if side == "L" else 1]
    if incx < 0:
        flat, incx = flat[: (count - 1) * -incx + 1][::-1], -incx
    factors = flat[::incx][:count] if incx else np.repeat(flat[:1], count)
    return a * (factors[:, None] if side == "L" else factors)
