"""inproc://name: both ends in one process, for tests and for a pool that lives in the script.

Same rules as over a socket: bounded, frames limited, what was sent before a close is still
received, and the memory of a sent frame is the caller's own again. An empty name when listening
lets the system choose.
"""

from __future__ import annotations

import collections
import os
import secrets
import threading
import time
import weakref
from collections.abc import Callable, Sequence

from cupool.errors import ConfigurationError, PoolUnreachable
from cupool.proto.messages import Frame
from cupool.transport import frames as wire
from cupool.transport.channel import Channel, ChannelClosed, Frames, Listener


class _Pipe:
    """One direction: a queue bounded in messages and bytes, with an end."""

    def __init__(self, arrived: Callable[[], None]) -> None:
        self._changed = threading.Condition()
        self._messages: collections.deque[tuple[Frames, int]] = collections.deque()
        self._bytes = 0
        self._arrived = arrived
        self._end = ""
        self._refused = False
        self._told = False

    def put(self, frames: Frames, size: int, timeout_s: float | None, url: str) -> None:
        """Append a message when there is room; raises TimeoutError, ChannelClosed."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._end or self._has_room(size), timeout_s):
                raise TimeoutError(f"{url}: the peer took nothing for {timeout_s} s")
            if self._end:
                raise ChannelClosed(f"{url}: {self._end}")
            self._messages.append((frames, size))
            self._bytes += size
            self._changed.notify_all()
        self._arrived()

    def _has_room(self, size: int) -> bool:
        return len(self._messages) < wire.WINDOW_MESSAGES and (
            self._bytes + size <= wire.WINDOW_BYTES or not self._messages
        )

    def get(self, timeout_s: float | None, url: str) -> Frames | None:
        """Return the next message, None when none comes in time; raises ChannelClosed."""
        with self._changed:
            if not (self._messages or self._end) and timeout_s != 0:
                self._changed.wait_for(lambda: self._messages or self._end, timeout_s)
            if self._messages and not self._refused:
                frames, size = self._messages.popleft()
                self._bytes -= size
                self._changed.notify_all()
                return frames
            if self._end:
                self._told = True
                raise ChannelClosed(f"{url}: {self._end}")
            return None

    def finish(self, reason: str, refuse: bool) -> None:
        """Take no more messages; `refuse` also forgets those that wait."""
        with self._changed:
            self._end = self._end or reason
            if refuse:
                self._refused = self._told = True
                self._messages.clear()
            self._changed.notify_all()
        self._arrived()

    @property
    def ready(self) -> bool:
        """Whether a `get` would have something to say that was not said before."""
        return bool(self._messages) or bool(self._end and not self._told)


class InprocChannel(Channel):
    """One end: sends into one pipe, receives from the other."""

    def __init__(self, url: str, incoming: _Pipe, outgoing: _Pipe) -> None:
        self.url = url
        self._incoming = incoming
        self._outgoing = outgoing
        self._abandoned = False
        _living.add(self)

    def send(self, frames: Sequence[Frame], timeout_s: float | None = None) -> None:
        size = wire.checked_size(frames)
        self._check()
        copies: Frames = [frame if type(frame) is bytes else bytes(frame) for frame in frames]
        self._outgoing.put(copies, size, timeout_s, self.url)

    def receive(self, timeout_s: float | None = None) -> Frames | None:
        self._check()
        return self._incoming.get(timeout_s, self.url)

    def close(self, linger_s: float = 1.0) -> None:
        if not self._abandoned:
            self._outgoing.finish("closed by the peer", refuse=False)
            self._incoming.finish("closed at this end", refuse=True)

    def abandon(self) -> None:
        self._abandoned = True

    @property
    def ready(self) -> bool:
        """Whether a receive would have something to say."""
        return self._incoming.ready

    def _check(self) -> None:
        if self._abandoned:
            raise ChannelClosed(f"{self.url}: belongs to the process that this one was forked from")


class InprocListener(Listener):
    """A name in this process' registry."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._changed = threading.Condition()
        self._backlog: collections.deque[InprocChannel] = collections.deque()
        self._accepted: weakref.WeakSet[InprocChannel] = weakref.WeakSet()
        self._closed = False
        self._abandoned = False
        _living.add(self)

    def join(self) -> Channel:
        """Make a channel to this listener and return the peer's end of it."""
        up = _Pipe(self._arrived)
        down = _Pipe(lambda: None)
        with self._changed:
            if self._closed:
                raise ChannelClosed(f"{self.url}: the listener is closed")
            here = InprocChannel(f"{self.url}#{secrets.token_hex(3)}", up, down)
            self._backlog.append(here)
            self._changed.notify_all()
        return InprocChannel(self.url, down, up)

    def _arrived(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def accept(self, timeout_s: float | None = None) -> Channel | None:
        with self._changed:
            self._until(lambda: bool(self._backlog), timeout_s)
            if not self._backlog:
                return None
            channel = self._backlog.popleft()
            self._accepted.add(channel)
            return channel

    def wait(self, timeout_s: float | None = None) -> bool:
        with self._changed:
            return self._until(
                lambda: bool(self._backlog) or any(one.ready for one in self._accepted), timeout_s
            )

    def _until(self, condition: Callable[[], bool], timeout_s: float | None) -> bool:
        if self._abandoned:
            raise ChannelClosed(f"{self.url}: belongs to the process that this one was forked from")
        self._changed.wait_for(lambda: self._closed or condition(), timeout_s)
        if self._closed:
            raise ChannelClosed(f"{self.url}: the listener is closed")
        return condition()

    def close(self) -> None:
        if self._abandoned:
            return
        with _registry_changed:
            if _registry.get(self.url) is self:
                del _registry[self.url]
        with self._changed:
            self._closed = True
            channels = [*self._backlog, *self._accepted]
            self._backlog.clear()
            self._changed.notify_all()
        for channel in channels:
            channel.close()

    def abandon(self) -> None:
        self._abandoned = True


_registry: dict[str, InprocListener] = {}
_registry_changed = threading.Condition()
_living: weakref.WeakSet[InprocChannel | InprocListener] = weakref.WeakSet()


def listen(url: str) -> Listener:
    """Enter a name into the registry."""
    if url == "inproc://":
        url = f"inproc://{secrets.token_hex(8)}"
    with _registry_changed:
        if url in _registry:
            raise ConfigurationError(f"cannot listen at {url}: the name is taken")
        listener = _registry[url] = InprocListener(url)
        _registry_changed.notify_all()
    return listener


def connect(url: str, timeout_s: float) -> Channel:
    """Find a name in the registry; wait for it to appear."""
    deadline = time.monotonic() + timeout_s
    with _registry_changed:
        while True:
            left = deadline - time.monotonic()
            _registry_changed.wait_for(lambda: url in _registry, max(0.0, left))
            listener = _registry.get(url)
            if listener is None:
                raise PoolUnreachable(
                    f"nobody answered at {url} within {timeout_s:g} s",
                    remedy="inproc:// reaches listeners of the same process only",
                )
            return listener.join()


def _after_fork() -> None:
    # Their locks may be held by threads that do not exist in this process.
    global _registry_changed
    _registry_changed = threading.Condition()
    _registry.clear()
    for one in list(_living):
        one.abandon()


os.register_at_fork(after_in_child=_after_fork)
