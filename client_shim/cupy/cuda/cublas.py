"""`cupy.cuda.cublas`: cuBLAS by address: handles, their settings, and matrix products."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from cupool.client_shim import session as _session
from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupy.cuda import _libraries, _runtime_streams, memory

CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C = 0, 1, 2
CUBLAS_POINTER_MODE_HOST, CUBLAS_POINTER_MODE_DEVICE = 0, 1
CUBLAS_DEFAULT_MATH = 0
_NAME = "cublas"
_INVALID_VALUE, _NOT_INITIALIZED = 7, 1
_TEXTS = {
    0: "CUBLAS_STATUS_SUCCESS",
    1: "CUBLAS_STATUS_NOT_INITIALIZED",
    3: "CUBLAS_STATUS_ALLOC_FAILED",
    7: "CUBLAS_STATUS_INVALID_VALUE",
    8: "CUBLAS_STATUS_ARCH_MISMATCH",
    11: "CUBLAS_STATUS_MAPPING_ERROR",
    13: "CUBLAS_STATUS_EXECUTION_FAILED",
    14: "CUBLAS_STATUS_INTERNAL_ERROR",
    15: "CUBLAS_STATUS_NOT_SUPPORTED",
    16: "CUBLAS_STATUS_LICENSE_ERROR",
}
CUBLASError = _libraries.error_class("CUBLASError", "cupy_backends.cuda.libs.cublas", _TEXTS)


def check_status(status: int) -> None:
    """Raise the error of a status, unless it is success."""
    if status:
        raise CUBLASError(status)


def _handle(handle: int) -> _libraries.Handle:
    found = _libraries.find(handle, _NAME)
    if found is None:
        raise CUBLASError(_NOT_INITIALIZED)
    return found


def create() -> int:
    """Return a handle on the current device."""
    return _libraries.create(_NAME, _session.current.device)


def destroy(handle: int) -> None:
    """Forget a handle."""
    if not _libraries.destroy(handle, _NAME):
        raise CUBLASError(_NOT_INITIALIZED)


def getVersion(handle: int) -> int:
    """Return the version of cuBLAS that is mimicked, that of CUDA 12.9."""
    _handle(handle)
    return 120901


def setPointerMode(handle: int, mode: int) -> None:
    """Say whether factors are at addresses of this machine (0) or of the device (1)."""
    if mode not in (CUBLAS_POINTER_MODE_HOST, CUBLAS_POINTER_MODE_DEVICE):
        raise CUBLASError(_INVALID_VALUE)
    _handle(handle).settings["pointers"] = mode


def getPointerMode(handle: int) -> int:
    """Return what `setPointerMode` said, 0 by default."""
    return int(_handle(handle).settings.get("pointers", CUBLAS_POINTER_MODE_HOST))


def setStream(handle: int, stream: int) -> None:
    """Let what is called with a handle be in a stream."""
    _runtime_streams.entry_of(stream)
    _handle(handle).settings["stream"] = stream


def getStream(handle: int) -> int:
    """Return the stream of a handle, the null stream by default."""
    return int(_handle(handle).settings.get("stream", 0))


def setMathMode(handle: int, mode: int) -> None:
    """Remember a math mode; CuPy's own settings decide how it is computed."""
    _handle(handle).settings["math"] = mode


def getMathMode(handle: int) -> int:
    """Return what `setMathMode` said, 0 by default."""
    return int(_handle(handle).settings.get("math", CUBLAS_DEFAULT_MATH))


def _at(pointer: int, shape: tuple[int, int], ld: int, dtype: np.dtype[Any]) -> Any:
    """Return a matrix at an address, in columns that lie `ld` elements apart."""
    from cupool.client_shim.cupy._core.core import ndarray

    size_bytes = ((shape[1] - 1) * ld + shape[0]) * dtype.itemsize
    place = memory.MemoryPointer(memory.UnownedMemory(pointer, size_bytes, None), 0)
    return ndarray(shape, dtype, place, (dtype.itemsize, ld * dtype.itemsize))


def _factor(pointer: int, mode: int, dtype: np.dtype[Any]) -> Any:
    if mode == CUBLAS_POINTER_MODE_DEVICE:
        return _at(pointer, (1, 1), 1, dtype)[0, 0]
    return np.frombuffer(ctypes.string_at(pointer, dtype.itemsize), dtype)[0]


def _gemm(letter: str, char: str) -> Any:
    dtype = np.dtype(char)

    def gemm(
        handle: int,
        transa: int,
        transb: int,
        m: int,
        n: int,
        k: int,
        alpha: int,
        A: int,
        lda: int,
        B: int,
        ldb: int,
        beta: int,
        C: int,
        ldc: int,
    ) -> None:
        from cupool.client_shim.cupy import cublas

        mode = getPointerMode(handle)
        rows_a, rows_b = (m if transa == CUBLAS_OP_N else k), (k if transb == CUBLAS_OP_N else n)
        if lda < max(1, rows_a) or ldb < max(1, rows_b) or ldc < max(1, m):
            raise CUBLASError(_INVALID_VALUE)
        if not m or not n:
            return
        with _runtime_streams.on_stream(getStream(handle) or None):
            a = _at(A, (m, k) if transa == CUBLAS_OP_N else (k, m), lda, dtype)
            b = _at(B, (k, n) if transb == CUBLAS_OP_N else (n, k), ldb, dtype)
            c = _at(C, (m, n), ldc, dtype)
            factors = {
                "alpha": _factor(alpha, mode, dtype),
                "beta": _factor(beta, mode, dtype),
            }
            cublas.gemm(transa, transb, a, b, out=c, **factors)

    gemm.__name__ = gemm.__qualname__ = f"{letter}gemm"
    gemm.__doc__ = (
        f"Do `C = alpha * op(A) @ op(B) + beta * C` at addresses, for {dtype.name};"
        " columns lie `ld` elements apart."
    )
    return gemm


sgemm, dgemm = _gemm("s", "f"), _gemm("d", "d")
cgemm, zgemm = _gemm("c", "F"), _gemm("z", "D")

_unsupported.fill(globals(), "cupy.cuda.cublas")
