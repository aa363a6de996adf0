"""cuSOLVER, cuBLAS and cuRAND by address, against NumPy: column-major, with leading dimensions.

Those of cuSOLVER and cuBLAS run twice, see `library_calls`.
"""

from __future__ import annotations

from typing import Any

import cupy as cp
import numpy as np
import pytest
from cupy.cuda import cublas, curand, cusolver, device

from cupool.errors import OperationNotSupported
from tests.cupy import library_calls

LETTERS = ["s", "d", "c", "z"]
DTYPES = dict(zip(LETTERS, "fdFD", strict=True))
LOWER, UPPER = 0, 1


@pytest.fixture(params=["mock", "cuda's calls"])
def rng(request: Any, monkeypatch: pytest.MonkeyPatch) -> np.random.Generator:
    if request.param != "mock":
        library_calls.by_the_cuda_device(monkeypatch)
    return np.random.default_rng(4)


def matrix(rng: np.random.Generator, m: int, n: int, letter: str) -> Any:
    made = rng.standard_normal((m, n))
    if letter in "cz":
        made = made + 1j * rng.standard_normal((m, n))
    return np.asarray(made, DTYPES[letter])


def on_device(a: Any, ld: int) -> Any:
    """Return memory that has a matrix in columns `ld` apart; what is between stays 7."""
    memory = np.full((a.shape[1], ld), 7, a.dtype)
    memory[:, : a.shape[0]] = a.T
    return cp.asarray(memory)


def back(memory: Any, rows: int) -> Any:
    host = memory.get()
    assert (host[:, rows:] == 7).all()  # nobody wrote between the columns
    return host[:, :rows].T


def close(a: Any, b: Any) -> None:
    tolerance = 2e-4 if np.asarray(a).dtype.char in "fF" else 1e-10
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def call(letter: str, name: str, size: tuple[Any, ...], *more: Any, work: int = 2) -> int:
    """Call a solver as scripts do: its buffer's size, the buffer, the function; return `info`.

    Args:
        size: arguments of the function's `..._bufferSize`; the function has them first.
        more: what follows before (None: where) the work space.
        work: how many arguments the work space is: its address, and its length.
    """
    handle = device.get_cusolver_handle()
    lwork = getattr(cusolver, f"{letter}{name}_bufferSize")(handle, *size)
    space = cp.empty(lwork, DTYPES[letter])
    info = cp.full(1, 99, "i")
    given = [*more, None] if None not in more else list(more)
    at = given.index(None)
    given[at : at + 1] = [space.data.ptr, lwork][:work]
    getattr(cusolver, f"{letter}{name}")(handle, *size, *given, info.data.ptr)
    return int(info[0])


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("uplo", [LOWER, UPPER])
def test_cholesky(letter: str, uplo: int, rng: np.random.Generator) -> None:
    host = matrix(rng, 5, 5, letter)
    host = host @ host.conj().T + 5 * np.eye(5, dtype=host.dtype)
    a, ld = on_device(host, 7), 7
    assert call(letter, "potrf", (uplo, 5, a.data.ptr, ld)) == 0
    made = back(a, 5)
    root = np.tril(made) if uplo == LOWER else np.triu(made).conj().T
    close(root @ root.conj().T, host)
    other = (np.triu if uplo == LOWER else np.tril)(made, 1 if uplo == LOWER else -1)
    assert (other == (np.triu if uplo == LOWER else np.tril)(host, 1 if not uplo else -1)).all()
    right, info = matrix(rng, 5, 2, letter), cp.empty(1, "i")
    b = on_device(right, 6)
    solve = getattr(cusolver, f"{letter}potrs")
    where = (a.data.ptr, ld, b.data.ptr, 6, info.data.ptr)
    solve(device.get_cusolver_handle(), uplo, 5, 2, *where)
    close(host @ back(b, 5), right)
    host[2, 2] = -1
    bad = on_device(host, 5)
    assert call(letter, "potrf", (uplo, 5, bad.data.ptr, 5)) == 3


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("pivoted", [True, False])
def test_lu(letter: str, pivoted: bool, rng: np.random.Generator) -> None:
    host = matrix(rng, 4, 4, letter) + 4 * np.eye(4, dtype=DTYPES[letter])
    a, pivots = on_device(host, 5), cp.zeros(4, "i")
    at = pivots.data.ptr if pivoted else 0
    assert call(letter, "getrf", (4, 4, a.data.ptr, 5), None, at, work=1) == 0
    made = back(a, 4)
    product = (np.tril(made, -1) + np.eye(4)) @ np.triu(made)
    for row in range(3, -1, -1) if pivoted else ():
        product[[row, int(pivots[row]) - 1]] = product[[int(pivots[row]) - 1, row]]
    close(product.astype(host.dtype), host)
    for trans, op in enumerate((host, host.T, host.conj().T)):
        right, info = matrix(rng, 4, 3, letter), cp.empty(1, "i")
        b = on_device(right, 4)
        where = (4, 3, a.data.ptr, 5, at, b.data.ptr, 4, info.data.ptr)
        getattr(cusolver, f"{letter}getrs")(device.get_cusolver_handle(), trans, *where)
        close(op @ back(b, 4), right)
    singular = on_device(np.zeros((2, 2), DTYPES[letter]), 2)
    assert call(letter, "getrf", (2, 2, singular.data.ptr, 2), None, at, work=1) == 1


@pytest.mark.parametrize("letter", LETTERS)
def test_qr(letter: str, rng: np.random.Generator) -> None:
    host = matrix(rng, 5, 3, letter)
    a, tau = on_device(host, 6), cp.zeros(3, DTYPES[letter])
    assert call(letter, "geqrf", (5, 3, a.data.ptr, 6), tau.data.ptr, None) == 0
    r = np.triu(back(a, 5)[:3])
    kind = "un" if letter in "cz" else "or"
    right = matrix(rng, 5, 2, letter)
    c = on_device(right, 5)
    size = (0, 2 if letter in "cz" else 1, 5, 2, 3, a.data.ptr, 6, tau.data.ptr, c.data.ptr, 5)
    assert call(letter, f"{kind}mqr", size) == 0
    assert call(letter, f"{kind}gqr", (5, 3, 3, a.data.ptr, 6, tau.data.ptr)) == 0
    q = back(a, 5)
    close(q @ r, host)
    close(back(c, 5)[:3], q.conj().T @ right)


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("jobs", ["AA", "SS", "NN", "OS", "SN"])
def test_svd(letter: str, jobs: str, rng: np.random.Generator) -> None:
    host, real = matrix(rng, 5, 3, letter), DTYPES[letter].lower()
    a, s = on_device(host, 5), cp.zeros(3, real)
    u, vt = (cp.zeros((n, n), DTYPES[letter]) for n in (5, 3))
    handle, info = device.get_cusolver_handle(), cp.empty(1, "i")
    lwork = getattr(cusolver, f"{letter}gesvd_bufferSize")(handle, 5, 3)
    work = cp.empty(lwork, DTYPES[letter])
    where = (a.data.ptr, 5, s.data.ptr, u.data.ptr, 5, vt.data.ptr, 3, work.data.ptr, lwork, 0)
    codes = (ord(jobs[0]), ord(jobs[1]), 5, 3)
    getattr(cusolver, f"{letter}gesvd")(handle, *codes, *where, info.data.ptr)
    assert int(info[0]) == 0
    close(s.get(), np.linalg.svd(host, compute_uv=False))
    left = (a if jobs[0] == "O" else u).get().T[:, :3]
    if jobs[1] in "AS":
        close((left * s.get()) @ vt.get().T, host)
    if jobs == "AA":
        close(u.get().T @ u.get().T.conj().T, np.eye(5))
    with pytest.raises(cusolver.CUSOLVERError, match="INVALID_VALUE"):
        getattr(cusolver, f"{letter}gesvd_bufferSize")(handle, 3, 5)


@pytest.mark.parametrize("letter", LETTERS)
def test_eigenvalues(letter: str, rng: np.random.Generator) -> None:
    host = matrix(rng, 4, 4, letter)
    host = host + host.conj().T
    name = "heevd" if letter in "cz" else "syevd"
    for uplo, triangle in ((LOWER, np.tril), (UPPER, np.triu)):
        a, w = on_device(triangle(host), 5), cp.zeros(4, DTYPES[letter].lower())
        assert call(letter, name, (1, uplo, 4, a.data.ptr, 5, w.data.ptr)) == 0
        close(w.get(), np.linalg.eigvalsh(host))
        vectors = back(a, 4)
        close(host @ vectors, vectors * w.get())


def test_a_wrong_handle_or_size_is_refused() -> None:
    handle, a = device.get_cusolver_handle(), cp.zeros((3, 3))
    with pytest.raises(cusolver.CUSOLVERError, match="NOT_INITIALIZED"):
        cusolver.dpotrf_bufferSize(device.get_cublas_handle(), 0, 3, a.data.ptr, 3)
    with pytest.raises(cusolver.CUSOLVERError, match="INVALID_VALUE"):
        cusolver.dpotrf(handle, 0, 3, a.data.ptr, 2, 0, 0, 0)
    with pytest.raises(Exception, match="leaves its owner"):
        cusolver.dpotrf(handle, 0, 300, a.data.ptr, 300, 0, 0, a.data.ptr)
        cp.cuda.Device().synchronize()
    with pytest.raises(OperationNotSupported):
        cusolver.dgebrd_bufferSize(handle, 3, 3)


# ------------------------------------------------------------------- cuBLAS


@pytest.fixture
def handle() -> Any:
    made = cublas.create()
    yield made
    cublas.destroy(made)


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("on_gpu", [False, True])
def test_vectors(letter: str, on_gpu: bool, rng: np.random.Generator, handle: Any) -> None:
    dtype, real = DTYPES[letter], DTYPES[letter].lower()
    x, y = (matrix(rng, 1, 12, letter)[0] for _ in "xy")
    dx, dy = cp.asarray(x), cp.asarray(y)
    factor = np.asarray(2, dtype)
    alpha = cp.asarray(factor) if on_gpu else factor
    at = alpha.data.ptr if on_gpu else alpha.ctypes.data
    if on_gpu:
        cublas.setPointerMode(handle, cublas.CUBLAS_POINTER_MODE_DEVICE)

    def result(name: str, kind: Any, *args: Any) -> Any:
        place = cp.zeros((), kind) if on_gpu else np.zeros((), kind)
        pointer = place.data.ptr if on_gpu else place.ctypes.data
        getattr(cublas, name)(handle, *args, pointer)
        return cp.asnumpy(place)

    prefix = {"c": "sc", "z": "dz"}.get(letter, letter)
    every = x[::2]
    size = np.abs(every.real) + (np.abs(every.imag) if letter in "cz" else 0)
    assert result(f"i{letter}amax", "i", 6, dx.data.ptr, 2) == np.argmax(size) + 1
    assert result(f"i{letter}amin", "i", 6, dx.data.ptr, 2) == np.argmin(size) + 1
    close(result(f"{prefix}asum", real, 6, dx.data.ptr, 2), size.sum())
    close(result(f"{prefix}nrm2", real, 6, dx.data.ptr, 2), np.linalg.norm(every))
    for name in ("dotu", "dotc") if letter in "cz" else ("dot",):
        left = every.conj() if name == "dotc" else every
        where = (6, dx.data.ptr, 2, dy.data.ptr, -1)
        close(result(letter + name, dtype, *where), left @ y[:6][::-1])
    getattr(cublas, f"{letter}axpy")(handle, 12, at, dx.data.ptr, 1, dy.data.ptr, 1)
    close(dy.get(), y + 2 * x)
    getattr(cublas, f"{letter}scal")(handle, 6, at, dx.data.ptr, 2)
    x[::2] *= 2
    close(dx.get(), x)


@pytest.mark.parametrize("letter", LETTERS)
def test_matrices(letter: str, rng: np.random.Generator, handle: Any) -> None:
    two, three = (np.asarray(n, DTYPES[letter]) for n in (2, 3))
    factors = two.ctypes.data, three.ctypes.data
    a, x, y = matrix(rng, 4, 3, letter), matrix(rng, 1, 3, letter)[0], matrix(rng, 1, 4, letter)[0]
    da, dx, dy = on_device(a, 5), cp.asarray(x), cp.asarray(y)
    where = (4, 3, factors[0], da.data.ptr, 5, dx.data.ptr, 1, factors[1], dy.data.ptr, 1)
    getattr(cublas, f"{letter}gemv")(handle, 0, *where)
    close(dy.get(), 2 * a @ x + 3 * y)
    outer = "geru" if letter in "cz" else "ger"
    where = (4, 3, factors[0], dy.data.ptr, 1, dx.data.ptr, 1, da.data.ptr, 5)
    getattr(cublas, letter + outer)(handle, *where)
    close(back(da, 4), a + 2 * np.outer(dy.get(), x))
    b, c = matrix(rng, 3, 4, letter), cp.zeros((3, 4), DTYPES[letter])
    db, a = on_device(b, 3), back(da, 4)
    sides = (factors[0], da.data.ptr, 5, factors[1], db.data.ptr, 3, c.data.ptr, 4)
    getattr(cublas, f"{letter}geam")(handle, 0, 2, 4, 3, *sides)
    close(c.get().T, 2 * a + 3 * b.conj().T)
    getattr(cublas, f"{letter}dgmm")(handle, 1, 4, 3, da.data.ptr, 5, dx.data.ptr, 1, c.data.ptr, 4)
    close(c.get().T, a * x)
    for side, n in ((0, 4), (1, 3)):
        t = np.tril(matrix(rng, n, n, letter)) + 3 * np.eye(n, dtype=DTYPES[letter])
        dt, right = on_device(t, n), on_device(a, 4)
        where = (4, 3, factors[0], dt.data.ptr, n, right.data.ptr, 4)
        getattr(cublas, f"{letter}trsm")(handle, side, LOWER, 1, 0, *where)
        solved = back(right, 4)
        close(t.T @ solved if side == 0 else solved @ t.T, 2 * a)


@pytest.mark.parametrize("letter", LETTERS)
def test_batches(letter: str, rng: np.random.Generator, handle: Any) -> None:
    dtype = DTYPES[letter]
    one, zero = np.asarray(1, dtype), np.asarray(0, dtype)
    host = [matrix(rng, 3, 3, letter) + 3 * np.eye(3, dtype=dtype) for _ in range(2)]
    stack = cp.asarray(np.stack([a.T for a in host]))
    out = cp.zeros_like(stack)

    def pointers(array: Any) -> Any:
        return cp.asarray([row.data.ptr for row in array], "u8")

    both = pointers(stack), pointers(out)
    shape, alpha, beta = (0, 0, 3, 3, 3), one.ctypes.data, zero.ctypes.data
    side = (both[0].data.ptr, 3)
    last = (beta, both[1].data.ptr, 3, 2)
    getattr(cublas, f"{letter}gemmBatched")(handle, *shape, alpha, *side, *side, *last)
    squares = [a @ a for a in host]
    close(out.get(), np.stack([a.T for a in squares]))
    strided = (stack.data.ptr, 3, 9)
    end = (beta, out.data.ptr, 3, 9, 2)
    out.fill(0)
    getattr(cublas, f"{letter}gemmStridedBatched")(handle, *shape, alpha, *strided, *strided, *end)
    close(out.get(), np.stack([a.T for a in squares]))
    pivots, info = cp.zeros((2, 3), "i"), cp.ones(2, "i")
    lu = (3, both[0].data.ptr, 3, pivots.data.ptr)
    getattr(cublas, f"{letter}getrfBatched")(handle, *lu, info.data.ptr, 2)
    assert info.get().tolist() == [0, 0]
    right = cp.asarray(np.stack([a.T for a in squares]))
    done = np.ones((), "i")
    solve = (3, 3, both[0].data.ptr, 3, pivots.data.ptr, pointers(right).data.ptr, 3)
    keep = pointers(right)
    solve = (*solve[:5], keep.data.ptr, 3)
    getattr(cublas, f"{letter}getrsBatched")(handle, 0, *solve, done.ctypes.data, 2)
    close(right.get(), np.stack([a.T for a in host]))
    assert done == 0
    getattr(cublas, f"{letter}getriBatched")(handle, *lu, both[1].data.ptr, 3, info.data.ptr, 2)
    close(out.get(), np.stack([np.linalg.inv(a).T for a in host]))
    spd = [a @ a.conj().T for a in host]
    stack[...] = cp.asarray(np.stack([a.T for a in spd]))
    solver, infos = device.get_cusolver_handle(), info.data.ptr
    getattr(cusolver, f"{letter}potrfBatched")(solver, LOWER, 3, both[0].data.ptr, 3, infos, 2)
    close(np.tril(stack[1].get().T), np.linalg.cholesky(spd[1]))


# ------------------------------------------------------------------- cuRAND


def drawn(name: str, dtype: Any, count: int, *more: Any, seed: int = 1, offset: int = 0) -> Any:
    generator = curand.createGenerator(curand.CURAND_RNG_PSEUDO_PHILOX4_32_10)
    curand.setPseudoRandomGeneratorSeed(generator, seed)
    curand.setGeneratorOffset(generator, offset)
    out = cp.zeros(count, dtype)
    getattr(curand, name)(generator, out.data.ptr, count, *more)
    curand.destroyGenerator(generator)
    return out.get()


@pytest.mark.parametrize(
    ("name", "dtype", "more", "mean", "deviation"),
    [
        ("generate", np.uint32, (), 2.0**31, 2.0**32 / 12**0.5),
        ("generateUniform", np.float32, (), 0.5, 1 / 12**0.5),
        ("generateUniformDouble", np.float64, (), 0.5, 1 / 12**0.5),
        ("generateNormal", np.float32, (3.0, 2.0), 3.0, 2.0),
        ("generateNormalDouble", np.float64, (-1.0, 0.5), -1.0, 0.5),
        ("generateLogNormal", np.float32, (0.0, 0.5), np.exp(0.125), 0.604),
        ("generateLogNormalDouble", np.float64, (0.0, 0.5), np.exp(0.125), 0.604),
        ("generatePoisson", np.uint32, (4.5,), 4.5, 4.5**0.5),
    ],
)
def test_distributions(name: str, dtype: Any, more: Any, mean: float, deviation: float) -> None:
    x = drawn(name, dtype, 20000, *more)
    assert abs(x.mean(dtype=float) - mean) < 5 * deviation / 20000**0.5
    assert abs(x.std(dtype=float) - deviation) < 0.05 * deviation
    np.testing.assert_array_equal(drawn(name, dtype, 100, *more), x[:100])
    np.testing.assert_array_equal(drawn(name, dtype, 90, *more, offset=6), x[6:96])
    assert (drawn(name, dtype, 100, *more, seed=2) != x[:100]).any()


def test_a_generator_goes_on_where_it_was() -> None:
    whole = drawn("generateUniform", np.float32, 30)
    assert 0 < whole.min() and whole.max() <= 1
    generator, stream = curand.createGenerator(100), cp.cuda.Stream(non_blocking=True)
    curand.setPseudoRandomGeneratorSeed(generator, 1)
    curand.setStream(generator, stream.ptr)
    out = cp.zeros(30, np.float32)
    cp.cuda.Device().synchronize()
    for begin, count in ((0, 7), (7, 23)):
        curand.generateUniform(generator, out.data.ptr + 4 * begin, count)
    stream.synchronize()
    np.testing.assert_array_equal(out.get(), whole)
    with pytest.raises(curand.CURANDError, match="TYPE_ERROR"):
        curand.generateLongLong(generator, out.data.ptr, 2)
    curand.destroyGenerator(generator)
    with pytest.raises(curand.CURANDError, match="NOT_INITIALIZED"):
        curand.generate(generator, out.data.ptr, 2)
    quasi = curand.createGenerator(curand.CURAND_RNG_QUASI_SOBOL64)
    with pytest.raises(OperationNotSupported, match="quasi-random"):
        curand.generateLongLong(quasi, out.data.ptr, 2)
