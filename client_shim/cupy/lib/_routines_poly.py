"""Polynomials as coefficient vectors, highest power first."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import _operators, calls, core, views
from cupool.client_shim.cupy._core._dtype import to_inexact
from cupool.client_shim.cupy._core._reduction import reduce
from cupool.client_shim.cupy._creation.basic import zeros
from cupool.client_shim.cupy._creation.from_data import asarray
from cupool.client_shim.cupy._functions import cupy as _package
from cupool.client_shim.cupy._logic.comparison import array_equal
from cupool.client_shim.cupy._padding.pad import pad
from cupool.client_shim.cupy.lib._polynomial import poly1d

__all__ = ["poly", "polyadd", "polyfit", "polymul", "polysub", "polyval", "roots"]
ndarray = core.ndarray


def _coefficients(x: Any) -> ndarray:
    if isinstance(x, poly1d):
        return x._coeffs
    if np.isscalar(x):
        return views.reshape(asarray(x), (1,))
    if not isinstance(x, ndarray):
        raise TypeError("Unsupported type")
    if x.ndim > 1:
        raise ValueError("Multidimensional inputs are not supported")
    return x if x.ndim else views.reshape(x, (1,))


def _answer(made: ndarray, *args: Any) -> Any:
    """Return a polynomial if one of the arguments was one, else the coefficients."""
    return poly1d(made) if any(isinstance(a, poly1d) for a in args) else made


def _of_length(a: ndarray, length: int) -> ndarray:
    return a if a.size == length else pad(a, (length - a.size, 0))


def polyadd(a1: Any, a2: Any) -> Any:
    """Return the sum of two polynomials."""
    first, second = _coefficients(a1), _coefficients(a2)
    length = max(first.size, second.size)
    add = _operators.ufuncs.add
    return _answer(add(_of_length(first, length), _of_length(second, length)), a1, a2)


def polysub(a1: Any, a2: Any) -> Any:
    """Return the difference of two polynomials."""
    first, second = _coefficients(a1), _coefficients(a2)
    length = max(first.size, second.size)
    subtract = _operators.ufuncs.subtract
    return _answer(subtract(_of_length(first, length), _of_length(second, length)), a1, a2)


def polymul(a1: Any, a2: Any) -> Any:
    """Return the product of two polynomials; waits, as leading zeros do not count."""
    args = (_coefficients(a1), _coefficients(a2))
    return _answer(calls.call_unknown("polymul", args)[0], a1, a2)


def power(x: ndarray, n: int) -> Any:
    """Return the n-th power of a polynomial's coefficients."""
    made: Any = None
    square = x
    while n:
        if n % 2:
            made = square if made is None else _package().convolve(made, square)
        n //= 2
        if n:
            square = _package().convolve(square, square)
    return 1 if made is None else made


def poly(seq_of_zeros: Any) -> Any:
    """Return the coefficients of the polynomial with given roots, or of a matrix's.

    Raises:
        ValueError: neither a vector nor a square matrix.
        NotImplementedError: a matrix that is not symmetric or Hermitian (looking costs a wait).
    """
    x = seq_of_zeros
    if x.ndim == 2 and x.shape[0] == x.shape[1] and x.shape[0]:
        x = _symmetric_eigenvalues(x)
    elif x.ndim == 1:
        x = x.astype(np.mintypecode(x.dtype.char), copy=False)
    else:
        raise ValueError("Input must be 1d or non-empty square 2d array.")
    if x.size == 0:
        return 1.0
    return calls.call_one("poly", (x,), None, (x.size + 1,), x.dtype)


def _symmetric_eigenvalues(a: ndarray) -> ndarray:
    if not bool(array_equal(a, a.conj().T)):
        raise NotImplementedError(
            "Only complex Hermitian and real symmetric 2d arrays are supported currently"
        )
    made: ndarray = _package().linalg.eigvalsh(a)
    return made


def polyval(p: Any, x: Any) -> Any:
    """Return a polynomial's value at points, or of another polynomial.

    Raises:
        TypeError: `p` is neither a device array nor a `poly1d`.
        ValueError: `p` is no vector.
    """
    if isinstance(p, poly1d):
        p = p.coeffs
    if not isinstance(p, ndarray) or p.ndim == 0:
        raise TypeError("p must be 1d ndarray or poly1d object")
    if p.ndim > 1:
        raise ValueError("p must be 1d array")
    if isinstance(x, poly1d):
        made = poly1d(zeros((1,), np.result_type(x.coeffs.dtype, 1)))
        for coefficient in p:
            made = made * x + views.reshape(coefficient, (1,))
        return made
    points = asarray(x)
    dtype = np.result_type(p.dtype, points.dtype)
    if p.size == 0:
        return zeros(points.shape, dtype)
    return calls.call_one("polyval", (p, points), None, points.shape, dtype)


def roots(p: Any) -> ndarray:
    """Return the roots of a polynomial; waits, as leading zeros do not count.

    Raises:
        NotImplementedError: boolean, or a companion matrix that is not symmetric.
        TypeError: no axes.
    """
    if isinstance(p, poly1d):
        p = p.coeffs
    if p.dtype.kind == "b":
        raise NotImplementedError("boolean inputs are not supported")
    if p.ndim == 0:
        raise TypeError("0-dimensional input is not allowed")
    if p.size < 2:
        return zeros((0,))
    if p.ndim > 1:
        raise ValueError("Coefficient array is not 1-d")
    return calls.call_unknown("roots", (p,))[0]


def _wide(x: ndarray) -> ndarray:
    made: ndarray = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64, copy=False)
    return made


def _check_fit(x: Any, y: Any, deg: int, w: Any) -> None:
    if x.dtype.char == "e" and y.dtype.kind == "b":
        raise NotImplementedError("float16 x and bool y are not currently supported")
    if y.dtype == np.float16:
        raise TypeError("float16 y are not supported")
    if deg < 0:
        raise ValueError("expected deg >= 0")
    if x.ndim != 1:
        raise TypeError("expected 1D vector for x")
    if x.size == 0:
        raise TypeError("expected non-empty vector for x")
    if y.ndim not in (1, 2):
        raise TypeError("expected 1D or 2D array for y")
    if x.size != y.shape[0]:
        raise TypeError("expected x and y to have same length")
    if w is not None:
        if w.ndim != 1:
            raise TypeError("expected a 1-d array for weights")
        if w.size != x.size:
            raise TypeError("expected w and y to have the same length")


def polyfit(
    x: Any,
    y: Any,
    deg: int,
    rcond: Any = None,
    full: bool = False,
    w: Any = None,
    cov: Any = False,
) -> Any:
    """Return the coefficients of the polynomial that fits points best, by least squares.

    Args:
        deg: highest power.
        rcond: singular values below this share of the largest count as zero.
        full: also return residuals, rank, singular values and `rcond`.
        w: weights.
        cov: also return the covariance matrix; "unscaled" leaves it so.

    Raises:
        TypeError, ValueError: shapes or dtypes that cannot be fitted.
    """
    deg = int(deg)
    _check_fit(x, y, deg, w)
    cp = _package()
    x, y = _wide(x), _wide(y)
    lhs = cp.vander(x, deg + 1).astype(x.dtype, copy=False)
    rhs: Any = y
    if w is not None:
        w = _wide(w)
        lhs *= w[:, None]  # in place: a cast that loses the imaginary part is refused
        rhs = rhs.copy()
        rhs *= w[:, None] if rhs.ndim == 2 else w
    if rcond is None:
        rcond = x.size * np.finfo(x.dtype).eps
    scale = _operators.ufuncs.sqrt(reduce("sum", _operators.ufuncs.square(lhs), 0))
    lhs = lhs / scale
    found, residuals, rank, singular = cp.linalg.lstsq(lhs, rhs, rcond)
    found = found / (scale.reshape(-1, 1) if y.ndim > 1 else scale)
    if not full and int(rank) != deg + 1:
        rank_warning = np.exceptions.RankWarning
        warnings.warn("Polyfit may be poorly conditioned", rank_warning, stacklevel=2)
    if full:
        if residuals.dtype.kind == "c":
            residuals = _operators.ufuncs.absolute(residuals)
        return found, residuals, rank, singular, rcond
    if not cov:
        return found
    base = cp.linalg.inv(cp.dot(lhs.T, lhs)) / cp.outer(scale, scale)
    if cov == "unscaled":
        factor: Any = 1
    elif x.size > deg + 1:
        factor = residuals / (x.size - (deg + 1))
    else:
        raise ValueError(
            "the number of data points must exceed order to scale the covariance matrix"
        )
    return found, (base if y.ndim == 1 else base[..., None]) * factor


def common_dtype(*arrays: ndarray) -> np.dtype[Any]:
    """Return the floating or complex dtype that holds all of the arrays."""
    return np.result_type(*(to_inexact(a.dtype) for a in arrays))
