"""`cupyx.allow_synchronize`: makes a wait an error, to find waits that were not meant."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from cupool.client_shim import session as _session

__all__ = ["DeviceSynchronized", "allow_synchronize"]


class DeviceSynchronized(RuntimeError):
    """A wait in a block that forbids it."""

    __module__ = "cupyx"

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or "Device synchronization occurred")


class _State(threading.local):
    allowed = True


_state = _State()


def _check() -> None:
    if not _state.allowed:
        raise DeviceSynchronized


@contextlib.contextmanager
def allow_synchronize(allow: bool) -> Iterator[None]:
    """Allow or forbid waits for a device in this thread, for the length of a ``with`` block.

    Raises:
        DeviceSynchronized: from whatever waits in the block.
    """
    _session.before_wait = _check
    before = _state.allowed
    _state.allowed = bool(allow)
    try:
        yield
    finally:
        _state.allowed = before
