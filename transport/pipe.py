"""Bounded queues between two threads, for carriers that are not a shared socket.

Nothing here waits on a `threading.Condition`: Ctrl-C inside one can leave its lock in the wrong
state. A thread that must wait arms a bell under the lock and listens to it without.
"""

from __future__ import annotations

import collections
import queue
import threading
import time
import weakref
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from cupool.errors import ProtocolViolation
from cupool.transport import frames as wire
from cupool.transport.channel import ChannelClosed, Frames


class Bell:
    """Wakes the one thread that waits for it."""

    def __init__(self) -> None:
        self._armed = False
        self._rung: queue.SimpleQueue[None] = queue.SimpleQueue()

    def arm(self) -> None:
        """Announce a wait; under the lock that guards what is waited for."""
        self._armed = True

    def ring(self) -> None:
        """End a wait that was announced; under the same lock."""
        if self._armed:
            self._armed = False
            self._rung.put(None)

    def wait(self, left_s: float | None) -> None:
        """Wait, without the lock. May end early: look again."""
        try:
            self._rung.get(timeout=None if left_s is None else max(0.0, left_s))
        except queue.Empty:
            pass


def _deadline(timeout_s: float | None) -> float | None:
    return None if timeout_s is None else time.monotonic() + timeout_s


def _left(deadline: float | None) -> float | None:
    return None if deadline is None else deadline - time.monotonic()


class Pipe:
    """One direction: messages in order, bounded, with an end.

    Args:
        arrived: called after a message was put or the pipe has ended, without a lock held.
        window: decides what may be put, where the bound lies between two processes; by default
            what waits in this queue is bounded itself.
    """

    def __init__(self, arrived: Callable[[], None], window: wire.SendWindow | None = None) -> None:
        self._lock = threading.Lock()
        self._messages: collections.deque[tuple[Frames, int]] = collections.deque()
        self._bytes = 0
        self._arrived = arrived
        self._window = window
        self._admit = self._has_room if window is None else window.admit
        self._news, self._room = Bell(), Bell()
        self._end = ""
        self._told = False

    def put(self, frames: Frames, size: int, timeout_s: float | None, url: str) -> None:
        """Append a message when there is room; raises TimeoutError, ChannelClosed."""
        deadline = _deadline(timeout_s)
        while True:
            with self._lock:
                if self._end:
                    raise ChannelClosed(f"{url}: {self._end}")
                if self._admit(size):
                    self._append(frames, size)
                    break
                self._room.arm()
            left = _left(deadline)
            if left is not None and left <= 0:
                raise TimeoutError(f"{url}: the peer took nothing for {timeout_s} s")
            self._room.wait(left)
        self._arrived()

    def push(self, frames: Frames, size: int) -> None:
        """Append a message that the window at the peer has admitted already; never waits.

        Raises:
            ProtocolViolation: it has not.
        """
        with self._lock:
            wire.check_window([waiting for _, waiting in self._messages], size)
            self._append(frames, size)
        self._arrived()

    def push_control(self, part: bytes) -> None:
        """Append a part that is no message and always goes."""
        with self._lock:
            if not self._end:
                self._append([part], 0)

    def credit(self, part: bytes) -> None:
        """Give the window what the peer reports; raises ProtocolViolation."""
        with self._lock:
            if self._window is None:
                raise ProtocolViolation("a credit came where there is no window")
            self._window.credit(part)
            self._room.ring()

    def _append(self, frames: Frames, size: int) -> None:
        self._messages.append((frames, size))
        self._bytes += size
        self._news.ring()

    def _has_room(self, size: int) -> bool:
        return len(self._messages) < wire.WINDOW_MESSAGES and (
            self._bytes + size <= wire.WINDOW_BYTES or not self._messages
        )

    def get(self, timeout_s: float | None, url: str) -> tuple[Frames, int] | None:
        """Return the next message and its size, None when none comes in time.

        Raises:
            ChannelClosed: the pipe has ended and is empty.
        """
        deadline = _deadline(timeout_s) if timeout_s else None
        while True:
            with self._lock:
                if self._messages:
                    message = self._messages.popleft()
                    self._bytes -= message[1]
                    self._room.ring()
                    return message
                if self._end:
                    self._told = True
                    raise ChannelClosed(f"{url}: {self._end}")
                if timeout_s == 0:
                    return None
                self._news.arm()
            left = _left(deadline)
            if left is not None and left <= 0:
                return None
            self._news.wait(left)

    def finish(self, reason: str, forget: bool = False) -> None:
        """Take no more messages, with the first reason given; `forget` also those that wait."""
        with self._lock:
            self._end = self._end or reason
            if forget:
                self._told = True
                self._messages.clear()
            self._news.ring()
            self._room.ring()
        self._arrived()

    @property
    def ended(self) -> bool:
        """Whether nothing more is put into it; messages may wait in it."""
        return bool(self._end)

    @property
    def ready(self) -> bool:
        """Whether a `get` would have something to say that was not said before."""
        return bool(self._messages) or bool(self._end and not self._told)


class _Ready(Protocol):
    @property
    def ready(self) -> bool: ...


_Channel = TypeVar("_Channel", bound=_Ready)


class Backlog(Generic[_Channel]):
    """Peers that wait to be accepted, and those that were."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: collections.deque[_Channel] = collections.deque()
        self._accepted: weakref.WeakSet[_Channel] = weakref.WeakSet()
        self._news = Bell()
        self._closed = False

    def add(self, channel: _Channel) -> bool:
        """Let a peer wait; False if the listener is closed."""
        with self._lock:
            if self._closed:
                return False
            self._waiting.append(channel)
            self._news.ring()
            return True

    def arrived(self) -> None:
        """Note that some channel has news."""
        with self._lock:
            self._news.ring()

    def accept(self, timeout_s: float | None, url: str) -> _Channel | None:
        """Return the next peer, None when none comes in time; raises ChannelClosed."""
        if not self._until(lambda: bool(self._waiting), timeout_s, url):
            return None
        with self._lock:
            channel = self._waiting.popleft()
            self._accepted.add(channel)
            return channel

    def wait(self, timeout_s: float | None, url: str) -> bool:
        """Wait for a peer or for news of an accepted one; raises ChannelClosed."""
        return self._until(
            lambda: bool(self._waiting) or any(one.ready for one in self._accepted), timeout_s, url
        )

    def _until(self, condition: Callable[[], bool], timeout_s: float | None, url: str) -> bool:
        deadline = _deadline(timeout_s)
        while True:
            with self._lock:
                if self._closed:
                    raise ChannelClosed(f"{url}: the listener is closed")
                if condition():
                    return True
                self._news.arm()
            left = _left(deadline)
            if left is not None and left <= 0:
                return False
            self._news.wait(left)

    def close(self) -> list[_Channel]:
        """Take no more peers; return all there are."""
        with self._lock:
            self._closed = True
            channels = [*self._waiting, *self._accepted]
            self._waiting.clear()
            self._news.ring()
            return channels
