"""`cupyx.lapack`: the solvers that CuPy shows by LAPACK's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls, core
from cupool.client_shim.cupy.linalg._util import (
    assert_cupy_array,
    assert_stacked_2d,
    assert_stacked_square,
    solver,
)

__all__ = ["gels", "gesv", "posv", "potrs"]
ndarray = core.ndarray


def _check_system(a: Any, b: Any, bad_type: type[Exception]) -> None:
    if a.ndim != 2:
        raise ValueError(f"a.ndim must be 2 (actual: {a.ndim})")
    if b.ndim not in (1, 2):
        raise ValueError(f"b.ndim must be 1 or 2 (actual: {b.ndim})")
    if a.shape[0] != b.shape[0]:
        raise ValueError(f"shape mismatch (a: {a.shape}, b: {b.shape}).")
    if a.dtype != b.dtype:
        raise bad_type(f"dtype mismatch (a: {a.dtype}, b: {b.dtype})")
    if a.dtype.char not in "fdFD":
        raise bad_type(f"unsupported dtype (actual: {a.dtype})")


def gesv(a: Any, b: Any) -> None:
    """Solve ``a @ x == b`` in place: `b` becomes x, and `a` its LU factors.

    Raises:
        ValueError: shapes that do not fit; `a` not contiguous, `b` not in Fortran order.
        TypeError: dtypes that differ or that LAPACK does not have.
    """
    if a.ndim == 2 and a.shape[0] != a.shape[1]:
        raise ValueError("a must be a square matrix.")
    _check_system(a, b, TypeError)
    if not (a.flags.f_contiguous or a.flags.c_contiguous):
        raise ValueError("a must be F-contiguous or C-contiguous.")
    if not b.flags.f_contiguous:
        raise ValueError("b must be F-contiguous.")
    calls.call_into("lapack.gesv", (a, b))


def gels(a: Any, b: Any) -> ndarray:
    """Return the least-squares solution of ``a @ x == b``, of least norm if there are many.

    Raises:
        ValueError: shapes or dtypes that do not fit.
    """
    _check_system(a, b, ValueError)
    shape = (a.shape[1], *b.shape[1:])
    return solver("lapack.gels", (a, b), None, (shape, a.dtype, "F"))[0]


def _common_type(a: ndarray, b: ndarray) -> np.dtype[Any]:
    dtype = np.promote_types(np.promote_types(a.dtype, b.dtype), "f")
    if dtype.char not in "fdFD":
        raise ValueError(
            f"dtype must be float32, float64, complex64 or complex128 (actual: {a.dtype})"
        )
    return dtype


def posv(a: Any, b: Any) -> ndarray:
    """Return x of ``a @ x == b`` for Hermitian positive definite matrices (..., M, M).

    Raises:
        LinAlgError: not square matrices; not positive definite, under
            ``cupyx.errstate(linalg="raise")``.
    """
    assert_cupy_array(a, b)
    assert_stacked_2d(a)
    assert_stacked_square(a)
    return solver("lapack.posv", (a, b), None, (b.shape, _common_type(a, b), "C"))[0]


def potrs(L: Any, b: Any, lower: Any) -> ndarray:
    """Return x of ``a @ x == b`` for Cholesky factors of a, shape (..., M, M).

    Raises:
        LinAlgError: not square matrices.
        ValueError: shapes that do not fit.
    """
    assert_cupy_array(L, b)
    assert_stacked_2d(L)
    assert_stacked_square(L)
    batch = L.shape[:-2]
    vectors = b.ndim == L.ndim - 1
    if b.shape[: len(batch)] != batch or not (vectors or b.ndim == L.ndim):
        raise ValueError(f"shape mismatch (L: {L.shape}, b: {b.shape}).")
    if b.shape[-1 if vectors else -2] != L.shape[-1]:
        raise ValueError(f"shape mismatch (L: {L.shape}, b: {b.shape}).")
    order = "C" if batch or vectors else "F"
    spec = (b.shape, _common_type(L, b), order)
    # CuPy solves in place where it can: the device gets a copy.
    return solver("lapack.potrs", (L, b.copy(), bool(lower)), None, spec)[0]
