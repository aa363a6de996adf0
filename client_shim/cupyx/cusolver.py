"""`cupyx.cusolver`: the routines of cuSOLVER as CuPy wraps them, by those of `cupy.linalg`."""

from __future__ import annotations

from typing import Any

from cupool.client_shim import cupy
from cupool.client_shim.cupy import _unsupported

__all__ = [
    "check_availability",
    "csrlsvqr",
    "gels",
    "gesv",
    "gesvda",
    "gesvdj",
    "syevj",
]

_ROUTINES = frozenset(
    "gesvdj gesvdjBatched gesvda potrfBatched potrsBatched syevj syevjBatched gesv gels csrlsvqr "
    "geev".split()
)


def check_availability(name: str) -> bool:
    """Return whether the device's cuSOLVER has a routine; servers run a version that has all.

    Raises:
        ValueError: no such routine.
    """
    if name not in _ROUTINES:
        raise ValueError(f"No available version information specified for {name}")
    return True


def _check_dtype(a: Any) -> None:
    if a.dtype.char not in "fdFD":
        raise TypeError(f"unsupported dtype (actual: {a.dtype})")


def gesvdj(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, overwrite_a: bool = False
) -> Any:
    """Return u, s, v of ``a == u @ diag(s) @ v.conj().T``, or s alone.

    Args:
        a: shape (M, N) or (K, M, N).
        full_matrices: whether u and v are square.
        overwrite_a: accepted; `a` stays as it is.
    """
    assert a.ndim in (2, 3)
    _check_dtype(a)
    if not compute_uv:
        return cupy.linalg.svd(a, full_matrices=full_matrices, compute_uv=False)
    u, s, vh = cupy.linalg.svd(a, full_matrices=full_matrices)
    return u, s, vh.swapaxes(-2, -1).conj()


def gesvda(a: Any, compute_uv: bool = True) -> Any:
    """Return u, s, v as `gesvdj` does, of matrices that are not wider than high, (..., M, N)."""
    assert a.ndim >= 2
    assert a.shape[-2] >= a.shape[-1]
    _check_dtype(a)
    if not compute_uv:
        return cupy.linalg.svd(a, full_matrices=False, compute_uv=False)
    u, s, vh = cupy.linalg.svd(a, full_matrices=False)
    return u, s, vh.swapaxes(-2, -1).conj()


def syevj(a: Any, UPLO: str = "L", with_eigen_vector: bool = True) -> Any:
    """Return eigenvalues, and eigenvectors as columns, of hermitian matrices (..., M, M).

    Args:
        UPLO: which triangle is looked at, "L" or "U".
    """
    if UPLO not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    if not with_eigen_vector:
        return cupy.linalg.eigvalsh(a, UPLO=UPLO)
    values, vectors = cupy.linalg.eigh(a, UPLO=UPLO)
    return values, vectors


def _check_dense(a: Any, b: Any) -> None:
    """Raise ValueError for a system that cuSOLVER cannot solve."""
    if a.ndim != 2:
        raise ValueError(f"a.ndim must be 2 (actual:{a.ndim})")
    if b.ndim not in (1, 2):
        raise ValueError(f"b.ndim must be 1 or 2 (actual:{b.ndim})")
    if a.shape[0] != b.shape[0]:
        raise ValueError(f"shape mismatch (a:{a.shape}, b:{b.shape}).")
    if a.dtype != b.dtype:
        raise ValueError(f"dtype mismatch (a:{a.dtype}, b:{b.dtype}).")
    if a.dtype.char not in "fdFD":
        raise ValueError(f"unsupported dtype (actual:{a.dtype})")


def gesv(a: Any, b: Any) -> Any:
    """Solve ``a @ x == b`` for a square matrix and right sides, shape (M,) or (M, K)."""
    _check_dense(a, b)
    if a.shape[0] != a.shape[1]:
        raise ValueError("a must be a square matrix.")
    return cupy.linalg.solve(a, b)


def gels(a: Any, b: Any) -> Any:
    """Return the least-squares solution of ``a @ x == b`` for a matrix not wider than high."""
    _check_dense(a, b)
    if a.shape[0] < a.shape[1]:
        raise ValueError("m must be equal to or greater than n.")
    return cupy.linalg.lstsq(a, b, rcond=None)[0]


def csrlsvqr(A: Any, b: Any, tol: float = 0, reorder: int = 1) -> Any:
    """Solve a square system of a CSR matrix by QR; does not wait to see if it is singular.

    Args:
        A: shape (M, M).
        b: shape (M,), of the same dtype.
        tol, reorder: accepted; how cuSOLVER goes about it.
    """
    from cupool.client_shim.cupyx.scipy.sparse import _kernels, _sputils, issparse

    if not (issparse(A) and A.format == "csr"):
        raise ValueError("A must be CSR sparse matrix")
    if not _sputils.is_dense(b):
        raise ValueError("b must be cupy.ndarray")
    if b.ndim != 1:
        raise ValueError(f"b.ndim must be 1 (actual: {b.ndim})")
    if not A.shape[0] == A.shape[1] == b.shape[0]:
        raise ValueError("invalid shape")
    if A.dtype != b.dtype:
        raise TypeError("dtype mismatch")
    _check_dtype(A)
    return _kernels.solve(A._parts, b)


_unsupported.fill(globals(), "cupyx.cusolver")
