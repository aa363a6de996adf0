"""Whether this thread is inside a function that `cupy.fuse` decorates."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _State(threading.local):
    fusing = False


_state = _State()


def is_fusing() -> bool:
    """Return whether a fused function is being called in this thread."""
    return _state.fusing


@contextmanager
def fusing() -> Iterator[None]:
    """Mark the thread as inside a fused function for the length of a ``with`` block."""
    _state.fusing = True
    try:
        yield
    finally:
        _state.fusing = False


def check_no_conversion() -> None:
    """Raise what CuPy raises when a fused function wants an array's value on the host.

    Raises:
        TypeError: this thread is inside a fused function.
    """
    if _state.fusing:
        raise TypeError("Cannot convert to Python scalar in cupy.fuse")
