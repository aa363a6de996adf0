"""Matrices made from sequences or from their size alone: one record each, no wait."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls, core
from cupool.client_shim.cupy._core._dtype import get_dtype, to_inexact
from cupool.client_shim.cupy._creation.basic import empty, zeros
from cupool.client_shim.cupy._manipulation.dims import atleast_2d
from cupool.client_shim.cupy.linalg._product import kron as _kron

__all__ = [
    "block_diag",
    "circulant",
    "companion",
    "convolution_matrix",
    "dft",
    "fiedler",
    "fiedler_companion",
    "hadamard",
    "hankel",
    "helmert",
    "hilbert",
    "kron",
    "leslie",
    "toeplitz",
]
ndarray = core.ndarray
_FLOAT64 = np.dtype(np.float64)


def _made(name: str, args: Sequence[Any], shape: tuple[int, ...], dtype: Any) -> ndarray:
    return calls.call_one(f"scipy.linalg.{name}", args, None, shape, dtype)


def _from_ends(name: str, c: Any, r: Any) -> ndarray:
    c = c.ravel()
    r = None if r is None else r.ravel()
    second = c if r is None else r
    shape = (c.size, max(second.size, 1))
    return _made(name, (c, r), shape, np.result_type(c.dtype, second.dtype))


def toeplitz(c: Any, r: Any = None) -> ndarray:
    """Return the matrix of constant diagonals with first column `c` and first row `r`.

    Args:
        r: its first element is not looked at; the conjugate of `c` by default.
    """
    return _from_ends("toeplitz", c, r)


def hankel(c: Any, r: Any = None) -> ndarray:
    """Return the matrix of constant anti-diagonals with first column `c` and last row `r`.

    Args:
        r: its first element is not looked at; zeros by default.
    """
    return _from_ends("hankel", c, r)


def circulant(c: Any) -> ndarray:
    """Return the square matrix whose columns are `c`, shifted on and on."""
    c = c.ravel()
    return _made("circulant", (c,), (c.size, c.size), c.dtype)


def hadamard(n: int, dtype: Any = int) -> ndarray:
    """Return the Hadamard matrix of order `n`.

    Raises:
        ValueError: `n` is not a power of two.
    """
    if n < 1 or int(n) & (int(n) - 1):
        raise ValueError("n must be an positive a power of 2 integer")
    made = get_dtype(dtype)
    return _made("hadamard", (int(n), made), (int(n), int(n)), made)


def leslie(f: Any, s: Any) -> ndarray:
    """Return the matrix with first row `f` (N,) and `s` (N - 1,) below the diagonal.

    Raises:
        ValueError: not one axis, lengths that do not fit.
    """
    if f.ndim != 1:
        raise ValueError("Incorrect shape for f. f must be 1D")
    if s.ndim != 1:
        raise ValueError("Incorrect shape for s. s must be 1D")
    if f.size != s.size + 1:
        raise ValueError("Length of s must be one less than length of f")
    if s.size == 0:
        raise ValueError("The length of s must be at least 1.")
    return _made("leslie", (f, s), (f.size, f.size), np.result_type(f.dtype, s.dtype))


def kron(a: Any, b: Any) -> ndarray:
    """Return the Kronecker product; deprecated for `cupy.kron`."""
    warnings.warn(
        "`cupyx.scipy.linalg.kron` is deprecated since CuPy v14; use `cupy.kron` instead.",
        DeprecationWarning,
        stacklevel=2,
    )
    return _kron(a, b)  # type: ignore[no-any-return]


def block_diag(*arrs: Any) -> ndarray:
    """Return a matrix with the given ones along its diagonal, zeros elsewhere.

    Raises:
        ValueError: an array has more than two axes.
    """
    if not arrs:
        return empty((1, 0))
    bad = [index for index, a in enumerate(arrs) if a.ndim > 2]
    if bad:
        raise ValueError(f"arguments in the following positions have dimension > 2: {bad}")
    blocks = [atleast_2d(a) for a in arrs]
    shape = (sum(a.shape[0] for a in blocks), sum(a.shape[1] for a in blocks))
    return _made("block_diag", blocks, shape, np.result_type(*(a.dtype for a in blocks)))


def companion(a: Any) -> ndarray:
    """Return the companion matrix of a polynomial, highest coefficient first.

    Raises:
        ValueError: not one axis, fewer than two coefficients.
    """
    if a.ndim != 1:
        raise ValueError("`a` must be one-dimensional.")
    if a.size < 2:
        raise ValueError("The length of `a` must be at least 2.")
    return _made("companion", (a,), (a.size - 1, a.size - 1), to_inexact(a.dtype))


def helmert(n: int, full: bool = False) -> ndarray:
    """Return the Helmert matrix of order `n`, without its first row unless `full`."""
    return _made("helmert", (int(n), bool(full)), (int(n) if full else int(n) - 1, n), _FLOAT64)


def hilbert(n: int) -> ndarray:
    """Return the `n` by `n` matrix of ``1 / (i + j + 1)``."""
    return _made("hilbert", (int(n),), (int(n), int(n)), _FLOAT64)


def dft(n: int, scale: str | None = None) -> ndarray:
    """Return the matrix of the discrete Fourier transform.

    Args:
        scale: None, or "sqrtn" or "n" to divide by.

    Raises:
        ValueError: another scale.
    """
    if scale not in (None, "sqrtn", "n"):
        raise ValueError(f"scale must be None, 'sqrtn', or 'n'; {scale!r} is not valid.")
    return _made("dft", (int(n), scale), (int(n), int(n)), np.dtype(np.complex128))


def fiedler(a: Any) -> ndarray:
    """Return the matrix of ``abs(a[i] - a[j])``.

    Raises:
        ValueError: not one axis.
    """
    if a.ndim != 1:
        raise ValueError("Input `a` must be a 1D array.")
    if a.size < 2:
        return zeros((1, 1) if a.size else 0)
    return _made("fiedler", (a,), (a.size, a.size), a.dtype)


def fiedler_companion(a: Any) -> ndarray:
    """Return a matrix of five diagonals whose eigenvalues are the roots of a polynomial.

    Raises:
        ValueError: not one axis.
    """
    if a.ndim != 1:
        raise ValueError("Input `a` must be a 1-D array.")
    if a.size < 2:
        return zeros((0,), a.dtype)
    if a.size == 2:
        return (-a[1] / a[0])[None, None]  # type: ignore[no-any-return]
    return _made("fiedler_companion", (a,), (a.size - 1, a.size - 1), to_inexact(a.dtype))


def convolution_matrix(a: Any, n: int, mode: str = "full") -> ndarray:
    """Return the matrix that convolves vectors of length `n` with `a`.

    Args:
        mode: "full", "same" or "valid", as `convolve` has it.

    Raises:
        ValueError: not one axis, nothing to convolve, another mode.
    """
    if n <= 0:
        raise ValueError("n must be a positive integer.")
    if a.ndim != 1:
        raise ValueError("convolution_matrix expects a one-dimensional array as input")
    if a.size == 0:
        raise ValueError("len(a) must be at least 1.")
    rows = {
        "full": a.size + n - 1,
        "same": max(a.size, n),
        "valid": max(a.size, n) - min(a.size, n) + 1,
    }
    if mode not in rows:
        raise ValueError("`mode` argument must be one of ('full', 'valid', 'same')")
    return _made("convolution_matrix", (a, int(n), mode), (rows[mode], int(n)), a.dtype)
