"""`cupy.cuda.cusolver`: handles and errors; `cupy.linalg` computes."""

from __future__ import annotations

from cupool.client_shim import session as _session
from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupy.cuda import _libraries

_TEXTS = {
    0: "CUSOLVER_STATUS_SUCCESS",
    1: "CUSOLVER_STATUS_NOT_INITIALIZED",
    2: "CUSOLVER_STATUS_ALLOC_FAILED",
    3: "CUSOLVER_STATUS_INVALID_VALUE",
    4: "CUSOLVER_STATUS_ARCH_MISMATCH",
    5: "CUSOLVER_STATUS_MAPPING_ERROR",
    6: "CUSOLVER_STATUS_EXECUTION_FAILED",
    7: "CUSOLVER_STATUS_INTERNAL_ERROR",
    8: "CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED",
    9: "CUSOLVER_STATUS_NOT_SUPPORTED",
    10: "CUSOLVER_STATUS_ZERO_PIVOT",
    11: "CUSOLVER_STATUS_INVALID_LICENSE",
}
CUSOLVERError = _libraries.error_class("CUSOLVERError", "cupy_backends.cuda.libs.cusolver", _TEXTS)


def check_status(status: int) -> None:
    """Raise the error of a status, unless it is success."""
    if status:
        raise CUSOLVERError(status)


def create() -> int:
    """Return a handle on the current device."""
    return _libraries.create("cusolver", _session.current.device)


def destroy(handle: int) -> None:
    """Forget a handle."""
    if not _libraries.destroy(handle, "cusolver"):
        raise CUSOLVERError(1)


def spCreate() -> int:
    """Return a handle for sparse matrices on the current device."""
    return _libraries.create("cusolver_sp", _session.current.device)


def spDestroy(handle: int) -> None:
    """Forget a handle for sparse matrices."""
    if not _libraries.destroy(handle, "cusolver_sp"):
        raise CUSOLVERError(1)


_unsupported.fill(globals(), "cupy.cuda.cusolver")
