"""`cupy.cuda.cusolver`: cuSOLVER by address: the dense functions that scripts call.

Work space is allocated where the GPU is; what `..._bufferSize` asks for is kept for nothing.
"""

from __future__ import annotations

from cupool.client_shim import session as _session
from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupy.cuda import _libraries, _runtime_streams

_VERSION = (11, 7, 5)  # of CUDA 12.9
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


def _handle(handle: int, library: str = "cusolver") -> _libraries.Handle:
    found = _libraries.find(handle, library)
    if found is None:
        raise CUSOLVERError(1)
    return found


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


def setStream(handle: int, stream: int) -> None:
    """Let what is called with a handle be in a stream."""
    _runtime_streams.entry_of(stream)
    _handle(handle).settings["stream"] = stream


def getStream(handle: int) -> int:
    """Return the stream of a handle, the null stream by default."""
    return int(_handle(handle).settings.get("stream", 0))


def spSetStream(handle: int, stream: int) -> None:
    """Let what is called with a handle for sparse matrices be in a stream."""
    _runtime_streams.entry_of(stream)
    _handle(handle, "cusolver_sp").settings["stream"] = stream


def spGetStream(handle: int) -> int:
    """Return the stream of a handle for sparse matrices, the null stream by default."""
    return int(_handle(handle, "cusolver_sp").settings.get("stream", 0))


def getProperty(type: int) -> int:
    """Return the major (0), minor (1) or patch (2) number of the cuSOLVER that is mimicked."""
    if not 0 <= type < len(_VERSION):
        raise CUSOLVERError(3)
    return _VERSION[type]


from cupool.client_shim.cupy.cuda import _cusolver_geev, _cusolver_systems  # noqa: E402

globals().update(_cusolver_systems.FUNCTIONS | _cusolver_geev.FUNCTIONS)
_unsupported.fill(globals(), "cupy.cuda.cusolver")
