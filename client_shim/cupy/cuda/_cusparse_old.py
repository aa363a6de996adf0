"""`cupy.cuda.cusparse`: of the old API: sums, counts, small elements, and incomplete factors.

Semantics: https://docs.nvidia.com/cuda/cusparse/ (csrgeam2, nnz, nnz_compress, csr2csr_compress,
csrilu02). All is made of operations that CuPy's own functions have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cupool.client_shim.cupy.cuda import _libraries
from cupool.client_shim.cupy.cuda._cusparse_formats import OldDescriptor
from cupool.client_shim.cupy.cuda._cusparse_objects import (
    FUNCTIONS,
    array,
    check,
    error,
    forget,
    function,
    new,
    of,
    shifted,
)
from cupool.client_shim.cupy.cuda._cusparse_products import WORK_BYTES, call, factor, kernels
from cupool.client_shim.cupy.cuda._libraries import INT32, LETTERS

__all__ = ["FUNCTIONS"]

_ZERO_PIVOT = 9
_SIZE = "Return how many bytes of work space the function wants."


def _for_each(make: Callable[[np.dtype[Any]], dict[str, Any]]) -> None:
    """Register the functions that `make(dtype)` returns, by their names without a letter."""
    for letter, dtype in LETTERS.items():
        for short, one in make(dtype).items():
            one.__name__ = one.__qualname__ = letter + short
            one.__doc__ = f"{one.__doc__ or _SIZE} For {dtype.name}."
            FUNCTIONS[letter + short] = one


def _parts(
    m: int, nnz: int, descr: int, where: tuple[int, int, int], dtype: np.dtype[Any]
) -> tuple[Any, Any, Any]:
    """Return data, indices and indptr, from 0 on; `where` are addresses of values, offsets and
    indices; without values, they are ones."""
    from cupool.client_shim import cupy

    values, offsets, indices = where
    base = of(descr, OldDescriptor).base
    data = array(values, nnz, dtype) if values else cupy.ones(nnz, dtype)
    minor = shifted(array(indices, nnz, INT32), -base)
    return data, minor, shifted(array(offsets, m + 1, INT32), -base)


def _put(scalar: Any, pointer: int, value: Any) -> None:
    """Write an int32 of the device to where a handle's mode says."""
    to = scalar(pointer, INT32)
    to[...] = value.get() if isinstance(to, np.ndarray) else value


# ------------------------------------------------------------------- sums


@function
def xcsrgeam2Nnz(
    handle: int,
    m: int,
    n: int,
    descrA: int,
    nnzA: int,
    csrRowPtrA: int,
    csrColIndA: int,
    descrB: int,
    nnzB: int,
    csrRowPtrB: int,
    csrColIndB: int,
    descrC: int,
    csrRowPtrC: int,
    nnzTotalDevHostPtr: int,
    workspace: int,
) -> None:
    """Write where the rows of a sum of two matrices begin, and how many elements it has."""
    check(min(m, n, nnzA, nnzB) >= 0)
    with call(handle) as scalar:
        one = LETTERS["s"]
        a = _parts(m, nnzA, descrA, (0, csrRowPtrA, csrColIndA), one)
        b = _parts(m, nnzB, descrB, (0, csrRowPtrB, csrColIndB), one)
        indptr = kernels().add(a, 1, b, 1, (m, n))[2]
        to = array(csrRowPtrC, m + 1, INT32)
        to[...] = shifted(indptr, of(descrC, OldDescriptor).base)
        _put(scalar, nnzTotalDevHostPtr, indptr[m])


def _sum(dtype: np.dtype[Any]) -> Any:
    def csrgeam2(
        handle: int,
        m: int,
        n: int,
        alpha: int,
        descrA: int,
        nnzA: int,
        csrValA: int,
        csrRowPtrA: int,
        csrColIndA: int,
        beta: int,
        descrB: int,
        nnzB: int,
        csrValB: int,
        csrRowPtrB: int,
        csrColIndB: int,
        descrC: int,
        csrValC: int,
        csrRowPtrC: int,
        csrColIndC: int,
        buffer: int,
    ) -> None:
        """Write `alpha * A + beta * B`, for which `xcsrgeam2Nnz` has told the room; it waits."""
        check(min(m, n, nnzA, nnzB) >= 0)
        with call(handle) as scalar:
            a = _parts(m, nnzA, descrA, (csrValA, csrRowPtrA, csrColIndA), dtype)
            b = _parts(m, nnzB, descrB, (csrValB, csrRowPtrB, csrColIndB), dtype)
            left = (a[0] * factor(scalar(alpha, dtype)), *a[1:])
            right = (b[0] * factor(scalar(beta, dtype)), *b[1:])
            data, indices, indptr = kernels().add(left, 1, right, 1, (m, n))
            base = of(descrC, OldDescriptor).base
            array(csrRowPtrC, m + 1, INT32)[...] = shifted(indptr, base)
            if data.size:
                array(csrColIndC, data.size, INT32)[...] = shifted(indices, base)
                array(csrValC, data.size, dtype)[...] = data

    return csrgeam2


@_for_each
def _csrgeam2(dtype: np.dtype[Any]) -> dict[str, Any]:
    def size(
        handle: int,
        m: int,
        n: int,
        alpha: int,
        descrA: int,
        nnzA: int,
        csrValA: int,
        csrRowPtrA: int,
        csrColIndA: int,
        beta: int,
        descrB: int,
        nnzB: int,
        csrValB: int,
        csrRowPtrB: int,
        csrColIndB: int,
        descrC: int,
        csrValC: int,
        csrRowPtrC: int,
        csrColIndC: int,
    ) -> int:
        check(min(m, n, nnzA, nnzB) >= 0)
        return WORK_BYTES

    return {"csrgeam2_bufferSizeExt": size, "csrgeam2": _sum(dtype)}


# ------------------------------------------------------------------- counts and small elements


@_for_each
def _counts(dtype: np.dtype[Any]) -> dict[str, Any]:
    def nnz(
        handle: int,
        dirA: int,
        m: int,
        n: int,
        descrA: int,
        A: int,
        lda: int,
        nnzPerRowColumn: int,
        nnzTotalDevHostPtr: int,
    ) -> None:
        """Write how many elements of each row (`dirA` 0) or column of a dense matrix are not 0,
        and how many of all."""
        of(descrA, OldDescriptor)
        check(dirA in (0, 1) and min(m, n) > 0 and lda >= m)
        with call(handle) as scalar:
            found = (_libraries.matrix(A, (m, n), lda, dtype) != 0).sum(axis=1 - dirA)
            array(nnzPerRowColumn, n if dirA else m, INT32)[...] = found
            _put(scalar, nnzTotalDevHostPtr, found.sum())

    def nnz_compress(
        handle: int, m: int, descr: int, values: int, rowPtr: int, nnzPerRow: int, tol: Any
    ) -> int:
        """Write how many elements of each row are larger than `tol`; return how many of all,
        which is waited for."""
        from cupool.client_shim import cupy

        check(m > 0 and complex(tol).real >= 0)
        with call(handle):
            base = of(descr, OldDescriptor).base
            offsets = shifted(array(rowPtr, m + 1, INT32), -base)
            data = array(values, int(offsets[m]), dtype)
            until = cupy.zeros(data.size + 1, INT32)
            until[1:] = cupy.cumsum(abs(data) > complex(tol).real)
            found = until[offsets[1:]] - until[offsets[:-1]]
            array(nnzPerRow, m, INT32)[...] = found
            return int(found.sum())

    return {"nnz": nnz, "nnz_compress": nnz_compress}


@_for_each
def _compression(dtype: np.dtype[Any]) -> dict[str, Any]:
    def csr2csr_compress(
        handle: int,
        m: int,
        n: int,
        descrA: int,
        inVal: int,
        inColInd: int,
        inRowPtr: int,
        inNnz: int,
        nnzPerRow: int,
        outVal: int,
        outColInd: int,
        outRowPtr: int,
        tol: Any,
    ) -> None:
        """Write a matrix without the elements up to `tol`, for which `nnz_compress` has told the
        room; it waits."""
        check(m > 0 and min(n, inNnz) >= 0 and complex(tol).real >= 0)
        with call(handle):
            base = of(descrA, OldDescriptor).base
            parts = _parts(m, inNnz, descrA, (inVal, inRowPtr, inColInd), dtype)
            data, indices, indptr = kernels().compress(parts, complex(tol).real)
            array(outRowPtr, m + 1, INT32)[...] = shifted(indptr, base)
            if data.size:
                array(outColInd, data.size, INT32)[...] = shifted(indices, base)
                array(outVal, data.size, dtype)[...] = data

    return {"csr2csr_compress": csr2csr_compress}


# ------------------------------------------------------------------- incomplete factors


@dataclass
class _Factors:
    """What `createCsrilu02Info` makes.

    Attributes:
        wrong: gives the row without, or with a zero, on the diagonal; -1 if there is none.
        base: from what number on rows are told.
    """

    wrong: Callable[[], int] | None = None
    base: int = 0


@function
def createCsrilu02Info() -> int:
    """Return an object for `csrilu02`."""
    return new(_Factors())


@function
def destroyCsrilu02Info(info: int) -> None:
    """Forget an object for `csrilu02`."""
    forget(info, _Factors)


@function
def xcsrilu02_zeroPivot(handle: int, info: int, position: int) -> None:
    """Write which row has no element on the diagonal (after the analysis) or a zero there (after
    the factorization), -1 for none; this waits.

    Raises:
        CuSparseError: there is one, `status` 9.
    """
    import cupool.client_shim.cupy as cupy

    with call(handle) as scalar:
        one = of(info, _Factors)
        found = -1 if one.wrong is None else one.wrong()
        row = found + one.base if found >= 0 else -1
        _put(scalar, position, cupy.asarray(row, INT32))
    if found >= 0:
        raise error(_ZERO_PIVOT)


@_for_each
def _csrilu02(dtype: np.dtype[Any]) -> dict[str, Any]:
    def size(
        handle: int,
        m: int,
        nnz: int,
        descrA: int,
        csrSortedValA: int,
        csrSortedRowPtrA: int,
        csrSortedColIndA: int,
        info: int,
    ) -> int:
        of(info, _Factors)
        check(min(m, nnz) >= 1)
        return WORK_BYTES

    def analysis(
        handle: int,
        m: int,
        nnz: int,
        descrA: int,
        csrSortedValA: int,
        csrSortedRowPtrA: int,
        csrSortedColIndA: int,
        info: int,
        policy: int,
        pBuffer: int,
    ) -> None:
        """Prepare `csrilu02`."""
        check(min(m, nnz) >= 1)
        where = (csrSortedValA, csrSortedRowPtrA, csrSortedColIndA)
        with call(handle):
            parts, one = _parts(m, nnz, descrA, where, dtype), of(info, _Factors)
            one.base = of(descrA, OldDescriptor).base
            one.wrong = lambda: int(kernels().ilu0(parts)[1].get()[0])

    def csrilu02(
        handle: int,
        m: int,
        nnz: int,
        descrA: int,
        csrSortedValA_valM: int,
        csrSortedRowPtrA: int,
        csrSortedColIndA: int,
        info: int,
        policy: int,
        pBuffer: int,
    ) -> None:
        """Factorize a matrix incompletely, in the places of its own elements."""
        check(min(m, nnz) >= 1)
        where = (csrSortedValA_valM, csrSortedRowPtrA, csrSortedColIndA)
        with call(handle):
            one = of(info, _Factors)
            check(one.wrong is not None)
            parts = _parts(m, nnz, descrA, where, dtype)
            made, wrong = kernels().ilu0(parts)
            parts[0][...] = made
            one.wrong = lambda: int(wrong.get().max())

    names = ("csrilu02_bufferSize", "csrilu02_analysis", "csrilu02")
    return dict(zip(names, (size, analysis, csrilu02), strict=True))
