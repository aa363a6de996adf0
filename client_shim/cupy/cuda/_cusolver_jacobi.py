"""`cupy.cuda.cusolver`: Jacobi's methods and batches of them, with the objects that steer them.

Semantics: https://docs.nvidia.com/cuda/cusolver/ (gesvdj, gesvdjBatched, gesvdaStridedBatched,
syevj, syevjBatched). A batch is one operation where the GPU is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls
from cupool.client_shim.cupy.cuda import _libraries, _runtime_streams
from cupool.client_shim.cupy.cuda._cusolver_calls import _VECTORS, FUNCTIONS, _call, _check, _solver
from cupool.client_shim.cupy.cuda._libraries import INT32, LETTERS, REAL, matrix, stack, vector

_INVALID_VALUE, _NOT_SUPPORTED = 3, 9
_LARGEST_OF_BATCH = 32
"""cuSOLVER takes no larger matrices in `gesvdjBatched`."""
_NO_VECTORS_OR_VECTORS = (0, _VECTORS)

# ------------------------------------------------------------------- what steers them


def _error(status: int) -> Exception:
    from cupool.client_shim.cupy.cuda import cusolver

    error: Exception = cusolver.CUSOLVERError(status)
    return error


def _settings(info: int, kind: str) -> dict[str, Any]:
    """Return what was set on an object that steers; raise CUSOLVERError if it is none."""
    found = _libraries.find(info, kind)
    if found is None:
        raise _error(_INVALID_VALUE)
    return found.settings


def _object(kind: str, create: str, destroy: str) -> None:
    """Register the functions that make and forget objects of a kind."""

    def made() -> int:
        from cupool.client_shim import session

        return _libraries.create(kind, session.current.device)

    def forget(info: int) -> None:
        if not _libraries.destroy(info, kind):
            raise _error(_INVALID_VALUE)

    _register(create, made, "Return a new object of settings.")

    def forget_params(params: int) -> None:
        forget(params)

    _register(
        destroy,
        forget_params if kind.endswith("params") else forget,
        "Forget an object of settings.",
    )


def empty(info: int, count: int, *sizes: int) -> bool:
    """Return whether there is nothing to do, and say then that it has succeeded."""
    if all(sizes):
        return False
    if count:
        vector(info, count, 1, INT32).fill(0)
    return True


def _register(name: str, function: Any, doc: str) -> None:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    FUNCTIONS[name] = function


def _steering(routine: str, kind: str) -> None:
    """Register the functions that set and read an object's properties."""

    def tolerance(info: int, tolerance: float) -> None:
        _settings(info, kind)["tolerance"] = float(tolerance)

    def sweeps(info: int, max_sweeps: int) -> None:
        _settings(info, kind)["sweeps"] = int(max_sweeps)

    def sort_svd(info: int, sort_svd: int) -> None:
        _settings(info, kind)["sort"] = int(sort_svd)

    def sort_eig(info: int, sort_eig: int) -> None:
        _settings(info, kind)["sort"] = int(sort_eig)

    def report(handle: int, info: int, at: int) -> float:
        from cupool.client_shim.cupy.cuda import cusolver

        _check(handle)
        found = _settings(info, kind).get("report")
        if found is None:  # nothing has run, or a batch, of which cuSOLVER tells nothing
            raise _error(_NOT_SUPPORTED)
        with _runtime_streams.on_stream(cusolver.getStream(handle) or None):
            return float(found.get()[at])

    def residual(handle: int, info: int) -> float:
        return report(handle, info, 0)

    def executed(handle: int, info: int) -> int:
        return int(report(handle, info, 1))

    short = f"x{routine}"
    _register(f"{short}SetTolerance", tolerance, "Set up to what size the rest may stay.")
    _register(f"{short}SetMaxSweeps", sweeps, "Set how many sweeps there are at most.")
    sort = sort_svd if routine == "gesvdj" else sort_eig
    _register(f"{short}SetSortEig", sort, "Set whether values are sorted (1) or not (0).")
    doc = "of the last call with this object: it is waited for."
    _register(f"{short}GetResidual", residual, f"Return the Frobenius norm of the rest {doc}")
    _register(f"{short}GetSweeps", executed, f"Return the number of sweeps {doc}")


_object("cusolver_gesvdj", "createGesvdjInfo", "destroyGesvdjInfo")
_object("cusolver_syevj", "createSyevjInfo", "destroySyevjInfo")
_object("cusolver_params", "createParams", "destroyParams")
_steering("gesvdj", "cusolver_gesvdj")
_steering("syevj", "cusolver_syevj")


def _steered(info: int, kind: str, batch: bool = False) -> tuple[Any, ...]:
    """Return tolerance, sweeps, order (None: not set), and for a single matrix its report."""
    settings = _settings(info, kind)
    found = tuple(settings.get(name) for name in ("tolerance", "sweeps", "sort"))
    if batch:
        settings["report"] = None
        return found
    from cupool.client_shim import cupy

    settings["report"] = cupy.empty(2, np.float64)
    return (*found, settings["report"])


# ------------------------------------------------------------------- singular values


def _svd_fits(jobz: int, m: int, n: int, lda: int, ldu: int, ldv: int) -> bool:
    fine = jobz in _NO_VECTORS_OR_VECTORS and min(m, n) >= 0 and lda >= max(1, m)
    return fine and (jobz != _VECTORS or (ldu >= max(1, m) and ldv >= max(1, n)))


@_solver("gesvdj")
def _gesvdj(letter: str, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Do a singular value decomposition A = U S V^H by Jacobi's method; A is lost. With `jobz` 1,
    U and V (not V^H) are written: square, or with `econ` as many columns as S has."""

    def size(
        handle: int,
        jobz: int,
        econ: int,
        m: int,
        n: int,
        A: int,
        lda: int,
        S: int,
        U: int,
        ldu: int,
        V: int,
        ldv: int,
        params: int,
    ) -> int:
        _check(handle, _svd_fits(jobz, m, n, lda, ldu, ldv))
        _settings(params, "cusolver_gesvdj")
        return max(1, m * n)

    def gesvdj(
        handle: int,
        jobz: int,
        econ: int,
        m: int,
        n: int,
        A: int,
        lda: int,
        S: int,
        U: int,
        ldu: int,
        V: int,
        ldv: int,
        work: int,
        lwork: int,
        info: int,
        params: int,
    ) -> None:
        short = min(m, n)
        with _call(handle, _svd_fits(jobz, m, n, lda, ldu, ldv)):
            steered = _steered(params, "cusolver_gesvdj")
            if empty(info, 1, m, n):
                return
            u = v = None
            if jobz == _VECTORS:
                u = matrix(U, (m, short if econ else m), ldu, dtype)
                v = matrix(V, (n, short if econ else n), ldv, dtype)
            a, s = matrix(A, (m, n), lda, dtype), vector(S, short, 1, LETTERS[REAL[letter]])
            where = (a, s, u, v, vector(info, 1, 1, INT32))
            calls.call_into("cusolver.gesvdj", (jobz, int(bool(econ)), *where, *steered))

    return size, gesvdj


@_solver("gesvdjBatched")
def _gesvdj_batched(letter: str, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Do `gesvdj` for matrices up to 32 x 32 that follow each other; U and V are square."""

    def fits(jobz: int, m: int, n: int, lda: int, ldu: int, ldv: int, count: int) -> bool:
        small = max(m, n) <= _LARGEST_OF_BATCH and count >= 0
        return small and _svd_fits(jobz, m, n, lda, ldu, ldv)

    def size(
        handle: int,
        jobz: int,
        m: int,
        n: int,
        A: int,
        lda: int,
        S: int,
        U: int,
        ldu: int,
        V: int,
        ldv: int,
        params: int,
        batchSize: int,
    ) -> int:
        _check(handle, fits(jobz, m, n, lda, ldu, ldv, batchSize))
        _settings(params, "cusolver_gesvdj")
        return max(1, m * n * batchSize)

    def gesvdjBatched(
        handle: int,
        jobz: int,
        m: int,
        n: int,
        A: int,
        lda: int,
        S: int,
        U: int,
        ldu: int,
        V: int,
        ldv: int,
        work: int,
        lwork: int,
        info: int,
        params: int,
        batchSize: int,
    ) -> None:
        with _call(handle, fits(jobz, m, n, lda, ldu, ldv, batchSize)):
            steered = _steered(params, "cusolver_gesvdj", batch=True)
            if empty(info, batchSize, batchSize, m, n):
                return
            u = v = None
            if jobz == _VECTORS:
                u = stack(U, (m, m), ldu, ldu * m, batchSize, dtype)
                v = stack(V, (n, n), ldv, ldv * n, batchSize, dtype)
            short, real = min(m, n), LETTERS[REAL[letter]]
            a = stack(A, (m, n), lda, lda * n, batchSize, dtype)
            s = _libraries.vectors(S, short, short, batchSize, real)
            where = (a, s, u, v, vector(info, batchSize, 1, INT32))
            calls.call_into("cusolver.gesvdj_batched", (jobz, *where, *steered))

    return size, gesvdjBatched


def _gesvda_fits(rank: int, sizes: tuple[int, ...], strides: tuple[int, ...], count: int) -> bool:
    jobz, m, n, lda, ldu, ldv = sizes
    wanted = (lda * n, rank, *((ldu * rank, ldv * rank) if jobz == _VECTORS else ()))
    apart = all(a >= b for a, b in zip(strides, wanted, strict=False)) or count == 1
    return m >= n >= rank >= 1 and _svd_fits(*sizes) and apart and count >= 0


def _gesvda_size() -> Any:
    """Return `..gesvdaStridedBatched_bufferSize`."""

    def size(
        handle: int,
        jobz: int,
        rank: int,
        m: int,
        n: int,
        d_A: int,
        lda: int,
        strideA: int,
        d_S: int,
        strideS: int,
        d_U: int,
        ldu: int,
        strideU: int,
        d_V: int,
        ldv: int,
        strideV: int,
        batchSize: int,
    ) -> int:
        strides = (strideA, strideS, strideU, strideV)
        _check(handle, _gesvda_fits(rank, (jobz, m, n, lda, ldu, ldv), strides, batchSize))
        return max(1, m * n * batchSize)

    return size


@_solver("gesvdaStridedBatched")
def _gesvda(letter: str, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Write the `rank` largest singular values of matrices with m >= n that lie `stride` apart,
    and with `jobz` 1 their vectors. `h_R_nrmF`, an address of this machine or 0, gets the norms of
    A - U S V^H, in double precision: they are waited for."""

    def gesvdaStridedBatched(
        handle: int,
        jobz: int,
        rank: int,
        m: int,
        n: int,
        d_A: int,
        lda: int,
        strideA: int,
        d_S: int,
        strideS: int,
        d_U: int,
        ldu: int,
        strideU: int,
        d_V: int,
        ldv: int,
        strideV: int,
        d_work: int,
        lwork: int,
        d_info: int,
        h_R_nrmF: int,
        batchSize: int,
    ) -> None:
        from cupool.client_shim import cupy

        strides = (strideA, strideS, strideU, strideV)
        with _call(handle, _gesvda_fits(rank, (jobz, m, n, lda, ldu, ldv), strides, batchSize)):
            if empty(d_info, 0, batchSize):
                return
            u = v = norms = None
            if jobz == _VECTORS:
                u = stack(d_U, (m, rank), ldu, strideU, batchSize, dtype)
                v = stack(d_V, (n, rank), ldv, strideV, batchSize, dtype)
            if h_R_nrmF and jobz == _VECTORS:
                norms = cupy.empty(batchSize, np.float64)
            a = stack(d_A, (m, n), lda, strideA, batchSize, dtype)
            s = _libraries.vectors(d_S, rank, strideS, batchSize, LETTERS[REAL[letter]])
            where = (a, s, u, v, vector(d_info, batchSize, 1, INT32), norms)
            calls.call_into("cusolver.gesvda_batched", (jobz, *where))
            for index, norm in enumerate(() if norms is None else norms.get()):
                _libraries.on_host(h_R_nrmF + 8 * index, LETTERS["d"])[...] = norm

    return _gesvda_size(), gesvdaStridedBatched


# ------------------------------------------------------------------- eigenvalues


def _eigen_fits(jobz: int, uplo: int, n: int, lda: int) -> bool:
    return jobz in _NO_VECTORS_OR_VECTORS and uplo in (0, 1) and n >= 0 and lda >= max(1, n)


@_solver("syevj", "heevj")
def _syevj(letter: str, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Do what `syevd` does, by Jacobi's method."""

    def size(
        handle: int, jobz: int, uplo: int, n: int, A: int, lda: int, W: int, params: int
    ) -> int:
        _check(handle, _eigen_fits(jobz, uplo, n, lda))
        _settings(params, "cusolver_syevj")
        return max(1, n * n)

    def syevj(
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
        params: int,
    ) -> None:
        with _call(handle, _eigen_fits(jobz, uplo, n, lda)):
            steered = _steered(params, "cusolver_syevj")
            if empty(info, 1, n):
                return
            a, w = matrix(A, (n, n), lda, dtype), vector(W, n, 1, LETTERS[REAL[letter]])
            where = (a, w, vector(info, 1, 1, INT32))
            calls.call_into("cusolver.syevj", (jobz, uplo, *where, *steered))

    return size, syevj


@_solver("syevjBatched", "heevjBatched")
def _syevj_batched(letter: str, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Do `syevj` for matrices that follow each other."""

    def size(
        handle: int,
        jobz: int,
        uplo: int,
        n: int,
        A: int,
        lda: int,
        W: int,
        params: int,
        batchSize: int,
    ) -> int:
        _check(handle, _eigen_fits(jobz, uplo, n, lda) and batchSize >= 0)
        _settings(params, "cusolver_syevj")
        return max(1, n * n * batchSize)

    def syevjBatched(
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
        params: int,
        batchSize: int,
    ) -> None:
        with _call(handle, _eigen_fits(jobz, uplo, n, lda) and batchSize >= 0):
            steered = _steered(params, "cusolver_syevj", batch=True)
            if empty(info, batchSize, batchSize, n):
                return
            a = stack(A, (n, n), lda, lda * n, batchSize, dtype)
            w = _libraries.vectors(W, n, n, batchSize, LETTERS[REAL[letter]])
            where = (a, w, vector(info, batchSize, 1, INT32))
            calls.call_into("cusolver.syevj_batched", (jobz, uplo, *where, *steered))

    return size, syevjBatched
