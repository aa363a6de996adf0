"""cuSOLVER by address: Jacobi's methods, batches, `sytrf`, refined systems, against NumPy.

Each test runs twice: on the mock, and with what the CUDA device would call, on the shim's own
functions by address in the place of CuPy's: numbers and order of its arguments are checked so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import cupy as cp
import numpy as np
import pytest
from cupy.cuda import cusolver, device

from cupool.proto.operations.api import listing
from tests.cupy import library_calls

LETTERS = ["s", "d", "c", "z"]
DTYPES = dict(zip(LETTERS, "fdFD", strict=True))
LOWER, UPPER = 0, 1
NONE, VECTORS = 0, 1


@pytest.fixture(params=["mock", "cuda's calls"], autouse=True)
def device_side(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param != "mock":
        library_calls.by_the_cuda_device(monkeypatch)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


@pytest.fixture
def svd() -> Iterator[int]:
    made = cusolver.createGesvdjInfo()
    yield made
    cusolver.destroyGesvdjInfo(made)


@pytest.fixture
def eig() -> Iterator[int]:
    made = cusolver.createSyevjInfo()
    yield made
    cusolver.destroySyevjInfo(made)


def drawn(rng: np.random.Generator, shape: tuple[int, ...], letter: str) -> Any:
    made = rng.standard_normal(shape)
    if letter in "cz":
        made = made + 1j * rng.standard_normal(shape)
    return made.astype(DTYPES[letter])


def on_device(a: Any, ld: int) -> Any:
    """Return memory that has matrices (..., rows, columns) in columns `ld` apart; the rest is 7."""
    memory = np.full((*a.shape[:-2], a.shape[-1], ld), 7, a.dtype)
    memory[..., : a.shape[-2]] = np.swapaxes(a, -1, -2)
    return cp.asarray(memory)


def back(memory: Any, rows: int) -> Any:
    host = memory.get()
    assert (host[..., rows:] == 7).all()  # nobody wrote between the columns
    return np.swapaxes(host[..., :rows], -1, -2)


def close(a: Any, b: Any) -> None:
    tolerance = 3e-4 if np.asarray(a).dtype.char in "fF" else 1e-10
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def adjoint(a: Any) -> Any:
    return np.swapaxes(a, -1, -2).conj()


def call(letter: str, name: str, where: tuple[Any, ...], info: Any, *more: Any) -> None:
    """Ask for the work space, and call; `more` are the objects of settings and the batch."""
    handle = device.get_cusolver_handle()
    count = getattr(cusolver, f"{letter}{name}_bufferSize")(handle, *where, *more)
    work = cp.empty(count, DTYPES[letter])
    function = getattr(cusolver, letter + name)
    function(handle, *where, work.data.ptr, count, info.data.ptr, *more)


# ------------------------------------------------------------------- singular values


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("econ", [0, 1])
@pytest.mark.parametrize(("m", "n"), [(5, 3), (3, 5), (4, 4), (3, 1)])
def test_gesvdj(letter: str, econ: int, m: int, n: int, svd: int, rng: Any) -> None:
    host, short = drawn(rng, (m, n), letter), min(m, n)
    a, s, info = on_device(host, m + 1), cp.zeros(short, DTYPES[letter].lower()), cp.ones(1, "i")
    columns = (short, short) if econ else (m, n)
    u, v = (cp.full((c, r + 2), 7, DTYPES[letter]) for c, r in zip(columns, (m, n), strict=True))
    where = (a.data.ptr, m + 1, s.data.ptr, u.data.ptr, m + 2, v.data.ptr, n + 2)
    call(letter, "gesvdj", (VECTORS, econ, m, n, *where), info, svd)
    assert info.get().tolist() == [0]
    left, right = back(u, m), back(v, n)
    close((left[:, :short] * s.get()) @ adjoint(right[:, :short]), host)
    close(adjoint(left) @ left, np.eye(columns[0]))
    close(adjoint(right) @ right, np.eye(columns[1]))
    handle = device.get_cusolver_handle()
    assert 0 <= cusolver.xgesvdjGetResidual(handle, svd) < 1e-4
    assert cusolver.xgesvdjGetSweeps(handle, svd) >= 0


@pytest.mark.parametrize("letter", LETTERS)
def test_gesvdj_without_vectors(letter: str, svd: int, rng: Any) -> None:
    host = drawn(rng, (5, 3), letter)
    a, s, info = on_device(host, 5), cp.zeros(3, DTYPES[letter].lower()), cp.ones(1, "i")
    cusolver.xgesvdjSetTolerance(svd, float(np.finfo(host.dtype).eps))
    cusolver.xgesvdjSetMaxSweeps(svd, 30)
    cusolver.xgesvdjSetSortEig(svd, 1)
    where = (a.data.ptr, 5, s.data.ptr, 0, 5, 0, 3)
    call(letter, "gesvdj", (NONE, 0, 5, 3, *where), info, svd)
    close(s.get(), np.linalg.svd(host, compute_uv=False))
    call(letter, "gesvdj", (NONE, 0, 0, 3, a.data.ptr, 5, s.data.ptr, 0, 1, 0, 3), info, svd)
    assert info.get().tolist() == [0]


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize(("m", "n", "batch"), [(4, 3, 3), (2, 4, 2), (3, 1, 2), (4, 2, 1)])
def test_gesvdj_batched(letter: str, m: int, n: int, batch: int, svd: int, rng: Any) -> None:
    host, short = drawn(rng, (batch, m, n), letter), min(m, n)
    a, info = on_device(host, m + 1), cp.ones(batch, "i")
    s = cp.zeros((batch, short), DTYPES[letter].lower())
    u = cp.full((batch, m, m + 1), 7, DTYPES[letter])
    v = cp.full((batch, n, n), 7, DTYPES[letter])
    where = (a.data.ptr, m + 1, s.data.ptr, u.data.ptr, m + 1, v.data.ptr, n)
    call(letter, "gesvdjBatched", (VECTORS, m, n, *where), info, svd, batch)
    assert info.get().tolist() == [0] * batch
    left, right = back(u, m)[..., :short], back(v, n)[..., :short]
    close((left * s.get()[:, None, :]) @ adjoint(right), host)
    with pytest.raises(cusolver.CUSOLVERError, match="NOT_SUPPORTED"):
        cusolver.xgesvdjGetSweeps(device.get_cusolver_handle(), svd)


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize(("n", "rank"), [(3, 3), (3, 2), (1, 1)])
def test_gesvda(letter: str, n: int, rank: int, rng: Any) -> None:
    host, batch, m = drawn(rng, (3, 5, n), letter), 3, 5
    a, info, norms = on_device(host, 6), cp.ones(batch, "i"), np.zeros(batch)
    s = cp.full((batch, rank + 1), 7, DTYPES[letter].lower())
    u = cp.full((batch, rank, m), 7, DTYPES[letter])
    v = cp.full((batch, rank, n + 1), 7, DTYPES[letter])
    where = (a.data.ptr, 6, 6 * n, s.data.ptr, rank + 1, u.data.ptr, m, m * rank)
    where = (VECTORS, rank, m, n, *where, v.data.ptr, n + 1, (n + 1) * rank)
    handle = device.get_cusolver_handle()
    size = getattr(cusolver, f"{letter}gesvdaStridedBatched_bufferSize")(handle, *where, batch)
    work = cp.empty(size, DTYPES[letter])
    solve = getattr(cusolver, f"{letter}gesvdaStridedBatched")
    where = (*where, work.data.ptr, size, info.data.ptr)
    solve(handle, *where, norms.ctypes.data, batch)
    assert info.get().tolist() == [0] * batch
    values = np.linalg.svd(host, compute_uv=False)
    close(back(cp.asarray(s)[:, None], rank)[..., 0], values[:, :rank])
    made = (back(u, m) * s.get()[:, None, :rank]) @ adjoint(back(v, n))
    rest = np.linalg.norm(host - made, axis=(1, 2))
    close(norms.astype(s.dtype), rest.astype(s.dtype))
    close(rest.astype(s.dtype), np.sqrt((values[:, rank:] ** 2).sum(1)).astype(s.dtype))
    solve(handle, NONE, *where[1:], 0, batch)


# ------------------------------------------------------------------- eigenvalues


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("uplo", [LOWER, UPPER])
def test_syevj(letter: str, uplo: int, eig: int, rng: Any) -> None:
    host = drawn(rng, (4, 4), letter)
    host = host + adjoint(host)
    name = "heevj" if letter in "cz" else "syevj"
    half = (np.tril if uplo == LOWER else np.triu)(host)
    a, w, info = on_device(half, 5), cp.zeros(4, DTYPES[letter].lower()), cp.ones(1, "i")
    call(letter, name, (VECTORS, uplo, 4, a.data.ptr, 5, w.data.ptr), info, eig)
    assert info.get().tolist() == [0]
    close(w.get(), np.linalg.eigvalsh(host))
    vectors = back(a, 4)
    close(host @ vectors, vectors * w.get())
    handle = device.get_cusolver_handle()
    assert 0 <= cusolver.xsyevjGetResidual(handle, eig) < 1e-4
    assert cusolver.xsyevjGetSweeps(handle, eig) >= 0
    a = on_device(half, 4)
    cusolver.xsyevjSetTolerance(eig, float(np.finfo(host.dtype).eps))
    cusolver.xsyevjSetMaxSweeps(eig, 30)
    cusolver.xsyevjSetSortEig(eig, 1)
    call(letter, name, (NONE, uplo, 4, a.data.ptr, 4, w.data.ptr), info, eig)
    close(w.get(), np.linalg.eigvalsh(host))


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("n", [1, 3])
def test_syevj_batched(letter: str, n: int, eig: int, rng: Any) -> None:
    host = drawn(rng, (3, n, n), letter)
    host = host + adjoint(host)
    name = "heevjBatched" if letter in "cz" else "syevjBatched"
    a, w = on_device(host, n + 1), cp.zeros((3, n), DTYPES[letter].lower())
    info = cp.ones(3, "i")
    call(letter, name, (VECTORS, UPPER, n, a.data.ptr, n + 1, w.data.ptr), info, eig, 3)
    assert info.get().tolist() == [0] * 3
    close(w.get(), np.linalg.eigvalsh(host))
    vectors = back(a, n)
    close(host @ vectors, vectors * w.get()[:, None, :])


@pytest.mark.parametrize("letter", LETTERS)
def test_xsyevd(letter: str, rng: Any) -> None:
    codes = {"s": (0, 0), "d": (1, 1), "c": (4, 0), "z": (5, 1)}[letter]
    host = drawn(rng, (4, 4), letter)
    host = host + adjoint(host)
    a, w, info = on_device(host, 5), cp.zeros(4, DTYPES[letter].lower()), cp.ones(1, "i")
    handle, params = device.get_cusolver_handle(), cusolver.createParams()
    where = (params, VECTORS, LOWER, 4, codes[0], a.data.ptr, 5, codes[1], w.data.ptr, codes[0])
    on_gpu, on_host = cusolver.xsyevd_bufferSize(handle, *where)
    work, place = cp.empty(on_gpu, "u1"), np.empty(on_host, "u1")
    spaces = (work.data.ptr, on_gpu, place.ctypes.data, on_host)
    cusolver.xsyevd(handle, *where, *spaces, info.data.ptr)
    assert info.get().tolist() == [0]
    close(w.get(), np.linalg.eigvalsh(host))
    vectors = back(a, 4)
    close(host @ vectors, vectors * w.get())
    wrong = (*where[:7], 5, *where[8:])  # eigenvalues are real
    with pytest.raises(cusolver.CUSOLVERError, match="INVALID_VALUE"):
        cusolver.xsyevd(handle, *wrong, *spaces, info.data.ptr)
    cusolver.destroyParams(params)
    with pytest.raises(cusolver.CUSOLVERError, match="INVALID_VALUE"):
        cusolver.xsyevd(handle, *where, *spaces, info.data.ptr)


@pytest.mark.parametrize("letter", LETTERS)
def test_xgeev(letter: str, rng: Any) -> None:
    code, values = {"s": (0, 4), "d": (1, 5), "c": (4, 4), "z": (5, 5)}[letter]
    host = drawn(rng, (5, 5), letter)
    host[:2, :2], host[2:, :2], host[:2, 2:] = [[0, 1], [-1, 0]], 0, 0  # a complex pair at least
    w = cp.zeros(5, "F" if letter in "sc" else "D")
    a, v, info = on_device(host, 6), cp.full((5, 7), 7, host.dtype), cp.ones(1, "i")
    handle, params = device.get_cusolver_handle(), cusolver.createParams()
    sides = (code, 0, 5, code, v.data.ptr, 7, code)
    where = (params, NONE, VECTORS, 5, code, a.data.ptr, 6, values, w.data.ptr, *sides)
    on_gpu, on_host = cusolver.xgeev_bufferSize(handle, *where)
    work, place = cp.empty(on_gpu, "u1"), np.empty(on_host, "u1")
    spaces = (work.data.ptr, on_gpu, place.ctypes.data, on_host, info.data.ptr)
    cusolver.xgeev(handle, *where, *spaces)
    assert info.get().tolist() == [0]
    found, packed = w.get(), back(v, 5)
    vectors = packed.astype(w.dtype)
    if letter in "sd":
        for first in np.flatnonzero(found.imag > 0):
            pair = packed[:, first] + 1j * packed[:, first + 1]
            vectors[:, first], vectors[:, first + 1] = pair, pair.conj()
    close(host @ vectors, vectors * found)
    again, values_alone = on_device(host, 6), cp.zeros_like(w)
    where = (params, NONE, NONE, 5, code, again.data.ptr, 6, values, values_alone.data.ptr, *sides)
    cusolver.xgeev(handle, *where, *spaces)
    close(np.sort_complex(values_alone.get()), np.sort_complex(found))
    with pytest.raises(cusolver.CUSOLVERError, match="NOT_SUPPORTED"):
        cusolver.xgeev(handle, params, VECTORS, *where[2:], *spaces)
    cusolver.destroyParams(params)


# ------------------------------------------------------------------- systems


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("uplo", [LOWER, UPPER])
def test_sytrf(letter: str, uplo: int, rng: Any) -> None:
    from scipy.linalg.lapack import get_lapack_funcs

    host = drawn(rng, (6, 6), letter)
    host = host + host.T - np.diag(2 * host.diagonal())  # nothing on the diagonal: blocks of two
    right = drawn(rng, (6, 2), letter)
    a, pivots, info = on_device(host, 7), cp.zeros(6, "i"), cp.ones(1, "i")
    handle = device.get_cusolver_handle()
    size = getattr(cusolver, f"{letter}sytrf_bufferSize")(handle, 6, a.data.ptr, 7)
    work = cp.empty(size, DTYPES[letter])
    where = (6, a.data.ptr, 7, pivots.data.ptr, work.data.ptr, size, info.data.ptr)
    getattr(cusolver, f"{letter}sytrf")(handle, uplo, *where)
    assert info.get().tolist() == [0]
    made = back(a, 6)
    assert (pivots.get() < 0).any()
    other = np.triu_indices(6, 1) if uplo == LOWER else np.tril_indices(6, -1)
    assert (made[other] == host[other]).all()
    solve = get_lapack_funcs("sytrs", (made,))
    x, wrong = solve(made, pivots.get(), right, lower=uplo == LOWER)
    assert wrong == 0
    close(host @ x, right)


PAIRS = ["dd", "ds", "dh", "dx", "ss", "sh", "sx", "zz", "zc", "zk", "zy", "cc", "ck", "cy"]


def refined(pair: str, name: str, sizes: tuple[int, ...], where: tuple[Any, ...]) -> Any:
    """Solve; return rounds and `info`."""
    handle, info = device.get_cusolver_handle(), cp.full(1, 99, "i")
    size = getattr(cusolver, f"{pair}{name}_bufferSize")(handle, *sizes, *where, 0)
    work = cp.empty(size, "u1")
    solve = getattr(cusolver, pair + name)
    rounds = solve(handle, *sizes, *where, work.data.ptr, size, info.data.ptr)
    return rounds, int(info[0])


@pytest.mark.parametrize("pair", PAIRS)
def test_gesv(pair: str, rng: Any) -> None:
    letter = pair[0]
    host = drawn(rng, (6, 6), letter) + 6 * np.eye(6, dtype=DTYPES[letter])
    right = drawn(rng, (6, 2), letter) * 1e4
    a, b, x = on_device(host, 7), on_device(right, 6), cp.full((2, 8), 7, DTYPES[letter])
    pivots = cp.zeros(6, "i")
    where = (a.data.ptr, 7, pivots.data.ptr, b.data.ptr, 6, x.data.ptr, 8)
    rounds, info = refined(pair, "gesv", (6, 2), where)
    assert info == 0
    close(back(x, 6), np.linalg.solve(host, right))
    if library_calls.on_a_mock():
        assert rounds >= (0 if pair[0] == pair[1] else 1)
        assert (back(a, 6) == host).all()
        assert pivots.get().min() >= 1


@pytest.mark.parametrize("pair", PAIRS)
def test_gesv_in_full_precision(pair: str) -> None:
    host = np.diag([1e6, 4, 1]).astype(DTYPES[pair[0]])  # too much for half precision
    right = np.ones((3, 1), host.dtype)
    a, b, x = on_device(host, 3), on_device(right, 3), cp.zeros((1, 3), host.dtype)
    pivots = cp.zeros(3, "i")
    where = (a.data.ptr, 3, pivots.data.ptr, b.data.ptr, 3, x.data.ptr, 3)
    rounds, info = refined(pair, "gesv", (3, 1), where)
    assert info == 0
    close(host @ x.get().T, right)
    if not library_calls.on_a_mock():
        return
    assert rounds < 0 if pair[1] in "hk" else rounds >= 0
    zero = cp.zeros((3, 3), host.dtype)
    rounds, info = refined(pair, "gesv", (3, 1), (zero.data.ptr, *where[1:]))
    assert rounds < 0
    assert info == 1


@pytest.mark.parametrize("pair", PAIRS)
def test_gels(pair: str, rng: Any) -> None:
    letter = pair[0]
    host, right = drawn(rng, (8, 3), letter), drawn(rng, (8, 2), letter)
    a, b, x = on_device(host, 9), on_device(right, 8), cp.full((2, 4), 7, DTYPES[letter])
    where = (a.data.ptr, 9, b.data.ptr, 8, x.data.ptr, 4)
    rounds, info = refined(pair, "gels", (8, 3, 2), where)
    assert info == 0
    close(back(x, 3), np.linalg.lstsq(host, right, rcond=None)[0])
    if not library_calls.on_a_mock():
        return
    assert rounds >= 0
    assert (back(a, 8) == host).all()
    zero = cp.zeros((3, 9), host.dtype)
    rounds, info = refined(pair, "gels", (8, 3, 2), (zero.data.ptr, *where[1:]))
    assert rounds < 0
    assert info == 1


# ------------------------------------------------------------------- what is wrong


def test_wrong_sizes_and_objects_are_refused(svd: int, eig: int) -> None:
    handle, a = device.get_cusolver_handle(), cp.zeros((4, 4))
    at = a.data.ptr

    def refused(call: Any, *args: Any) -> None:
        with pytest.raises(cusolver.CUSOLVERError, match="INVALID_VALUE"):
            call(handle, *args)

    refused(cusolver.dgesvdj, 1, 0, 4, 4, at, 3, at, at, 4, at, 4, at, 1, at, svd)
    refused(cusolver.dgesvdj, 1, 0, 4, 4, at, 4, at, at, 3, at, 4, at, 1, at, svd)
    refused(cusolver.dgesvdj, 2, 0, 4, 4, at, 4, at, at, 4, at, 4, at, 1, at, svd)
    refused(cusolver.dgesvdj, 1, 0, -1, 4, at, 4, at, at, 4, at, 4, at, 1, at, svd)
    refused(cusolver.dgesvdj, 1, 0, 4, 4, at, 4, at, at, 4, at, 4, at, 1, at, eig)
    refused(cusolver.dgesvdj_bufferSize, 1, 0, 4, 4, at, 4, at, at, 4, at, 4, 0)
    refused(cusolver.dgesvdjBatched, 1, 33, 4, at, 33, at, at, 33, at, 4, at, 1, at, svd, 1)
    refused(cusolver.dsyevj, 1, 2, 4, at, 4, at, at, 1, at, eig)
    refused(cusolver.dsyevjBatched, 1, 0, 4, at, 4, at, at, 1, at, eig, -1)
    wide = (1, 2, 2, 4, at, 4, 16, at, 2, at, 4, 8, at, 4, 8)
    refused(cusolver.dgesvdaStridedBatched_bufferSize, *wide, 1)
    close_by = (1, 2, 4, 2, at, 4, 3, at, 2, at, 4, 8, at, 4, 8)
    refused(cusolver.dgesvdaStridedBatched_bufferSize, *close_by, 2)
    refused(cusolver.dsytrf, 0, 4, at, 4, 0, at, 1, at)
    refused(cusolver.dsgesv, 4, 1, at, 3, at, at, 4, at, 4, at, 1, at)
    refused(cusolver.dsgels, 3, 4, 1, at, 4, at, 4, at, 4, at, 1, at)
    with pytest.raises(cusolver.CUSOLVERError, match="INVALID_VALUE"):
        cusolver.destroyGesvdjInfo(eig)


def test_an_address_outside_its_memory_is_refused(svd: int, eig: int) -> None:
    handle, a, b = device.get_cusolver_handle(), cp.zeros((4, 4)), cp.zeros((40, 40))
    infos = cp.zeros(300, "i")
    at, info = b.data.ptr, infos.data.ptr
    for call, args in (
        (cusolver.dgesvdj, (1, 0, 40, 40, a.data.ptr, 40, at, at, 40, at, 40, at, 1, info, svd)),
        (cusolver.dsyevjBatched, (1, 0, 4, a.data.ptr, 4, at, at, 1, info, eig, 300)),
        (cusolver.dsgesv, (4, 300, a.data.ptr, 4, info, a.data.ptr, 4, at, 4, at, 1, info)),
        (cusolver.dsytrf, (0, 400, a.data.ptr, 400, info, at, 1, info)),
        (cusolver.dsytrf, (0, 1 << 40, a.data.ptr, 1 << 40, info, at, 1, info)),
    ):
        with pytest.raises(ValueError, match="leaves its owner"):  # at once, at the user's line
            call(handle, *args)
    for wrong in (0, 1 << 20):
        with pytest.raises(ValueError, match="no address in a device's memory"):
            cusolver.dsytrf(handle, 0, 4, wrong, 4, info, at, 1, info)
    assert float(b.sum()) == 0  # the session goes on


def test_functions_have_cupys_parameters() -> None:
    from cupy.cuda import _cusolver_calls

    for name, function in _cusolver_calls.FUNCTIONS.items():
        said = listing().names[f"cupy.cuda.cusolver.{name}"].signature or ""
        inside = said.partition(" ->")[0].strip("()")
        wanted = [re.split(r"[ *]", one.partition("=")[0])[-1] for one in inside.split(", ") if one]
        code = function.__code__
        assert list(code.co_varnames[: code.co_argcount]) == wanted, name
