"""The functions of `cupy.cuda.cublas`: one for each of BLAS's letters, made of `cupy.cublas`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls
from cupool.client_shim.cupy.cuda import _cusolver_calls, _libraries, _runtime_streams
from cupool.client_shim.cupy.cuda._libraries import (
    INT32,
    LETTERS,
    REAL,
    matrix,
    read,
    vector,
    written,
)

_INVALID_VALUE = 7
_NO_TRANSPOSE, _LEFT, _LOWER = 0, 0, 0
FUNCTIONS: dict[str, Any] = {}
"""By the names that CuPy gives them."""


def _module() -> Any:
    from cupool.client_shim.cupy.cuda import cublas

    return cublas


def _cublas() -> Any:
    from cupool.client_shim.cupy import cublas

    return cublas


@contextmanager
def _call(handle: int) -> Iterator[Any]:
    """Work in the stream of a handle; gives `(pointer, dtype) -> place` of factors and results."""
    module = _module()
    mode = module.getPointerMode(handle)

    def scalar(pointer: int, dtype: np.dtype[Any]) -> Any:
        if mode == module.CUBLAS_POINTER_MODE_DEVICE:
            return matrix(pointer, (1, 1), 1, dtype)[0, 0]
        return _libraries.on_host(pointer, dtype)

    with _runtime_streams.on_stream(module.getStream(handle) or None):
        yield scalar


def _check(fine: bool) -> None:
    if not fine:
        raise _module().CUBLASError(_INVALID_VALUE)


def _for_each(letters: str, name: str = "{}") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register what `make(letter, dtype)` returns, under the name with the letter in it."""

    def register(make: Callable[..., Any]) -> Callable[..., Any]:
        for letter in letters:
            full = name.format(letter) if "{}" in name else letter + name
            function = make(letter, LETTERS[letter])
            function.__name__ = function.__qualname__ = full
            function.__doc__ = f"{(make.__doc__ or '').strip()} For {LETTERS[letter].name}."
            FUNCTIONS[full] = function
        return make

    return register


# ------------------------------------------------------------------- vectors


def _to_scalar(routine: str, name: str, letters: str, result: Any) -> None:
    def make(letter: str, dtype: np.dtype[Any]) -> Any:
        """Write a property of a vector to `result`."""
        kind = result(letter)

        def function(handle: int, n: int, x: int, incx: int, result: int) -> None:
            with _call(handle) as scalar:
                getattr(_cublas(), routine)(read(x, n, incx, dtype), out=scalar(result, kind))

        return function

    _for_each(letters, name)(make)


for _routine in ("iamax", "iamin"):
    _to_scalar(_routine, f"i{{}}{_routine[1:]}", "sdcz", lambda letter: INT32)
for _routine in ("asum", "nrm2"):
    _to_scalar(_routine, f"{{}}{_routine}", "sd", lambda letter: LETTERS[letter])
    for _letter, _prefix in (("c", "sc"), ("z", "dz")):
        _to_scalar(_routine, f"{_prefix}{_routine}", _letter, lambda one: LETTERS[REAL[one]])
        FUNCTIONS[f"{_prefix}{_routine}"] = FUNCTIONS.pop(f"{_letter}{_prefix}{_routine}")


def _dots(routine: str, letters: str) -> None:
    def make(letter: str, dtype: np.dtype[Any]) -> Any:
        """Write the product of two vectors to `result`."""

        def function(
            handle: int, n: int, x: int, incx: int, y: int, incy: int, result: int
        ) -> None:
            with _call(handle) as scalar:
                two = read(x, n, incx, dtype), read(y, n, incy, dtype)
                getattr(_cublas(), routine)(*two, out=scalar(result, dtype))

        return function

    _for_each(letters, routine)(make)


_dots("dot", "sd")
_dots("dotu", "cz")
_dots("dotc", "cz")


@_for_each("sdcz", "axpy")
def _axpy(letter: str, dtype: np.dtype[Any]) -> Any:
    """Do `y += alpha * x`."""

    def axpy(handle: int, n: int, alpha: int, x: int, incx: int, y: int, incy: int) -> None:
        with _call(handle) as scalar, written(y, n, incy, dtype) as to:
            _cublas().axpy(scalar(alpha, dtype), read(x, n, incx, dtype), to)

    return axpy


@_for_each("sdcz", "scal")
def _scal(letter: str, dtype: np.dtype[Any], factor: Any = None) -> Any:
    """Do `x *= alpha`."""

    def scal(handle: int, n: int, alpha: int, x: int, incx: int) -> None:
        with _call(handle) as scalar, written(x, n, incx, dtype) as to:
            _cublas().scal(scalar(alpha, factor or dtype), to)

    return scal


FUNCTIONS["csscal"] = _scal("c", LETTERS["c"], LETTERS["s"])
FUNCTIONS["zdscal"] = _scal("z", LETTERS["z"], LETTERS["d"])


# ------------------------------------------------------------------- matrices and vectors


@_for_each("sdcz", "gemv")
def _gemv(letter: str, dtype: np.dtype[Any]) -> Any:
    """Do `y = alpha * op(A) @ x + beta * y`; columns lie `lda` elements apart."""

    def gemv(
        handle: int,
        trans: int,
        m: int,
        n: int,
        alpha: int,
        A: int,
        lda: int,
        x: int,
        incx: int,
        beta: int,
        y: int,
        incy: int,
    ) -> None:
        _check(lda >= max(1, m))
        long, short = (n, m) if trans == _NO_TRANSPOSE else (m, n)
        with _call(handle) as scalar, written(y, short, incy, dtype) as to:
            a, given = matrix(A, (m, n), lda, dtype), read(x, long, incx, dtype)
            _cublas().gemv(trans, scalar(alpha, dtype), a, given, scalar(beta, dtype), to)

    return gemv


def _gers(routine: str, letters: str) -> None:
    def make(letter: str, dtype: np.dtype[Any]) -> Any:
        """Do `A += alpha * outer(x, y)`, with `y` conjugated for "gerc"."""

        def ger(
            handle: int,
            m: int,
            n: int,
            alpha: int,
            x: int,
            incx: int,
            y: int,
            incy: int,
            A: int,
            lda: int,
        ) -> None:
            _check(lda >= max(1, m))
            with _call(handle) as scalar:
                two = read(x, m, incx, dtype), read(y, n, incy, dtype)
                to = matrix(A, (m, n), lda, dtype)
                getattr(_cublas(), routine)(scalar(alpha, dtype), *two, to)

        return ger

    _for_each(letters, routine)(make)


_gers("ger", "sd")
_gers("geru", "cz")
_gers("gerc", "cz")


# ------------------------------------------------------------------- matrices


def _product(
    dtype: np.dtype[Any], sizes: Any, factors: Any, a: Any, b: Any, c: Any, scalar: Any
) -> None:
    """Do one `C = alpha * op(A) @ op(B) + beta * C`; `a`, `b`, `c` are addresses with their ld."""
    transa, transb, m, n, k = sizes
    shape_a = (m, k) if transa == _NO_TRANSPOSE else (k, m)
    shape_b = (k, n) if transb == _NO_TRANSPOSE else (n, k)
    _check(a[1] >= max(1, shape_a[0]) and b[1] >= max(1, shape_b[0]) and c[1] >= max(1, m))
    if m and n:
        two = matrix(a[0], shape_a, a[1], dtype), matrix(b[0], shape_b, b[1], dtype)
        alpha, beta = (scalar(one, dtype) for one in factors)
        to = matrix(c[0], (m, n), c[1], dtype)
        _cublas().gemm(transa, transb, *two, out=to, alpha=alpha, beta=beta)


@_for_each("sdcz", "gemm")
def _gemm(letter: str, dtype: np.dtype[Any]) -> Any:
    """Do `C = alpha * op(A) @ op(B) + beta * C`; columns lie `ld` elements apart."""

    def gemm(
        handle: int,
        transa: int,
        transb: int,
        m: int,
        n: int,
        k: int,
        alpha: int,
        A: int,
        lda: int,
        B: int,
        ldb: int,
        beta: int,
        C: int,
        ldc: int,
    ) -> None:
        with _call(handle) as scalar:
            sizes = (transa, transb, m, n, k)
            _product(dtype, sizes, (alpha, beta), (A, lda), (B, ldb), (C, ldc), scalar)

    return gemm


@_for_each("sdcz", "gemmStridedBatched")
def _gemm_strided(letter: str, dtype: np.dtype[Any]) -> Any:
    """Do `gemm` for matrices that lie `stride` elements apart."""

    def gemmStridedBatched(
        handle: int,
        transa: int,
        transb: int,
        m: int,
        n: int,
        k: int,
        alpha: int,
        A: int,
        lda: int,
        strideA: int,
        B: int,
        ldb: int,
        strideB: int,
        beta: int,
        C: int,
        ldc: int,
        strideC: int,
        batchCount: int,
    ) -> None:
        from cupool.client_shim.cupy.cuda import _cublas_mixed

        code, compute = _cublas_mixed.OF_LETTERS[letter]
        places = ((A, code, lda, strideA), (B, code, ldb, strideB), (C, code, ldc, strideC))
        sizes = (transa, transb, m, n, k, batchCount)
        _cublas_mixed.product(handle, sizes, (alpha, beta), places, compute)

    return gemmStridedBatched


@_for_each("sdcz", "gemmBatched")
def _gemm_batched(letter: str, dtype: np.dtype[Any]) -> Any:
    """Do `gemm` for matrices whose addresses are in arrays, which is waited for."""

    def gemmBatched(
        handle: int,
        transa: int,
        transb: int,
        m: int,
        n: int,
        k: int,
        alpha: int,
        Aarray: int,
        lda: int,
        Barray: int,
        ldb: int,
        beta: int,
        Carray: int,
        ldc: int,
        batchCount: int,
    ) -> None:
        with _call(handle) as scalar:
            lists = (_libraries.addresses(one, batchCount) for one in (Aarray, Barray, Carray))
            for a, b, c in zip(*lists, strict=True):
                sizes = (transa, transb, m, n, k)
                _product(dtype, sizes, (alpha, beta), (a, lda), (b, ldb), (c, ldc), scalar)

    return gemmBatched


@_for_each("sdcz", "geam")
def _geam(letter: str, dtype: np.dtype[Any]) -> Any:
    """Do `C = alpha * op(A) + beta * op(B)`."""

    def geam(
        handle: int,
        transa: int,
        transb: int,
        m: int,
        n: int,
        alpha: int,
        A: int,
        lda: int,
        beta: int,
        B: int,
        ldb: int,
        C: int,
        ldc: int,
    ) -> None:
        with _call(handle) as scalar:
            a = matrix(A, (m, n) if transa == _NO_TRANSPOSE else (n, m), lda, dtype)
            b = matrix(B, (m, n) if transb == _NO_TRANSPOSE else (n, m), ldb, dtype)
            left, right = (transa, transb, scalar(alpha, dtype), a), (scalar(beta, dtype), b)
            _cublas().geam(*left, *right, out=matrix(C, (m, n), ldc, dtype))

    return geam


@_for_each("sdcz", "dgmm")
def _dgmm(letter: str, dtype: np.dtype[Any]) -> Any:
    """Multiply the rows (mode 0) or columns of A by a vector, into C."""

    def dgmm(
        handle: int,
        mode: int,
        m: int,
        n: int,
        A: int,
        lda: int,
        x: int,
        incx: int,
        C: int,
        ldc: int,
    ) -> None:
        with _call(handle):
            factors = vector(x, m if mode == _LEFT else n, incx, dtype).copy()
            a, to = matrix(A, (m, n), lda, dtype), matrix(C, (m, n), ldc, dtype)
            _cublas().dgmm("L" if mode == _LEFT else "R", a, factors, out=to)

    return dgmm


@_for_each("sdcz", "trsm")
def _trsm(letter: str, dtype: np.dtype[Any]) -> Any:
    """Solve `op(A) @ X = alpha * B` (side 0) or `X @ op(A) = alpha * B` for triangular A, in B."""

    def trsm(
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
    ) -> None:
        order = m if side == _LEFT else n
        _check(lda >= max(1, order) and ldb >= max(1, m))
        with _call(handle) as scalar:
            a, b = matrix(Aarray, (order, order), lda, dtype), matrix(Barray, (m, n), ldb, dtype)
            factor = scalar(alpha, dtype)
            factor = factor.item() if isinstance(factor, np.ndarray) else factor
            calls.call_into("cublas.trsm", (side, uplo, trans, diag, factor, a, b))

    return trsm


# ------------------------------------------------------------------- batches of small matrices


@_for_each("sdcz", "getrfBatched")
def _getrf_batched(letter: str, dtype: np.dtype[Any]) -> Any:
    """Factorize matrices whose addresses are in an array; no pivots if `PivotArray` is 0."""

    def getrfBatched(
        handle: int, n: int, Aarray: int, lda: int, PivotArray: int, infoArray: int, batchSize: int
    ) -> None:
        with _call(handle):
            for index, a in enumerate(_libraries.addresses(Aarray, batchSize)):
                pivots = vector(PivotArray + 4 * n * index, n, 1, INT32) if PivotArray else None
                info = vector(infoArray + 4 * index, 1, 1, INT32)
                one = matrix(a, (n, n), lda, dtype)
                calls.call_into("cusolver.getrf", (one, pivots, info))

    return getrfBatched


@_for_each("sdcz", "getriBatched")
def _getri_batched(letter: str, dtype: np.dtype[Any]) -> Any:
    """Invert matrices that `getrfBatched` has factorized, into those of `Carray`."""

    def getriBatched(
        handle: int,
        n: int,
        Aarray: int,
        lda: int,
        PivotArray: int,
        Carray: int,
        ldc: int,
        infoArray: int,
        batchSize: int,
    ) -> None:
        with _call(handle):
            lists = (_libraries.addresses(one, batchSize) for one in (Aarray, Carray))
            for index, (a, c) in enumerate(zip(*lists, strict=True)):
                pivots = vector(PivotArray + 4 * n * index, n, 1, INT32) if PivotArray else None
                info = vector(infoArray + 4 * index, 1, 1, INT32)
                two = matrix(a, (n, n), lda, dtype), matrix(c, (n, n), ldc, dtype)
                calls.call_into("cusolver.getri", (two[0], pivots, two[1], info))

    return getriBatched


@_for_each("sdcz", "getrsBatched")
def _getrs_batched(letter: str, dtype: np.dtype[Any]) -> Any:
    """Solve by what `getrfBatched` has made; `info` is an address of this machine."""

    def getrsBatched(
        handle: int,
        trans: int,
        n: int,
        nrhs: int,
        Aarray: int,
        lda: int,
        devIpiv: int,
        Barray: int,
        ldb: int,
        info: int,
        batchSize: int,
    ) -> None:
        with _call(handle):
            done = _cusolver_calls.no_info()
            lists = (_libraries.addresses(one, batchSize) for one in (Aarray, Barray))
            for index, (a, b) in enumerate(zip(*lists, strict=True)):
                pivots = vector(devIpiv + 4 * n * index, n, 1, INT32) if devIpiv else None
                two = matrix(a, (n, n), lda, dtype), matrix(b, (n, nrhs), ldb, dtype)
                calls.call_into("cusolver.getrs", (trans, two[0], pivots, two[1], done))
        _libraries.on_host(info, INT32)[...] = 0

    return getrsBatched
