"""cuBLAS by address: products of several types, triangles, packed storage, against NumPy.

Each test runs twice, see `library_calls`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import cupy as cp
import numpy as np
import pytest
from cupy.cuda import cublas

from cupool.errors import OperationNotSupported
from cupool.proto.operations.api import listing
from tests.cupy import library_calls

LETTERS = ["s", "d", "c", "z"]
DTYPES = dict(zip(LETTERS, "fdFD", strict=True))
LOWER, UPPER = 0, 1
CODES = {"f": 0, "d": 1, "e": 2, "b": 3, "F": 4, "D": 5, "i": 10}
F16, F32, F64, I32, TF32 = 64, 68, 70, 72, 77


@pytest.fixture(params=["mock", "cuda's calls"], autouse=True)
def device_side(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param != "mock":
        library_calls.by_the_cuda_device(monkeypatch)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(9)


@pytest.fixture
def handle() -> Iterator[int]:
    made = cublas.create()
    yield made
    cublas.destroy(made)


def drawn(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Any:
    dtype = np.dtype(dtype)
    if dtype.kind == "i" or dtype.char == "e":  # sums of halves are exact then
        return rng.integers(-4, 5, shape).astype(dtype)
    made = rng.standard_normal(shape)
    if dtype.kind == "c":
        made = made + 1j * rng.standard_normal(shape)
    return made.astype(dtype)


def on_device(a: Any, ld: int) -> Any:
    """Return memory that has matrices (..., rows, columns) in columns `ld` apart; the rest is 7."""
    memory = np.full((*a.shape[:-2], a.shape[-1], ld), 7, a.dtype)
    memory[..., : a.shape[-2]] = np.swapaxes(a, -1, -2)
    return cp.asarray(memory)


def back(memory: Any, rows: int) -> Any:
    host = memory.get()
    assert (host[..., rows:] == 7).all()  # nobody wrote between the columns
    return np.swapaxes(host[..., :rows], -1, -2)


def close(a: Any, b: Any, compute: int = 0) -> None:
    tolerance = (
        1e-2
        if compute == TF32
        else {"e": 4e-3, "f": 2e-4, "F": 2e-4}.get(np.asarray(a).dtype.char, 1e-10)
    )
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def turned(a: Any, trans: int) -> Any:
    return (a, np.swapaxes(a, -1, -2), np.swapaxes(a, -1, -2).conj())[trans]


# ------------------------------------------------------------------- products of several types

TYPES = [
    ("e", "e", "e", F16),
    ("e", "e", "f", F32),
    ("e", "f", "f", F32),
    ("b", "f", "f", F32),
    ("f", "f", "f", F32),
    ("f", "f", "f", TF32),
    ("f", "f", "f", 0),
    ("d", "d", "d", F64),
    ("F", "F", "F", F32),
    ("D", "D", "D", F64),
    ("b", "i", "i", I32),
]


@pytest.mark.parametrize(("given", "to", "factor", "compute"), TYPES)
@pytest.mark.parametrize(("transa", "transb"), [(0, 0), (1, 2), (2, 1)])
@pytest.mark.parametrize("on_gpu", [False, True])
def test_gemm_ex(
    given: str,
    to: str,
    factor: str,
    compute: int,
    transa: int,
    transb: int,
    on_gpu: bool,
    rng: Any,
    handle: int,
) -> None:
    m, n, k = 4, 4, 8  # multiples of 4, as cuBLAS wants them of int8
    a = drawn(rng, (m, k) if transa == 0 else (k, m), given)
    b = drawn(rng, (k, n) if transb == 0 else (n, k), given)
    c = drawn(rng, (m, n), to)
    da, db, dc = on_device(a, 12), on_device(b, 16), on_device(c, 8)
    scales = (1, 1) if compute == I32 else (2, 3)  # others are not promised for integers
    alpha, beta = (np.asarray(value, factor) for value in scales)
    if on_gpu:
        cublas.setPointerMode(handle, cublas.CUBLAS_POINTER_MODE_DEVICE)
    kept = [cp.asarray(one) for one in (alpha, beta)]
    at = [one.data.ptr for one in kept] if on_gpu else [alpha.ctypes.data, beta.ctypes.data]
    first, second = (da.data.ptr, CODES[given], 12), (db.data.ptr, CODES[given], 16)
    last = (dc.data.ptr, CODES[to], 8, compute, cublas.CUBLAS_GEMM_DEFAULT)
    cublas.gemmEx(handle, transa, transb, m, n, k, at[0], *first, *second, at[1], *last)
    wide = "D" if to in "FD" else "d"
    wanted = turned(a, transa).astype(wide) @ turned(b, transb).astype(wide)
    close(back(dc, m), (scales[0] * wanted + scales[1] * c).astype(to), compute)


@pytest.mark.parametrize(("given", "to", "factor", "compute"), TYPES)
def test_gemm_strided_batched_ex(
    given: str, to: str, factor: str, compute: int, rng: Any, handle: int
) -> None:
    m, n, k, count = 4, 4, 8, 3
    a, b = drawn(rng, (count, m, k), given), drawn(rng, (k, n), given)  # the same b for all
    da, db, dc = on_device(a, 4), on_device(b, 12), cp.full((count, n, 8), 7, to)
    scale = 1 if compute == I32 else 2
    alpha, beta = (np.asarray(value, factor) for value in (scale, 0))
    first = (alpha.ctypes.data, da.data.ptr, CODES[given], 4, 4 * k)
    second = (db.data.ptr, CODES[given], 12, 0, beta.ctypes.data)
    last = (dc.data.ptr, CODES[to], 8, 8 * n, count, compute, cublas.CUBLAS_GEMM_DEFAULT)
    cublas.gemmStridedBatchedEx(handle, 0, 0, m, n, k, *first, *second, *last)
    wide = "D" if to in "FD" else "d"
    close(back(dc, m), (scale * a.astype(wide) @ b.astype(wide)).astype(to), compute)
    nothing = (dc.data.ptr, CODES[to], 8, 8 * n, count, compute, cublas.CUBLAS_GEMM_DEFAULT)
    empty = (alpha.ctypes.data, 0, CODES[given], 4, 0, 0, CODES[given], 12, 0, beta.ctypes.data)
    cublas.gemmStridedBatchedEx(handle, 0, 0, m, n, 0, *empty, *nothing)
    assert not back(dc, m).any()


@pytest.mark.parametrize(("given", "to"), [("e", "e"), ("e", "f"), ("b", "f"), ("f", "f")])
def test_sgemm_ex(given: str, to: str, rng: Any, handle: int) -> None:
    a, b, c = (drawn(rng, (4, 4), one) for one in (given, given, to))
    da, db, dc = (on_device(one, 8) for one in (a, b, c))
    one = np.asarray(1, "f")
    first, second = (da.data.ptr, CODES[given], 8), (db.data.ptr, CODES[given], 8)
    at, last = one.ctypes.data, (dc.data.ptr, CODES[to], 8)
    cublas.sgemmEx(handle, 0, 1, 4, 4, 4, at, *first, *second, at, *last)
    close(back(dc, 4), (a.astype("d") @ b.T.astype("d") + c).astype(to))


# ------------------------------------------------------------------- triangles


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("uplo", [LOWER, UPPER])
@pytest.mark.parametrize("trans", [0, 1])
@pytest.mark.parametrize("gap", [0, 2])
def test_syrk(letter: str, uplo: int, trans: int, gap: int, rng: Any, handle: int) -> None:
    dtype, n, k = DTYPES[letter], 4, 3
    a = drawn(rng, (n, k) if trans == 0 else (k, n), dtype)
    c = drawn(rng, (n, n), dtype)
    lda, ldc = a.shape[0] + gap, n + gap
    da, dc = on_device(a, lda), on_device(c, ldc)
    two, three = (np.asarray(value, dtype) for value in (2, 3))
    where = (n, k, two.ctypes.data, da.data.ptr, lda, three.ctypes.data, dc.data.ptr, ldc)
    getattr(cublas, f"{letter}syrk")(handle, uplo, trans, *where)
    full = 2 * (a @ a.T if trans == 0 else a.T @ a) + 3 * c
    rows, columns = (np.tril_indices if uplo == LOWER else np.triu_indices)(n)
    c[rows, columns] = full[rows, columns]
    close(back(dc, n), c)
    where = (n, 0, two.ctypes.data, 0, lda, three.ctypes.data, dc.data.ptr, ldc)
    getattr(cublas, f"{letter}syrk")(handle, uplo, trans, *where)
    c[rows, columns] *= 3
    close(back(dc, n), c)


@pytest.mark.parametrize("letter", ["s", "d"])
@pytest.mark.parametrize("uplo", [LOWER, UPPER])
@pytest.mark.parametrize(("incx", "incy"), [(1, 1), (2, -1), (-1, 3)])
def test_sbmv(letter: str, uplo: int, incx: int, incy: int, rng: Any, handle: int) -> None:
    dtype, n, k = DTYPES[letter], 6, 2
    full = np.zeros((n, n), dtype)
    stored = np.full((k + 1, n), 5, dtype)
    for off in range(k + 1):
        diagonal = drawn(rng, (n - off,), dtype)
        full += np.diag(diagonal, -off) + (np.diag(diagonal, off) if off else 0)
        if uplo == LOWER:
            stored[off, : n - off] = diagonal
        else:
            stored[k - off, off:] = diagonal
    a, x, y = on_device(stored, k + 2), drawn(rng, (17,), dtype), drawn(rng, (17,), dtype)
    dx, dy = cp.asarray(x), cp.asarray(y)

    def elements(array: Any, inc: int) -> Any:
        return array[: (n - 1) * abs(inc) + 1 : abs(inc)][:: 1 if inc > 0 else -1]

    two, three = (np.asarray(value, dtype) for value in (2, 3))
    where = (n, k, two.ctypes.data, a.data.ptr, k + 2, dx.data.ptr, incx)
    getattr(cublas, f"{letter}sbmv")(handle, uplo, *where, three.ctypes.data, dy.data.ptr, incy)
    wanted = y.copy()
    elements(wanted, incy)[...] = 2 * full @ elements(x, incx) + 3 * elements(y, incy)
    close(dy.get(), wanted)


@pytest.mark.parametrize("letter", ["s", "d"])
@pytest.mark.parametrize("uplo", [LOWER, UPPER])
def test_packed(letter: str, uplo: int, rng: Any, handle: int) -> None:
    host = drawn(rng, (5, 5), DTYPES[letter])
    a, packed = on_device(host, 6), cp.zeros(15, DTYPES[letter])
    getattr(cublas, f"{letter}trttp")(handle, uplo, 5, a.data.ptr, 6, packed.data.ptr)
    columns = [host[j:, j] if uplo == LOWER else host[: j + 1, j] for j in range(5)]
    np.testing.assert_array_equal(packed.get(), np.concatenate(columns))
    to = on_device(np.zeros_like(host), 7)
    getattr(cublas, f"{letter}tpttr")(handle, uplo, 5, packed.data.ptr, to.data.ptr, 7)
    np.testing.assert_array_equal(back(to, 5), (np.tril if uplo == LOWER else np.triu)(host))


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("diag", [0, 1])
def test_trsm_batched(letter: str, side: int, diag: int, rng: Any, handle: int) -> None:
    m, n = 4, 3
    order = m if side == 0 else n
    a = drawn(rng, (2, order, order), DTYPES[letter]) + 4 * np.eye(order, dtype=DTYPES[letter])
    b = drawn(rng, (2, m, n), DTYPES[letter])
    da, db = on_device(a, order + 1), on_device(b, m + 1)
    pointers = [cp.asarray([one.data.ptr for one in array], "u8") for array in (da, db)]
    two = np.asarray(2, DTYPES[letter])
    where = (m, n, two.ctypes.data, pointers[0].data.ptr, order + 1, pointers[1].data.ptr, m + 1, 2)
    getattr(cublas, f"{letter}trsmBatched")(handle, side, UPPER, 2, diag, *where)
    solved = back(db, m)
    for i in range(2):
        t = np.triu(a[i], 1) + (np.eye(order) if diag else np.diag(a[i].diagonal()))
        op = t.conj().T.astype(b.dtype)
        close(op @ solved[i] if side == 0 else solved[i] @ op, 2 * b[i])


@pytest.mark.parametrize("letter", LETTERS)
def test_vectors_with_gaps(letter: str, rng: Any, handle: int) -> None:
    x, y = drawn(rng, (16,), DTYPES[letter]), drawn(rng, (16,), DTYPES[letter])
    dx, dy, two = cp.asarray(x), cp.asarray(y), np.asarray(2, DTYPES[letter])
    where = (dx.data.ptr, 3, dy.data.ptr, -2)
    getattr(cublas, f"{letter}axpy")(handle, 5, two.ctypes.data, *where)
    y[:9:2] += 2 * x[:13:3][::-1]
    close(dy.get(), y)
    a = drawn(rng, (3, 2), DTYPES[letter])
    da, one = on_device(a, 4), np.asarray(1, DTYPES[letter])
    given = (two.ctypes.data, da.data.ptr, 4, dx.data.ptr, -2, one.ctypes.data, dy.data.ptr, 4)
    getattr(cublas, f"{letter}gemv")(handle, 0, 3, 2, *given)
    y[:9:4] += 2 * a @ x[:3:2][::-1]
    close(dy.get(), y)
    name = "geru" if letter in "cz" else "ger"
    given = (two.ctypes.data, dx.data.ptr, 2, dy.data.ptr, -1, da.data.ptr, 4)
    getattr(cublas, letter + name)(handle, 3, 2, *given)
    close(back(da, 3), a + 2 * np.outer(x[:5:2], y[:2][::-1]))


# ------------------------------------------------------------------- what is wrong


def test_wrong_arguments_are_refused(handle: int) -> None:
    a, one = cp.zeros((4, 4)), np.ones((), "d")
    at, factor = a.data.ptr, one.ctypes.data

    def refused(status: str, call: Any, *args: Any) -> None:
        with pytest.raises(cublas.CUBLASError, match=status):
            call(handle, *args)

    def ex(types: tuple[int, int, int], compute: int, ld: int = 4, trans: int = 0) -> Any:
        sides = (at, types[0], ld, at, types[1], 4, factor, at, types[2], 4, compute, -1)
        return (trans, 0, 4, 4, 4, factor, *sides)

    refused("NOT_SUPPORTED", cublas.gemmEx, *ex((1, 0, 1), F64))
    refused("NOT_SUPPORTED", cublas.gemmEx, *ex((1, 1, 1), F32))
    refused("NOT_SUPPORTED", cublas.gemmEx, *ex((99, 99, 99), F32))
    refused("INVALID_VALUE", cublas.gemmEx, *ex((1, 1, 1), F64, ld=3))
    refused("INVALID_VALUE", cublas.gemmEx, *ex((1, 1, 1), F64, trans=3))
    with pytest.raises(OperationNotSupported, match="complex bfloat16"):
        cublas.gemmEx(handle, *ex((15, 15, 15), F32))
    refused("INVALID_VALUE", cublas.dsyrk, 0, 0, 4, 4, factor, at, 3, factor, at, 4)
    refused("INVALID_VALUE", cublas.zsyrk, 0, 2, 2, 2, factor, at, 4, factor, at, 4)
    refused("INVALID_VALUE", cublas.dsbmv, 0, 4, 3, factor, at, 3, at, 1, factor, at, 1)
    refused("INVALID_VALUE", cublas.dsbmv, 0, 4, 3, factor, at, 4, at, 0, factor, at, 1)
    refused("INVALID_VALUE", cublas.dtpttr, 2, 2, at, at, 2)
    refused("INVALID_VALUE", cublas.dtrttp, 0, 4, at, 3, at)
    refused("INVALID_VALUE", cublas.dtrsmBatched, 0, 0, 0, 0, 4, 4, factor, at, 3, at, 4, 1)
    refused("INVALID_VALUE", cublas.dtrsmBatched, 0, 0, 3, 0, 4, 4, factor, at, 4, at, 4, 1)
    with pytest.raises(cublas.CUBLASError, match="NOT_INITIALIZED"):
        cublas.gemmEx(0, *ex((1, 1, 1), F64))


def test_an_address_outside_its_memory_is_refused(handle: int) -> None:
    a, b, one = cp.zeros((4, 4)), cp.zeros((40, 40)), np.ones((), "d")
    at, big, factor = a.data.ptr, b.data.ptr, one.ctypes.data
    types = (big, 1, 40, factor, at, 1, 40, F64, -1)
    for call, args in (
        (cublas.gemmEx, (0, 0, 40, 40, 40, factor, big, 1, 40, *types)),
        (cublas.dsyrk, (0, 0, 40, 4, factor, big, 40, factor, at, 40)),
        (cublas.dtrttp, (0, 40, big, 40, at)),
    ):
        with pytest.raises(Exception, match="leaves its owner"):
            call(handle, *args)
            cp.cuda.Device().synchronize()
    lost = cp.asarray([0, 1 << 20], "u8")
    for index in range(2):
        with pytest.raises(ValueError, match="no address in a device's memory"):
            where = (lost.data.ptr + 8 * index, 4, lost.data.ptr + 8 * index, 4, 1)
            cublas.dtrsmBatched(handle, 0, 0, 0, 0, 4, 4, factor, *where)
    assert float(b.sum()) == 0  # the session goes on


def test_functions_have_cupys_parameters() -> None:
    from cupy.cuda import _cublas_calls

    for name, function in _cublas_calls.FUNCTIONS.items():
        said = listing().names[f"cupy.cuda.cublas.{name}"].signature or ""
        inside = said.partition(" ->")[0].strip("()")
        wanted = [re.split(r"[ *]", one.partition("=")[0])[-1] for one in inside.split(", ") if one]
        code = function.__code__
        assert list(code.co_varnames[: code.co_argcount]) == wanted, name
