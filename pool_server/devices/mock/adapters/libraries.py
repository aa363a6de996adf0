"""cuSOLVER, cuBLAS and cuRAND by address, on LAPACK and NumPy's Philox: all go into arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cupool.pool_server.devices.mock.calls import adapter

NpArray = np.ndarray[Any, Any]
_LOWER, _LEFT, _UNIT, _VECTORS = 0, 0, 1, 1
_TRANSPOSES = "NTC"


def _lapack(name: str, *arrays: NpArray) -> Any:
    from scipy.linalg.lapack import get_lapack_funcs

    return get_lapack_funcs((name,), arrays)[0]


def _of_type(name: str, a: NpArray) -> Any:
    """Return the routine that is "or..." for real and "un..." for complex matrices."""
    return _lapack(("un" if a.dtype.kind == "c" else "or") + name, a)


@adapter("cusolver.potrf")
def potrf(uplo: int, a: NpArray, info: NpArray) -> None:
    """Only the triangle is written."""
    made, info[0] = _lapack("potrf", a)(a, lower=uplo == _LOWER, clean=0)
    a[...] = made


@adapter("cusolver.potrs")
def potrs(uplo: int, a: NpArray, b: NpArray, info: NpArray) -> None:
    b[...], info[0] = _lapack("potrs", a, b)(a, b, lower=uplo == _LOWER)


@adapter("cusolver.getrf")
def getrf(a: NpArray, ipiv: NpArray | None, info: NpArray) -> None:
    if ipiv is None:
        info[0] = _unpivoted(a)
        return
    a[...], pivots, info[0] = _lapack("getrf", a)(a)
    ipiv[...] = pivots + 1


def _unpivoted(a: NpArray) -> int:
    """Factorize in place; return the first pivot that is 0, from 1 on, or 0."""
    bad = 0
    for k in range(min(a.shape)):
        if a[k, k] == 0:
            bad = bad or k + 1
            continue
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return bad


def _pivots(a: NpArray, ipiv: NpArray | None) -> NpArray:
    return np.arange(len(a), dtype=np.int32) if ipiv is None else ipiv - 1


@adapter("cusolver.getrs")
def getrs(trans: int, a: NpArray, ipiv: NpArray | None, b: NpArray, info: NpArray) -> None:
    b[...], info[0] = _lapack("getrs", a, b)(a, _pivots(a, ipiv), b, trans=trans)


@adapter("cusolver.getri")
def getri(a: NpArray, ipiv: NpArray | None, c: NpArray, info: NpArray) -> None:
    made, info[0] = _lapack("getri", a)(a, _pivots(a, ipiv))
    c[...] = made


@adapter("cusolver.geqrf")
def geqrf(a: NpArray, tau: NpArray, info: NpArray) -> None:
    a[...], tau[...], _, info[0] = _lapack("geqrf", a)(a)


@adapter("cusolver.orgqr")
def orgqr(k: int, a: NpArray, tau: NpArray, info: NpArray) -> None:
    a[...], _, info[0] = _of_type("gqr", a)(a, tau[:k])


@adapter("cusolver.ormqr")
def ormqr(side: int, trans: int, a: NpArray, tau: NpArray, c: NpArray, info: NpArray) -> None:
    routine = _of_type("mqr", a)
    which = "L" if side == _LEFT else "R", _TRANSPOSES[trans]
    lwork = int(routine(*which, a, tau, c, -1)[1][0].real)
    c[...], _, info[0] = routine(*which, a, tau, c, max(1, lwork))


@adapter("cusolver.gesvd")
def gesvd(
    jobu: str,
    jobvt: str,
    a: NpArray,
    s: NpArray,
    u: NpArray | None,
    vt: NpArray | None,
    info: NpArray,
) -> None:
    whole = "A" in (jobu, jobvt)
    vectors = jobu != "N" or jobvt != "N"
    left, s[...], right, info[0] = _lapack("gesvd", a)(a, vectors, full_matrices=whole)
    rank = len(s)
    for job, given, made in ((jobu, u, left), (jobvt, vt, right)):
        if job == "O":
            a[: made.shape[0], : made.shape[1]] = made[: a.shape[0], : a.shape[1]]
        elif given is not None and job != "N":
            given[...] = made[: given.shape[0], : given.shape[1]]
    if jobu == "O":
        a[...] = left[:, :rank]


@adapter("cusolver.syevd")
def syevd(jobz: int, uplo: int, a: NpArray, w: NpArray, info: NpArray) -> None:
    routine = _lapack("heevd" if a.dtype.kind == "c" else "syevd", a)
    w[...], vectors, info[0] = routine(a, compute_v=jobz == _VECTORS, lower=uplo == _LOWER)
    if jobz == _VECTORS:
        a[...] = vectors


@adapter("cublas.trsm")
def trsm(side: int, uplo: int, trans: int, diag: int, alpha: Any, a: NpArray, b: NpArray) -> None:
    from scipy.linalg.blas import get_blas_funcs

    factor = np.asarray(alpha, a.dtype).item()
    b[...] = get_blas_funcs("trsm", (a, b))(
        factor, a, b, side=side, lower=uplo == _LOWER, trans_a=trans, diag=diag == _UNIT
    )


@adapter("cublas.gemm_ex")
def gemm_ex(
    transa: int,
    transb: int,
    alpha: Any,
    a: NpArray,
    b: NpArray,
    beta: Any,
    c: NpArray,
    compute: int,
    algo: int,
) -> None:
    """Integers are multiplied exactly and then wrap; halves are added up in single precision."""
    whole = c.dtype.kind == "i"
    wide = "d" if whole or c.dtype.char == "d" else "D" if c.dtype.char == "D" else "f"
    wide = "F" if c.dtype.char == "F" else wide
    factor = np.dtype(c.dtype if whole else wide).type
    left, right = factor(alpha), factor(beta)
    for i in range(c.shape[2]):
        first, second = (
            _TURNED[trans](one[..., i].astype(wide)) for trans, one in ((transa, a), (transb, b))
        )
        with np.errstate(over="ignore"):
            product = first @ second
            if whole:
                product = product.astype(np.int64).astype(c.dtype)
            product = left * product
            c[..., i] = product if right == 0 else product + right * c[..., i]


_TURNED: tuple[Callable[[NpArray], NpArray], ...] = (
    lambda a: a,
    lambda a: a.T,
    lambda a: a.conj().T,
)
"""What BLAS does with a matrix, by its number."""


# ------------------------------------------------------------------- random numbers


def _raw(seed: int, offset: int, count: int) -> NpArray:
    """Return 64 random bits for each position of a seed's sequence."""
    bits = np.random.Philox(key=seed, counter=offset // 4)
    drawn: NpArray = bits.random_raw(count + offset % 4)
    return drawn[offset % 4 :]


@adapter("curand.draw")
def draw(
    kind: str, out: NpArray, type_: int, seed: int, offset: int, parameters: list[float]
) -> None:
    """Fill an array: each element is a function of 64 bits, so a sequence can be continued."""
    from scipy import special, stats

    raw = _raw(seed, offset, out.size)
    if kind == "bits":
        out[...] = raw >> np.uint64(64 - 8 * out.itemsize)
        return
    if kind == "uniform":  # 0 is left out, 1 is not
        digits = 24 if out.itemsize == 4 else 53
        out[...] = ((raw >> np.uint64(64 - digits)) + np.uint64(1)) * 2.0**-digits
        return
    between = ((raw >> np.uint64(12)) + 0.5) * 2.0**-52
    if kind == "poisson":
        out[...] = stats.poisson.ppf(between, parameters[0])
        return
    mean, deviation = parameters
    normal = special.ndtri(between) * deviation + mean
    out[...] = np.exp(normal) if kind == "lognormal" else normal
