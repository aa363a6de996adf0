"""cuSPARSE by address: descriptors, products, triangular solver, against SciPy."""

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
    turned,
    vector,
)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


@pytest.fixture
def handle() -> Iterator[int]:
    made = cusparse.create()
    yield made
    cusparse.destroy(made)


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
    if library_calls.on_a_mock():  # on a GPU, an illegal access would end the session
        for column in (1000, -1):
            a.arrays[1][0] = column
            fails("indices", a.desc, x)
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
