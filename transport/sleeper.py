"""Where a thread waits for descriptors and for other threads."""

from __future__ import annotations

import contextlib
import os
import select


class Sleeper:
    """Where one thread waits: for the socket, its monitor, or another thread's wake-up."""

    def __init__(self, *descriptors: int) -> None:
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._poll = select.poll()
        for descriptor in (self._wake, *descriptors):
            self._poll.register(descriptor, select.POLLIN)
        self.asleep = False
        self.thread = 0  # whose sleep was announced last

    def sleep(self, timeout_s: float | None) -> None:
        """Wait; `asleep` was set under the lock before."""
        milliseconds = None if timeout_s is None else max(0.0, timeout_s) * 1000
        for descriptor, _ in self._poll.poll(milliseconds):
            if descriptor == self._wake:  # not so once it is closed: the number may be another's
                with contextlib.suppress(BlockingIOError):
                    os.eventfd_read(descriptor)

    def wake(self) -> None:
        """End another thread's sleep. Called under the lock."""
        if self.asleep and self._wake >= 0:
            os.eventfd_write(self._wake, 1)

    def watch(self, descriptor: int, events: int) -> None:
        """Wait for these events of a descriptor too, or for others than before."""
        self._poll.register(descriptor, events)

    def close(self) -> None:
        """Give the descriptor back; nothing is read from or written to it any more."""
        wake, self._wake = self._wake, -1
        if wake >= 0:
            os.close(wake)
