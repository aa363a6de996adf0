"""`cupy.cuda.cusparse`: changes of format, order of elements, and descriptors of the old API.

Semantics: https://docs.nvidia.com/cuda/cusparse/ (sparseToDense, denseToSparse, csr2cscEx2,
xcoo2csr, xcsr2coo, x...sort). All is made of operations that CuPy's own functions have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cupool.client_shim.cupy.cuda._cusparse_objects import (
    COO,
    FUNCTIONS,
    DenseMatrix,
    SparseMatrix,
    array,
    check,
    forget,
    function,
    index_type,
    new,
    of,
    shifted,
    value_type,
)
from cupool.client_shim.cupy.cuda._cusparse_products import (
    WORK_BYTES,
    call,
    kernels,
    same_type,
    store,
)
from cupool.client_shim.cupy.cuda._libraries import INT32

__all__ = ["FUNCTIONS"]

# ------------------------------------------------------------------- dense matrices


def _dense(matA: int, matB: int, to_dense: bool) -> tuple[SparseMatrix, DenseMatrix]:
    sparse = of(matA if to_dense else matB, SparseMatrix)
    dense = of(matB if to_dense else matA, DenseMatrix)
    check((sparse.rows, sparse.cols) == (dense.rows, dense.cols))
    same_type(dense.valueType, sparse.value_type)
    return sparse, dense


@function
def sparseToDense_bufferSize(handle: int, matA: int, matB: int, alg: int) -> int:
    """Return how many bytes of work space `sparseToDense` wants."""
    _dense(matA, matB, True)
    return WORK_BYTES


@function
def sparseToDense(handle: int, matA: int, matB: int, alg: int, buffer: int) -> None:
    """Write a sparse matrix as a dense one."""
    with call(handle):
        sparse, dense = _dense(matA, matB, True)
        whole = kernels().to_dense(sparse.parts(), sparse.shape)
        dense.array()[...] = whole.T if sparse.transposed else whole


def _found(sparse: SparseMatrix, dense: DenseMatrix) -> Any:
    """Return the parts of a dense matrix, for the format of a sparse one."""
    whole = dense.array()
    wide = 3 in (sparse.major_type, sparse.minor_type)
    index_dtype = np.int64 if wide else np.int32
    return kernels().from_dense(whole.T if sparse.transposed else whole, index_dtype)


@function
def denseToSparse_bufferSize(handle: int, matA: int, matB: int, alg: int) -> int:
    """Return how many bytes of work space `denseToSparse_analysis` wants."""
    _dense(matA, matB, False)
    return WORK_BYTES


@function
def denseToSparse_analysis(handle: int, matA: int, matB: int, alg: int, buffer: int) -> None:
    """Tell a sparse matrix how many elements it has to have, which is waited for, and write where
    its rows or columns begin."""
    with call(handle):
        sparse, dense = _dense(matA, matB, False)
        data, _, indptr = _found(sparse, dense)
        sparse.nnz = data.size
        if sparse.format != COO and sparse.major:
            offsets = array(sparse.major, sparse.shape[0] + 1, index_type(sparse.major_type))
            offsets[...] = shifted(indptr, sparse.base)


@function
def denseToSparse_convert(handle: int, matA: int, matB: int, alg: int, buffer: int) -> None:
    """Write the elements that are not 0 to where a sparse matrix lies; they are waited for, and
    must be as many as it says."""
    with call(handle):
        sparse, dense = _dense(matA, matB, False)
        parts = _found(sparse, dense)
        check(parts[0].size == sparse.nnz)
        store(sparse, parts)


# ------------------------------------------------------------------- rows, columns, coordinates


def _compressed(m: int, n: int, nnz: int, valType: int, idxBase: int) -> np.dtype[Any]:
    check(min(m, n, nnz) >= 0 and idxBase in (0, 1))
    return value_type(valType)


@function
def csr2cscEx2_bufferSize(
    handle: int,
    m: int,
    n: int,
    nnz: int,
    csrVal: int,
    csrRowPtr: int,
    csrColInd: int,
    cscVal: int,
    cscColPtr: int,
    cscRowInd: int,
    valType: int,
    copyValues: int,
    idxBase: int,
    alg: int,
) -> int:
    """Return how many bytes of work space `csr2cscEx2` wants."""
    _compressed(m, n, nnz, valType, idxBase)
    return WORK_BYTES


@function
def csr2cscEx2(
    handle: int,
    m: int,
    n: int,
    nnz: int,
    csrVal: int,
    csrRowPtr: int,
    csrColInd: int,
    cscVal: int,
    cscColPtr: int,
    cscRowInd: int,
    valType: int,
    copyValues: int,
    idxBase: int,
    alg: int,
    buffer: int,
) -> None:
    """Write a matrix in compressed rows as one in compressed columns: with `copyValues` 1 its
    values too, with 0 the indices alone."""
    from cupool.client_shim import cupy

    with call(handle):
        dtype = _compressed(m, n, nnz, valType, idxBase)
        data = array(csrVal, nnz, dtype) if copyValues else cupy.zeros(nnz, dtype)
        indices, indptr = array(csrColInd, nnz, INT32), array(csrRowPtr, m + 1, INT32)
        parts = (data, shifted(indices, -idxBase), shifted(indptr, -idxBase))
        made, rows, columns = kernels().transpose(parts, n)
        array(cscColPtr, n + 1, INT32)[...] = shifted(columns, idxBase)
        if nnz:
            array(cscRowInd, nnz, INT32)[...] = shifted(rows, idxBase)
        if nnz and copyValues:
            array(cscVal, nnz, dtype)[...] = made


@function
def xcoo2csr(handle: int, cooRowInd: int, nnz: int, m: int, csrRowPtr: int, idxBase: int) -> None:
    """Write where each row begins, of elements' rows in ascending order."""
    check(min(nnz, m) >= 0 and idxBase in (0, 1))
    with call(handle):
        rows = shifted(array(cooRowInd, nnz, INT32), -idxBase)
        array(csrRowPtr, m + 1, INT32)[...] = shifted(kernels().condense(rows, m), idxBase)


@function
def xcsr2coo(handle: int, csrRowPtr: int, nnz: int, m: int, cooRowInd: int, idxBase: int) -> None:
    """Write the row of each element, of where the rows begin."""
    check(min(nnz, m) >= 0 and idxBase in (0, 1))
    with call(handle):
        if nnz:
            indptr = shifted(array(csrRowPtr, m + 1, INT32), -idxBase)
            array(cooRowInd, nnz, INT32)[...] = shifted(kernels().expand(indptr, nnz), idxBase)


# ------------------------------------------------------------------- order


@function
def createIdentityPermutation(handle: int, n: int, p: int) -> None:
    """Write 0, 1, 2, ... to n integers."""
    from cupool.client_shim import cupy

    check(n >= 0)
    with call(handle):
        array(p, n, INT32)[...] = cupy.arange(n, dtype=INT32)


def _reorder(keys: tuple[Any, Any], written: tuple[Any, ...], P: int, nnz: int) -> None:
    """Sort elements by their first key, then by their second; P gets the same order."""
    from cupool.client_shim import cupy

    if nnz == 0:
        return
    order = cupy.lexsort(cupy.stack([keys[1], keys[0]]))
    for place in (*written, *((array(P, nnz, INT32),) if P else ())):
        place[...] = place[order]


@function
def xcoosort_bufferSizeExt(
    handle: int, m: int, n: int, nnz: int, cooRows: int, cooCols: int
) -> int:
    """Return how many bytes of work space the sorting of coordinates wants."""
    check(min(m, n, nnz) >= 0)
    return WORK_BYTES


@function
def xcoosortByRow(
    handle: int, m: int, n: int, nnz: int, cooRows: int, cooCols: int, P: int, pBuffer: int
) -> None:
    """Sort coordinates by row and then by column; P, if it is not 0, gets the same order."""
    check(min(m, n, nnz) >= 0)
    with call(handle):
        rows, columns = array(cooRows, nnz, INT32), array(cooCols, nnz, INT32)
        _reorder((rows, columns), (rows, columns), P, nnz)


@function
def xcoosortByColumn(
    handle: int, m: int, n: int, nnz: int, cooRows: int, cooCols: int, P: int, pBuffer: int
) -> None:
    """Sort coordinates by column and then by row; P, if it is not 0, gets the same order."""
    check(min(m, n, nnz) >= 0)
    with call(handle):
        rows, columns = array(cooRows, nnz, INT32), array(cooCols, nnz, INT32)
        _reorder((columns, rows), (rows, columns), P, nnz)


def _sort_minor(
    handle: int, length: int, nnz: int, descr: int, offsets: int, indices: int, P: int
) -> None:
    base = of(descr, OldDescriptor).base
    check(min(length, nnz) >= 0)
    with call(handle):
        if nnz:
            indptr = shifted(array(offsets, length + 1, INT32), -base)
            minor = array(indices, nnz, INT32)
            _reorder((kernels().expand(indptr, nnz), minor), (minor,), P, nnz)


@function
def xcsrsort_bufferSizeExt(
    handle: int, m: int, n: int, nnz: int, csrRowPtr: int, csrColInd: int
) -> int:
    """Return how many bytes of work space `xcsrsort` wants."""
    check(min(m, n, nnz) >= 0)
    return WORK_BYTES


@function
def xcsrsort(
    handle: int,
    m: int,
    n: int,
    nnz: int,
    descrA: int,
    csrRowPtr: int,
    csrColInd: int,
    P: int,
    pBuffer: int,
) -> None:
    """Sort the columns within each row; P, if it is not 0, gets the same order."""
    _sort_minor(handle, m, nnz, descrA, csrRowPtr, csrColInd, P)


@function
def xcscsort_bufferSizeExt(
    handle: int, m: int, n: int, nnz: int, cscColPtr: int, cscRowInd: int
) -> int:
    """Return how many bytes of work space `xcscsort` wants."""
    check(min(m, n, nnz) >= 0)
    return WORK_BYTES


@function
def xcscsort(
    handle: int,
    m: int,
    n: int,
    nnz: int,
    descrA: int,
    cscColPtr: int,
    cscRowInd: int,
    P: int,
    pBuffer: int,
) -> None:
    """Sort the rows within each column; P, if it is not 0, gets the same order."""
    _sort_minor(handle, n, nnz, descrA, cscColPtr, cscRowInd, P)


# ------------------------------------------------------------------- descriptors of the old API


@dataclass
class OldDescriptor:
    """What `createMatDescr` makes: a matrix' kind, without where it lies."""

    base: int = 0
    type: int = 0
    fill: int = 0
    diagonal: int = 0


@function
def createMatDescr() -> int:
    """Return a descriptor of a general matrix whose indices are from 0 on."""
    return new(OldDescriptor())


@function
def destroyMatDescr(descr: int) -> None:
    """Forget a descriptor of the old API."""
    forget(descr, OldDescriptor)


@function
def setMatIndexBase(descr: int, base: int) -> None:
    """Set whether indices are from 0 or from 1 on."""
    check(base in (0, 1))
    of(descr, OldDescriptor).base = base


@function
def setMatType(descr: int, typ: int) -> None:
    """Set `CUSPARSE_MATRIX_TYPE_*`, which nothing here looks at."""
    check(typ in (0, 1, 2, 3))
    of(descr, OldDescriptor).type = typ


@function
def setMatFillMode(descrA: int, fillMode: int) -> None:
    """Set `CUSPARSE_FILL_MODE_*`, which nothing here looks at."""
    check(fillMode in (0, 1))
    of(descrA, OldDescriptor).fill = fillMode


@function
def setMatDiagType(descrA: int, diagType: int) -> None:
    """Set `CUSPARSE_DIAG_TYPE_*`, which nothing here looks at."""
    check(diagType in (0, 1))
    of(descrA, OldDescriptor).diagonal = diagType
