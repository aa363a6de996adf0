"""Errors that CuPy defines and a device raises: CuPy's names, arguments and texts.

Each has a `wire_name`, under which the client finds CuPy's own class.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from cupool.proto import cuda_errors

INVALID_VALUE = 1
OUT_OF_MEMORY = 2
INVALID_RESOURCE_HANDLE = 400
NOT_READY = 600
ILLEGAL_ADDRESS = 700
DEAD_CONTEXT = cuda_errors.STICKY
"""CUDA statuses after which a context is of no more use."""


class OutOfMemoryError(MemoryError):
    """No room: `size` bytes asked for, `total` held, `limit` (0 = the device's own size).

    `note` says more, e.g. that the session has a share of the device.
    """

    wire_name: ClassVar[str] = "OutOfMemoryError"

    def __init__(self, size: int, total: int, limit: int = 0, note: str = "") -> None:
        super().__init__(size, total, limit, *([note] if note else []))
        self.size, self.total, self.limit, self.note = size, total, limit, note

    def __str__(self) -> str:
        text = f"Out of memory allocating {self.size:,} bytes"
        text += f" (allocated so far: {self.total:,} bytes"
        if self.limit:
            text += f", limit set to: {self.limit:,} bytes"
        return text + ")." + (f" {self.note}" if self.note else "")


class CUDARuntimeError(RuntimeError):
    """The CUDA runtime returned `status`; `text` is what it says if that is not the usual."""

    wire_name: ClassVar[str] = "CUDARuntimeError"

    def __init__(self, status: int, text: str = "") -> None:
        super().__init__(*((status, text) if text else (status,)))
        self.status = status
        self.text = text or cuda_errors.runtime_text(status)

    def __str__(self) -> str:
        return self.text


class CUDADriverError(CUDARuntimeError):
    """The CUDA driver returned `status`; `detail` says more where a driver would not."""

    wire_name: ClassVar[str] = "CUDADriverError"

    def __init__(self, status: int, detail: str = "") -> None:
        text = cuda_errors.driver_text(status)
        super().__init__(status, f"{text}\n{detail}" if detail else text)
        self.detail = detail


class CompileException(Exception):
    """NVRTC refused CUDA C++: its log, and the source if the device has generated it.

    The client adds a source of the user's, which it has.
    """

    wire_name: ClassVar[str] = "CompileException"

    def __init__(
        self,
        log: str,
        source: str = "",
        name: str = "kern.cu",
        options: Sequence[str] = (),
        backend: str = "nvrtc",
    ) -> None:
        super().__init__(log, source)
        self.log, self.source, self.name = log, source, name
        self.options, self.backend = tuple(options), backend

    def __str__(self) -> str:
        return self.log


class DeviceLost(CUDARuntimeError):
    """The device, or the context on it, is of no more use: the session must end."""
