"""What the daemon and a worker process tell each other, over an inherited socket pair.

Frames are msgpack with a 4-byte big-endian length before each. The daemon owns the worker's
life: when the socket closes, the worker ends.
"""

from __future__ import annotations

import struct
from typing import Any, TypeAlias

import msgspec

from cupool.errors import ProtocolViolation

LIMIT_BYTES = 1 << 20


class _Control(msgspec.Struct, frozen=True):
    pass


class Open(_Control, frozen=True, tag="open"):
    """Daemon -> warm worker: become this session."""

    session: str
    token: str
    device: str  # "mock", "cuda", "null"
    ordinal: int
    server: str
    memory_bytes: int
    urls: list[str]  # listen here, e.g. "unix://", "zmq+tcp://127.0.0.1:0", "grpc://127.0.0.1:0"
    connect_within_s: float
    grace_s: float  # how long to wait for a client whose link broke
    row: int = -1  # in the table of shares; -1 = none
    share_milli: int = 1000  # of the device's compute that is promised, 0 = none
    cap_milli: int = 0  # never compute more of the time than this; 0 = no cap
    options: dict[str, Any] = {}  # of the device, e.g. {"memory_bytes": ..., "compute": "9.0"}


class Close(_Control, frozen=True, tag="close"):
    """Daemon -> worker: end the session and say Bye(reason, message) to the client."""

    reason: str
    message: str = ""


class Notice(_Control, frozen=True, tag="notice"):
    """Daemon -> worker, for the script: its device goes in so many seconds, and why.

    `reason`: "preempted", "deadline" or "drain"; "withdrawn" takes an earlier notice back.
    """

    reason: str
    message: str
    within_s: float


class Ready(_Control, frozen=True, tag="ready"):
    """Worker -> daemon, once: warm, modules imported."""

    pid: int


class Opened(_Control, frozen=True, tag="opened"):
    """Worker -> daemon: listening at these addresses."""

    session: str
    urls: list[str]


class Report(_Control, frozen=True, tag="report"):
    """Worker -> daemon, each second while something changed."""

    session: str
    connected: bool
    memory_used_bytes: int
    operations: int
    device_time_s: float = 0.0


class Ended(_Control, frozen=True, tag="ended"):
    """Worker -> daemon, last: "closed", "client_lost", "released", "drained", "failed"."""

    session: str
    state: str
    message: str = ""


Control: TypeAlias = Open | Close | Notice | Ready | Opened | Report | Ended

_decoder: msgspec.msgpack.Decoder[Control] = msgspec.msgpack.Decoder(Control)
_encoder = msgspec.msgpack.Encoder()
_LENGTH = struct.Struct("!I")


def encode(message: Control) -> bytes:
    body = _encoder.encode(message)
    return _LENGTH.pack(len(body)) + body


class Framer:
    """Cuts a byte stream into control messages (sans-I/O)."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[Control]:
        """Take received bytes, return the messages that are complete."""
        self._buffer += data
        messages: list[Control] = []
        while len(self._buffer) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._buffer)
            if length > LIMIT_BYTES:
                raise ProtocolViolation(f"a control message of {length} bytes")
            end = _LENGTH.size + length
            if len(self._buffer) < end:
                break
            messages.append(_decoder.decode(bytes(self._buffer[_LENGTH.size : end])))
            del self._buffer[:end]
        return messages
