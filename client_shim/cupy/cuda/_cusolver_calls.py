"""The dense functions of `cupy.cuda.cusolver`: one for each of LAPACK's letters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls
from cupool.client_shim.cupy.cuda import _libraries, _runtime_streams
from cupool.client_shim.cupy.cuda._libraries import INT32, LETTERS, REAL, matrix, vector

_INVALID_VALUE = 3
_LEFT, _VECTORS = 0, 1
FUNCTIONS: dict[str, Any] = {}
"""By the names that CuPy gives them."""


def _check(handle: int, fine: bool = True) -> None:
    from cupool.client_shim.cupy.cuda import cusolver

    cusolver._handle(handle)
    if not fine:
        raise cusolver.CUSOLVERError(_INVALID_VALUE)


@contextmanager
def _call(handle: int, fine: bool) -> Iterator[None]:
    """Check the sizes, and work in the stream of a handle."""
    from cupool.client_shim.cupy.cuda import cusolver

    _check(handle, fine)
    with _runtime_streams.on_stream(cusolver.getStream(handle) or None):
        yield


def _info(pointer: int) -> Any:
    return vector(pointer, 1, 1, INT32)


def no_info() -> Any:
    """Return a place on the device for a result that nobody looks at."""
    from cupool.client_shim import cupy

    return cupy.empty(1, INT32)


def _named(letter: str, dtype: np.dtype[Any], name: str, made: Any, doc: str) -> None:
    full = letter + name
    made.__name__ = made.__qualname__ = full
    made.__doc__ = f"{doc.strip()} For {dtype.name}."
    FUNCTIONS[full] = made


def _solver(
    name: str, complex_name: str = ""
) -> Callable[[Callable[[str, np.dtype[Any]], tuple[Any, Any]]], None]:
    """Register the two functions that `make(letter, dtype)` returns: the size, and the solver."""

    def register(make: Callable[[str, np.dtype[Any]], tuple[Any, Any]]) -> None:
        for letter, dtype in LETTERS.items():
            short = complex_name if complex_name and letter in "cz" else name
            size, solve = make(letter, dtype)
            if size is not None:
                doc = "Return how many elements of work space the function wants."
                _named(letter, dtype, f"{short}_bufferSize", size, doc)
            _named(letter, dtype, short, solve, make.__doc__ or "")

    return register


@_solver("potrf")
def _potrf(letter: str, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Do a Cholesky factorization in place; `uplo` 0 takes and writes the lower triangle, 1 the
    upper; `devInfo` gets 0, or which leading minor is not positive."""

    def size(handle: int, uplo: int, n: int, A: int, lda: int) -> int:
        _check(handle, n >= 0 and lda >= max(1, n))
        return max(1, n)

    def potrf(
        handle: int, uplo: int, n: int, A: int, lda: int, work: int, lwork: int, devInfo: int
    ) -> None:
        with _call(handle, n >= 0 and lda >= max(1, n)):
            a = matrix(A, (n, n), lda, dtype)
            calls.call_into("cusolver.potrf", (uplo, a, _info(devInfo)))

    return size, potrf


@_solver("potrs")
def _potrs(letter: str, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Solve by what `potrf` has made, in B."""

    def potrs(
        handle: int,
        uplo: int,
        n: int,
        nrhs: int,
        A: int,
        lda: int,
        B: int,
        ldb: int,
        devInfo: int,
    ) -> None:
        with _call(handle, lda >= max(1, n) and ldb >= max(1, n)):
            a, b = matrix(A, (n, n), lda, dtype), matrix(B, (n, nrhs), ldb, dtype)
            calls.call_into("cusolver.potrs", (uplo, a, b, _info(devInfo)))

    return None, potrs


@_solver("potrfBatched")
def _potrf_batched(letter: str, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Do `potrf` for matrices whose addresses are in an array, which is waited for."""

    def potrfBatched(
        handle: int, uplo: int, n: int, Aarray: int, lda: int, infoArray: int, batchSize: int
    ) -> None:
        with _call(handle, lda >= max(1, n)):
            for index, a in enumerate(_libraries.addresses(Aarray, batchSize)):
                one = matrix(a, (n, n), lda, dtype)
                calls.call_into("cusolver.potrf", (uplo, one, _info(infoArray + 4 * index)))

    return None, potrfBatched


@_solver("potrsBatched")
def _potrs_batched(letter: str, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Do `potrs` for matrices whose addresses are in arrays, which is waited for."""

    def potrsBatched(
        handle: int,
        uplo: int,
        n: int,
        nrhs: int,
        Aarray: int,
        lda: int,
        Barray: int,
        ldb: int,
        devInfo: int,
        batchSize: int,
    ) -> None:
        with _call(handle, lda >= max(1, n) and ldb >= max(1, n)):
            lists = (_libraries.addresses(one, batchSize) for one in (Aarray, Barray))
            for a, b in zip(*lists, strict=True):
                two = matrix(a, (n, n), lda, dtype), matrix(b, (n, nrhs), ldb, dtype)
                calls.call_into("cusolver.potrs", (uplo, *two, _info(devInfo)))

    return None, potrsBatched


@_solver("getrf")
def _getrf(letter: str, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Do an LU factorization in place; `devIpiv` gets the rows exchanged, from 1 on; at 0, no
    rows are exchanged. `devInfo` gets 0, or which diagonal element is 0."""

    def size(handle: int, m: int, n: int, A: int, lda: int) -> int:
        _check(handle, min(m, n) >= 0 and lda >= max(1, m))
        return max(1, m * n)

    def getrf(
        handle: int, m: int, n: int, A: int, lda: int, work: int, devIpiv: int, devInfo: int
    ) -> None:
        with _call(handle, min(m, n) >= 0 and lda >= max(1, m)):
            pivots = vector(devIpiv, min(m, n), 1, INT32) if devIpiv else None
            a = matrix(A, (m, n), lda, dtype)
            calls.call_into("cusolver.getrf", (a, pivots, _info(devInfo)))

    return size, getrf


@_solver("getrs")
def _getrs(letter: str, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Solve by what `getrf` has made, in B."""

    def getrs(
        handle: int,
        trans: int,
        n: int,
        nrhs: int,
        A: int,
        lda: int,
        devIpiv: int,
        B: int,
        ldb: int,
        devInfo: int,
    ) -> None:
        with _call(handle, lda >= max(1, n) and ldb >= max(1, n) and trans in (0, 1, 2)):
            pivots = vector(devIpiv, n, 1, INT32) if devIpiv else None
            a, b = matrix(A, (n, n), lda, dtype), matrix(B, (n, nrhs), ldb, dtype)
            calls.call_into("cusolver.getrs", (trans, a, pivots, b, _info(devInfo)))

    return None, getrs


@_solver("geqrf")
def _geqrf(letter: str, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Do a QR factorization in place: R, below it the reflectors, whose factors `tau` gets."""

    def size(handle: int, m: int, n: int, A: int, lda: int) -> int:
        _check(handle, min(m, n) >= 0 and lda >= max(1, m))
        return max(1, m * n)

    def geqrf(
        handle: int,
        m: int,
        n: int,
        A: int,
        lda: int,
        tau: int,
        work: int,
        lwork: int,
        devInfo: int,
    ) -> None:
        with _call(handle, min(m, n) >= 0 and lda >= max(1, m)):
            a, factors = matrix(A, (m, n), lda, dtype), vector(tau, min(m, n), 1, dtype)
            calls.call_into("cusolver.geqrf", (a, factors, _info(devInfo)))

    return size, geqrf


@_solver("orgqr", "ungqr")
def _orgqr(letter: str, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Make the first n columns of Q of the k reflectors that `geqrf` left, in place."""

    def size(handle: int, m: int, n: int, k: int, A: int, lda: int, tau: int) -> int:
        _check(handle, m >= n >= k >= 0 and lda >= max(1, m))
        return max(1, m * n)

    def orgqr(
        handle: int,
        m: int,
        n: int,
        k: int,
        A: int,
        lda: int,
        tau: int,
        work: int,
        lwork: int,
        devInfo: int,
    ) -> None:
        with _call(handle, m >= n >= k >= 0 and lda >= max(1, m)):
            a, factors = matrix(A, (m, n), lda, dtype), vector(tau, k, 1, dtype)
            calls.call_into("cusolver.orgqr", (k, a, factors, _info(devInfo)))

    return size, orgqr


@_solver("ormqr", "unmqr")
def _ormqr(letter: str, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Multiply C by op(Q) of the k reflectors that `geqrf` left, from the left for side 0."""

    def size(
        handle: int,
        side: int,
        trans: int,
        m: int,
        n: int,
        k: int,
        A: int,
        lda: int,
        tau: int,
        C: int,
        ldc: int,
    ) -> int:
        _check(handle, min(m, n, k) >= 0 and ldc >= max(1, m) and trans in (0, 1, 2))
        return max(1, m * n)

    def ormqr(
        handle: int,
        side: int,
        trans: int,
        m: int,
        n: int,
        k: int,
        A: int,
        lda: int,
        tau: int,
        C: int,
        ldc: int,
        work: int,
        lwork: int,
        devInfo: int,
    ) -> None:
        rows = m if side == _LEFT else n
        fine = rows >= k >= 0 and lda >= max(1, rows) and ldc >= max(1, m) and trans in (0, 1, 2)
        with _call(handle, fine):
            a, c = matrix(A, (rows, k), lda, dtype), matrix(C, (m, n), ldc, dtype)
            arrays = (a, vector(tau, k, 1, dtype), c, _info(devInfo))
            calls.call_into("cusolver.ormqr", (side, trans, *arrays))

    return size, ormqr


@_solver("gesvd")
def _gesvd(letter: str, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Do a singular value decomposition of A with m >= n; A is lost. `jobu` and `jobvt` are the
    codes of "A" (all columns), "S" (the first n), "O" (in A) or "N" (none)."""

    def size(handle: int, m: int, n: int) -> int:
        _check(handle, m >= n >= 0)
        return max(1, m * n)

    def gesvd(
        handle: int,
        jobu: int,
        jobvt: int,
        m: int,
        n: int,
        A: int,
        lda: int,
        S: int,
        U: int,
        ldu: int,
        VT: int,
        ldvt: int,
        Work: int,
        lwork: int,
        rwork: int,
        devInfo: int,
    ) -> None:
        jobs = tuple(chr(job) if isinstance(job, int) else str(job) for job in (jobu, jobvt))
        known = all(job in ("A", "S", "O", "N") for job in jobs) and jobs != ("O", "O")
        with _call(handle, known and m >= n >= 0 and lda >= max(1, m)):
            u = vt = None
            if jobs[0] in "AS":
                u = matrix(U, (m, m if jobs[0] == "A" else n), ldu, dtype)
            if jobs[1] in "AS":
                vt = matrix(VT, (n, n), ldvt, dtype)
            a, s = matrix(A, (m, n), lda, dtype), vector(S, n, 1, LETTERS[REAL[letter]])
            calls.call_into("cusolver.gesvd", (*jobs, a, s, u, vt, _info(devInfo)))

    return size, gesvd


@_solver("syevd", "heevd")
def _syevd(letter: str, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Write the eigenvalues of a symmetric or Hermitian matrix to W, and with `jobz` 1 the
    eigenvectors to A, which is lost otherwise."""

    def size(handle: int, jobz: int, uplo: int, n: int, A: int, lda: int, W: int) -> int:
        _check(handle, n >= 0 and lda >= max(1, n))
        return max(1, n)

    def syevd(
        handle: int,
        jobz: int,
        uplo: int,
        n: int,
        A: int,
        lda: int,
        W: int,
        work: int,
        lwork: int,
        info: int,
    ) -> None:
        with _call(handle, n >= 0 and lda >= max(1, n)):
            a, w = matrix(A, (n, n), lda, dtype), vector(W, n, 1, LETTERS[REAL[letter]])
            calls.call_into("cusolver.syevd", (jobz, uplo, a, w, _info(info)))

    return size, syevd
