"""cuSPARSE by address: descriptors, products, solvers and formats, against SciPy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import cupy as cp
import numpy as np
import pytest
import scipy.sparse
from cupy.cuda import cusparse

from cupool.proto.operations.api import listing
from tests.cupy import library_calls

LETTERS = ["s", "d", "c", "z"]
DTYPES = dict(zip(LETTERS, "fdFD", strict=True))
CODES = {"s": 0, "d": 1, "c": 4, "z": 5}
INDEX = {"i": 2, "q": 3}
FORMATS = ["csr", "csc", "coo"]
COLUMNS, ROWS = 1, 2


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


@pytest.fixture
def handle() -> Iterator[int]:
    made = cusparse.create()
    yield made
    cusparse.destroy(made)


def drawn(rng: np.random.Generator, shape: tuple[int, ...], letter: str) -> Any:
    made = rng.standard_normal(shape)
    if letter in "cz":
        made = made + 1j * rng.standard_normal(shape)
    return made.astype(DTYPES[letter])


def sparse(rng: np.random.Generator, m: int, n: int, letter: str) -> Any:
    """Return a matrix, a third of whose elements are not 0."""
    return drawn(rng, (m, n), letter) * (rng.random((m, n)) < 0.35).astype(DTYPES[letter])


def close(a: Any, b: Any) -> None:
    tolerance = 3e-4 if np.asarray(a).dtype.char in "fF" else 1e-10
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def turned(a: Any, operation: int) -> Any:
    return (a, a.T, a.conj().T)[operation]


class Matrix:
    """A sparse matrix on the device, and its descriptor.

    Attributes:
        arrays: offsets or rows, indices or columns, values.
    """

    def __init__(self, a: Any, letter: str, format: str = "csr", base: int = 0, index: str = "i"):
        made = getattr(scipy.sparse, f"{format}_array")(a)
        major, minor = (made.row, made.col) if format == "coo" else (made.indptr, made.indices)
        parts = [cp.asarray(one.astype(index) + base) for one in (major, minor)]
        self.arrays = [*parts, cp.asarray(made.data)]
        where = [one.data.ptr for one in self.arrays]
        create = getattr(cusparse, f"create{format.capitalize()}")
        kinds = [INDEX[index]] * (1 if format == "coo" else 2)
        self.desc = create(*a.shape, made.nnz, *where, *kinds, base, CODES[letter])


def dense(a: Any, letter: str, order: int = COLUMNS, gap: int = 1) -> tuple[Any, int]:
    """Return memory of a matrix with 7 between its columns or rows, and its descriptor."""
    short, long = a.shape if order == COLUMNS else a.shape[::-1]
    memory = np.full((long, short + gap), 7, a.dtype)
    memory[:, :short] = a.T if order == COLUMNS else a
    array = cp.asarray(memory)
    return array, cusparse.createDnMat(*a.shape, short + gap, array.data.ptr, CODES[letter], order)


def back(memory: Any, order: int, gap: int = 1) -> Any:
    host = memory.get()
    assert (host[:, host.shape[1] - gap :] == 7).all()
    inside = host[:, : host.shape[1] - gap]
    return inside.T if order == COLUMNS else inside


def vector(a: Any, letter: str) -> tuple[Any, int]:
    array = cp.asarray(a)
    return array, cusparse.createDnVec(a.size, array.data.ptr, CODES[letter])


# ------------------------------------------------------------------- descriptors


def test_descriptors_hold_what_they_were_given() -> None:
    a = cusparse.createCsr(3, 4, 5, 100, 200, 300, 2, 2, 1, 1)
    held = cusparse.csrGet(a)
    assert (held.rows, held.cols, held.nnz) == (3, 4, 5)
    assert (held.rowOffsets, held.colIdx, held.values) == (100, 200, 300)
    assert (held.rowOffsetType, held.colIdxType, held.idxBase, held.valueType) == (2, 2, 1, 1)
    cusparse.csrSetPointers(a, 1, 2, 3)
    assert cusparse.spMatGetValues(a) == 3
    cusparse.spMatSetValues(a, 4)
    assert cusparse.csrGet(a).values == 4
    assert cusparse.spMatGetFormat(a) == cusparse.CUSPARSE_FORMAT_CSR
    assert cusparse.spMatGetIndexBase(a) == 1
    assert cusparse.spMatGetStridedBatch(a) == 1
    sizes = np.zeros(3, np.int64)
    cusparse.spMatGetSize(a, *(sizes.ctypes.data + 8 * i for i in range(3)))
    assert sizes.tolist() == [3, 4, 5]
    b = cusparse.createCoo(3, 4, 5, 100, 200, 300, 3, 0, 4)
    held = cusparse.cooGet(b)
    assert (held.rowIdx, held.colIdx, held.values, held.idxType) == (100, 200, 300, 3)
    c = cusparse.createCsc(3, 4, 5, 100, 200, 300, 2, 2, 0, 0)
    assert cusparse.spMatGetFormat(c) == cusparse.CUSPARSE_FORMAT_CSC
    x = cusparse.createSpVec(9, 2, 10, 20, 2, 1, 1)
    held = cusparse.spVecGet(x)
    assert (held.size, held.nnz, held.idx, held.values, held.idxType) == (9, 2, 10, 20, 2)
    cusparse.spVecSetValues(x, 30)
    assert (cusparse.spVecGetValues(x), cusparse.spVecGetIndexBase(x)) == (30, 1)
    y = cusparse.createDnVec(9, 10, 1)
    cusparse.dnVecSetValues(y, 11)
    held = cusparse.dnVecGet(y)
    assert (held.size, held.values, held.valueType) == (9, cusparse.dnVecGetValues(y), 1)
    d = cusparse.createDnMat(3, 4, 5, 10, 1, COLUMNS)
    cusparse.dnMatSetValues(d, 11)
    held = cusparse.dnMatGet(d)
    assert (held.rows, held.cols, held.ld, held.values, held.order) == (3, 4, 5, 11, 1)
    cusparse.dnMatSetStridedBatch(d, 2, 20)
    batch = cusparse.dnMatGetStridedBatch(d)
    assert (batch.count, batch.stride, cusparse.dnMatGetValues(d)) == (2, 20, 11)
    for one in (a, b, c):
        cusparse.destroySpMat(one)
    cusparse.destroySpVec(x)
    cusparse.destroyDnVec(y)
    cusparse.destroyDnMat(d)
    with pytest.raises(cusparse.CuSparseError, match="INVALID_VALUE"):
        cusparse.csrGet(a)


# ------------------------------------------------------------------- products


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("operation", [0, 1, 2])
@pytest.mark.parametrize(("base", "index"), [(0, "i"), (1, "q")])
def test_spmv(
    letter: str, format: str, operation: int, base: int, index: str, rng: Any, handle: int
) -> None:
    a = sparse(rng, 5, 4, letter)
    op = turned(a, operation)
    x, y = drawn(rng, (op.shape[1],), letter), drawn(rng, (op.shape[0],), letter)
    matrix = Matrix(a, letter, format, base, index)
    (_dx, vec_x), (dy, vec_y) = vector(x, letter), vector(y, letter)
    alpha, beta = (np.asarray(value, a.dtype) for value in (2, 3))
    where = (operation, alpha.ctypes.data, matrix.desc, vec_x, beta.ctypes.data, vec_y)
    where = (*where, CODES[letter], cusparse.CUSPARSE_MV_ALG_DEFAULT)
    work = cp.empty(cusparse.spMV_bufferSize(handle, *where), "u1")
    cusparse.spMV(handle, *where, work.data.ptr)
    close(dy.get(), 2 * op @ x + 3 * y)


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("beta", [0, 3])
def test_factors_on_the_device(letter: str, beta: int, rng: Any, handle: int) -> None:
    a, x = sparse(rng, 5, 4, letter), drawn(rng, (4,), letter)
    y = drawn(rng, (5,), letter) if beta else np.full(5, np.nan, a.dtype)
    matrix, (_dx, vec_x), (dy, vec_y) = Matrix(a, letter), vector(x, letter), vector(y, letter)
    factors = cp.asarray([2, beta], a.dtype)
    at = factors.data.ptr
    cusparse.setPointerMode(handle, cusparse.CUSPARSE_POINTER_MODE_DEVICE)
    last = (at + a.itemsize, vec_y, CODES[letter], 0, 0)
    cusparse.spMV(handle, 0, at, matrix.desc, vec_x, *last)
    close(dy.get(), 2 * a @ x + (3 * y if beta else 0))


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(("opa", "opb"), [(0, 0), (1, 2), (2, 1)])
@pytest.mark.parametrize(("order_b", "order_c"), [(COLUMNS, ROWS), (ROWS, COLUMNS)])
def test_spmm(
    letter: str,
    format: str,
    opa: int,
    opb: int,
    order_b: int,
    order_c: int,
    rng: Any,
    handle: int,
) -> None:
    a = sparse(rng, 5, 4, letter)
    op = turned(a, opa)
    b = drawn(rng, (op.shape[1], 3) if opb == 0 else (3, op.shape[1]), letter)
    c = drawn(rng, (op.shape[0], 3), letter)
    matrix = Matrix(a, letter, format)
    (_db, mat_b), (dc, mat_c) = dense(b, letter, order_b), dense(c, letter, order_c)
    alpha, beta = (np.asarray(value, a.dtype) for value in (2, 3))
    where = (opa, opb, alpha.ctypes.data, matrix.desc, mat_b, beta.ctypes.data, mat_c)
    where = (*where, CODES[letter], cusparse.CUSPARSE_MM_ALG_DEFAULT)
    work = cp.empty(cusparse.spMM_bufferSize(handle, *where), "u1")
    cusparse.spMM(handle, *where, work.data.ptr)
    close(back(dc, order_c), 2 * op @ turned(b, opb) + 3 * c)


@pytest.mark.parametrize("letter", LETTERS)
def test_spmm_of_a_batch(letter: str, rng: Any, handle: int) -> None:
    a, b = sparse(rng, 4, 4, letter), drawn(rng, (3, 4, 2), letter)
    matrix, db = Matrix(a, letter), cp.asarray(np.swapaxes(b, 1, 2))
    dc = cp.zeros((3, 2, 4), a.dtype)
    mats = [cusparse.createDnMat(4, 2, 4, one.data.ptr, CODES[letter], COLUMNS) for one in (db, dc)]
    for mat in mats:
        cusparse.dnMatSetStridedBatch(mat, 3, 8)
    one, zero = (np.asarray(value, a.dtype) for value in (1, 0))
    factors = one.ctypes.data, zero.ctypes.data
    last = (mats[1], CODES[letter], 0, 0)
    cusparse.spMM(handle, 0, 0, factors[0], matrix.desc, mats[0], factors[1], *last)
    close(np.swapaxes(dc.get(), 1, 2), a @ b)


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("operation", [0, 2])
@pytest.mark.parametrize("on_gpu", [False, True])
def test_spvv_and_gather(letter: str, operation: int, on_gpu: bool, rng: Any, handle: int) -> None:
    x, y = drawn(rng, (3,), letter), drawn(rng, (9,), letter)
    places = np.array([1, 4, 8])
    indices, values = cp.asarray(places.astype("i") + 1), cp.asarray(x)
    vec_x = cusparse.createSpVec(9, 3, indices.data.ptr, values.data.ptr, 2, 1, CODES[letter])
    _dy, vec_y = vector(y, letter)
    place = cp.zeros((), x.dtype) if on_gpu else np.zeros((), x.dtype)
    at = place.data.ptr if on_gpu else place.ctypes.data
    cusparse.setPointerMode(handle, int(on_gpu))
    where = (operation, vec_x, vec_y, at, CODES[letter])
    work = cp.empty(cusparse.spVV_bufferSize(handle, *where), "u1")
    cusparse.spVV(handle, *where, work.data.ptr)
    close(cp.asnumpy(place), (x.conj() if operation else x) @ y[places])
    cusparse.gather(handle, vec_y, vec_x)
    np.testing.assert_array_equal(values.get(), y[places])


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("index", ["i", "q"])
def test_spgemm(letter: str, index: str, rng: Any, handle: int) -> None:
    a, b = sparse(rng, 5, 4, letter), sparse(rng, 4, 6, letter)
    left, right = Matrix(a, letter, index=index), Matrix(b, letter, index=index)
    indptr = cp.zeros(6, index)
    kinds = (INDEX[index], INDEX[index], 0, CODES[letter])
    mat_c = cusparse.createCsr(5, 6, 0, indptr.data.ptr, 0, 0, *kinds)
    descr = cusparse.spGEMM_createDescr()
    two, zero = (np.asarray(value, a.dtype) for value in (2, 0))
    where = (0, 0, two.ctypes.data, left.desc, right.desc, zero.ctypes.data, mat_c)
    where = (handle, *where, CODES[letter], cusparse.CUSPARSE_SPGEMM_DEFAULT, descr)
    for step in (cusparse.spGEMM_workEstimation, cusparse.spGEMM_compute):
        work = cp.empty(step(*where, 0, 0), "u1")
        step(*where, work.size, work.data.ptr)
    sizes = np.zeros(3, np.int64)
    cusparse.spMatGetSize(mat_c, *(sizes.ctypes.data + 8 * i for i in range(3)))
    assert sizes.tolist() == [5, 6, (scipy.sparse.csr_array(a) @ scipy.sparse.csr_array(b)).nnz]
    indices, data = cp.zeros(int(sizes[2]), index), cp.zeros(int(sizes[2]), a.dtype)
    cusparse.csrSetPointers(mat_c, indptr.data.ptr, indices.data.ptr, data.data.ptr)
    cusparse.spGEMM_copy(*where)
    cusparse.spGEMM_destroyDescr(descr)
    made = scipy.sparse.csr_array((data.get(), indices.get(), indptr.get()), shape=(5, 6))
    close(made.toarray(), 2 * a @ b)


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("operation", [0, 1, 2])
@pytest.mark.parametrize(("fill", "unit"), [(0, 0), (1, 1)])
def test_spsm(
    letter: str, format: str, operation: int, fill: int, unit: int, rng: Any, handle: int
) -> None:
    a = sparse(rng, 5, 5, letter)
    np.fill_diagonal(a, 3)
    b = drawn(rng, (2, 5), letter)
    matrix = Matrix(a, letter, format)
    (_db, mat_b), (dc, mat_c) = dense(b, letter), dense(np.zeros((5, 2), a.dtype), letter)
    cusparse.spMatSetAttribute(matrix.desc, cusparse.CUSPARSE_SPMAT_FILL_MODE, fill)
    cusparse.spMatSetAttribute(matrix.desc, cusparse.CUSPARSE_SPMAT_DIAG_TYPE, unit)
    alpha, descr = np.asarray(2, a.dtype), cusparse.spSM_createDescr()
    where = (handle, operation, 1, alpha.ctypes.data, matrix.desc, mat_b, mat_c)
    where = (*where, CODES[letter], cusparse.CUSPARSE_SPSM_ALG_DEFAULT, descr)
    work = cp.empty(cusparse.spSM_bufferSize(*where), "u1")
    cusparse.spSM_analysis(*where, work.data.ptr)
    cusparse.spSM_solve(*where)
    cusparse.spSM_destroyDescr(descr)
    triangle = np.tril(a) if fill == 0 else np.triu(a)
    if unit:
        np.fill_diagonal(triangle, 1)
    close(turned(triangle, operation) @ back(dc, COLUMNS), 2 * b.T)


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


# ------------------------------------------------------------------- what is wrong


def test_wrong_arguments_are_refused(rng: Any, handle: int) -> None:
    a = Matrix(sparse(rng, 5, 4, "d"), "d")
    (_dx, x), (_dy, y) = vector(np.zeros(4), "d"), vector(np.zeros(5), "d")
    one = np.ones(())
    at = one.ctypes.data

    def refused(status: str, call: Any, *args: Any) -> None:
        with pytest.raises(cusparse.CuSparseError, match=status):
            call(*args)

    refused("INVALID_VALUE", cusparse.spMV, handle, 1, at, a.desc, x, at, y, 1, 0, 0)
    refused("INVALID_VALUE", cusparse.spMV, handle, 3, at, a.desc, x, at, y, 1, 0, 0)
    refused("INVALID_VALUE", cusparse.spMV, handle, 0, at, x, x, at, y, 1, 0, 0)
    refused("INVALID_VALUE", cusparse.spMV, handle, 0, at, 77, x, at, y, 1, 0, 0)
    refused("INVALID_VALUE", cusparse.spMV, handle, 0, 0, a.desc, x, at, y, 1, 0, 0)
    refused("NOT_SUPPORTED", cusparse.spMV, handle, 0, at, a.desc, x, at, y, 0, 0, 0)
    refused("NOT_SUPPORTED", cusparse.spMV, handle, 0, at, a.desc, x, at, y, 14, 0, 0)
    refused("NOT_INITIALIZED", cusparse.spMV, 0, 0, at, a.desc, x, at, y, 1, 0, 0)
    refused("INVALID_VALUE", cusparse.createCsr, 5, 4, 21, 0, 0, 0, 2, 2, 0, 1)
    refused("INVALID_VALUE", cusparse.createCsr, -1, 4, 0, 0, 0, 0, 2, 2, 0, 1)
    refused("INVALID_VALUE", cusparse.createCsr, 5, 4, 0, 0, 0, 0, 9, 2, 0, 1)
    refused("INVALID_VALUE", cusparse.createDnMat, 5, 4, 4, 0, 1, COLUMNS)
    refused("INVALID_VALUE", cusparse.cooGet, a.desc)
    refused("INVALID_VALUE", cusparse.spMatSetAttribute, a.desc, 2, 0)
    refused("INVALID_VALUE", cusparse.dgtsv2, handle, 2, 1, 1, 1, 1, 1, 2, 0)
    refused("INVALID_VALUE", cusparse.dgtsv2, handle, 4, 1, 1, 1, 1, 1, 3, 0)
    refused("INVALID_VALUE", cusparse.xcoo2csr, handle, 0, 0, 5, 0, 2)
    refused("INVALID_VALUE", cusparse.destroyDnVec, a.desc)


def test_wrong_addresses_and_indices_are_refused(rng: Any, handle: int) -> None:
    a, one = Matrix(sparse(rng, 5, 4, "d"), "d"), np.ones(())
    (dx, x), (_dy, y) = vector(np.zeros(4), "d"), vector(np.zeros(5), "d")
    at = one.ctypes.data

    def fails(match: str, *where: Any) -> None:
        with pytest.raises(Exception, match=match):
            cusparse.spMV(handle, 0, at, *where, at, y, 1, 0, 0)
            cp.cuda.Device().synchronize()

    longer = cusparse.createDnVec(400, dx.data.ptr, 1)
    wide = cusparse.createCsr(5, 400, 1, *(one.data.ptr for one in a.arrays), 2, 2, 0, 1)
    fails("leaves its owner", wide, longer)
    cusparse.spMatSetValues(a.desc, 1 << 20)
    fails("no address in a device's memory", a.desc, x)
    cusparse.spMatSetValues(a.desc, a.arrays[2].data.ptr)
    a.arrays[1][0] = 1000
    fails(".", a.desc, x)  # on the mock, an error; on a GPU, an illegal access
    a.arrays[1][0] = -1
    fails(".", a.desc, x)
    assert float(dx.sum()) == 0  # the session goes on


def test_functions_have_cupys_parameters() -> None:
    from cupy.cuda import _cusparse_objects

    names = dict(_cusparse_objects.FUNCTIONS)
    for name in ("create", "destroy", "getVersion", "setPointerMode", "setStream", "getStream"):
        names[name] = getattr(cusparse, name)
    assert len(names) > 80
    for name, function in names.items():
        said = listing().names[f"cupy.cuda.cusparse.{name}"].signature or ""
        inside = said.partition(" ->")[0].strip("()")
        wanted = [re.split(r"[ *]", one.partition("=")[0])[-1] for one in inside.split(", ") if one]
        code = function.__code__
        assert list(code.co_varnames[: code.co_argcount]) == wanted, name
