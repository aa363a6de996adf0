"""Where the processes of a group meet: a small TCP server of keys, values and barriers.

    request  [secret, operation, key, value, member, within]      answer  [error or "", value]

`member` is the rank that asks, -1 if it does not say; `within` is how long it will wait for who
has not come yet, in ms. Who is there, and only busy, is waited for as long as it lives.

Both are msgpack with a 4-byte big-endian length before each. Operations:

    set       a key
    get       a key; fails if nobody has set it
    wait      until somebody sets a key; fails if the member `value`, who is to set it, has ended
    barrier   until `value` members (0: all of the group) are at the barrier named by the key
    attend    be there as member `value`; the connection stays open, and its end is the member's:
              who waits for it then is told. A byte before the end takes leave instead.
"""

from __future__ import annotations

import atexit
import contextlib
import hmac
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any
from weakref import WeakSet

import msgspec

from cupool import config

LIMIT_BYTES = 64 << 10
MAX_KEYS = 65536
MAX_MEMBERS = 4096
PRESENT_WITHIN_S = 86400.0
"""How long "wait" and "barrier" wait for members that are there: one may compute for hours."""
CONNECT_WITHIN_S = 25.0
_REQUEST_WITHIN_S = 10.0
_RETRY_S = 0.05
_STOP_WITHIN_S = 2.0
_NAMED = 16
_REMEDY = "was it started? CUPOOL_GROUP_WAIT is how long to wait"
_SILENT_AFTER_S, _SILENT_PROBES = 2, 3  # until a machine that no longer answers counts as gone
_LENGTH = struct.Struct("!I")
_Value = bytes | int | None
_Answer = tuple[str, _Value]
_Request = tuple[bytes, str, str, _Value, int, int]
_requests = msgspec.msgpack.Decoder(_Request)
_answers = msgspec.msgpack.Decoder(tuple[str, _Value])


class _Barrier:
    """Who is at a barrier (-1: did not say); `generation` counts how often it has opened."""

    def __init__(self) -> None:
        self.arrived: list[int] = []
        self.generation = 0

    def missing(self, size: int) -> list[int]:
        """Return who has not arrived; nobody, if some that have did not say who they are."""
        if -1 in self.arrived:
            return []
        return [member for member in range(size) if member not in self.arrived]


class Server:
    """Serves in threads of its own until `stop`.

    Args:
        size: processes of the group, for barriers.
        secret: what requests must carry.

    Raises:
        OSError: the address cannot be listened at.
    """

    def __init__(self, host: str, port: int, size: int, secret: bytes = b"") -> None:
        self._secret = secret
        self._size = size
        self._values: dict[str, _Value] = {}
        self._barriers: dict[str, _Barrier] = {}
        self._attending: dict[socket.socket, int] = {}
        self._ended: set[int] = set()
        self._changed = threading.Condition()
        self._stopped = False
        self._handlers: list[threading.Thread] = []
        self._socket = socket.create_server((host, port))
        self.port = int(self._socket.getsockname()[1])
        self._thread = threading.Thread(target=self._accept, name="cupool-meeting", daemon=True)
        self._thread.start()
        atexit.register(self.stop)  # else the last answers may end with the process

    def stop(self) -> None:
        """Stop, once the answers that are due have left; who still waits gets an error."""
        if self._stopped:
            return
        atexit.unregister(self.stop)
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
            attending = list(self._attending)
        for connection in (self._socket, *attending):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        until = time.monotonic() + _STOP_WITHIN_S
        for thread in [self._thread, *self._handlers]:
            thread.join(max(0.0, until - time.monotonic()))

    def _accept(self) -> None:
        while not self._stopped:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self._handlers = [one for one in self._handlers if one.is_alive()]
            handler = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._handlers.append(handler)
            handler.start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                connection.settimeout(_REQUEST_WITHIN_S)
                request = _requests.decode(_receive(connection))
                secret, operation, key, value, member, within_ms = request
                if not hmac.compare_digest(secret, self._secret):
                    _send(connection, ("the secret is not this group's", None))
                elif operation == "attend" and isinstance(value, int):
                    self._attend(connection, value)
                else:
                    within_s = min(within_ms / 1000, PRESENT_WITHIN_S)
                    _send(connection, self._answer(operation, key, value, member, within_s))
            except (OSError, msgspec.DecodeError, ValueError):
                return  # no peer of ours, or it is gone

    def _attend(self, connection: socket.socket, member: int) -> None:
        with self._changed:
            if self._stopped or len(self._attending) >= MAX_MEMBERS:
                return
            self._attending[connection] = member
            self._ended.discard(member)
            self._changed.notify_all()
        left = b""
        try:
            _send(connection, ("", None))
            _watch(connection)
            connection.settimeout(None)
            left = connection.recv(1)
        finally:
            with self._changed:
                self._attending.pop(connection, None)
                if not left and not self._stopped:
                    self._ended.add(member)
                self._changed.notify_all()

    def _answer(
        self, operation: str, key: str, value: _Value, member: int, within_s: float
    ) -> _Answer:
        with self._changed:
            if operation == "set":
                if len(self._values) >= MAX_KEYS:
                    return f"more than {MAX_KEYS} keys", None
                self._values[key] = value
                self._changed.notify_all()
                return "", None
            if operation == "wait":
                self._await(
                    lambda: key in self._values or value in self._ended,
                    lambda: value in self._attending.values(),
                    within_s,
                )
            if operation in ("get", "wait"):
                return self._value(key, value, None if operation == "get" else within_s)
            if operation == "barrier":
                size = value if isinstance(value, int) and value else self._size
                return self._barrier(key, size, member, within_s)
        return f"unknown operation {operation!r}", None

    def _value(self, key: str, member: _Value, within_s: float | None) -> _Answer:
        """Return a value, or why there is none; `within_s`: its member was waited for so long."""
        if key in self._values:
            return "", self._values[key]
        if within_s is None:
            return f"nobody has set {key!r}", None
        assert isinstance(member, int)
        if member in self._ended:
            return f"rank {member} has ended before the group was complete", None
        if self._stopped:
            return "rank 0 has ended, or has stopped the store", None
        return f"rank {member} has not joined the group within {within_s:g} s: {_REMEDY}", None

    def _await(
        self, over: Callable[[], bool], present: Callable[[], bool], within_s: float
    ) -> None:
        """Wait until it is over: `within_s` for those who are not present, longer for others."""
        began = time.monotonic()
        while not over() and not self._stopped:
            bound = PRESENT_WITHIN_S if present() else within_s
            left_s = began + bound - time.monotonic()
            if left_s <= 0:
                return
            self._changed.wait(left_s)

    def _barrier(self, key: str, size: int, member: int, within_s: float) -> _Answer:
        if key not in self._barriers and len(self._barriers) >= MAX_KEYS:
            return f"more than {MAX_KEYS} barriers", None
        barrier = self._barriers.setdefault(key, _Barrier())
        generation = barrier.generation
        barrier.arrived.append(member)
        if len(barrier.arrived) == size:
            barrier.arrived = []
            barrier.generation += 1
            self._changed.notify_all()
            return "", None

        def present() -> bool:
            missing, there = barrier.missing(size), set(self._attending.values())
            return bool(missing) and there.issuperset(missing)

        self._await(
            lambda: barrier.generation != generation or bool(self._ended), present, within_s
        )
        if barrier.generation != generation:
            return "", None
        missing = barrier.missing(size)
        there = len(barrier.arrived)
        barrier.arrived.remove(member)
        if self._stopped:
            return "rank 0 has ended, or has stopped the store", None
        if self._ended:
            return f"{_ranks(self._ended)} has ended and cannot come to the barrier of {size}", None
        who = _ranks(missing) if missing else f"{size - there} of {size} processes"
        return f"{who} did not come to the barrier of {size} within {within_s:g} s: {_REMEDY}", None


def _ranks(members: Iterable[int]) -> str:
    """Return "rank 3, 5"; of many, the first."""
    ordered = sorted(members)
    more = "" if len(ordered) <= _NAMED else f" and {len(ordered) - _NAMED} more"
    return "rank " + ", ".join(str(rank) for rank in ordered[:_NAMED]) + more


class Attendance:
    """A member's presence at a server, for as long as this object is kept.

    Raises:
        RuntimeError: nobody answers there, or the server does not let it in.
    """

    def __init__(self, address: tuple[str, int], member: int, secret: bytes = b"") -> None:
        self._socket, _ = _ask(address, (secret, "attend", "", member, member, 0))
        _watch(self._socket)
        _attendances.add(self)

    def leave(self) -> None:
        """Take leave: nobody is told that the member has ended."""
        with contextlib.suppress(OSError):
            self._socket.sendall(b".")
        self._socket.close()

    def end(self) -> None:
        """Let who waits for the member know that it will not come."""
        self._socket.close()

    def __del__(self) -> None:
        if hasattr(self, "_socket"):
            self._socket.close()


_attendances: WeakSet[Attendance] = WeakSet()


def _after_fork() -> None:
    """A child is no member: were its copy of the connection open, the end would go unnoticed."""
    for one in list(_attendances):
        one.end()


os.register_at_fork(after_in_child=_after_fork)


def request(
    address: tuple[str, int],
    operation: str,
    key: str = "",
    value: _Value = None,
    secret: bytes = b"",
    *,
    member: int = -1,
) -> Any:
    """Ask a server, which may still have to be started, and return its answer.

    Who has not come yet is waited for as long as the setting `group_wait` says.

    Args:
        member: the rank that asks, -1: who waits for it at a barrier is not told which it is.

    Raises:
        RuntimeError: nobody answers there, or no longer; or what the server says.
    """
    within_ms = round(config.load().settings.group_wait * 1000)
    connection, answer = _ask(address, (secret, operation, key, value, member, within_ms))
    connection.close()
    return answer


def _ask(address: tuple[str, int], message: _Request) -> tuple[socket.socket, _Value]:
    until = time.monotonic() + CONNECT_WITHIN_S
    pause = threading.Event()
    host, port = address
    while True:
        connection = None
        try:
            connection = socket.create_connection(address, _REQUEST_WITHIN_S)
            _watch(connection)
            connection.settimeout(PRESENT_WITHIN_S + _REQUEST_WITHIN_S)
            _send(connection, message)
            error, answer = _answers.decode(_receive(connection))
        except ConnectionRefusedError:
            if time.monotonic() > until:
                text = f"nobody answers at {host}:{port}: was rank 0 started there?"
                raise RuntimeError(f"TCPStore is not available: {text}") from None
            pause.wait(_RETRY_S)
            continue
        except BaseException as exc:
            if connection is not None:
                connection.close()
            if not isinstance(exc, (OSError, msgspec.DecodeError, ValueError)):
                raise
            text = f"{exc}: rank 0, whose process answers at {host}:{port}, has ended or is not"
            raise RuntimeError(f"TCPStore is not available: {text} to be reached") from exc
        if error:
            connection.close()
            raise RuntimeError(error)
        return connection, answer


def _watch(connection: socket.socket) -> None:
    """Let the system notice within seconds that the peer's machine is gone."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, number in (
        ("TCP_KEEPIDLE", _SILENT_AFTER_S),
        ("TCP_KEEPINTVL", _SILENT_AFTER_S),
        ("TCP_KEEPCNT", _SILENT_PROBES),
    ):
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), number)


def _send(connection: socket.socket, message: Any) -> None:
    body = msgspec.msgpack.encode(message)
    if len(body) > LIMIT_BYTES:
        raise ValueError(f"a message of {len(body)} bytes, the limit is {LIMIT_BYTES}")
    connection.sendall(_LENGTH.pack(len(body)) + body)


def _receive(connection: socket.socket) -> bytes:
    (length,) = _LENGTH.unpack(_exactly(connection, _LENGTH.size))
    if length > LIMIT_BYTES:
        raise ValueError(f"a message of {length} bytes, the limit is {LIMIT_BYTES}")
    return _exactly(connection, length)


def _exactly(connection: socket.socket, count: int) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        part = connection.recv(count - len(parts))
        if not part:
            raise ConnectionError("the other side has closed the connection")
        parts += part
    return bytes(parts)
