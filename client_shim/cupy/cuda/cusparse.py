"""`cupy.cuda.cusparse`: handles and errors; `cupyx.scipy.sparse` computes."""

from __future__ import annotations

from cupool.client_shim import session as _session
from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupy.cuda import _libraries

_TEXTS = {
    0: "CUSPARSE_STATUS_SUCCESS: success",
    1: "CUSPARSE_STATUS_NOT_INITIALIZED: initialization error",
    2: "CUSPARSE_STATUS_ALLOC_FAILED: out of memory",
    3: "CUSPARSE_STATUS_INVALID_VALUE: invalid value",
    4: "CUSPARSE_STATUS_ARCH_MISMATCH: architecture mismatch",
    5: "CUSPARSE_STATUS_MAPPING_ERROR: texture memory mapping error",
    6: "CUSPARSE_STATUS_EXECUTION_FAILED: kernel launch failure",
    7: "CUSPARSE_STATUS_INTERNAL_ERROR: internal error",
    8: "CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED: matrix type not supported",
    9: "CUSPARSE_STATUS_ZERO_PIVOT: zero pivot",
    10: "CUSPARSE_STATUS_NOT_SUPPORTED: operation not supported",
    11: "CUSPARSE_STATUS_INSUFFICIENT_RESOURCES: insufficient resources",
}
CuSparseError = _libraries.error_class("CuSparseError", "cupy_backends.cuda.libs.cusparse", _TEXTS)


def check_status(status: int) -> None:
    """Raise the error of a status, unless it is success."""
    if status:
        raise CuSparseError(status)


def create() -> int:
    """Return a handle on the current device."""
    return _libraries.create("cusparse", _session.current.device)


def destroy(handle: int) -> None:
    """Forget a handle."""
    if not _libraries.destroy(handle, "cusparse"):
        raise CuSparseError(1)


_unsupported.fill(globals(), "cupy.cuda.cusparse")
