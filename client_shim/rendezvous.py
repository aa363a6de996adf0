"""Where the processes of a group meet: a small TCP server of keys, values and barriers.

    request  [secret, operation, key, value]        answer  [error or "", value]

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
from collections.abc import Callable
from typing import Any
from weakref import WeakSet

import msgspec

LIMIT_BYTES = 64 << 10
MAX_KEYS = 65536
MAX_MEMBERS = 4096
WAIT_WITHIN_S = 600.0
"""How long "wait" and "barrier" wait for members that have not come yet."""
CONNECT_WITHIN_S = 25.0
_REQUEST_WITHIN_S = 10.0
_RETRY_S = 0.05
_STOP_WITHIN_S = 2.0
_SILENT_AFTER_S, _SILENT_PROBES = 2, 3  # until a machine that no longer answers counts as gone
_LENGTH = struct.Struct("!I")
_Value = bytes | int | None
_Answer = tuple[str, _Value]
_requests = msgspec.msgpack.Decoder(tuple[bytes, str, str, _Value])
_answers = msgspec.msgpack.Decoder(tuple[str, _Value])


class _Barrier:
    """Who is at a barrier; `generation` counts how often it has opened."""

    def __init__(self) -> None:
        self.arrived = self.generation = 0


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
        self._attending: set[socket.socket] = set()
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
                secret, operation, key, value = _requests.decode(_receive(connection))
                if not hmac.compare_digest(secret, self._secret):
                    _send(connection, ("the secret is not this group's", None))
                elif operation == "attend" and isinstance(value, int):
                    self._attend(connection, value)
                else:
                    _send(connection, self._answer(operation, key, value))
            except (OSError, msgspec.DecodeError, ValueError):
                return  # no peer of ours, or it is gone

    def _attend(self, connection: socket.socket, member: int) -> None:
        with self._changed:
            if self._stopped or len(self._attending) >= MAX_MEMBERS:
                return
            self._attending.add(connection)
            self._ended.discard(member)
        left = b""
        try:
            _send(connection, ("", None))
            _watch(connection)
            connection.settimeout(None)
            left = connection.recv(1)
        finally:
            with self._changed:
                self._attending.discard(connection)
                if not left and not self._stopped:
                    self._ended.add(member)
                    self._changed.notify_all()

    def _answer(self, operation: str, key: str, value: _Value) -> _Answer:
        with self._changed:
            if operation == "set":
                if len(self._values) >= MAX_KEYS:
                    return f"more than {MAX_KEYS} keys", None
                self._values[key] = value
                self._changed.notify_all()
                return "", None
            if operation == "wait":
                self._await(lambda: key in self._values or value in self._ended)
            if operation in ("get", "wait"):
                if key in self._values:
                    return "", self._values[key]
                if value in self._ended:
                    return f"rank {value} has ended before the group was complete", None
                return f"nobody has set {key!r}", None
            if operation == "barrier":
                return self._barrier(key, value if isinstance(value, int) and value else self._size)
        return f"unknown operation {operation!r}", None

    def _await(self, over: Callable[[], bool]) -> None:
        self._changed.wait_for(lambda: over() or self._stopped, WAIT_WITHIN_S)

    def _barrier(self, key: str, size: int) -> _Answer:
        if key not in self._barriers and len(self._barriers) >= MAX_KEYS:
            return f"more than {MAX_KEYS} barriers", None
        barrier = self._barriers.setdefault(key, _Barrier())
        generation = barrier.generation
        barrier.arrived += 1
        if barrier.arrived == size:
            barrier.arrived = 0
            barrier.generation += 1
            self._changed.notify_all()
            return "", None
        self._await(lambda: barrier.generation != generation or bool(self._ended))
        if barrier.generation != generation:
            return "", None
        barrier.arrived -= 1
        if self._stopped:
            return "rank 0 has ended, or has stopped the store", None
        ended = sorted(self._ended)
        if ended:
            ranks = ", ".join(str(rank) for rank in ended)
            return f"rank {ranks} has ended and cannot come to the barrier of {size}", None
        return f"not all of {size} processes came to the barrier", None


class Attendance:
    """A member's presence at a server, for as long as this object is kept.

    Raises:
        RuntimeError: nobody answers there, or the server does not let it in.
    """

    def __init__(self, address: tuple[str, int], member: int, secret: bytes = b"") -> None:
        self._socket, _ = _ask(address, (secret, "attend", "", member))
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
) -> Any:
    """Ask a server, which may still have to be started, and return its answer.

    Raises:
        RuntimeError: nobody answers there, or no longer; or what the server says.
    """
    connection, answer = _ask(address, (secret, operation, key, value))
    connection.close()
    return answer


def _ask(
    address: tuple[str, int], message: tuple[bytes, str, str, _Value]
) -> tuple[socket.socket, _Value]:
    until = time.monotonic() + CONNECT_WITHIN_S
    pause = threading.Event()
    host, port = address
    while True:
        connection = None
        try:
            connection = socket.create_connection(address, _REQUEST_WITHIN_S)
            _watch(connection)
            connection.settimeout(WAIT_WITHIN_S + _REQUEST_WITHIN_S)
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
