"""`cupy.cuda.cusparse`: cuSPARSE's generic API, changes of format and tridiagonal systems.

Descriptors are numbers of this process; what they describe lies where the GPU is.
"""

from __future__ import annotations

from cupool.client_shim import session as _session
from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupy.cuda import _libraries, _runtime_streams

_VERSION = 12510  # of CUDA 12.9
_NAME = "cusparse"
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


def _handle(handle: int) -> _libraries.Handle:
    found = _libraries.find(handle, _NAME)
    if found is None:
        raise CuSparseError(1)
    return found


def create() -> int:
    """Return a handle on the current device."""
    return _libraries.create(_NAME, _session.current.device)


def destroy(handle: int) -> None:
    """Forget a handle."""
    if not _libraries.destroy(handle, _NAME):
        raise CuSparseError(1)


def getVersion(handle: int) -> int:
    """Return the version of cuSPARSE that is mimicked, that of CUDA 12.9."""
    _handle(handle)
    return _VERSION


def get_build_version() -> int:
    """Return the version of cuSPARSE that CuPy would be built with: the same."""
    return _VERSION


def is_cuda_python_build() -> bool:
    """Return whether CuPy would use CUDA Python: no."""
    return False


def setPointerMode(handle: int, mode: int) -> None:
    """Say whether factors are at addresses of this machine (0) or of the device (1)."""
    found = _handle(handle)
    if mode not in (0, 1):
        raise CuSparseError(3)
    found.settings["pointers"] = mode


def _pointers_on_device(handle: int) -> bool:
    return bool(_handle(handle).settings.get("pointers", 0))


def setStream(handle: int, stream: int) -> None:
    """Let what is called with a handle be in a stream."""
    _runtime_streams.entry_of(stream)
    _handle(handle).settings["stream"] = stream


def getStream(handle: int) -> int:
    """Return the stream of a handle, the null stream by default."""
    return int(_handle(handle).settings.get("stream", 0))


from cupool.client_shim.cupy.cuda import (  # noqa: E402
    _cusparse_descriptors,
    _cusparse_formats,
    _cusparse_objects,
    _cusparse_old,
    _cusparse_tridiagonal,
)

for _module in (
    _cusparse_descriptors,
    _cusparse_formats,
    _cusparse_old,
    _cusparse_tridiagonal,
):
    globals().update(_module.FUNCTIONS)
del _module
globals().update({one.__name__: one for one in _cusparse_objects.CLASSES})
_unsupported.fill(globals(), "cupy.cuda.cusparse")
