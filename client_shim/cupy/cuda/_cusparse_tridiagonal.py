"""`cupy.cuda.cusparse`: systems of three and of five diagonals.

Semantics: https://docs.nvidia.com/cuda/cusparse/ (gtsv2, gtsv2_nopivot, gtsv2StridedBatch,
gtsvInterleavedBatch, gpsvInterleavedBatch). Of three diagonals, the first element of the lower
and the last of the upper one count for nothing, and a batch is one long system, whose parts do not
touch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls
from cupool.client_shim.cupy.cuda import _libraries
from cupool.client_shim.cupy.cuda._cusparse_objects import FUNCTIONS, array, check
from cupool.client_shim.cupy.cuda._cusparse_products import WORK_BYTES, call
from cupool.client_shim.cupy.cuda._libraries import LETTERS

__all__ = ["FUNCTIONS"]

_SMALLEST = 3
_THOMAS, _LU, _QR = 0, 1, 2
_SIZE = "Return how many bytes of work space the function wants."


def _for_each(name: str) -> Callable[[Callable[[np.dtype[Any]], tuple[Any, Any]]], None]:
    """Register the two functions that `make(dtype)` returns: the size, and the solver."""

    def register(make: Callable[[np.dtype[Any]], tuple[Any, Any]]) -> None:
        for letter, dtype in LETTERS.items():
            full = letter + name
            for short, one, doc in zip(
                (f"{full}_bufferSizeExt", full),
                make(dtype),
                (_SIZE, f"{make.__doc__} For {dtype.name}."),
                strict=True,
            ):
                one.__name__ = one.__qualname__ = short
                one.__doc__ = doc
                FUNCTIONS[short] = one

    return register


def _one_system(pivoting: bool, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    def size(handle: int, m: int, n: int, dl: int, d: int, du: int, B: int, ldb: int) -> int:
        check(m >= _SMALLEST and n >= 0 and ldb >= m)
        return WORK_BYTES

    def solve(
        handle: int, m: int, n: int, dl: int, d: int, du: int, B: int, ldb: int, pBuffer: int
    ) -> None:
        check(m >= _SMALLEST and n >= 0 and ldb >= m)
        with call(handle):
            if n:
                diagonals = tuple(array(one, m, dtype) for one in (dl, d, du))
                b = _libraries.matrix(B, (m, n), ldb, dtype)
                calls.call_into("cusparse.gtsv", (pivoting, *diagonals, b))

    return size, solve


@_for_each("gtsv2")
def _gtsv2(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Solve a tridiagonal system for n right sides, in B, with pivoting."""
    return _one_system(True, dtype)


@_for_each("gtsv2_nopivot")
def _gtsv2_nopivot(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Solve a tridiagonal system for n right sides, in B, without pivoting."""
    return _one_system(False, dtype)


# ------------------------------------------------------------------- batches


def _batch(pivoting: bool, diagonals: tuple[Any, Any, Any], x: Any) -> None:
    """Solve systems whose elements are the columns of arrays (m, count), in x."""
    m, count = x.shape
    lower, main, upper, right = (one.T.copy() for one in (*diagonals, x))
    lower[:, 0] = 0
    upper[:, m - 1] = 0
    long = tuple(one.reshape(m * count) for one in (lower, main, upper))
    calls.call_into("cusparse.gtsv", (pivoting, *long, right.reshape(m * count, 1)))
    x[...] = right.T


@_for_each("gtsv2StridedBatch")
def _strided(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Solve systems whose elements begin `batchStride` apart, in x."""

    def size(
        handle: int, m: int, dl: int, d: int, du: int, x: int, batchCount: int, batchStride: int
    ) -> int:
        check(m >= _SMALLEST and batchCount >= 0 and batchStride >= m)
        return WORK_BYTES

    def gtsv2StridedBatch(
        handle: int,
        m: int,
        dl: int,
        d: int,
        du: int,
        x: int,
        batchCount: int,
        batchStride: int,
        pBuffer: int,
    ) -> None:
        check(m >= _SMALLEST and batchCount >= 0 and batchStride >= m)
        with call(handle):
            if batchCount:
                all_four = (
                    _libraries.vectors(one, m, batchStride, batchCount, dtype)
                    for one in (dl, d, du, x)
                )
                lower, main, upper, right = all_four
                _batch(True, (lower, main, upper), right)

    return size, gtsv2StridedBatch


@_for_each("gtsvInterleavedBatch")
def _interleaved(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Solve systems whose elements alternate, in x; `algo` 0 does it without pivoting."""

    def size(
        handle: int, algo: int, m: int, dl: int, d: int, du: int, x: int, batchCount: int
    ) -> int:
        check(algo in (_THOMAS, _LU, _QR) and m >= _SMALLEST and batchCount >= 0)
        return WORK_BYTES

    def gtsvInterleavedBatch(
        handle: int,
        algo: int,
        m: int,
        dl: int,
        d: int,
        du: int,
        x: int,
        batchCount: int,
        pBuffer: int,
    ) -> None:
        check(algo in (_THOMAS, _LU, _QR) and m >= _SMALLEST and batchCount >= 0)
        with call(handle):
            if batchCount:
                all_four = (
                    _libraries.matrix(one, (batchCount, m), batchCount, dtype).T
                    for one in (dl, d, du, x)
                )
                lower, main, upper, right = all_four
                _batch(algo != _THOMAS, (lower, main, upper), right)

    return size, gtsvInterleavedBatch


@_for_each("gpsvInterleavedBatch")
def _five_diagonals(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Solve systems of five diagonals whose elements alternate, in x; the first two elements of
    `ds`, the first of `dl`, the last of `du` and the last two of `dw` must be 0. The diagonals
    are lost."""

    def size(
        handle: int,
        algo: int,
        m: int,
        ds: int,
        dl: int,
        d: int,
        du: int,
        dw: int,
        x: int,
        batchCount: int,
    ) -> int:
        check(algo == 0 and m >= _SMALLEST and batchCount >= 0)
        return WORK_BYTES

    def gpsvInterleavedBatch(
        handle: int,
        algo: int,
        m: int,
        ds: int,
        dl: int,
        d: int,
        du: int,
        dw: int,
        x: int,
        batchCount: int,
        pBuffer: int,
    ) -> None:
        check(algo == 0 and m >= _SMALLEST and batchCount >= 0)
        with call(handle):
            if batchCount:
                arrays = (array(one, m * batchCount, dtype) for one in (ds, dl, d, du, dw, x))
                calls.call_into("cusparse.gpsv", (m, batchCount, *arrays))

    return size, gpsvInterleavedBatch
