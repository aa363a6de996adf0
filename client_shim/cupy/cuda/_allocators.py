"""Which allocator a thread uses; while all use the session's own pool, nobody is asked.

The session's pool lives on the server and allocates without a word to the client. Another
allocator, or a memory hook, is Python code here: then each result is allocated by it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from cupool.client_shim import session as _session

Allocator = Callable[[int], Any]


class _Default:
    """The default pool, which sets these when it is imported."""

    malloc: Allocator
    has_hooks: Callable[[], bool]


default = _Default()


class _Thread(threading.local):
    allocator: Allocator | None = None


_thread = _Thread()
_lock = threading.Lock()
_users = 0
current: Allocator | None = None
"""The process's allocator; None for the default pool's."""


def change(by: int) -> None:
    """Count what needs the allocator to be asked: hooks, threads with an allocator of their own."""
    global _users
    with _lock:
        _users += by
        needed = _users > 0 or current is not None
        _session.set_hooks(_session.gate, _place if needed else None)


def set_current(allocator: Allocator | None) -> None:
    """Set the process's allocator, None for the default pool's."""
    global current
    current = None if allocator == default.malloc else allocator
    change(0)


def of_thread() -> Allocator | None:
    """Return the thread's own allocator, None if it has none."""
    return _thread.allocator


def set_of_thread(allocator: Allocator | None) -> None:
    """Set the thread's own allocator."""
    before, _thread.allocator = _thread.allocator, allocator
    change((allocator is not None) - (before is not None))


def get() -> Allocator:
    """Return the allocator that this thread uses."""
    return _thread.allocator or current or default.malloc


def _place(size_bytes: int) -> Any:
    """Allocate for a result; None where the session's pool does it by itself."""
    allocator = get()
    if not size_bytes or (allocator == default.malloc and not default.has_hooks()):
        return None
    return allocator(size_bytes)
