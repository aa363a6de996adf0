"""cuSPARSE's old API by address: sums, counts, small elements, incomplete factors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cupy as cp
import numpy as np
import pytest
import scipy.sparse
from cupy.cuda import cusparse

from tests.cupy.sparse_by_address import LETTERS, close, drawn, sparse


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


@pytest.fixture
def handle() -> Iterator[int]:
    made = cusparse.create()
    yield made
    cusparse.destroy(made)


@pytest.fixture(params=[0, 1])
def base(request: Any) -> int:
    return int(request.param)


@pytest.fixture
def descr(base: int) -> Iterator[int]:
    made = cusparse.createMatDescr()
    cusparse.setMatIndexBase(made, base)
    yield made
    cusparse.destroyMatDescr(made)


def on_device(a: Any, base: int) -> list[Any]:
    """Return values, offsets and columns."""
    made = scipy.sparse.csr_array(a)
    return [cp.asarray(made.data), cp.asarray(made.indptr + base), cp.asarray(made.indices + base)]


def whole(arrays: list[Any], shape: tuple[int, int], base: int) -> Any:
    data, offsets, columns = (one.get() for one in arrays)
    return scipy.sparse.csr_array((data, columns - base, offsets - base), shape=shape).toarray()


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("on_gpu", [False, True])
def test_sums(letter: str, on_gpu: bool, rng: Any, handle: int, base: int, descr: int) -> None:
    a, b = sparse(rng, 5, 4, letter), sparse(rng, 5, 4, letter)
    b[a != 0] *= rng.random((5, 4))[a != 0] < 0.5
    b[0], a[0] = 1, -2  # whose sum is 0, and is kept
    left, right = on_device(a, base), on_device(b, base)
    factors = np.asarray([1, 2], a.dtype)
    kept = cp.asarray(factors)
    at = kept.data.ptr if on_gpu else factors.ctypes.data
    cusparse.setPointerMode(handle, int(on_gpu))
    first = (descr, left[0].size, *(one.data.ptr for one in left))
    second = (descr, right[0].size, *(one.data.ptr for one in right))
    offsets = cp.zeros(6, "i")
    count = cp.zeros(1, "i") if on_gpu else np.zeros(1, "i")
    where = (*first[:2], *first[3:], *second[:2], *second[3:], descr, offsets.data.ptr)
    pointer = count.data.ptr if on_gpu else count.ctypes.data
    cusparse.xcsrgeam2Nnz(handle, 5, 4, *where, pointer, 0)
    nnz = int(count[0])
    assert nnz == np.count_nonzero((a != 0) | (b != 0))
    made = [cp.zeros(nnz, a.dtype), offsets, cp.zeros(nnz, "i")]
    where = (5, 4, at, *first, at + a.itemsize, *second, descr, *(one.data.ptr for one in made))
    size = getattr(cusparse, f"{letter}csrgeam2_bufferSizeExt")(handle, *where)
    work = cp.empty(size, "u1")
    getattr(cusparse, f"{letter}csrgeam2")(handle, *where, work.data.ptr)
    close(whole(made, (5, 4), base), a + 2 * b)


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("direction", [0, 1])
def test_counts(letter: str, direction: int, rng: Any, handle: int, descr: int) -> None:
    a = sparse(rng, 5, 4, letter)
    memory = np.full((4, 7), 7, a.dtype)
    memory[:, :5] = a.T
    given, found, count = cp.asarray(memory), cp.zeros(4 if direction else 5, "i"), np.zeros(1, "i")
    where = (direction, 5, 4, descr, given.data.ptr, 7, found.data.ptr, count.ctypes.data)
    getattr(cusparse, f"{letter}nnz")(handle, *where)
    np.testing.assert_array_equal(found.get(), np.count_nonzero(a, axis=1 - direction))
    assert count[0] == np.count_nonzero(a)


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("tolerance", [0.0, 0.7])
def test_small_elements(
    letter: str, tolerance: float, rng: Any, handle: int, base: int, descr: int
) -> None:
    a = sparse(rng, 5, 4, letter)
    given, rows = on_device(a, base), cp.zeros(5, "i")
    where = tuple(one.data.ptr for one in given)
    tol = tolerance + 0j if letter in "cz" else tolerance
    found = getattr(cusparse, f"{letter}nnz_compress")(
        handle, 5, descr, where[0], where[1], rows.data.ptr, tol
    )
    large = np.abs(a) > tolerance
    np.testing.assert_array_equal(rows.get(), large.sum(1))
    assert found == large.sum()
    made = [cp.zeros(found, a.dtype), cp.zeros(6, "i"), cp.zeros(found, "i")]
    out = tuple(one.data.ptr for one in made)
    source = (descr, where[0], where[2], where[1], given[0].size, rows.data.ptr)
    to = (out[0], out[2], out[1], tol)
    getattr(cusparse, f"{letter}csr2csr_compress")(handle, 5, 4, *source, *to)
    close(whole(made, (5, 4), base), np.where(large, a, 0))


@pytest.mark.parametrize("letter", LETTERS)
def test_incomplete_factors(letter: str, rng: Any, handle: int, base: int, descr: int) -> None:
    tridiagonal = np.diag(drawn(rng, (6,), letter) + 5)  # of which the factors are whole
    tridiagonal += np.diag(drawn(rng, (5,), letter), 1) + np.diag(drawn(rng, (5,), letter), -1)

    def factorize(a: Any) -> Any:
        given, info = on_device(a, base), cusparse.createCsrilu02Info()
        position = np.full(1, 77, "i")
        where = (len(a), given[0].size, descr, *(one.data.ptr for one in given), info)
        size = getattr(cusparse, f"{letter}csrilu02_bufferSize")(handle, *where)
        work = cp.empty(size, "u1").data.ptr
        try:
            getattr(cusparse, f"{letter}csrilu02_analysis")(handle, *where, 0, work)
            cusparse.xcsrilu02_zeroPivot(handle, info, position.ctypes.data)
            assert position[0] == -1
            getattr(cusparse, f"{letter}csrilu02")(handle, *where, 0, work)
            cusparse.xcsrilu02_zeroPivot(handle, info, position.ctypes.data)
        except cusparse.CuSparseError as error:
            assert error.status == 9
            return int(position[0])
        finally:
            cusparse.destroyCsrilu02Info(info)
        return whole(given, a.shape, base)

    made = factorize(tridiagonal)
    lower = np.tril(made, -1) + np.eye(6, dtype=made.dtype)
    close(lower @ np.triu(made), tridiagonal)
    missing = tridiagonal.copy()
    missing[3, 3] = 0
    assert factorize(missing) == 3 + base
    singular = np.ones((2, 2), tridiagonal.dtype)
    assert factorize(singular) == 1 + base
