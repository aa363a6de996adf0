"""`cholesky`, `qr`, `svd`."""

from __future__ import annotations

from typing import Any

from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupy.linalg._util import (
    assert_cupy_array,
    assert_stacked_2d,
    assert_stacked_square,
    linalg_common_type,
    real_of,
    solver,
)

__all__ = ["cholesky", "qr", "svd"]
ndarray = core.ndarray


def cholesky(a: Any) -> ndarray:
    """Return the lower triangle L of `L @ L.conj().T == a`.

    Args:
        a: positive definite matrix or stack of them, shape (..., M, M).

    Returns:
        shape (..., M, M); what is not positive definite gives undefined values, or an error under
        ``cupyx.errstate(linalg="raise")``.

    Raises:
        LinAlgError: not square matrices.
        TypeError: float16.
    """
    assert_cupy_array(a)
    assert_stacked_2d(a)
    assert_stacked_square(a)
    return solver("linalg.cholesky", (a,), None, (a.shape, linalg_common_type(a), "C"))[0]


def qr(a: Any, mode: str = "reduced") -> Any:
    """Factor matrices into an orthonormal Q and an upper triangular R.

    Args:
        a: shape (..., M, N); K below is the smaller of M and N.
        mode: "reduced": Q (..., M, K) and R (..., K, N); "complete": Q (..., M, M) and
            R (..., M, N); "r": R alone; "raw": Householder vectors (..., N, M) and factors
            (..., K).

    Raises:
        ValueError: no such mode, fewer than two axes.
        TypeError: float16.
    """
    assert_cupy_array(a)
    if mode not in ("reduced", "complete", "r", "raw"):
        if mode in ("f", "full", "e", "economic"):
            raise ValueError(f"The deprecated mode '{mode}' is not supported")
        raise ValueError(f"Unrecognized mode '{mode}'")
    dtype = linalg_common_type(a)
    *batch, m, n = a.shape
    k = min(m, n)
    lead = tuple(batch)
    rows = m if mode == "complete" else k
    order = "F" if a.ndim == 2 else "C"
    args = (a, mode)
    if mode == "raw":
        specs = (((*lead, n, m), dtype, "C"), ((*lead, k), dtype, "C"))
        return tuple(solver("linalg.qr", args, None, *specs))
    r = ((*lead, rows, n), dtype, order)
    if mode == "r":
        return solver("linalg.qr", args, None, r)[0]
    return tuple(solver("linalg.qr", args, None, ((*lead, m, rows), dtype, order), r))


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """Singular value decomposition `a == u @ diag(s) @ vh`.

    Args:
        a: shape (..., M, N); K below is the smaller of M and N.
        full_matrices: u (..., M, M) and vh (..., N, N), else u (..., M, K) and vh (..., K, N).
        compute_uv: False returns s (..., K) alone.

    Raises:
        ValueError: fewer than two axes.
        TypeError: float16.
    """
    assert_cupy_array(a)
    dtype = linalg_common_type(a)
    *batch, m, n = a.shape
    k = min(m, n)
    lead = tuple(batch)
    s = ((*lead, k), real_of(dtype), "C")
    args = (a, bool(full_matrices), bool(compute_uv))
    if not compute_uv:
        return solver("linalg.svd", args, None, s)[0]
    order = "F" if a.ndim == 2 and m > n else "C"
    left, right = (m, n) if full_matrices else (k, k)
    u = ((*lead, m, left), dtype, order)
    vh = ((*lead, right, n), dtype, order)
    return tuple(solver("linalg.svd", args, None, u, s, vh))
