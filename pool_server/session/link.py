"""The worker's end of the control socket, read without blocking."""

from __future__ import annotations

import contextlib
import select
import socket

import msgspec

from cupool.errors import ProtocolViolation
from cupool.pool_server.session.control import Control, Framer, encode

_RECEIVE_BYTES = 1 << 16
_SEND_TIMEOUT_S = 5.0


class ControlLink:
    """Control messages over a connected socket.

    Attributes:
        closed: the daemon is gone, or sent what is no control message.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._framer = Framer()
        self.closed = False

    def receive(self, timeout_s: float | None = 0.0) -> list[Control]:
        """Return the messages that have come; wait for one or for the end up to `timeout_s`."""
        if self.closed:
            return []
        waiter = select.poll()
        waiter.register(self._socket, select.POLLIN)
        if not waiter.poll(None if timeout_s is None else timeout_s * 1000):
            return []
        try:
            data = self._socket.recv(_RECEIVE_BYTES)
            if not data:
                self.closed = True
            return self._framer.feed(data)
        except (OSError, ProtocolViolation, msgspec.MsgspecError):
            self.closed = True
            return []

    def send(self, message: Control) -> None:
        """Send a message; a daemon that is gone or reads nothing is noticed by `closed`."""
        if self.closed:
            return
        try:
            self._socket.settimeout(_SEND_TIMEOUT_S)
            self._socket.sendall(encode(message))
        except OSError:
            self.closed = True
        finally:
            with contextlib.suppress(OSError):
                self._socket.settimeout(None)

    def close(self) -> None:
        """Close the socket."""
        self.closed = True
        self._socket.close()
