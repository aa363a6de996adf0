"""`cupy.cuda.cusolver`: systems by iterative refinement, `sytrf`, and `xsyevd` of any type.

Semantics: https://docs.nvidia.com/cuda/cusolver/ (cusolverDn<t1><t2>gesv, ...gels, sytrf, Xsyevd).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls
from cupool.client_shim.cupy.cuda._cusolver_calls import FUNCTIONS, _call, _check, _solver
from cupool.client_shim.cupy.cuda._cusolver_jacobi import _eigen_fits, _register, _settings, empty
from cupool.client_shim.cupy.cuda._libraries import INT32, LETTERS, REAL, matrix, vector

__all__ = ["FUNCTIONS"]

_LOWER_PRECISIONS = {"d": "dshx", "s": "shx", "z": "zcky", "c": "cky"}
"""By the letter of a type, those of what its systems may be factorized in."""
_BYTES = "Return how many bytes of work space the function wants."


@_solver("sytrf")
def _sytrf(letter: str, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Factorize a symmetric (never Hermitian) matrix in place, as LAPACK's `sytrf`: one triangle
    is written, `ipiv` gets the exchanges, from 1 on and negative for blocks of two; `devInfo` gets
    0, or which element of the diagonal is 0."""

    def size(handle: int, n: int, A: int, lda: int) -> int:
        _check(handle, n >= 0 and lda >= max(1, n))
        return max(1, n)

    def sytrf(
        handle: int,
        uplo: int,
        n: int,
        A: int,
        lda: int,
        ipiv: int,
        work: int,
        lwork: int,
        devInfo: int,
    ) -> None:
        with _call(handle, uplo in (0, 1) and n >= 0 and lda >= max(1, n) and bool(ipiv)):
            if empty(devInfo, 1, n):
                return
            a, pivots = matrix(A, (n, n), lda, dtype), vector(ipiv, n, 1, INT32)
            calls.call_into("cusolver.sytrf", (uplo, a, pivots, vector(devInfo, 1, 1, INT32)))

    return size, sytrf


# ------------------------------------------------------------------- iterative refinement


def _rounds() -> Any:
    from cupool.client_shim import cupy

    return cupy.empty(1, INT32)


def _gesv(low: str, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Return `..gesv_bufferSize` and `..gesv` with this letter of the factorization."""

    def fits(n: int, nrhs: int, ldda: int, lddb: int, lddx: int) -> bool:
        return min(n, nrhs) >= 0 and min(ldda, lddb, lddx) >= max(1, n)

    def size(
        handle: int,
        n: int,
        nrhs: int,
        dA: int,
        ldda: int,
        dipiv: int,
        dB: int,
        lddb: int,
        dX: int,
        lddx: int,
        dwork: int,
    ) -> int:
        _check(handle, fits(n, nrhs, ldda, lddb, lddx))
        return max(1, n * (n + nrhs)) * dtype.itemsize

    def gesv(
        handle: int,
        n: int,
        nrhs: int,
        dA: int,
        ldda: int,
        dipiv: int,
        dB: int,
        lddb: int,
        dX: int,
        lddx: int,
        dwork: int,
        lwork: int,
        dInfo: int,
    ) -> int:
        with _call(handle, fits(n, nrhs, ldda, lddb, lddx) and bool(dipiv)):
            if empty(dInfo, 1, n, nrhs):
                return 0
            a, pivots = matrix(dA, (n, n), ldda, dtype), vector(dipiv, n, 1, INT32)
            b, x = matrix(dB, (n, nrhs), lddb, dtype), matrix(dX, (n, nrhs), lddx, dtype)
            done = _rounds()
            where = (a, pivots, b, x, vector(dInfo, 1, 1, INT32), done)
            calls.call_into("cusolver.gesv", (low, *where))
            return int(done.get()[0])

    return size, gesv


def _gels(low: str, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Return `..gels_bufferSize` and `..gels` with this letter of the factorization."""

    def fits(m: int, n: int, nrhs: int, ldda: int, lddb: int, lddx: int) -> bool:
        fine = m >= n >= 0 and nrhs >= 0 and min(ldda, lddb) >= max(1, m)
        return fine and lddx >= max(1, n)

    def size(
        handle: int,
        m: int,
        n: int,
        nrhs: int,
        dA: int,
        ldda: int,
        dB: int,
        lddb: int,
        dX: int,
        lddx: int,
        dwork: int,
    ) -> int:
        _check(handle, fits(m, n, nrhs, ldda, lddb, lddx))
        return max(1, m * (n + nrhs)) * dtype.itemsize

    def gels(
        handle: int,
        m: int,
        n: int,
        nrhs: int,
        dA: int,
        ldda: int,
        dB: int,
        lddb: int,
        dX: int,
        lddx: int,
        dwork: int,
        lwork: int,
        dInfo: int,
    ) -> int:
        with _call(handle, fits(m, n, nrhs, ldda, lddb, lddx)):
            if empty(dInfo, 1, n, nrhs):
                return 0
            a, b = matrix(dA, (m, n), ldda, dtype), matrix(dB, (m, nrhs), lddb, dtype)
            x, done = matrix(dX, (n, nrhs), lddx, dtype), _rounds()
            where = (a, b, x, vector(dInfo, 1, 1, INT32), done)
            calls.call_into("cusolver.gels", (low, *where))
            return int(done.get()[0])

    return size, gels


def _refined() -> None:
    """Register them all: by the type's letter and that of the factorization, as "dsgesv"."""
    whats = {
        "gesv": (_gesv, "Solve A X = B by an LU factorization"),
        "gels": (_gels, "Find the least squares' solution of A X = B, m >= n, by QR"),
    }
    for letter, lows in _LOWER_PRECISIONS.items():
        for low in lows:
            for short, (make, what) in whats.items():
                size, solve = make(low, LETTERS[letter])
                doc = (
                    f"{what} in a lower precision, refined to {LETTERS[letter].name}.\n\n"
                    "Returns the number of rounds, which is waited for; negative: it did not\n"
                    "converge, was done in full precision, and A has that factorization."
                )
                _register(f"{letter}{low}{short}", solve, doc)
                _register(f"{letter}{low}{short}_bufferSize", size, _BYTES)


_refined()

# ------------------------------------------------------------------- any type

_CODES = {0: "s", 1: "d", 4: "c", 5: "z"}
"""Letters by `cudaDataType_t`."""


def _xsyevd_letter(n: int, type_a: int, lda: int, type_w: int, compute: int) -> str | None:
    """Return the matrix' letter; None if the types do not go together."""
    letter = _CODES.get(type_a)
    if letter is None or compute != type_a or _CODES.get(type_w) != REAL[letter]:
        return None
    return letter if 0 <= n and lda >= max(1, n) else None


def xsyevd_bufferSize(
    handle: int,
    params: int,
    jobz: int,
    uplo: int,
    n: int,
    dataTypeA: int,
    A: int,
    lda: int,
    dataTypeW: int,
    W: int,
    computeType: int,
) -> tuple[int, int]:
    """Return how many bytes of work space `xsyevd` wants on the device and on the host."""
    letter = _xsyevd_letter(n, dataTypeA, lda, dataTypeW, computeType)
    _check(handle, letter is not None)
    _settings(params, "cusolver_params")
    return max(1, n * n) * LETTERS[letter or "s"].itemsize, 0


def xsyevd(
    handle: int,
    params: int,
    jobz: int,
    uplo: int,
    n: int,
    dataTypeA: int,
    A: int,
    lda: int,
    dataTypeW: int,
    W: int,
    computeType: int,
    bufferOnDevice: int,
    workspaceInBytesOnDevice: int,
    bufferOnHost: int,
    workspaceInBytesOnHost: int,
    info: int,
) -> None:
    """Do what `syevd` and `heevd` do; types are `cudaDataType_t`."""
    letter = _xsyevd_letter(n, dataTypeA, lda, dataTypeW, computeType)
    with _call(handle, letter is not None and _eigen_fits(jobz, uplo, n, lda)):
        _settings(params, "cusolver_params")
        if empty(info, 1, n):
            return
        dtype, real = LETTERS[letter or "s"], LETTERS[REAL[letter or "s"]]
        a, w = matrix(A, (n, n), lda, dtype), vector(W, n, 1, real)
        calls.call_into("cusolver.syevd", (jobz, uplo, a, w, vector(info, 1, 1, INT32)))


FUNCTIONS.update(xsyevd=xsyevd, xsyevd_bufferSize=xsyevd_bufferSize)
