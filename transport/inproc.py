"""inproc://name: both ends in one process, for tests and for a pool that lives in the script.

Same rules as over a socket: bounded, frames limited, what was sent before a close is still
received, and the memory of a sent frame is the caller's own again. An empty name when listening
lets the system choose.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
import weakref
from collections.abc import Sequence

from cupool.errors import ConfigurationError, PoolUnreachable
from cupool.proto.messages import Frame
from cupool.transport import frames as wire
from cupool.transport.channel import Channel, ChannelClosed, Frames, Listener
from cupool.transport.pipe import Backlog, Pipe


class InprocChannel(Channel):
    """One end: sends into one pipe, receives from the other."""

    def __init__(self, url: str, incoming: Pipe, outgoing: Pipe) -> None:
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
        message = self._incoming.get(timeout_s, self.url)
        return None if message is None else message[0]

    @property
    def gone(self) -> bool:
        return self._incoming.ended

    def close(self, linger_s: float = 1.0) -> None:
        if not self._abandoned:
            self._outgoing.finish("closed by the peer")
            self._incoming.finish("closed at this end", forget=True)

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
        self._backlog: Backlog[InprocChannel] = Backlog()
        self._abandoned = False
        _living.add(self)

    def join(self) -> Channel:
        """Make a channel to this listener and return the peer's end of it."""
        up = Pipe(self._backlog.arrived)
        down = Pipe(lambda: None)
        here = InprocChannel(f"{self.url}#{secrets.token_hex(3)}", up, down)
        there = InprocChannel(self.url, down, up)
        if not self._backlog.add(here):
            there.close()
        return there

    def accept(self, timeout_s: float | None = None) -> Channel | None:
        self._check()
        return self._backlog.accept(timeout_s, self.url)

    def wait(self, timeout_s: float | None = None) -> bool:
        self._check()
        return self._backlog.wait(timeout_s, self.url)

    def _check(self) -> None:
        if self._abandoned:
            raise ChannelClosed(f"{self.url}: belongs to the process that this one was forked from")

    def close(self) -> None:
        if self._abandoned:
            return
        with _registry_changed:
            if _registry.get(self.url) is self:
                del _registry[self.url]
        for channel in self._backlog.close():
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
                    f"nobody answered at {url} within {timeout_s:.3g} s",
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
