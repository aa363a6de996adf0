"""`cupy.cuda.cublas`: triangles: `syrk`, `sbmv`, packed storage, batches of `trsm`.

Semantics: https://docs.nvidia.com/cuda/cublas/ (syrk, sbmv, tpttr, trttp, trsmBatched).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls
from cupool.client_shim.cupy.cuda import _libraries
from cupool.client_shim.cupy.cuda._cublas_calls import (
    _LEFT,
    _LOWER,
    _NO_TRANSPOSE,
    FUNCTIONS,
    _call,
    _check,
    _cublas,
    _for_each,
)
from cupool.client_shim.cupy.cuda._libraries import matrix, read, vector, written

__all__ = ["FUNCTIONS"]

_CONJUGATE = 2


@_for_each("sdcz", "syrk")
def _syrk(letter: str, dtype: np.dtype[Any]) -> Any:
    """Write one triangle of `C = alpha * A @ A.T + beta * C`, or with `trans` of `A.T @ A`."""

    def syrk(
        handle: int,
        uplo: int,
        trans: int,
        n: int,
        k: int,
        alpha: int,
        A: int,
        lda: int,
        beta: int,
        C: int,
        ldc: int,
    ) -> None:
        from cupool.client_shim import cupy

        shape = (n, k) if trans == _NO_TRANSPOSE else (k, n)
        known = uplo in (0, 1) and trans in ((0, 1) if letter in "cz" else (0, 1, _CONJUGATE))
        _check(known and min(n, k) >= 0 and lda >= max(1, shape[0]) and ldc >= max(1, n))
        if n == 0:
            return
        with _call(handle) as scalar:
            # CuPy's function takes matrices without gaps between their columns.
            place = matrix(C, (n, n), ldc, dtype)
            if k:
                a = matrix(A, shape, lda, dtype)
                a = a if a.flags.f_contiguous else a.copy(order="F")
            else:  # a product of nothing is one of zeros
                a = cupy.zeros([size or 1 for size in shape], dtype, order="F")
            to = place if place.flags.f_contiguous else place.copy(order="F")
            factors = {"alpha": scalar(alpha, dtype), "beta": scalar(beta, dtype)}
            which = "N" if trans == _NO_TRANSPOSE else "T"
            _cublas().syrk(which, a, out=to, lower=uplo == _LOWER, **factors)
            if to is not place:
                place[...] = to

    return syrk


@_for_each("sd", "sbmv")
def _sbmv(letter: str, dtype: np.dtype[Any]) -> Any:
    """Do `y = alpha * A @ x + beta * y` for a symmetric matrix of `k` diagonals beside its own."""

    def sbmv(
        handle: int,
        uplo: int,
        n: int,
        k: int,
        alpha: int,
        A: int,
        lda: int,
        x: int,
        incx: int,
        beta: int,
        y: int,
        incy: int,
    ) -> None:
        _check(uplo in (0, 1) and min(n, k) >= 0 and lda >= k + 1 and bool(incx and incy))
        if n == 0:
            return
        with _call(handle) as scalar, written(y, n, incy, dtype) as to:
            a, given = matrix(A, (k + 1, n), lda, dtype), read(x, n, incx, dtype)
            factors = scalar(alpha, dtype), scalar(beta, dtype)
            _cublas().sbmv(k, factors[0], a, given, factors[1], to, lower=uplo == _LOWER)

    return sbmv


# ------------------------------------------------------------------- packed triangles


def _columns(uplo: int, n: int, packed: int, full: int, lda: int, dtype: np.dtype[Any]) -> Any:
    """Yield each column of a triangle: where it is packed, and where it is in its matrix."""
    if n == 0:
        return
    flat = vector(packed, n * (n + 1) // 2, 1, dtype)
    whole = matrix(full, (n, n), lda, dtype)
    at = 0
    for j in range(n):
        begin, end = (j, n) if uplo == _LOWER else (0, j + 1)
        yield flat[at : at + end - begin], whole[begin:end, j]
        at += end - begin


@_for_each("sd", "tpttr")
def _tpttr(letter: str, dtype: np.dtype[Any]) -> Any:
    """Copy a packed triangle into that of a matrix; the other one stays."""

    def tpttr(handle: int, uplo: int, n: int, AP: int, A: int, lda: int) -> None:
        _check(uplo in (0, 1) and n >= 0 and lda >= max(1, n))
        with _call(handle):
            for packed, column in _columns(uplo, n, AP, A, lda, dtype):
                column[...] = packed

    return tpttr


@_for_each("sd", "trttp")
def _trttp(letter: str, dtype: np.dtype[Any]) -> Any:
    """Pack a triangle of a matrix, column after column."""

    def trttp(handle: int, uplo: int, n: int, A: int, lda: int, AP: int) -> None:
        _check(uplo in (0, 1) and n >= 0 and lda >= max(1, n))
        with _call(handle):
            for packed, column in _columns(uplo, n, AP, A, lda, dtype):
                packed[...] = column

    return trttp


# ------------------------------------------------------------------- batches


@_for_each("sdcz", "trsmBatched")
def _trsm_batched(letter: str, dtype: np.dtype[Any]) -> Any:
    """Do `trsm` for matrices whose addresses are in arrays, which are waited for."""

    def trsmBatched(
        handle: int,
        side: int,
        uplo: int,
        trans: int,
        diag: int,
        m: int,
        n: int,
        alpha: int,
        Aarray: int,
        lda: int,
        Barray: int,
        ldb: int,
        batchCount: int,
    ) -> None:
        order = m if side == _LEFT else n
        known = {side, uplo, diag} <= {0, 1} and trans in (0, 1, 2) and min(m, n, batchCount) >= 0
        _check(known and lda >= max(1, order) and ldb >= max(1, m))
        if not (m and n and batchCount):
            return
        with _call(handle) as scalar:
            factor = scalar(alpha, dtype)
            factor = factor.item() if isinstance(factor, np.ndarray) else factor
            lists = (_libraries.addresses(one, batchCount) for one in (Aarray, Barray))
            for a, b in zip(*lists, strict=True):
                two = matrix(a, (order, order), lda, dtype), matrix(b, (m, n), ldb, dtype)
                calls.call_into("cublas.trsm", (side, uplo, trans, diag, factor, *two))

    return trsmBatched
