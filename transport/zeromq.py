"""ZeroMQ: the default data plane, over TCP and over Unix sockets.

    zmq+tcp://host:port        port 0 when listening: the system chooses
    zmq+curve://key@host:port  the same, encrypted; the key is the listener's public one, in hex
    zmq+ipc://@name            Linux's abstract namespace: no file, nothing left by a killed process
    zmq+ipc:///path/of/socket  a file, removed on close

The listener is a ROUTER and serves any number of peers, each a DEALER with a channel of its own.
A client that loses its connection does not reconnect: its channel ends.

Each encrypted listener makes a pair of keys of its own (CurveZMQ, ZeroMQ RFC 26), and its address
carries the public half: who was told the address by somebody it trusts knows whom it talks to.
The client's keys are made for one connection. Nobody else can read or change what travels; that
the client is the right one, the session's token shows, as on every carrier.
"""

from __future__ import annotations

import atexit
import collections
import contextlib
import os
import secrets
import time
import weakref
from collections.abc import Callable, Sequence

import zmq
from zmq.utils import garbage, z85

from cupool.errors import ConfigurationError
from cupool.proto.messages import Frame
from cupool.transport import frames as wire
from cupool.transport.channel import (
    Channel,
    ChannelClosed,
    Frames,
    Listener,
    retry_until,
    unreachable,
)
from cupool.transport.zeromq_peers import Peer
from cupool.transport.zeromq_socket import LEAKED, SharedSocket

_SEND_RETRY_S = 0.05
_KEY_BYTES = 32


class ZeroMQChannel(Channel):
    """A channel over a DEALER socket of its own, or over one peer of a listener's ROUTER."""

    def __init__(self, shared: SharedSocket, peer: Peer, owns_socket: bool) -> None:
        self.url = peer.url
        self._shared = shared
        self._peer = peer
        self._owns_socket = owns_socket
        self._abandoned = False
        self._inbox = peer.inbox
        self._sends = 0
        _living.add(self)

    def send(self, frames: Sequence[Frame], timeout_s: float | None = None) -> None:
        parts, size = wire.pack(frames)
        shared = self._shared
        peer = self._peer
        if self._abandoned:
            raise _abandoned(self.url)
        with shared.lock:
            self._sends += 1
            if not self._sends & 7 and peer.end is None and not peer.reader.asleep:
                shared.watch()  # else the receiving thread learns of a lost peer
            if peer.end is not None:
                raise _again(peer.end)
            sent = shared.write(peer, parts, size)
            if shared.asleep:
                shared.hand_over()
        if not sent:
            self._write_later(parts, size, timeout_s)

    def _write_later(self, parts: Sequence[Frame], size: int, timeout_s: float | None) -> None:
        shared = self._shared
        peer = self._peer
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            with shared.lock:
                while shared.read() or shared.watch():
                    pass  # the peer's credits come in with its messages
                if peer.end is not None:
                    raise _again(peer.end)
                sent = shared.write(peer, parts, size)
                if shared.asleep:
                    shared.hand_over()
                if sent:
                    return
                shared.arm(peer.writer)
            left = _SEND_RETRY_S if deadline is None else deadline - time.monotonic()
            shared.doze(peer.writer, min(left, _SEND_RETRY_S))
            if left <= 0:
                raise TimeoutError(f"{self.url}: the peer took nothing for {timeout_s} s")

    def receive(self, timeout_s: float | None = None) -> Frames | None:
        try:
            # Only this thread takes from the inbox, so this needs no lock.
            message, size = self._inbox.popleft() if self._inbox else self._await(timeout_s)
        except IndexError:
            return None
        if self._peer.incoming.taken(size):
            with self._shared.lock:
                self._shared.report(self._peer)
        return message

    def _await(self, timeout_s: float | None) -> tuple[Frames, int]:
        """Read until there is a message; raises IndexError if none comes in time."""
        shared = self._shared
        peer = self._peer
        deadline = None
        left = timeout_s
        limit = wire.WINDOW_MESSAGES
        if self._abandoned:
            raise _abandoned(self.url)
        while True:
            with shared.lock:
                # Before the first sleep only a look: most often the answer is not there yet, and
                # the sooner this thread sleeps, the sooner those run that bring it.
                if limit == 1 or peer.end is not None or timeout_s == 0 or shared.readable():
                    while not peer.inbox and (shared.read(limit) or shared.watch()):
                        pass  # what was read was for another peer, or no message
                if peer.inbox:
                    if shared.asleep:
                        shared.hand_over()
                    return peer.inbox.popleft()
                if peer.end is not None:
                    peer.told = True
                    raise _again(peer.end)
                if timeout_s is not None:
                    now = time.monotonic()
                    deadline = now + timeout_s if deadline is None else deadline
                    left = deadline - now
                    if left <= 0:
                        raise IndexError
                shared.arm(peer.reader)
            shared.doze(peer.reader, left)
            limit = 1  # an answer to a question comes alone: do not look for a second one

    @property
    def gone(self) -> bool:
        with self._shared.lock:
            self._shared.watch()
            return self._peer.end is not None

    def close(self, linger_s: float = 1.0) -> None:
        if self._abandoned:
            return
        self._shared.part_with(self._peer, "closed", linger_s)
        if self._owns_socket:
            self._shared.destroy(0 if self._peer.lost else linger_s)

    def abandon(self) -> None:
        if not self._abandoned:
            self._abandoned = True
            self._inbox = collections.deque()
            LEAKED.append(self._shared)


class ZeroMQListener(Listener):
    """A ROUTER socket; accepts peers, reads for all of them."""

    def __init__(self, shared: SharedSocket, path: str) -> None:
        self.url = shared.url
        self._shared = shared
        self._path = path
        self._abandoned = False
        _living.add(self)

    def accept(self, timeout_s: float | None = None) -> Channel | None:
        shared = self._shared
        if not self._until(lambda: bool(shared.backlog), timeout_s):
            return None
        with shared.lock:
            return ZeroMQChannel(shared, shared.backlog.popleft(), owns_socket=False)

    def wait(self, timeout_s: float | None = None) -> bool:
        shared = self._shared
        return self._until(
            lambda: bool(shared.backlog) or any(peer.ready for peer in shared.peers.values()),
            timeout_s,
        )

    def _until(self, condition: Callable[[], bool], timeout_s: float | None) -> bool:
        if self._abandoned:
            raise _abandoned(self.url)
        shared = self._shared
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            with shared.lock:
                if shared.closed:
                    raise ChannelClosed(f"{self.url}: the listener is closed")
                while shared.read() or shared.watch():
                    pass
                if shared.asleep:
                    shared.hand_over()
                if condition():
                    return True
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return False
                shared.arm(shared.arrivals)
            shared.doze(shared.arrivals, left)

    def close(self) -> None:
        if self._abandoned:
            return
        shared = self._shared
        with shared.lock:
            peers = list(shared.peers.values())
        for peer in peers:
            shared.part_with(peer, "the listener was closed", linger_s=0)
        shared.destroy(linger_s=1.0)
        if self._path:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._path)

    def abandon(self) -> None:
        if not self._abandoned:
            self._abandoned = True
            LEAKED.append(self._shared)


def connect(url: str, timeout_s: float) -> Channel:
    """Open a channel to a ROUTER; try again until the time is over."""
    endpoint, key = _endpoint(url), _key(url)
    if _encrypted(url) and len(key) != _KEY_BYTES:
        raise ConfigurationError(f"{url} does not carry the listener's key")
    deadline = time.monotonic() + timeout_s

    def attempt() -> Channel | None:
        shared = SharedSocket(zmq.DEALER, url)
        try:
            if key:
                shared.socket.curve_serverkey = z85.encode(key)
                shared.socket.curve_publickey, shared.socket.curve_secretkey = _new_keys(url)
            peer = shared.add_peer(b"", url)
            _try(shared, endpoint, url, listen=False)
            if _handshake(shared, deadline):
                shared.open()
                return ZeroMQChannel(shared, peer, owns_socket=True)
        except BaseException:
            shared.destroy(0)
            raise
        shared.destroy(0)
        return None

    channel = retry_until(deadline, attempt)
    if channel is None:
        raise unreachable(url, timeout_s)
    return channel


def _handshake(shared: SharedSocket, deadline: float) -> bool:
    # Nobody else knows this socket yet, so nothing is locked.
    shared.watch()
    while not (shared.handshaken or shared.failed):
        left = deadline - time.monotonic()
        if left <= 0:
            return False
        shared.arm(shared.arrivals)
        shared.doze(shared.arrivals, left)
        shared.watch()
    return not shared.failed


def listen(url: str) -> Listener:
    """Bind a ROUTER."""
    endpoint = _endpoint(url)
    path = ""
    if endpoint.startswith("ipc://"):
        name = endpoint.removeprefix("ipc://")
        if name in ("", "@"):
            name = f"@cupool-{secrets.token_hex(8)}"
        path = "" if name.startswith("@") else name
        endpoint = f"ipc://{name}"
    shared = SharedSocket(zmq.ROUTER, url)
    key = ""
    try:
        if _encrypted(url):
            public, secret = _new_keys(url)
            shared.socket.curve_server, shared.socket.curve_secretkey = True, secret
            key = f"{z85.decode(public).hex()}@"
        _try(shared, endpoint, url, listen=True)
        bound = shared.socket.getsockopt(zmq.LAST_ENDPOINT)
    except BaseException:
        shared.destroy(0)
        raise
    assert isinstance(bound, bytes)
    scheme = url.partition("://")[0]
    shared.url = f"{scheme}://{key}{bound.rstrip(bytes(1)).decode().partition('://')[2]}"
    return ZeroMQListener(shared, path)


def _encrypted(url: str) -> bool:
    return url.startswith("zmq+curve://")


def _key(url: str) -> bytes:
    """Return the key that an encrypted address carries, or nothing."""
    text, at, _ = url.partition("://")[2].partition("@")
    if not _encrypted(url) or not at:
        return b""
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise ConfigurationError(f"{url} does not carry a key in hex") from None


def _new_keys(url: str) -> tuple[bytes, bytes]:
    if not zmq.has("curve"):
        raise ConfigurationError(
            f"this ZeroMQ was built without encryption, which {url} needs",
            remedy="install pyzmq from its wheel:   pip install --force-reinstall pyzmq",
        )
    public, secret = zmq.curve_keypair()
    return public, secret


def _try(shared: SharedSocket, endpoint: str, url: str, *, listen: bool) -> None:
    try:
        if listen:
            shared.socket.bind(endpoint)
        else:
            shared.socket.connect(endpoint)
    except zmq.ZMQError as error:
        verb = "listen at" if listen else "connect to"
        raise ConfigurationError(f"cannot {verb} {url}: {error.strerror}") from None


def _endpoint(url: str) -> str:
    scheme, _, rest = url.partition("://")
    if scheme == "zmq+ipc":
        if len(rest) > 100:
            raise ConfigurationError(f"the socket name of {url} is longer than 100 characters")
        return f"ipc://{rest}"
    if scheme == "zmq+curve":
        rest = rest.rpartition("@")[2]
    host, colon, port = rest.rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > 65535:
        raise ConfigurationError(f"{url} is not {scheme}://host:port")
    return f"tcp://{host}:{port}"


def _again(error: Exception) -> Exception:
    # A new one each time: one exception raised again and again would collect tracebacks.
    return type(error)(*error.args)


def _abandoned(url: str) -> ChannelClosed:
    return ChannelClosed(f"{url}: belongs to the process that this one was forked from")


_living: weakref.WeakSet[ZeroMQChannel | ZeroMQListener] = weakref.WeakSet()


def _after_fork() -> None:
    # pyzmq replaces its own helper sockets in the child, and warns of the parent's as unclosed.
    LEAKED.append(dict(vars(garbage.gc)))
    for one in list(_living):
        one.abandon()


def _at_exit() -> None:
    # Else the interpreter takes the sockets down in an order of its own, under their I/O threads.
    for one in list(_living):
        if isinstance(one, ZeroMQChannel):
            one.close(linger_s=0.5)
    for one in list(_living):
        one.close()


os.register_at_fork(after_in_child=_after_fork)
atexit.register(_at_exit)
