"""Where the processes of a group meet: a small TCP server of keys, values and barriers.

    request  [secret, operation, key, value]        answer  [true, value] or [false, error]

Both are msgpack with a 4-byte big-endian length before each. Operations: "set", "get" (fails if
nobody has set the key), "wait" (until somebody does), "barrier" (until all are there).
"""

from __future__ import annotations

import atexit
import hmac
import socket
import struct
import threading
import time
from typing import Any

import msgspec

LIMIT_BYTES = 64 << 10
MAX_KEYS = 65536
WAIT_WITHIN_S = 600.0
"""How long "wait" and "barrier" wait."""
CONNECT_WITHIN_S = 25.0
_REQUEST_WITHIN_S = 10.0
_RETRY_S = 0.05
_STOP_WITHIN_S = 2.0
_LENGTH = struct.Struct("!I")
_Value = bytes | int | None
_Answer = tuple[str, _Value]
_requests = msgspec.msgpack.Decoder(tuple[bytes, str, str, _Value])
_answers = msgspec.msgpack.Decoder(tuple[str, _Value])


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
        self._arrived = self._generation = 0
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
        self._socket.shutdown(socket.SHUT_RDWR)
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
                answer: _Answer = "the secret is not this group's", None
                if hmac.compare_digest(secret, self._secret):
                    answer = self._answer(operation, key, value)
                _send(connection, answer)
            except (OSError, msgspec.DecodeError, ValueError):
                return  # no peer of ours, or it is gone

    def _answer(self, operation: str, key: str, value: _Value) -> _Answer:
        with self._changed:
            if operation == "set":
                if len(self._values) >= MAX_KEYS:
                    return f"more than {MAX_KEYS} keys", None
                self._values[key] = value
                self._changed.notify_all()
                return "", None
            if operation == "wait":
                self._changed.wait_for(lambda: key in self._values or self._stopped, WAIT_WITHIN_S)
            if operation in ("get", "wait"):
                if key in self._values:
                    return "", self._values[key]
                return f"nobody has set {key!r}", None
            if operation == "barrier":
                return self._barrier()
        return f"unknown operation {operation!r}", None

    def _barrier(self) -> _Answer:
        generation = self._generation
        self._arrived += 1
        if self._arrived == self._size:
            self._arrived = 0
            self._generation += 1
            self._changed.notify_all()
            return "", None

        def over() -> bool:
            return self._generation != generation or self._stopped

        self._changed.wait_for(over, WAIT_WITHIN_S)
        if self._generation != generation:
            return "", None
        self._arrived -= 1
        return f"not all of {self._size} processes came to the barrier", None


def request(
    address: tuple[str, int],
    operation: str,
    key: str = "",
    value: _Value = None,
    secret: bytes = b"",
) -> Any:
    """Ask a server, which may still have to be started, and return its answer.

    Raises:
        RuntimeError: nobody answers there; or what the server says.
    """
    until = time.monotonic() + CONNECT_WITHIN_S
    pause = threading.Event()
    while True:
        try:
            with socket.create_connection(address, _REQUEST_WITHIN_S) as connection:
                connection.settimeout(WAIT_WITHIN_S + _REQUEST_WITHIN_S)
                _send(connection, (secret, operation, key, value))
                error, answer = _answers.decode(_receive(connection))
                break
        except ConnectionRefusedError:
            if time.monotonic() > until:
                host, port = address
                text = f"nobody answers at {host}:{port}: was rank 0 started there?"
                raise RuntimeError(f"TCPStore is not available: {text}") from None
            pause.wait(_RETRY_S)
        except (OSError, msgspec.DecodeError, ValueError) as exc:
            raise RuntimeError(f"TCPStore is not available: {exc}") from exc
    if error:
        raise RuntimeError(error)
    return answer


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
