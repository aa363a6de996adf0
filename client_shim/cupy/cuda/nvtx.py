"""`cupy.cuda.nvtx`: marks for a profiler that runs beside the script; none does, they are kept.

A profiler of the GPU runs on its server. Ranges must nest all the same, as with NVTX.
"""

from __future__ import annotations

import itertools
import threading

available = True
_range_numbers = itertools.count(1)


class _Thread(threading.local):
    def __init__(self) -> None:
        self.depth = 0


_thread = _Thread()


def Mark(message: str, id_color: int = -1) -> None:
    """Mark a moment."""


def MarkC(message: str, color: int = 0) -> None:
    """Mark a moment, in an ARGB color."""


def RangePush(message: str, id_color: int = -1) -> None:
    """Begin a range of this thread."""
    _thread.depth += 1


def RangePushC(message: str, color: int = 0) -> None:
    """Begin a range of this thread, in an ARGB color."""
    _thread.depth += 1


def RangePop() -> None:
    """End the range that this thread began last."""
    _thread.depth = max(0, _thread.depth - 1)


def RangeStart(message: str, color: int = 0) -> int:
    """Begin a range that may end in another thread; return its number."""
    return next(_range_numbers)


def RangeEnd(range_id: int) -> None:
    """End a range by its number."""
