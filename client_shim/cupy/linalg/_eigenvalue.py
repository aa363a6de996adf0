"""`eig`, `eigh`, `eigvals`, `eigvalsh`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls, core
from cupool.client_shim.cupy._core._dtype import complex_of
from cupool.client_shim.cupy._core.views import require
from cupool.client_shim.cupy.linalg._util import (
    assert_stacked_2d,
    assert_stacked_square,
    linalg_common_type,
    real_of,
    solver,
)

__all__ = ["eig", "eigh", "eigvals", "eigvalsh"]
ndarray = core.ndarray


def _checked(a: Any) -> ndarray:
    array: ndarray = require(a)
    assert_stacked_2d(array)
    assert_stacked_square(array)
    return array


def _hermitian(a: ndarray, uplo: str) -> tuple[np.dtype[Any], np.dtype[Any]]:
    """Return the dtypes of eigenvalues and eigenvectors; float16 stays what it is."""
    vectors = linalg_common_type(a, reject_float16=a.size == 0)
    if a.size and uplo not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return real_of(vectors), vectors


def eigh(a: Any, UPLO: str = "L") -> tuple[ndarray, ndarray]:
    """Return eigenvalues and eigenvectors of Hermitian or real symmetric matrices.

    Args:
        a: shape (..., M, M); only one triangle is read.
        UPLO: "L" or "U", the triangle.

    Returns:
        real eigenvalues (..., M), ascending, and eigenvectors in the columns of (..., M, M).

    Raises:
        LinAlgError: not square matrices.
        ValueError: no such triangle.
    """
    a = _checked(a)
    w_dtype, v_dtype = _hermitian(a, UPLO)
    order = "F" if a.ndim == 2 else "C"
    w, v = solver(
        "linalg.eigh", (a, UPLO), None, (a.shape[:-1], w_dtype, "C"), (a.shape, v_dtype, order)
    )
    return w, v


def eigvalsh(a: Any, UPLO: str = "L") -> ndarray:
    """Return the eigenvalues (..., M) of Hermitian matrices; see `eigh`."""
    a = _checked(a)
    w_dtype, _ = _hermitian(a, UPLO)
    return solver("linalg.eigvalsh", (a, UPLO), None, (a.shape[:-1], w_dtype, "C"))[0]


def eig(a: Any) -> tuple[ndarray, ndarray]:
    """Return eigenvalues and eigenvectors of square matrices; always complex, in no order.

    Args:
        a: shape (..., M, M).

    Returns:
        eigenvalues (..., M) and eigenvectors in the columns of (..., M, M).

    Raises:
        LinAlgError: not square matrices.
        TypeError: float16.
    """
    a = _checked(a)
    dtype = linalg_common_type(a)
    if a.size:
        made = complex_of(dtype)
        w, v = solver("linalg.eig", (a,), None, (a.shape[:-1], made, "C"), (a.shape, made, "C"))
    else:
        w = _nothing(a.shape[:-1], dtype)
        v = _nothing(a.shape, dtype)
    return w, v


def eigvals(a: Any) -> ndarray:
    """Return the eigenvalues (..., M) of square matrices, complex; see `eig`."""
    a = _checked(a)
    dtype = linalg_common_type(a)
    if a.size:
        return solver("linalg.eigvals", (a,), None, (a.shape[:-1], complex_of(dtype), "C"))[0]
    return _nothing(a.shape[:-1], dtype)


def _nothing(shape: tuple[int, ...], dtype: np.dtype[Any]) -> ndarray:
    return calls.call_one("empty", (), None, shape, dtype)
