"""`cupy.cublas`: BLAS on device arrays of any layout; float32, float64, complex64, complex128.

Factors may be numbers, NumPy or device scalars. `out` of a scalar result may be a NumPy array,
which is waited for.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupy._core import calls
from cupool.client_shim.cupy._core._dtype import real_of
from cupool.client_shim.cupy._core.core import ndarray
from cupool.client_shim.cupy.linalg._util import (
    assert_cupy_array,
    assert_stacked_2d,
    assert_stacked_square,
    linalg_common_type,
    solver,
)

__all__ = [
    "asum",
    "axpy",
    "batched_gesv",
    "dgmm",
    "dot",
    "dotc",
    "dotu",
    "geam",
    "gemm",
    "gemv",
    "ger",
    "gerc",
    "geru",
    "get_batched_gesv_limit",
    "iamax",
    "iamin",
    "nrm2",
    "sbmv",
    "scal",
    "set_batched_gesv_limit",
    "syrk",
]

_INT32 = np.dtype(np.int32)
_OPERATIONS = {"N": "N", 0: "N", "T": "T", 1: "T", "H": "H", 2: "H"}
_SIDES = {"L": "L", 0: "L", "R": "R", 1: "R"}
_batched_gesv_limit = 256


def get_batched_gesv_limit() -> int:
    """Return up to what size matrices are solved as a batch; a hint, kept on this side."""
    return _batched_gesv_limit


def set_batched_gesv_limit(limit: int) -> None:
    """Set up to what size matrices are solved as a batch."""
    global _batched_gesv_limit
    _batched_gesv_limit = limit


def batched_gesv(a: Any, b: Any) -> ndarray:
    """Return x of `a @ x == b` for a stack of matrices.

    Args:
        a: shape (..., M, M).
        b: shape (..., M) or (..., M, K).

    Raises:
        LinAlgError: `a` is not square.
        ValueError: the shapes do not fit.
    """
    assert_cupy_array(a, b)
    assert_stacked_2d(a)
    assert_stacked_square(a)
    if b.ndim not in (a.ndim, a.ndim - 1) or a.shape[:-1] != b.shape[: a.ndim - 1]:
        raise ValueError("a must have (..., M, M) shape and b must have (..., M) or (..., M, K)")
    if a.shape[-1] > _batched_gesv_limit:
        warnings.warn(
            f"The matrix size ({a.shape[-1]}) exceeds the set limit ({_batched_gesv_limit})",
            stacklevel=2,
        )
    stacked = b if b.ndim == a.ndim else b[..., None]
    dtype = linalg_common_type(a, b)
    order = "F" if a.ndim == 2 and a.size else "C"
    solved = solver("linalg.solve", (a, stacked), None, (stacked.shape, dtype, order))[0]
    return solved if b.ndim == a.ndim else solved[..., 0]


# ---------------------------------------------------------------- checks


def _check_type(a: Any, allowed: str = "fdFD", hint: str = "") -> None:
    if a.dtype.char not in allowed:
        raise TypeError(hint if hint and a.dtype.char in "FD" else "invalid dtype")


def _check_vector(x: Any, name: str = "x") -> None:
    if x.ndim != 1:
        raise ValueError(f"{name} must be a 1D array (actual: {x.ndim})")


def _check_two(x: Any, y: Any) -> None:
    _check_vector(x)
    _check_vector(y, "y")
    if x.size != y.size:
        raise ValueError(f"x and y must be the same size (actual: {x.size} and {y.size})")
    if x.dtype != y.dtype:
        raise TypeError(f"x and y must be the same dtype (actual: {x.dtype} and {y.dtype})")


def _factor(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return a factor as it is sent: a device array, or a number in the matrix' type."""
    if isinstance(value, ndarray):
        return value
    return np.asarray(value).astype(dtype).item()


def _operation(trans: Any) -> str:
    try:
        return _OPERATIONS[trans]
    except (KeyError, TypeError):
        raise TypeError(f"invalid trans (actual: {trans})") from None


def _scalar_result(name: str, arrays: tuple[Any, ...], out: Any, dtype: np.dtype[Any]) -> Any:
    if out is None:
        return calls.call_one(f"cublas.{name}", arrays, None, (), dtype)
    if isinstance(out, ndarray):
        calls.call_into(f"cublas.{name}", arrays, {"out": out})
    elif isinstance(out, np.ndarray):
        out[...] = calls.call_one(f"cublas.{name}", arrays, None, (), dtype).get()
    else:
        raise TypeError("out must be either cupy or numpy ndarray")
    return out


def _into(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any, shape: Any, dtype: Any
) -> ndarray:
    """Call with `out`, or for a new matrix in Fortran order."""
    if out is None:
        return calls.call_one(f"cublas.{name}", args, kwargs, shape, dtype, "F")
    assert out.ndim == 2
    assert out.shape == shape
    assert out.dtype == dtype
    calls.call_into(f"cublas.{name}", args, {"out": out, **kwargs})
    result: ndarray = out
    return result


# ---------------------------------------------------------------- vectors


def iamax(x: Any, out: Any = None) -> Any:
    """Return the first index, counted from 1, of the element of largest magnitude (int32)."""
    _check_vector(x)
    _check_type(x)
    return _scalar_result("iamax", (x,), out, _INT32)


def iamin(x: Any, out: Any = None) -> Any:
    """Return the first index, counted from 1, of the element of smallest magnitude (int32)."""
    _check_vector(x)
    _check_type(x)
    return _scalar_result("iamin", (x,), out, _INT32)


def asum(x: Any, out: Any = None) -> Any:
    """Return the sum of magnitudes; of a complex number that is |real| + |imag|."""
    _check_vector(x)
    _check_type(x)
    return _scalar_result("asum", (x,), out, real_of(x.dtype))


def nrm2(x: Any, out: Any = None) -> Any:
    """Return the Euclidean norm."""
    _check_vector(x)
    _check_type(x)
    return _scalar_result("nrm2", (x,), out, real_of(x.dtype))


def dot(x: Any, y: Any, out: Any = None) -> Any:
    """Return the dot product of real vectors."""
    _check_type(x, "fd", "Use dotu() or dotc() for complex dtype")
    _check_two(x, y)
    return _scalar_result("dot", (x, y), out, x.dtype)


def dotu(x: Any, y: Any, out: Any = None) -> Any:
    """Return the sum of `x * y`."""
    _check_type(x)
    _check_two(x, y)
    return _scalar_result("dotu", (x, y), out, x.dtype)


def dotc(x: Any, y: Any, out: Any = None) -> Any:
    """Return the sum of `x.conj() * y`."""
    _check_type(x)
    _check_two(x, y)
    return _scalar_result("dotc", (x, y), out, x.dtype)


def axpy(a: Any, x: Any, y: Any) -> None:
    """Do `y += a * x`."""
    _check_two(x, y)
    _check_type(x)
    calls.call_into("cublas.axpy", (_factor(a, x.dtype), x, y))


def scal(a: Any, x: Any) -> None:
    """Do `x *= a`."""
    _check_vector(x)
    _check_type(x)
    calls.call_into("cublas.scal", (_factor(a, x.dtype), x))


# ---------------------------------------------------------------- a matrix and vectors


def gemv(transa: Any, alpha: Any, a: Any, x: Any, beta: Any, y: Any) -> None:
    """Do `y = alpha * op(a) @ x + beta * y`; op is "N", "T" or "H" (conjugate transpose)."""
    _check_type(a)
    assert a.ndim == 2
    assert x.ndim == y.ndim == 1
    assert a.dtype == x.dtype == y.dtype
    operation = _operation(transa)
    columns, rows = a.shape[::-1] if operation == "N" else a.shape
    assert x.shape[0] == columns
    assert y.shape[0] == rows
    factors = (_factor(alpha, a.dtype), _factor(beta, a.dtype))
    calls.call_into("cublas.gemv", (operation, factors[0], a, x, factors[1], y))


def _rank_one(name: str, alpha: Any, x: Any, y: Any, a: Any) -> None:
    assert a.ndim == 2
    assert x.ndim == y.ndim == 1
    assert a.dtype == x.dtype == y.dtype
    assert a.shape == (x.shape[0], y.shape[0])
    calls.call_into(f"cublas.{name}", (_factor(alpha, a.dtype), x, y, a))


def ger(alpha: Any, x: Any, y: Any, a: Any) -> None:
    """Do `a += alpha * outer(x, y)` for real numbers."""
    _check_type(a, "fd", "Use geru or gerc for complex dtypes")
    _rank_one("ger", alpha, x, y, a)


def geru(alpha: Any, x: Any, y: Any, a: Any) -> None:
    """Do `a += alpha * outer(x, y)`."""
    _check_type(a)
    _rank_one("geru", alpha, x, y, a)


def gerc(alpha: Any, x: Any, y: Any, a: Any) -> None:
    """Do `a += alpha * outer(x, y.conj())`."""
    _check_type(a)
    _rank_one("gerc", alpha, x, y, a)


def sbmv(k: int, alpha: Any, a: Any, x: Any, beta: Any, y: Any, lower: bool = False) -> Any:
    """Do `y = alpha * A @ x + beta * y` for a symmetric band matrix A, and return y.

    Args:
        k: diagonals beside the main one.
        a: shape (k + 1, n) or more rows: BLAS's storage, a diagonal in each row.
        lower: the lower diagonals are stored, the main one first; else the upper, it last.
    """
    _check_type(a, "fd", "Complex dtypes not supported")
    assert a.ndim == 2
    assert x.ndim == y.ndim == 1
    assert a.dtype == x.dtype == y.dtype
    assert x.shape[0] == a.shape[1]
    assert y.shape[0] == a.shape[1]
    factors = (_factor(alpha, a.dtype), _factor(beta, a.dtype))
    args = (int(k), factors[0], a, x, factors[1], y)
    calls.call_into("cublas.sbmv", args, {"lower": bool(lower)})
    return y


# ---------------------------------------------------------------- matrices


def gemm(
    transa: Any, transb: Any, a: Any, b: Any, out: Any = None, alpha: Any = 1.0, beta: Any = 0.0
) -> ndarray:
    """Return `alpha * op(a) @ op(b) + beta * out`, in `out` if that is given.

    Args:
        transa, transb: op, "N", "T" or "H" (conjugate transpose).
    """
    assert a.ndim == b.ndim == 2
    assert a.dtype == b.dtype
    _check_type(a)
    first, second = _operation(transa), _operation(transb)
    m, k = a.shape if first == "N" else a.shape[::-1]
    inner, n = b.shape if second == "N" else b.shape[::-1]
    assert inner == k
    factors = {"alpha": _factor(alpha, a.dtype)}
    if out is not None:
        factors["beta"] = _factor(beta, a.dtype)
    return _into("gemm", (first, second, a, b), factors, out, (m, n), a.dtype)


def geam(
    transa: Any, transb: Any, alpha: Any, a: Any, beta: Any, b: Any, out: Any = None
) -> ndarray:
    """Return `alpha * op(a) + beta * op(b)`, in `out` if that is given."""
    assert a.ndim == b.ndim == 2
    assert a.dtype == b.dtype
    _check_type(a)
    first, second = _operation(transa), _operation(transb)
    shape = a.shape if first == "N" else a.shape[::-1]
    assert b.shape == (shape if second == "N" else shape[::-1])
    args = (first, second, _factor(alpha, a.dtype), a, _factor(beta, a.dtype), b)
    return _into("geam", args, {}, out, shape, a.dtype)


def dgmm(side: Any, a: Any, x: Any, out: Any = None, incx: int = 1) -> ndarray:
    """Return `diag(x) @ a` (side "L") or `a @ diag(x)` ("R"), in `out` if that is given.

    Args:
        incx: steps between the elements of x that are used; negative from the end.
    """
    assert a.ndim == 2
    assert 0 <= x.ndim <= 2
    assert a.dtype == x.dtype
    _check_type(a)
    if side not in _SIDES:
        raise ValueError(f"invalid side (actual: {side})")
    which = _SIDES[side]
    count = a.shape[0 if which == "L" else 1]
    assert x.size >= (count - 1) * abs(incx) + 1
    args = (which, a, x)
    if out is None:
        order = "C" if a.flags.c_contiguous else "F"
        return calls.call_one("cublas.dgmm", args, {"incx": incx}, a.shape, a.dtype, order)
    return _into("dgmm", args, {"incx": incx}, out, a.shape, a.dtype)


def syrk(
    trans: Any,
    a: Any,
    out: Any = None,
    alpha: Any = 1.0,
    beta: Any = 0.0,
    lower: bool = False,
) -> ndarray:
    """Return one triangle of `alpha * a @ a.T + beta * out` ("N") or of `a.T @ a` ("T").

    The other triangle is left as it is in `out`, and zero in a new matrix.
    """
    assert a.ndim == 2
    _check_type(a)
    operation = _operation(trans)
    n = a.shape[0 if operation == "N" else 1]
    factors = {"alpha": _factor(alpha, a.dtype), "lower": bool(lower)}
    if out is not None:
        factors["beta"] = _factor(beta, a.dtype)
    return _into("syrk", (operation, a), factors, out, (n, n), a.dtype)


_unsupported.fill(globals(), "cupy.cublas")
