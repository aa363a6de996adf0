"""`invh` and `cho_solve`."""

from __future__ import annotations

from typing import Any

from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupy.linalg._util import (
    assert_2d,
    assert_cupy_array,
    assert_stacked_square,
    stacked_identity,
)
from cupool.client_shim.cupyx import lapack

__all__ = ["cho_solve", "invh"]
ndarray = core.ndarray


def invh(a: Any) -> ndarray:
    """Return the inverse of a Hermitian positive definite matrix.

    Raises:
        LinAlgError: not a square matrix; not positive definite, under
            ``cupyx.errstate(linalg="raise")``.
    """
    assert_cupy_array(a)
    assert_2d(a)
    assert_stacked_square(a)
    return lapack.posv(a, stacked_identity((), a.shape[-1], a.dtype))


def cho_solve(
    c_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> ndarray:
    """Return x of ``a @ x == b`` for the Cholesky factor of a.

    Args:
        c_and_lower: the factor, shape (..., M, M), and whether it is the lower one; its other
            triangle is not looked at.
        b: shape (..., M) or (..., M, K).
        overwrite_b: accepted; `b` stays as it is.
        check_finite: whether to look for nan and inf, which waits.

    Raises:
        ValueError: there are some.
    """
    factor, lower = c_and_lower
    if check_finite:
        from cupool.client_shim.cupy._core._ufuncs import ALL
        from cupool.client_shim.cupy._creation.matrix import tril, triu

        finite = ALL["isfinite"]
        triangle = (tril if lower else triu)(~finite(factor), -1 if lower else 1)
        if bool(triangle.any() | (~finite(b)).any()):
            raise ValueError("Input array contains NaN or infinity.")
    return lapack.potrs(factor, b, bool(lower))
