"""`cupy.cuda.driver`: the driver's errors and contexts; `cupy.RawKernel` launches kernels."""

from __future__ import annotations

import threading
from typing import Any

from cupool.client_shim import session as _session
from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupy.cuda import _runtime_streams
from cupool.proto import cuda_errors, failures

_FIRST_CONTEXT = 0x5F00_0000_0000


class CUDADriverError(RuntimeError):
    """An error of the CUDA driver.

    Attributes:
        status: the error code.
    """

    __module__ = "cupy_backends.cuda.api.driver"

    def __init__(self, status: int, text: str = "") -> None:
        self.status = status
        super().__init__(text or cuda_errors.driver_text(status))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.status, self.args[0])


failures.register("CUDADriverError", CUDADriverError, CUDADriverError)


def check_status(status: int) -> None:
    """Raise the error of a status, unless it is success."""
    if status:
        raise CUDADriverError(status)


def get_build_version() -> int:
    """Return the CUDA version that the mimicked CuPy was built for (12.9)."""
    return 12090


def _is_cuda_python() -> bool:
    """Return whether CuPy was built over NVIDIA's Python bindings: it was not."""
    return False


def ctxGetCurrent() -> int:
    """Return a number for the context of the current device; 0 in a thread that has used none."""
    main = threading.current_thread() is threading.main_thread()
    if not main and not _session.current.entered:
        return 0
    return _FIRST_CONTEXT + 0x100 * _session.current.device


def ctxGetDevice() -> int:
    """Return the device of the current context."""
    return _session.current.device


def streamGetCtx(stream: int) -> int:
    """Return the context of a stream."""
    entry = _runtime_streams.entry_of(stream)
    ordinal = _session.current.device if entry is None else entry.session.ordinal
    return _FIRST_CONTEXT + 0x100 * ordinal


_unsupported.fill(globals(), "cupy.cuda.driver")
