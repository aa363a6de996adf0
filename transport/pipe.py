"""A bounded queue of messages between two threads, for carriers that are not a shared socket."""

from __future__ import annotations

import collections
import threading
from collections.abc import Callable

from cupool.errors import ProtocolViolation
from cupool.transport import frames as wire
from cupool.transport.channel import ChannelClosed, Frames


class Pipe:
    """One direction: messages in order, bounded, with an end.

    Args:
        arrived: called after a message was put or the pipe has ended, without a lock held.
        window: decides what may be put, where the bound lies between two processes; by default
            what waits in this queue is bounded itself.
    """

    def __init__(self, arrived: Callable[[], None], window: wire.SendWindow | None = None) -> None:
        self._changed = threading.Condition()
        self._messages: collections.deque[tuple[Frames, int]] = collections.deque()
        self._bytes = 0
        self._arrived = arrived
        self._window = window
        self._admit = self._has_room if window is None else window.admit
        self._end = ""
        self._told = False

    def put(self, frames: Frames, size: int, timeout_s: float | None, url: str) -> None:
        """Append a message when there is room; raises TimeoutError, ChannelClosed."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._end or self._admit(size), timeout_s):
                raise TimeoutError(f"{url}: the peer took nothing for {timeout_s} s")
            if self._end:
                raise ChannelClosed(f"{url}: {self._end}")
            self._append(frames, size)
        self._arrived()

    def push(self, frames: Frames, size: int) -> None:
        """Append a message that the window at the peer has admitted already; never waits.

        Raises:
            ProtocolViolation: it has not.
        """
        with self._changed:
            wire.check_window([waiting for _, waiting in self._messages], size)
            self._append(frames, size)
        self._arrived()

    def push_control(self, part: bytes) -> None:
        """Append a part that is no message and always goes."""
        with self._changed:
            if not self._end:
                self._append([part], 0)

    def credit(self, part: bytes) -> None:
        """Give the window what the peer reports; raises ProtocolViolation."""
        with self._changed:
            if self._window is None:
                raise ProtocolViolation("a credit came where there is no window")
            self._window.credit(part)
            self._changed.notify_all()

    def _append(self, frames: Frames, size: int) -> None:
        self._messages.append((frames, size))
        self._bytes += size
        self._changed.notify_all()

    def _has_room(self, size: int) -> bool:
        return len(self._messages) < wire.WINDOW_MESSAGES and (
            self._bytes + size <= wire.WINDOW_BYTES or not self._messages
        )

    def get(self, timeout_s: float | None, url: str) -> tuple[Frames, int] | None:
        """Return the next message and its size, None when none comes in time.

        Raises:
            ChannelClosed: the pipe has ended and is empty.
        """
        with self._changed:
            if not (self._messages or self._end) and timeout_s != 0:
                self._changed.wait_for(lambda: self._messages or self._end, timeout_s)
            if self._messages:
                message = self._messages.popleft()
                self._bytes -= message[1]
                self._changed.notify_all()
                return message
            if self._end:
                self._told = True
                raise ChannelClosed(f"{url}: {self._end}")
            return None

    def finish(self, reason: str, forget: bool = False) -> None:
        """Take no more messages, with the first reason given; `forget` also those that wait."""
        with self._changed:
            self._end = self._end or reason
            if forget:
                self._told = True
                self._messages.clear()
            self._changed.notify_all()
        self._arrived()

    @property
    def ready(self) -> bool:
        """Whether a `get` would have something to say that was not said before."""
        return bool(self._messages) or bool(self._end and not self._told)
