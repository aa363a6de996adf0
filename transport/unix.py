"""unix://: a stream socket between two processes of one machine; the quickest way there is.

    unix://@name            Linux's abstract namespace: no file, nothing left by a killed process;
                            an empty name when listening: the system chooses
    unix:///path/of/socket  a file, removed on close

No thread of its own: who sends writes to the socket, who receives reads from it, so a round trip
costs two wake-ups where ZeroMQ needs six. What the socket does not take at once is kept, within
the window of `frames`, and goes with the next call on the channel. A peer that was stopped
(SIGSTOP) and is not busy is seen in its process's state.
"""

from __future__ import annotations

import atexit
import collections
import contextlib
import errno
import os
import secrets
import select
import socket
import threading
import time
import weakref
from collections.abc import Callable, Sequence

from cupool.errors import ConfigurationError
from cupool.transport.channel import Channel, ChannelClosed, Listener, retry_until, unreachable
from cupool.transport.unix_channel import UnixChannel

_MAX_PEERS = 256
_MAX_STRANGERS = 64


class UnixListener(Listener):
    """A listening socket, and the channels that came of it."""

    def __init__(self, listening: socket.socket, url: str, path: str) -> None:
        listening.setblocking(False)
        self.url = url
        self._path = path
        self._socket = listening
        self._descriptor = listening.fileno()
        self._lock = threading.RLock()
        self._strangers: list[UnixChannel] = []  # have not said yet what they are
        self._backlog: collections.deque[UnixChannel] = collections.deque()
        self._accepted: weakref.WeakSet[UnixChannel] = weakref.WeakSet()
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._waiting = 0
        self._closed = self._abandoned = False
        _living.add(self)

    def accept(self, timeout_s: float | None = None) -> Channel | None:
        if not self._until(lambda: bool(self._backlog), (), timeout_s):
            return None
        with self._lock:
            channel = self._backlog.popleft()
            self._accepted.add(channel)
            return channel

    def wait(self, timeout_s: float | None = None) -> bool:
        with self._lock:
            channels = [one for one in self._accepted if not one.ended]

        def news() -> bool:
            for one in channels:
                one.look()
            return bool(self._backlog) or any(one.ready for one in list(self._accepted))

        return self._until(news, channels, timeout_s)

    def _until(
        self,
        condition: Callable[[], bool],
        channels: Sequence[UnixChannel],
        timeout_s: float | None,
    ) -> bool:
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            with self._lock:
                if self._abandoned:
                    raise ChannelClosed(
                        f"{self.url}: belongs to the process that this one was forked from"
                    )
                if self._closed:
                    raise ChannelClosed(f"{self.url}: the listener is closed")
                self._take_in()
                if condition():
                    return True
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return False
                poll = select.poll()
                watched = [self._descriptor, self._wake]
                watched += [one.descriptor for one in (*self._strangers, *channels)]
                for descriptor in watched:
                    if descriptor >= 0:
                        poll.register(descriptor, select.POLLIN)
                self._waiting += 1
            try:
                poll.poll(None if left is None else max(0.0, left) * 1000)
            finally:
                with self._lock:
                    self._waiting -= 1

    def _take_in(self) -> None:
        """Accept who has connected, and hear those out who have not said what they are."""
        while True:
            try:
                connected, _ = self._socket.accept()
            except (BlockingIOError, ConnectionAbortedError, InterruptedError):
                break
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE):
                    break  # tried again with the next look
                raise
            self._strangers.append(UnixChannel(connected, self.url))
            if len(self._strangers) > _MAX_STRANGERS:
                self._strangers.pop(0).close(0)
        waiting, self._strangers = self._strangers, []
        for channel in waiting:
            channel.look()
            if channel.ended and not channel.opened:
                channel.close(0)
            elif not channel.opened:
                self._strangers.append(channel)
            elif len(self._accepted) + len(self._backlog) >= _MAX_PEERS:
                channel.close(0)
            else:
                self._backlog.append(channel)

    def close(self) -> None:
        if self._abandoned:
            return
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._socket.close()
            channels = [*self._strangers, *self._backlog, *self._accepted]
            self._strangers.clear()
            self._backlog.clear()
        for channel in channels:
            channel.close(linger_s=0.2)
        os.eventfd_write(self._wake, 1)
        for _ in range(1000):
            if not self._waiting:
                break
            time.sleep(0.001)
        os.close(self._wake)
        if self._path:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._path)

    def abandon(self) -> None:
        if not self._abandoned:
            self._abandoned = True
            self._socket.close()
            for channel in [*self._strangers, *self._backlog]:
                channel.abandon()


def connect(url: str, timeout_s: float) -> Channel:
    """Open a channel to a listener; try again until the time is over."""
    address = _address(url)
    deadline = time.monotonic() + timeout_s

    def attempt() -> Channel | None:
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            client.settimeout(max(0.001, deadline - time.monotonic()))
            client.connect(address)
        except OSError:
            client.close()
            return None
        except BaseException:
            client.close()
            raise
        channel = UnixChannel(client, url)
        channel.opened = True  # who listens at the address is one of ours
        channel.greet()
        return channel

    channel = retry_until(deadline, attempt)
    if channel is None:
        raise unreachable(url, timeout_s)
    return channel


def listen(url: str) -> Listener:
    """Bind a listening socket."""
    name = url.removeprefix("unix://")
    if name in ("", "@"):
        url = f"unix://@cupool-{secrets.token_hex(8)}"
    address = _address(url)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listening.bind(address)
        listening.listen(_MAX_STRANGERS)
    except OSError as error:
        listening.close()
        raise ConfigurationError(f"cannot listen at {url}: {error.strerror}") from None
    return UnixListener(listening, url, "" if address.startswith("\0") else address)


def _address(url: str) -> str:
    name = url.removeprefix("unix://")
    if not name or len(name.encode()) > 100:
        raise ConfigurationError(f"{url:.120} is not unix://@name or unix:///path, up to 100 bytes")
    return f"\0{name[1:]}" if name.startswith("@") else name


_living: weakref.WeakSet[UnixListener] = weakref.WeakSet()


def _after_fork() -> None:
    for one in list(_living):
        one.abandon()


def _at_exit() -> None:
    for one in list(_living):
        one.close()


os.register_at_fork(after_in_child=_after_fork)
atexit.register(_at_exit)
