"""`cupy.cuda.cusparse`: the functions that make, read, change and forget descriptors.

Semantics: https://docs.nvidia.com/cuda/cusparse/#cusparse-generic-api-reference.
"""

from __future__ import annotations

import ctypes
from typing import Any

from cupool.client_shim.cupy.cuda._cusparse_objects import (
    COLUMNS,
    COO,
    CSC,
    CSR,
    FUNCTIONS,
    ROWS,
    CooAttributes,
    CsrAttributes,
    DenseMatrix,
    DenseVector,
    DnMatAttributes,
    DnMatBatchAttributes,
    DnVecAttributes,
    SparseMatrix,
    SparseVector,
    SpVecAttributes,
    check,
    forget,
    function,
    new,
    of,
)

__all__ = ["FUNCTIONS"]

_KNOWN_INDEX_TYPES = (1, 2, 3)

# ------------------------------------------------------------------- vectors


@function
def createSpVec(
    size: int, nnz: int, indices: int, values: int, idxType: int, idxBase: int, valueType: int
) -> int:
    """Return a descriptor of a sparse vector."""
    check(0 <= nnz <= size and idxType in _KNOWN_INDEX_TYPES and idxBase in (0, 1))
    return new(SparseVector(size, nnz, indices, values, idxType, idxBase, valueType))


@function
def destroySpVec(desc: int) -> None:
    """Forget a descriptor of a sparse vector."""
    forget(desc, SparseVector)


@function
def spVecGet(desc: int) -> SpVecAttributes:
    """Return what a descriptor of a sparse vector holds."""
    one = of(desc, SparseVector)
    where = (one.size, one.nnz, one.idx, one.values)
    return SpVecAttributes(*where, one.idxType, one.idxBase, one.valueType)


@function
def spVecGetIndexBase(desc: int) -> int:
    """Return whether indices are from 0 or from 1 on."""
    return of(desc, SparseVector).idxBase


@function
def spVecGetValues(desc: int) -> int:
    """Return the address of the values."""
    return of(desc, SparseVector).values


@function
def spVecSetValues(desc: int, values: int) -> None:
    """Set the address of the values."""
    of(desc, SparseVector).values = values


@function
def createDnVec(size: int, values: int, valueType: int) -> int:
    """Return a descriptor of a vector."""
    check(size >= 0)
    return new(DenseVector(size, values, valueType))


@function
def destroyDnVec(desc: int) -> None:
    """Forget a descriptor of a vector."""
    forget(desc, DenseVector)


@function
def dnVecGet(desc: int) -> DnVecAttributes:
    """Return what a descriptor of a vector holds."""
    one = of(desc, DenseVector)
    return DnVecAttributes(one.size, one.values, one.valueType)


@function
def dnVecGetValues(desc: int) -> int:
    """Return the address of the values."""
    return of(desc, DenseVector).values


@function
def dnVecSetValues(desc: int, values: int) -> None:
    """Set the address of the values."""
    of(desc, DenseVector).values = values


# ------------------------------------------------------------------- sparse matrices


def _sparse(
    format: int, sizes: tuple[int, int, int], where: tuple[int, int, int], kinds: Any
) -> int:
    *index_types, base, value = kinds
    check(min(sizes) >= 0 and sizes[2] <= sizes[0] * sizes[1] and base in (0, 1))
    check(all(one in _KNOWN_INDEX_TYPES for one in index_types))
    major, minor = index_types
    return new(SparseMatrix(format, *sizes, *where, major, minor, base, value))


@function
def createCsr(
    rows: int,
    cols: int,
    nnz: int,
    csrRowOffsets: int,
    csrColind: int,
    csrValues: int,
    csrRowOffsetsType: int,
    csrColIndType: int,
    idxBase: int,
    valueType: int,
) -> int:
    """Return a descriptor of a matrix in compressed rows."""
    kinds = (csrRowOffsetsType, csrColIndType, idxBase, valueType)
    return _sparse(CSR, (rows, cols, nnz), (csrRowOffsets, csrColind, csrValues), kinds)


@function
def createCsc(
    rows: int,
    cols: int,
    nnz: int,
    cscColOffsets: int,
    cscRowInd: int,
    cscValues: int,
    cscColOffsetsType: int,
    cscRowIndType: int,
    idxBase: int,
    valueType: int,
) -> int:
    """Return a descriptor of a matrix in compressed columns."""
    kinds = (cscColOffsetsType, cscRowIndType, idxBase, valueType)
    return _sparse(CSC, (rows, cols, nnz), (cscColOffsets, cscRowInd, cscValues), kinds)


@function
def createCoo(
    rows: int,
    cols: int,
    nnz: int,
    cooRowInd: int,
    cooColInd: int,
    cooValues: int,
    cooIdxType: int,
    idxBase: int,
    valueType: int,
) -> int:
    """Return a descriptor of a matrix as coordinates, sorted by row."""
    kinds = (cooIdxType, cooIdxType, idxBase, valueType)
    return _sparse(COO, (rows, cols, nnz), (cooRowInd, cooColInd, cooValues), kinds)


@function
def destroySpMat(desc: int) -> None:
    """Forget a descriptor of a sparse matrix."""
    forget(desc, SparseMatrix)


def _of_format(desc: int, format: int) -> SparseMatrix:
    one = of(desc, SparseMatrix)
    check(one.format == format)
    return one


@function
def cooGet(desc: int) -> CooAttributes:
    """Return what a descriptor of coordinates holds."""
    one = _of_format(desc, COO)
    where = (one.rows, one.cols, one.nnz, one.major, one.minor, one.values)
    return CooAttributes(*where, one.major_type, one.base, one.value_type)


@function
def csrGet(desc: int) -> CsrAttributes:
    """Return what a descriptor of compressed rows holds."""
    one = _of_format(desc, CSR)
    where = (one.rows, one.cols, one.nnz, one.major, one.minor, one.values)
    return CsrAttributes(*where, one.major_type, one.minor_type, one.base, one.value_type)


@function
def csrSetPointers(desc: int, csrRowOffsets: int, csrColInd: int, csrValues: int) -> None:
    """Set where compressed rows lie."""
    one = _of_format(desc, CSR)
    one.major, one.minor, one.values = csrRowOffsets, csrColInd, csrValues


@function
def spMatGetFormat(desc: int) -> int:
    """Return 1 for compressed rows, 2 for compressed columns, 3 for coordinates."""
    return of(desc, SparseMatrix).format


@function
def spMatGetIndexBase(desc: int) -> int:
    """Return whether indices are from 0 or from 1 on."""
    return of(desc, SparseMatrix).base


@function
def spMatGetValues(desc: int) -> int:
    """Return the address of the values."""
    return of(desc, SparseMatrix).values


@function
def spMatSetValues(desc: int, values: int) -> None:
    """Set the address of the values."""
    of(desc, SparseMatrix).values = values


@function
def spMatGetSize(desc: int, rows: int, cols: int, nnz: int) -> None:
    """Write three int64 to addresses of this machine."""
    one = of(desc, SparseMatrix)
    check(all((rows, cols, nnz)))
    for pointer, value in ((rows, one.rows), (cols, one.cols), (nnz, one.nnz)):
        ctypes.c_int64.from_address(pointer).value = value


@function
def spMatGetStridedBatch(desc: int) -> int:
    """Return how many matrices there are: 1, since CuPy cannot set another number."""
    of(desc, SparseMatrix)
    return 1


@function
def spMatSetAttribute(spMatDescr: int, attribute: int, data: int) -> None:
    """Set which triangle is looked at (0: `CUSPARSE_FILL_MODE_*`), or whether its diagonal is of
    ones (1: `CUSPARSE_DIAG_TYPE_*`)."""
    check(attribute in (0, 1) and data in (0, 1))
    of(spMatDescr, SparseMatrix).attributes[attribute] = data


# ------------------------------------------------------------------- dense matrices


@function
def createDnMat(rows: int, cols: int, ld: int, values: int, valueType: int, order: int) -> int:
    """Return a descriptor of a matrix, in columns (order 1) or rows (2) that lie `ld` apart."""
    check(order in (COLUMNS, ROWS) and min(rows, cols) >= 0)
    check(ld >= (rows if order == COLUMNS else cols))
    return new(DenseMatrix(rows, cols, ld, values, valueType, order))


@function
def destroyDnMat(desc: int) -> None:
    """Forget a descriptor of a matrix."""
    forget(desc, DenseMatrix)


@function
def dnMatGet(desc: int) -> DnMatAttributes:
    """Return what a descriptor of a matrix holds."""
    one = of(desc, DenseMatrix)
    where = (one.rows, one.cols, one.ld, one.values)
    return DnMatAttributes(*where, one.valueType, one.order)


@function
def dnMatGetValues(desc: int) -> int:
    """Return the address of the values."""
    return of(desc, DenseMatrix).values


@function
def dnMatSetValues(desc: int, values: int) -> None:
    """Set the address of the values."""
    of(desc, DenseMatrix).values = values


@function
def dnMatGetStridedBatch(desc: int) -> DnMatBatchAttributes:
    """Return how many matrices there are, and how many elements apart they lie."""
    one = of(desc, DenseMatrix)
    return DnMatBatchAttributes(one.count, one.stride)


@function
def dnMatSetStridedBatch(desc: int, batchCount: int, batchStride: int) -> None:
    """Say that there are several matrices, `batchStride` elements apart."""
    one = of(desc, DenseMatrix)
    extent = one.ld * (one.cols if one.order == COLUMNS else one.rows)
    check(batchCount >= 1 and (batchStride >= extent or batchCount == 1))
    one.count, one.stride = batchCount, batchStride
