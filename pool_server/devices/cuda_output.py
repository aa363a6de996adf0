"""What kernels print on the CUDA device.

CUDA writes it to the standard output of the process, which is the worker's. From the first kernel
on that is a file in memory, and what is found there goes to the script.
"""

from __future__ import annotations

import ctypes
import os
import sys

MAX_BYTES = 1 << 20
"""What is sent at once, as much as CUDA's own buffer holds; more is dropped."""
_STDOUT = 1


class KernelOutput:
    """Takes over the standard output of this process until it is closed."""

    def __init__(self) -> None:
        self._flush = ctypes.CDLL(None).fflush
        self._before = os.dup(_STDOUT)
        self._file = os.memfd_create("kernel output")
        self._flushed()
        os.dup2(self._file, _STDOUT)

    def _flushed(self) -> None:
        sys.stdout.flush()
        self._flush(None)  # CUDA prints by the C library, which keeps what is no terminal's

    def take(self) -> str:
        """Return what was printed since the last call."""
        self._flushed()
        size_bytes = os.fstat(self._file).st_size
        if not size_bytes:
            return ""
        data = os.pread(self._file, min(size_bytes, MAX_BYTES), 0)
        os.ftruncate(self._file, 0)
        os.lseek(self._file, 0, os.SEEK_SET)
        return data.decode("utf-8", "replace")

    def close(self) -> None:
        """Give the standard output back."""
        if self._file < 0:
            return
        self._flushed()
        os.dup2(self._before, _STDOUT)
        os.close(self._before)
        os.close(self._file)
        self._file = -1
