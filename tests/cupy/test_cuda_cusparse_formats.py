"""cuSPARSE by address: formats, sorting and tridiagonal systems, against SciPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cupy as cp
import numpy as np
import pytest
import scipy.sparse
from cupy.cuda import cusparse

from tests.cupy import library_calls
from tests.cupy.sparse_by_address import (
    CODES,
    COLUMNS,
    FORMATS,
    INDEX,
    LETTERS,
    ROWS,
    Matrix,
    back,
    close,
    dense,
    drawn,
    sparse,
)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


@pytest.fixture
def handle() -> Iterator[int]:
    made = cusparse.create()
    yield made
    cusparse.destroy(made)


# ------------------------------------------------------------------- formats


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("order", [COLUMNS, ROWS])
@pytest.mark.parametrize(("base", "index"), [(0, "i"), (1, "q")])
def test_dense_and_sparse(
    letter: str, format: str, order: int, base: int, index: str, rng: Any, handle: int
) -> None:
    a = sparse(rng, 5, 4, letter)
    matrix = Matrix(a, letter, format, base, index)
    memory, mat = dense(np.zeros_like(a), letter, order)
    cusparse.sparseToDense_bufferSize(handle, matrix.desc, mat, 0)
    cusparse.sparseToDense(handle, matrix.desc, mat, 0, 0)
    np.testing.assert_array_equal(back(memory, order), a)
    wanted = [one.get() for one in matrix.arrays]
    offsets = cp.zeros(wanted[0].size, index)
    create = getattr(cusparse, f"create{format.capitalize()}")
    kinds = (*[INDEX[index]] * (1 if format == "coo" else 2), base, CODES[letter])
    empty = create(5, 4, 0, 0 if format == "coo" else offsets.data.ptr, 0, 0, *kinds)
    work = cp.empty(cusparse.denseToSparse_bufferSize(handle, mat, empty, 0), "u1")
    cusparse.denseToSparse_analysis(handle, mat, empty, 0, work.data.ptr)
    sizes = np.zeros(3, np.int64)
    cusparse.spMatGetSize(empty, *(sizes.ctypes.data + 8 * i for i in range(3)))
    assert sizes[2] == np.count_nonzero(a)
    made = [offsets, cp.zeros(int(sizes[2]), index), cp.zeros(int(sizes[2]), a.dtype)]
    full = create(5, 4, int(sizes[2]), *(one.data.ptr for one in made), *kinds)
    cusparse.denseToSparse_convert(handle, mat, full, 0, work.data.ptr)
    for one, other in zip(made, wanted, strict=True):
        np.testing.assert_array_equal(one.get(), other)


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("base", [0, 1])
@pytest.mark.parametrize("values", [0, 1])
def test_csr2csc(letter: str, base: int, values: int, rng: Any, handle: int) -> None:
    a = sparse(rng, 5, 4, letter)
    csr, csc = scipy.sparse.csr_array(a), scipy.sparse.csc_array(a)
    given = [cp.asarray(csr.data), cp.asarray(csr.indptr + base), cp.asarray(csr.indices + base)]
    made = [cp.zeros(csr.nnz, a.dtype), cp.zeros(5, "i"), cp.zeros(csr.nnz, "i")]
    where = (5, 4, csr.nnz, *(one.data.ptr for one in (*given, *made)))
    where = (handle, *where, CODES[letter], values, base, cusparse.CUSPARSE_CSR2CSC_ALG1)
    work = cp.empty(cusparse.csr2cscEx2_bufferSize(*where), "u1")
    cusparse.csr2cscEx2(*where, work.data.ptr)
    np.testing.assert_array_equal(made[0].get(), csc.data if values else 0 * csc.data)
    np.testing.assert_array_equal(made[1].get() - base, csc.indptr)
    np.testing.assert_array_equal(made[2].get() - base, csc.indices)


@pytest.mark.parametrize("base", [0, 1])
def test_rows_and_offsets(base: int, rng: Any, handle: int) -> None:
    csr = scipy.sparse.csr_array(sparse(rng, 6, 5, "d"))
    rows = scipy.sparse.coo_array(csr).row.astype("i") + base
    given, offsets, again = cp.asarray(rows), cp.zeros(7, "i"), cp.zeros(csr.nnz, "i")
    cusparse.xcoo2csr(handle, given.data.ptr, csr.nnz, 6, offsets.data.ptr, base)
    np.testing.assert_array_equal(offsets.get(), csr.indptr + base)
    cusparse.xcsr2coo(handle, offsets.data.ptr, csr.nnz, 6, again.data.ptr, base)
    np.testing.assert_array_equal(again.get(), rows)


@pytest.mark.parametrize("name", ["csr", "csc", "coo row", "coo column"])
@pytest.mark.parametrize("base", [0, 1])
def test_sorting(name: str, base: int, rng: Any, handle: int) -> None:
    a = sparse(rng, 6, 5, "d")
    whole = scipy.sparse.coo_array(a)
    order = rng.permutation(whole.nnz)
    rows, columns, data = (one[order] for one in (whole.row, whole.col, whole.data))
    permutation = cp.zeros(whole.nnz, "i")
    cusparse.createIdentityPermutation(handle, whole.nnz, permutation.data.ptr)
    assert permutation.get().tolist() == list(range(whole.nnz))
    sizes = (6, 5, whole.nnz)
    if name.startswith("coo"):
        two = cp.asarray(rows.astype("i")), cp.asarray(columns.astype("i"))
        where = tuple(one.data.ptr for one in two)
        assert cusparse.xcoosort_bufferSizeExt(handle, *sizes, *where) > 0
        sort = cusparse.xcoosortByRow if name == "coo row" else cusparse.xcoosortByColumn
        sort(handle, *sizes, *where, permutation.data.ptr, 0)
        keys = (columns, rows) if name == "coo row" else (rows, columns)
        wanted = np.lexsort(keys)
        np.testing.assert_array_equal(two[0].get(), rows[wanted])
        np.testing.assert_array_equal(two[1].get(), columns[wanted])
    else:
        major, minor = (rows, columns) if name == "csr" else (columns, rows)
        by_major = np.argsort(major, kind="stable")
        major, minor, data = major[by_major], minor[by_major], data[by_major]
        length = 6 if name == "csr" else 5
        offsets = np.searchsorted(major, np.arange(length + 1)).astype("i") + base
        two = cp.asarray(offsets), cp.asarray(minor.astype("i") + base)
        where = tuple(one.data.ptr for one in two)
        assert getattr(cusparse, f"x{name}sort_bufferSizeExt")(handle, *sizes, *where) > 0
        descr = cusparse.createMatDescr()
        cusparse.setMatIndexBase(descr, base)
        sort = getattr(cusparse, f"x{name}sort")
        sort(handle, *sizes, descr, *where, permutation.data.ptr, 0)
        cusparse.destroyMatDescr(descr)
        wanted = np.lexsort((minor, major))
        np.testing.assert_array_equal(two[1].get() - base, minor[wanted])
    np.testing.assert_array_equal(permutation.get(), wanted)


# ------------------------------------------------------------------- tridiagonal systems


def tridiagonal(rng: Any, letter: str, m: int, count: int) -> tuple[Any, Any]:
    """Return diagonals (3, count, m) with 9 where nothing counts, and the whole matrices."""
    parts = drawn(rng, (3, count, m), letter)
    parts[1] += 4
    whole = np.zeros((count, m, m), parts.dtype)
    for i in range(count):
        whole[i] = np.diag(parts[1, i]) + np.diag(parts[0, i, 1:], -1)
        whole[i] += np.diag(parts[2, i, :-1], 1)
    return parts, whole


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("name", ["gtsv2", "gtsv2_nopivot"])
@pytest.mark.parametrize("side", ["mock", "cuda's calls"])
def test_gtsv2(
    letter: str, name: str, side: str, rng: Any, handle: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if side != "mock":
        library_calls.by_the_cuda_device(monkeypatch)
    parts, whole = tridiagonal(rng, letter, 6, 1)
    b = drawn(rng, (6, 2), letter)
    memory = np.full((2, 8), 7, b.dtype)
    memory[:, :6] = b.T
    db, given = cp.asarray(memory), [cp.asarray(one[0]) for one in parts]
    where = (6, 2, *(one.data.ptr for one in given), db.data.ptr, 8)
    size = getattr(cusparse, f"{letter}{name}_bufferSizeExt")(handle, *where)
    work = cp.empty(size, "u1")
    getattr(cusparse, letter + name)(handle, *where, work.data.ptr)
    close(whole[0] @ back(db, COLUMNS, 2), b)


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("name", ["strided", "interleaved"])
def test_gtsv_of_a_batch(letter: str, name: str, rng: Any, handle: int) -> None:
    m, count = 5, 3
    parts, whole = tridiagonal(rng, letter, m, count)
    b = drawn(rng, (count, m), letter)
    if name == "strided":
        memory = np.full((4, count, m + 2), 7, b.dtype)
        memory[:, :, :m] = [*parts, b]
        given = cp.asarray(memory)
        where = (m, *(one.data.ptr for one in given), count, m + 2)
        function = getattr(cusparse, f"{letter}gtsv2StridedBatch")
        size = getattr(cusparse, f"{letter}gtsv2StridedBatch_bufferSizeExt")(handle, *where)
        x = given[3, :, :m]
    else:
        given = cp.asarray(np.ascontiguousarray(np.swapaxes([*parts, b], 1, 2)))
        where = (1, m, *(one.data.ptr for one in given), count)
        function = getattr(cusparse, f"{letter}gtsvInterleavedBatch")
        size = getattr(cusparse, f"{letter}gtsvInterleavedBatch_bufferSizeExt")(handle, *where)
        x = given[3].T
    work = cp.empty(size, "u1")
    function(handle, *where, work.data.ptr)
    close((whole @ x.get()[..., None])[..., 0], b)
    if name == "strided":
        assert (given.get()[:, :, m:] == 7).all()


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("side", ["mock", "cuda's calls"])
def test_gpsv(
    letter: str, side: str, rng: Any, handle: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if side != "mock":
        library_calls.by_the_cuda_device(monkeypatch)
    m, count = 6, 3
    parts, b = drawn(rng, (5, count, m), letter), drawn(rng, (count, m), letter)
    parts[2] += 6
    parts[0, :, :2], parts[1, :, :1], parts[3, :, m - 1 :], parts[4, :, m - 2 :] = 0, 0, 0, 0
    whole = np.zeros((count, m, m), parts.dtype)
    for system in range(count):
        for row, diagonal in enumerate(parts[:, system], -2):
            inside = diagonal[-row:] if row < 0 else diagonal[: m - row]
            whole[system] += np.diag(inside, row)
    given = cp.asarray(np.ascontiguousarray(np.swapaxes([*parts, b], 1, 2)))
    where = (0, m, *(one.data.ptr for one in given), count)
    size = getattr(cusparse, f"{letter}gpsvInterleavedBatch_bufferSizeExt")(handle, *where)
    work = cp.empty(size, "u1")
    getattr(cusparse, f"{letter}gpsvInterleavedBatch")(handle, *where, work.data.ptr)
    close((whole @ given[5].get().T[..., None])[..., 0], b)
