"""cuSOLVER's Jacobi methods, batches, refined and tridiagonal systems by LAPACK.

LAPACK converges or does not, so what steers Jacobi's method has no effect here: a report has the
true norm of the rest, and 0 sweeps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cupool.pool_server.devices.mock.adapters.libraries import _LOWER, _VECTORS, _lapack
from cupool.pool_server.devices.mock.calls import adapter

NpArray = np.ndarray[Any, Any]
_MOST_ROUNDS = 50
_OVERFLOW, _FACTORIZATION, _DIVERGED = -2, -3, -5
"""cuSOLVER's reasons why a system was solved in full precision."""


@adapter("cusolver.sytrf")
def sytrf(uplo: int, a: NpArray, ipiv: NpArray, info: NpArray) -> None:
    lwork = int(_lapack("sytrf_lwork", a)(len(a), lower=uplo == _LOWER)[0].real)
    made, ipiv[...], info[0] = _lapack("sytrf", a)(a, lower=uplo == _LOWER, lwork=max(1, lwork))
    a[...] = made


@adapter("cusparse.gtsv")
def gtsv(pivoting: bool, lower: NpArray, main: NpArray, upper: NpArray, b: NpArray) -> None:
    """LAPACK always pivots; a singular matrix gives nan."""
    *_, x, info = _lapack("gtsv", main, b)(lower[1:], main, upper[:-1], b)
    b[...] = x if info == 0 else np.nan


@adapter("cusparse.gpsv")
def gpsv(
    m: int,
    systems: int,
    lowest: NpArray,
    lower: NpArray,
    main: NpArray,
    upper: NpArray,
    highest: NpArray,
    x: NpArray,
) -> None:
    """All systems are one of LAPACK's band matrices: what couples them does not count."""
    one_after_another = [
        np.array(one.reshape(m, systems).T) for one in (lowest, lower, main, upper, highest, x)
    ]
    for diagonal, begin in zip(one_after_another[:2], (2, 1), strict=True):
        diagonal[:, :begin] = 0
    for diagonal, end in zip(one_after_another[3:5], (1, 2), strict=True):
        diagonal[:, m - end :] = 0
    *diagonals, right = (one.reshape(-1) for one in one_after_another)
    bands = np.zeros((7, m * systems), main.dtype)  # two rows more, for LAPACK's fill-in
    for row, (diagonal, shift) in enumerate(
        zip(reversed(diagonals), (2, 1, 0, -1, -2), strict=True), 2
    ):
        bands[row] = np.roll(diagonal, shift)
    *_, solved, info = _lapack("gbsv", bands, right)(2, 2, bands, right)
    solved = solved if info == 0 else np.full_like(right, np.nan)
    x[...] = solved.reshape(systems, m).T.reshape(-1)


# ------------------------------------------------------------------- Jacobi's methods


def _report(report: NpArray, rest: NpArray) -> None:
    report[...] = np.linalg.norm(rest), 0


def _svd(a: NpArray, full: bool) -> tuple[NpArray, NpArray, NpArray, int]:
    """Return U, S, V and cuSOLVER's `info`."""
    u, s, vh, info = _lapack("gesvd", a)(a, True, full_matrices=full)
    return u, s, vh.conj().T, min(a.shape) + 1 if info > 0 else info


@adapter("cusolver.gesvdj")
def gesvdj(
    jobz: int,
    econ: int,
    a: NpArray,
    s: NpArray,
    u: NpArray | None,
    v: NpArray | None,
    info: NpArray,
    tolerance: float | None,
    sweeps: int | None,
    sort: int | None,
    report: NpArray,
) -> None:
    left, s[...], right, info[0] = _svd(a, full=not econ)
    short = len(s)
    _report(report, left[:, :short].conj().T @ a @ right[:, :short] - np.diag(s))
    if u is not None and v is not None:
        u[...], v[...] = left, right


@adapter("cusolver.gesvdj_batched")
def gesvdj_batched(
    jobz: int,
    a: NpArray,
    s: NpArray,
    u: NpArray | None,
    v: NpArray | None,
    info: NpArray,
    tolerance: float | None,
    sweeps: int | None,
    sort: int | None,
) -> None:
    for i in range(a.shape[2]):
        left, s[:, i], right, info[i] = _svd(a[..., i], full=True)
        if u is not None and v is not None:
            u[..., i], v[..., i] = left, right


@adapter("cusolver.gesvda_batched")
def gesvda_batched(
    jobz: int,
    a: NpArray,
    s: NpArray,
    u: NpArray | None,
    v: NpArray | None,
    info: NpArray,
    norms: NpArray | None,
) -> None:
    rank = len(s)
    for i in range(a.shape[2]):
        left, values, right, info[i] = _svd(a[..., i], full=False)
        left, values, right = left[:, :rank], values[:rank], right[:, :rank]
        s[:, i] = values
        if u is not None and v is not None:
            u[..., i], v[..., i] = left, right
        if norms is not None:
            norms[i] = np.linalg.norm(a[..., i] - (left * values) @ right.conj().T)


def _eigen(uplo: int, a: NpArray) -> tuple[NpArray, NpArray, int]:
    """Return eigenvalues, eigenvectors and cuSOLVER's `info`."""
    routine = _lapack("heevd" if a.dtype.kind == "c" else "syevd", a)
    values, vectors, info = routine(a, compute_v=True, lower=uplo == _LOWER)
    return values, vectors, len(a) + 1 if info > 0 else info


@adapter("cusolver.syevj")
def syevj(
    jobz: int,
    uplo: int,
    a: NpArray,
    w: NpArray,
    info: NpArray,
    tolerance: float | None,
    sweeps: int | None,
    sort: int | None,
    report: NpArray,
) -> None:
    w[...], vectors, info[0] = _eigen(uplo, a)
    half = np.tril(a, -1) if uplo == _LOWER else np.triu(a, 1)
    whole = half + half.conj().T + np.diag(a.diagonal().real)
    _report(report, vectors.conj().T @ whole @ vectors - np.diag(w))
    if jobz == _VECTORS:
        a[...] = vectors


@adapter("cusolver.syevj_batched")
def syevj_batched(
    jobz: int,
    uplo: int,
    a: NpArray,
    w: NpArray,
    info: NpArray,
    tolerance: float | None,
    sweeps: int | None,
    sort: int | None,
) -> None:
    for i in range(a.shape[2]):
        w[:, i], vectors, info[i] = _eigen(uplo, a[..., i])
        if jobz == _VECTORS:
            a[..., i] = vectors


# ------------------------------------------------------------------- iterative refinement


def _tf32(a: NpArray) -> NpArray:
    """Round to the 10 bits of mantissa that TF32 has."""
    bits = np.ascontiguousarray(a, np.float32).view(np.uint32)
    rounded: NpArray = ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)
    return rounded


def _lower(a: NpArray, low: str) -> NpArray:
    """Return a matrix with the precision that a letter of cuSOLVER's stands for."""
    if low in "dz":
        return np.array(a, "D" if low == "z" else "d", order="F")
    if low in "sc":
        return np.array(a, "F" if low == "c" else "f", order="F")

    def half(part: NpArray) -> NpArray:
        return part.astype(np.float16).astype(np.float32)

    rounding = half if low in "hk" else _tf32
    if a.dtype.kind == "c":
        return np.asfortranarray(rounding(a.real) + np.complex64(1j) * rounding(a.imag))
    return np.asfortranarray(rounding(a))


def _refine(
    b: NpArray,
    correct: Callable[[NpArray], NpArray],
    residual: Callable[[NpArray], NpArray],
    enough: Callable[[NpArray, NpArray], bool],
) -> tuple[NpArray, int]:
    """Add corrections to a solution until the residual is small.

    Returns:
        the solution; rounds, negative if it did not converge.
    """
    x = correct(b)
    for rounds in range(_MOST_ROUNDS + 1):
        if not np.isfinite(x).all():
            return x, _DIVERGED
        rest = residual(x)
        if enough(rest, x):
            return x, rounds
        x = x + correct(rest)
    return x, -_MOST_ROUNDS


def _largest(a: NpArray) -> float:
    return float(np.abs(a).max(initial=0))


@adapter("cusolver.gesv")
def gesv(
    low: str, a: NpArray, ipiv: NpArray, b: NpArray, x: NpArray, info: NpArray, done: NpArray
) -> None:
    """`a` stays, unless it had to be factorized in full precision."""
    with np.errstate(all="ignore"):
        small = _lower(a, low)
        if not np.isfinite(small).all():
            done[0] = _OVERFLOW
        else:
            lu, pivots, bad = _lapack("getrf", small)(small)
            done[0] = _FACTORIZATION
            if bad == 0:
                found, done[0] = _refine_lu(a, b, lu, pivots)
    if done[0] >= 0:
        x[...], ipiv[...], info[0] = found, pivots + 1, 0
        return
    a[...], pivots, info[0] = _lapack("getrf", a)(a)
    ipiv[...] = pivots + 1
    if info[0] == 0:
        x[...], info[0] = _lapack("getrs", a, b)(a, pivots, b)


def _refine_lu(a: NpArray, b: NpArray, lu: NpArray, pivots: NpArray) -> tuple[NpArray, int]:
    limit = np.finfo(a.dtype).eps * len(a) ** 0.5 * float(np.abs(a).sum(axis=1).max(initial=0))

    def correct(rest: NpArray) -> NpArray:
        # By its largest element, a residual is made to fit into the lower precision.
        scale = _largest(rest) or 1.0
        solved = _lapack("getrs", lu)(lu, pivots, (rest / scale).astype(lu.dtype))[0]
        back: NpArray = solved.astype(a.dtype) * a.dtype.type(scale)
        return back

    def enough(rest: NpArray, x: NpArray) -> bool:
        return bool((np.abs(rest).max(axis=0) <= limit * np.abs(x).max(axis=0)).all())

    return _refine(b, correct, lambda x: b - a @ x, enough)


@adapter("cusolver.gels")
def gels(low: str, a: NpArray, b: NpArray, x: NpArray, info: NpArray, done: NpArray) -> None:
    """`a` stays, unless it had to be factorized in full precision."""
    with np.errstate(all="ignore"):
        small = _lower(a, low)
        if not np.isfinite(small).all():
            done[0] = _OVERFLOW
        else:
            r = np.linalg.qr(small)[1]
            done[0] = _FACTORIZATION
            if r.diagonal().all():
                found, done[0] = _refine_qr(a, b, r)
    if done[0] >= 0:
        x[...], info[0] = found, 0
        return
    q, r = np.linalg.qr(a)
    a[...], _, _, info[0] = _lapack("geqrf", a)(a)
    zeros = np.flatnonzero(r.diagonal() == 0)
    if zeros.size:
        info[0] = zeros[0] + 1
    else:
        x[...] = _triangular(r, q.conj().T @ b, "N")


def _triangular(r: NpArray, b: NpArray, trans: str) -> NpArray:
    from scipy.linalg import solve_triangular

    solved: NpArray = solve_triangular(r, b, trans=trans, check_finite=False)
    return solved


def _refine_qr(a: NpArray, b: NpArray, r: NpArray) -> tuple[NpArray, int]:
    """Correct by the normal equations, whose residual is found in full precision."""
    adjoint, size = a.conj().T, float(np.linalg.norm(a))
    limit = np.finfo(a.dtype).eps * len(a) ** 0.5 * size

    def correct(rest: NpArray) -> NpArray:
        scale = _largest(rest) or 1.0
        inner = _triangular(r, (rest / scale).astype(r.dtype), "C")
        solved: NpArray = _triangular(r, inner, "N").astype(a.dtype) * a.dtype.type(scale)
        return solved

    def enough(rest: NpArray, x: NpArray) -> bool:
        return bool(_largest(rest) <= limit * (size * _largest(x) + _largest(b)))

    return _refine(adjoint @ b, correct, lambda x: adjoint @ (b - a @ x), enough)
