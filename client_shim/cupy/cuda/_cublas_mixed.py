"""`cupy.cuda.cublas`: products of several types, `gemmEx` and what is like it.

Types and which go together: https://docs.nvidia.com/cuda/cublas/#cublasgemmex. A batch is one
operation where the GPU is. Complex int8 and bfloat16 are refused; bfloat16 needs `ml_dtypes`.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from cupool.client_shim.cupy._core import calls
from cupool.client_shim.cupy.cuda import _libraries
from cupool.client_shim.cupy.cuda._cublas_calls import _NO_TRANSPOSE, FUNCTIONS, _call, _check
from cupool.errors import OperationNotSupported
from cupool.proto.bfloat16 import bfloat16

__all__ = ["FUNCTIONS"]

_NOT_SUPPORTED = 15
_BFLOAT = "E"
_TYPES = {0: "f", 1: "d", 2: "e", 3: "b", 4: "F", 5: "D", 10: "i", 14: _BFLOAT}
"""dtypes by `cudaDataType_t`."""
_REFUSED = {7: "complex int8", 15: "complex bfloat16"}
_COMPUTE_32F, _DEFAULT = 68, -1
OF_LETTERS = {"s": (0, 68), "d": (1, 70), "c": (4, 68), "z": (5, 70)}
"""By the letter of a function's name: `cudaDataType_t` and `cublasComputeType_t`."""
_FIRST_COMPUTE_TYPE = 64
_OF_DATA_TYPE = {0: 68, 1: 70, 2: 64, 4: 68, 5: 70, 10: 72}
"""`cublasComputeType_t` by the `cudaDataType_t` that CUDA 10 had in its place."""
_HALF, _SINGLE = ("e", "e"), ("f", "f")
_IN_SINGLE = {
    _HALF: "f",
    _SINGLE: "f",
    (_BFLOAT, _BFLOAT): "f",
    (_BFLOAT, "f"): "f",
    ("e", "f"): "f",
    ("b", "f"): "f",
    ("F", "F"): "F",
}
_FITTING: dict[int, dict[tuple[str, str], str]] = {
    64: {_HALF: "e"},
    65: {_HALF: "e"},
    68: _IN_SINGLE,
    69: _IN_SINGLE,
    70: {("d", "d"): "d", ("D", "D"): "D"},
    71: {("d", "d"): "d", ("D", "D"): "D"},
    72: {("b", "i"): "i"},
    73: {("b", "i"): "i"},
    **{fast: {_SINGLE: "f", ("F", "F"): "F"} for fast in (74, 75, 77)},
}
"""By the compute type: the types of A and C, and that of the factors."""


def _refuse() -> NoReturn:
    from cupool.client_shim.cupy.cuda import cublas

    raise cublas.CUBLASError(_NOT_SUPPORTED)


def _types(given: tuple[int, int, int], compute: int) -> tuple[Any, Any, Any]:
    """Return the dtypes of A and B, of C, and of the factors.

    Raises:
        OperationNotSupported: complex int8 and bfloat16; bfloat16 without `ml_dtypes`.
        CUBLASError: cuBLAS does not have this combination.
    """
    for one in given:
        if one in _REFUSED:
            raise OperationNotSupported(
                f"products of {_REFUSED[one]} by address are not supported by cupool yet",
                remedy="what is supported today:   docs/cuda.md, 'Runtime, driver, libraries'",
            )
    a, b, c = (_TYPES.get(one, "") for one in given)
    factor = _FITTING.get(compute, {}).get((a, c))
    if a != b or factor is None:
        _refuse()
    return _dtype(a), _dtype(c), _dtype(factor)


def _dtype(char: str) -> np.dtype[Any]:
    if char != _BFLOAT:
        return np.dtype(char)
    try:
        return bfloat16()
    except ModuleNotFoundError:
        raise OperationNotSupported(
            "products of bfloat16 need the package ml_dtypes, which this machine lacks",
            remedy="pip install ml_dtypes",
        ) from None


def product(
    handle: int,
    sizes: tuple[int, ...],
    factors: tuple[int, int],
    places: tuple[tuple[int, int, int, int], ...],
    compute: int,
    algo: int = _DEFAULT,
) -> None:
    """Send a product; `places` are address, `cudaDataType_t`, ld and stride of A, B and C."""
    from cupool.client_shim import cupy

    transa, transb, m, n, k, count = sizes
    if compute < _FIRST_COMPUTE_TYPE:
        compute = _OF_DATA_TYPE.get(compute, compute)
    given, to, factor = _types((places[0][1], places[1][1], places[2][1]), compute)
    shapes = (
        (m, k) if transa == _NO_TRANSPOSE else (k, m),
        (k, n) if transb == _NO_TRANSPOSE else (n, k),
        (m, n),
    )
    known = transa in (0, 1, 2) and transb in (0, 1, 2) and min(m, n, k, count) >= 0
    lds = all(p[2] >= max(1, shape[0]) for p, shape in zip(places, shapes, strict=True))
    _check(known and lds and min(p[3] for p in places) >= 0)
    _check(count <= 1 or places[2][3] >= places[2][2] * (n - 1) + m)  # results do not overlap
    with _call(handle) as scalar:
        if not (m and n and count):
            return
        c = _libraries.stack(places[2][0], (m, n), places[2][2], places[2][3], count, to)
        if k:
            a, b = (
                _libraries.stack(pointer, shape, ld, stride, count, given)
                for (pointer, _, ld, stride), shape in zip(places[:2], shapes, strict=False)
            )
        else:  # a product of nothing is one of zeros; of int8, cuBLAS takes four
            a, b = (
                cupy.zeros((shape[0] or 4, shape[1] or 4, count), given, order="F")
                for shape in shapes[:2]
            )
        alpha, beta = (_number(scalar(one, factor)) for one in factors)
        args = (transa, transb, alpha, a, b, beta, c, compute, algo)
        calls.call_into("cublas.gemm_ex", args)


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, np.ndarray) else value


def gemmEx(
    handle: int,
    transa: int,
    transb: int,
    m: int,
    n: int,
    k: int,
    alpha: int,
    A: int,
    Atype: int,
    lda: int,
    B: int,
    Btype: int,
    ldb: int,
    beta: int,
    C: int,
    Ctype: int,
    ldc: int,
    computeType: int,
    algo: int,
) -> None:
    """Do `C = alpha * op(A) @ op(B) + beta * C`; types are `cudaDataType_t`, the factors are of
    the type that goes with `computeType`."""
    places = ((A, Atype, lda, 0), (B, Btype, ldb, 0), (C, Ctype, ldc, 0))
    sizes = (transa, transb, m, n, k, 1)
    product(handle, sizes, (alpha, beta), places, computeType, algo)


def sgemmEx(
    handle: int,
    transa: int,
    transb: int,
    m: int,
    n: int,
    k: int,
    alpha: int,
    A: int,
    Atype: int,
    lda: int,
    B: int,
    Btype: int,
    ldb: int,
    beta: int,
    C: int,
    Ctype: int,
    ldc: int,
) -> None:
    """Do `gemmEx` in float32."""
    if Atype == 4:
        _refuse()  # complex numbers have `cgemmEx`, which CuPy has not
    places = ((A, Atype, lda, 0), (B, Btype, ldb, 0), (C, Ctype, ldc, 0))
    sizes = (transa, transb, m, n, k, 1)
    product(handle, sizes, (alpha, beta), places, _COMPUTE_32F)


def gemmStridedBatchedEx(
    handle: int,
    transa: int,
    transb: int,
    m: int,
    n: int,
    k: int,
    alpha: int,
    A: int,
    Atype: int,
    lda: int,
    strideA: int,
    B: int,
    Btype: int,
    ldb: int,
    strideB: int,
    beta: int,
    C: int,
    Ctype: int,
    ldc: int,
    strideC: int,
    batchCount: int,
    computeType: int,
    algo: int,
) -> None:
    """Do `gemmEx` for matrices that lie `stride` elements apart."""
    places = ((A, Atype, lda, strideA), (B, Btype, ldb, strideB), (C, Ctype, ldc, strideC))
    sizes = (transa, transb, m, n, k, batchCount)
    product(handle, sizes, (alpha, beta), places, computeType, algo)


FUNCTIONS.update(gemmEx=gemmEx, sgemmEx=sgemmEx, gemmStridedBatchedEx=gemmStridedBatchedEx)
