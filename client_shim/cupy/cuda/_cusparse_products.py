"""`cupy.cuda.cusparse`: the generic API's products and solver.

Each is made of the operations on parts of matrices that `cupyx.scipy.sparse` is made of; work
space is allocated where the GPU is. Matrix, vectors and `computeType` are of one type, f, d, F or
D. Semantics: https://docs.nvidia.com/cuda/cusparse/#cusparse-generic-api-reference.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from cupool.client_shim.cupy.cuda import _libraries, _runtime_streams
from cupool.client_shim.cupy.cuda._cusparse_objects import (
    _NOT_SUPPORTED,
    COO,
    CSR,
    FUNCTIONS,
    DenseMatrix,
    DenseVector,
    SparseMatrix,
    SparseVector,
    check,
    error,
    forget,
    function,
    new,
    of,
    shifted,
    value_type,
)

__all__ = ["FUNCTIONS"]

_AS_IT_IS, _TRANSPOSED, _ADJOINT = 0, 1, 2
_OPERATIONS = (_AS_IT_IS, _TRANSPOSED, _ADJOINT)
_FILL_MODE, _DIAGONAL = 0, 1
WORK_BYTES = 8
"""What every `..._bufferSize` asks for, and nobody uses: one element."""


def kernels() -> Any:
    from cupool.client_shim.cupyx.scipy.sparse import _kernels

    return _kernels


@contextmanager
def call(handle: int) -> Iterator[Any]:
    """Work in the stream of a handle; gives `(pointer, dtype) -> place` of factors and results."""
    from cupool.client_shim.cupy.cuda import cusparse

    on_device = cusparse._pointers_on_device(handle)

    def scalar(pointer: int, dtype: np.dtype[Any]) -> Any:
        check(bool(pointer))
        if on_device:
            return _libraries.matrix(pointer, (1, 1), 1, dtype)[0, 0]
        return _libraries.on_host(pointer, dtype)

    with _runtime_streams.on_stream(cusparse.getStream(handle) or None):
        yield scalar


def same_type(compute: int, *codes: int) -> np.dtype[Any]:
    """Return the dtype of all; raise CuSparseError if they differ."""
    dtype = value_type(compute)
    if any(code != compute for code in codes):
        raise error(_NOT_SUPPORTED)
    return dtype


def _update(to: Any, product: Any, alpha: Any, beta: Any) -> None:
    """Do `to = alpha * product + beta * to`; with beta 0, `to` is not read."""
    from cupool.client_shim import cupy

    product = product * factor(alpha)
    if isinstance(beta, np.ndarray):
        to[...] = product + to * factor(beta) if beta else product
    else:
        to[...] = product + cupy.where(beta == 0, to.dtype.type(0), to * beta)


def factor(value: Any) -> Any:
    """Return a number of the same dtype, or the array of one on the device."""
    return value[()] if isinstance(value, np.ndarray) else value


def _turned(array: Any, operation: int) -> Any:
    """Return op of a dense matrix."""
    if operation == _AS_IT_IS:
        return array
    return array.T.conj() if operation == _ADJOINT else array.T


def _times(a: SparseMatrix, parts: Any, operation: int, x: Any) -> Any:
    """Return op(a) @ x for a vector or matrix."""
    transposed = a.transposed != (operation != _AS_IT_IS)
    if operation == _ADJOINT and x.dtype.kind == "c":
        return kernels().matmul_dense(parts, a.shape, x.conj(), transposed).conj()
    return kernels().matmul_dense(parts, a.shape, x, transposed)


def _sizes(a: SparseMatrix | DenseMatrix, operation: int) -> tuple[int, int]:
    check(operation in _OPERATIONS)
    return (a.rows, a.cols) if operation == _AS_IT_IS else (a.cols, a.rows)


# ------------------------------------------------------------------- vectors


def _vv(handle: int, opX: int, vecX: int, vecY: int, computeType: int) -> Any:
    x, y = of(vecX, SparseVector), of(vecY, DenseVector)
    check(opX in (_AS_IT_IS, _ADJOINT) and x.size <= y.size)
    return x, y, same_type(computeType, x.valueType, y.valueType)


@function
def spVV_bufferSize(
    handle: int, opX: int, vecX: int, vecY: int, result: int, computeType: int
) -> int:
    """Return how many bytes of work space `spVV` wants."""
    _vv(handle, opX, vecX, vecY, computeType)
    return WORK_BYTES


@function
def spVV(
    handle: int,
    opX: int,
    vecX: int,
    vecY: int,
    result: int,
    computeType: int,
    externalBuffer: int,
) -> None:
    """Write the product of a sparse vector, conjugated for operation 2, and a dense one."""
    with call(handle) as scalar:
        sparse, dense, dtype = _vv(handle, opX, vecX, vecY, computeType)
        indices, values = sparse.arrays()
        values = values.conj() if opX == _ADJOINT else values
        found = (values * dense.array()[indices]).sum()
        to = scalar(result, dtype)
        to[...] = found.get() if isinstance(to, np.ndarray) else found


@function
def gather(handle: int, vecY: int, vecX: int) -> None:
    """Copy the elements of Y whose indices a sparse vector X has into X."""
    with call(handle):
        y, x = of(vecY, DenseVector), of(vecX, SparseVector)
        check(x.size <= y.size and x.valueType == y.valueType)
        indices, values = x.arrays()
        values[...] = y.array()[indices]


# ------------------------------------------------------------------- a sparse and a dense factor


def _mv(opA: int, matA: int, vecX: int, vecY: int, computeType: int) -> Any:
    a, x, y = of(matA, SparseMatrix), of(vecX, DenseVector), of(vecY, DenseVector)
    check(_sizes(a, opA) == (y.size, x.size))
    return a, x, y, same_type(computeType, a.value_type, x.valueType, y.valueType)


@function
def spMV_bufferSize(
    handle: int,
    opA: int,
    alpha: int,
    matA: int,
    vecX: int,
    beta: int,
    vecY: int,
    computeType: int,
    alg: int,
) -> int:
    """Return how many bytes of work space `spMV` wants."""
    _mv(opA, matA, vecX, vecY, computeType)
    return WORK_BYTES


@function
def spMV(
    handle: int,
    opA: int,
    alpha: int,
    matA: int,
    vecX: int,
    beta: int,
    vecY: int,
    computeType: int,
    alg: int,
    externalBuffer: int,
) -> None:
    """Do `y = alpha * op(A) @ x + beta * y`."""
    with call(handle) as scalar:
        a, x, y, dtype = _mv(opA, matA, vecX, vecY, computeType)
        product = _times(a, a.parts(), opA, x.array())
        _update(y.array(), product, scalar(alpha, dtype), scalar(beta, dtype))


def _mm(opA: int, opB: int, matA: int, matB: int, matC: int, computeType: int) -> Any:
    a, b, c = of(matA, SparseMatrix), of(matB, DenseMatrix), of(matC, DenseMatrix)
    (m, k), (inner, n) = _sizes(a, opA), _sizes(b, opB)
    check(k == inner and (c.rows, c.cols) == (m, n) and b.count in (1, c.count))
    return a, b, c, same_type(computeType, a.value_type, b.valueType, c.valueType)


@function
def spMM_bufferSize(
    handle: int,
    opA: int,
    opB: int,
    alpha: int,
    matA: int,
    matB: int,
    beta: int,
    matC: int,
    computeType: int,
    alg: int,
) -> int:
    """Return how many bytes of work space `spMM` wants."""
    _mm(opA, opB, matA, matB, matC, computeType)
    return WORK_BYTES


@function
def spMM(
    handle: int,
    opA: int,
    opB: int,
    alpha: int,
    matA: int,
    matB: int,
    beta: int,
    matC: int,
    computeType: int,
    alg: int,
    externalBuffer: int,
) -> None:
    """Do `C = alpha * op(A) @ op(B) + beta * C`, for each of a batch of B and C."""
    with call(handle) as scalar:
        a, b, c, dtype = _mm(opA, opB, matA, matB, matC, computeType)
        parts, factors = a.parts(), (scalar(alpha, dtype), scalar(beta, dtype))
        for index in range(c.count):
            dense = _turned(b.array(index if b.count > 1 else 0), opB)
            _update(c.array(index), _times(a, parts, opA, dense), *factors)


# ------------------------------------------------------------------- a triangular matrix


@dataclass
class _Solver:
    """What `spSM_createDescr` makes: for which matrix there was an analysis."""

    matrix: int = 0


@function
def spSM_createDescr() -> int:
    """Return an object for `spSM`."""
    return new(_Solver())


@function
def spSM_destroyDescr(descr: int) -> None:
    """Forget an object for `spSM`."""
    forget(descr, _Solver)


def _sm(opA: int, opB: int, matA: int, matB: int, matC: int, computeType: int) -> Any:
    a, b, c = of(matA, SparseMatrix), of(matB, DenseMatrix), of(matC, DenseMatrix)
    check(opA in _OPERATIONS and a.rows == a.cols)
    check((a.rows, c.cols) == _sizes(b, opB) and c.rows == a.rows)
    return a, b, c, same_type(computeType, a.value_type, b.valueType, c.valueType)


@function
def spSM_bufferSize(
    handle: int,
    opA: int,
    opB: int,
    alpha: int,
    matA: int,
    matB: int,
    matC: int,
    computeType: int,
    alg: int,
    spsmDescr: int,
) -> int:
    """Return how many bytes of work space `spSM_analysis` and `spSM_solve` want."""
    of(spsmDescr, _Solver)
    _sm(opA, opB, matA, matB, matC, computeType)
    return WORK_BYTES


@function
def spSM_analysis(
    handle: int,
    opA: int,
    opB: int,
    alpha: int,
    matA: int,
    matB: int,
    matC: int,
    computeType: int,
    alg: int,
    spsmDescr: int,
    externalBuffer: int,
) -> None:
    """Prepare `spSM_solve`: remember the matrix."""
    with call(handle):
        _sm(opA, opB, matA, matB, matC, computeType)
        of(spsmDescr, _Solver).matrix = matA


@function
def spSM_solve(
    handle: int,
    opA: int,
    opB: int,
    alpha: int,
    matA: int,
    matB: int,
    matC: int,
    computeType: int,
    alg: int,
    spsmDescr: int,
    externalBuffer: int = 0,
) -> None:
    """Solve `op(A) @ C = alpha * op(B)` for a triangular matrix, by its attributes."""
    with call(handle) as scalar:
        a, b, c, dtype = _sm(opA, opB, matA, matB, matC, computeType)
        check(of(spsmDescr, _Solver).matrix == matA)
        lower = a.attributes.get(_FILL_MODE, 0) == 0
        unit = a.attributes.get(_DIAGONAL, 0) == 1
        data, indices, indptr = a.parts()
        trans = "NTH"[opA]
        if a.transposed:  # its parts are those of its transpose
            data = data.conj() if opA == _ADJOINT else data
            lower, trans = not lower, "T" if opA == _AS_IT_IS else "N"
        right = _turned(b.array(), opB) * factor(scalar(alpha, dtype))
        parts = (data, indices, indptr)
        c.array()[...] = kernels().solve_triangular(parts, right, lower, unit, trans)


# ------------------------------------------------------------------- two sparse factors


@dataclass
class _Product:
    """What `spGEMM_createDescr` makes: the product, once it has been computed."""

    parts: Any = None


@function
def spGEMM_createDescr() -> int:
    """Return an object for `spGEMM`."""
    return new(_Product())


@function
def spGEMM_destroyDescr(descr: int) -> None:
    """Forget an object for `spGEMM`, and the product that it holds."""
    forget(descr, _Product)


def _gemm(operations: tuple[int, int], mats: tuple[int, int, int], computeType: int) -> Any:
    a, b, c = (of(one, SparseMatrix) for one in mats)
    if any(operations) or any(one.format != CSR for one in (a, b, c)):
        raise error(_NOT_SUPPORTED)
    check(a.cols == b.rows and (c.rows, c.cols) == (a.rows, b.cols))
    return a, b, c, same_type(computeType, a.value_type, b.value_type, c.value_type)


@function
def spGEMM_workEstimation(
    handle: int,
    opA: int,
    opB: int,
    alpha: int,
    matA: int,
    matB: int,
    beta: int,
    matC: int,
    computeType: int,
    alg: int,
    spgemmDescr: int,
    bufferSize: int,
    externalBuffer1: int,
) -> int:
    """Return how many bytes of work space are wanted."""
    with call(handle):
        of(spgemmDescr, _Product)
        _gemm((opA, opB), (matA, matB, matC), computeType)
    return WORK_BYTES


@function
def spGEMM_compute(
    handle: int,
    opA: int,
    opB: int,
    alpha: int,
    matA: int,
    matB: int,
    beta: int,
    matC: int,
    computeType: int,
    alg: int,
    spgemmDescr: int,
    bufferSize: int,
    externalBuffer2: int,
) -> int:
    """Return how many bytes of work space are wanted; with them, compute the product, and tell
    `matC` how many elements it has, which is waited for. `beta` must be 0."""
    with call(handle) as scalar:
        product = of(spgemmDescr, _Product)
        a, b, c, dtype = _gemm((opA, opB), (matA, matB, matC), computeType)
        if not externalBuffer2:
            return WORK_BYTES
        scale = scalar(beta, dtype)
        if scale if isinstance(scale, np.ndarray) else scale.get():
            raise error(_NOT_SUPPORTED)
        data, indices, indptr = kernels().matmul(a.parts(), a.shape, b.parts(), b.shape)
        product.parts = data * factor(scalar(alpha, dtype)), indices, indptr
        c.nnz = data.size
    return WORK_BYTES


@function
def spGEMM_copy(
    handle: int,
    opA: int,
    opB: int,
    alpha: int,
    matA: int,
    matB: int,
    beta: int,
    matC: int,
    computeType: int,
    alg: int,
    spgemmDescr: int,
) -> None:
    """Copy the product to where `matC` says that it lies."""
    with call(handle):
        product = of(spgemmDescr, _Product)
        _, _, c, _ = _gemm((opA, opB), (matA, matB, matC), computeType)
        check(product.parts is not None and product.parts[0].size == c.nnz)
        store(c, product.parts)


def store(to: SparseMatrix, parts: Any) -> None:
    """Copy parts to where a matrix lies; rows instead of offsets for coordinates."""
    data, indices, indptr = parts
    if to.format == COO:
        indptr = kernels().expand(indptr, data.size)
    for place, made in zip(
        to.views(), (data, shifted(indices, to.base), shifted(indptr, to.base)), strict=True
    ):
        if place.size:
            place[...] = made
