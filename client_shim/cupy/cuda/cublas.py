"""`cupy.cuda.cublas`: cuBLAS by address. What scripts call is here; batches are taken one by one.

Factors and results are at addresses of this machine or of the device, as `setPointerMode` says; a
result on this machine is waited for.
"""

from __future__ import annotations

from cupool.client_shim import session as _session
from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupy.cuda import _libraries, _runtime_streams

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


from cupool.client_shim.cupy.cuda import _cublas_mixed, _cublas_triangles  # noqa: E402

globals().update(_cublas_mixed.FUNCTIONS | _cublas_triangles.FUNCTIONS)
_unsupported.fill(globals(), "cupy.cuda.cublas")
