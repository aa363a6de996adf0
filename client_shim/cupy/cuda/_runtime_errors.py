"""`CUDARuntimeError`, and the error that the runtime remembers."""

from __future__ import annotations

import threading
from typing import Any, NoReturn

from cupool.proto import cuda_errors, failures

INVALID_VALUE = 1
MEMORY_ALLOCATION = 2
INVALID_DEVICE = 101
INVALID_RESOURCE_HANDLE = 400
ILLEGAL_STATE = 401
NOT_READY = 600
PEER_ACCESS_UNSUPPORTED = 217
PEER_ACCESS_ALREADY_ENABLED = 704
PEER_ACCESS_NOT_ENABLED = 705
NOT_SUPPORTED = 801
CAPTURE_UNSUPPORTED = 900
CAPTURE_INVALIDATED = 901
CAPTURE_MERGE = 902
CAPTURE_UNMATCHED = 903
CAPTURE_UNJOINED = 904
CAPTURE_IMPLICIT = 906
CAPTURED_EVENT = 907


class CUDARuntimeError(RuntimeError):
    """An error of the CUDA runtime.

    Attributes:
        status: the error code.
    """

    __module__ = "cupy_backends.cuda.api.runtime"

    def __init__(self, status: int, text: str = "") -> None:
        self.status = status
        super().__init__(text or cuda_errors.runtime_text(status))
        _last.status = status

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.status, self.args[0])


class _Last(threading.local):
    status = 0


_last = _Last()
failures.register("CUDARuntimeError", CUDARuntimeError, CUDARuntimeError)


def check_status(status: int) -> None:
    """Raise the error of a status, unless it is success."""
    if status:
        raise CUDARuntimeError(status)


def fail(status: int) -> NoReturn:
    """Raise the error of a status."""
    raise CUDARuntimeError(status)


def getLastError() -> int:
    """Return the status of the last error that this thread was told of, and forget it.

    Errors after which a device is of no more use are not forgotten.
    """
    status = _last.status
    if status not in cuda_errors.STICKY:
        _last.status = 0
    return status


def peekAtLastError() -> int:
    """Return the status of the last error that this thread was told of."""
    return _last.status
