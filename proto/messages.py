"""Messages of the data plane: a msgpack header frame, then raw payload frames.

A message on a channel is a list of frames. Frame 0 is one encoded `Message`; the frames after
it are payloads that the header refers to by index (0 = the first payload frame). Large payloads
do not ride along: they follow as `Chunk` messages under the receiver's credit.

The same messages travel over every carrier. See ``docs/protocol.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import msgspec

from cupool.errors import ProtocolViolation

Frame: TypeAlias = bytes | bytearray | memoryview

HEADER_LIMIT_BYTES = 8 << 20
"""A header frame above this is refused before it is decoded."""
CHUNK_BYTES = 1 << 20
"""Large payloads travel in chunks of this size."""
CHUNK_CREDITS = 4
"""Chunks of one transfer that may be on their way at once."""
INLINE_LIMIT_BYTES = CHUNK_BYTES
"""Payloads up to this size ride along as frames of the message that names them."""
MAX_PAYLOADS = 4096
"""Payload frames of one message."""
BATCH_WINDOW = 64
"""Batches that may be sent and not yet acknowledged."""
ABORTED = -1
"""Offset of a Chunk that says: the sender gave this transfer up."""
MAX_RECORDS = 8192
"""Operation records of one batch."""

# Outcome of an operation that the client predicted: (handle, dtype, shape, order).
# `order` is "C", "F" or a list of strides in bytes. A tuple of one element, (handle,), says that
# the client could not know; it asks with a `describe` record.
OutSpec: TypeAlias = tuple[Any, ...]
# One operation: (name, outs, args, kwargs) or (name, outs, args, kwargs, stream).
# args and kwargs follow the grammar of `cupool.proto.values`.
Record: TypeAlias = tuple[Any, ...]


class _Message(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """Base of all messages. `frozen` is said again below for the type checker's sake."""


class Hello(_Message, tag=1, frozen=True):
    """Client, first: who I am, which versions I speak, which session I hold the token of."""

    minimum: int
    current: int
    token: str
    client: str
    resume_after: int = 0


class DeviceInfo(msgspec.Struct, array_like=True, frozen=True):
    """What the session sees of its device; memory in bytes is what was granted."""

    name: str
    kind: str
    memory_bytes: int
    compute_capability: str
    server: str
    ordinal: int
    properties: dict[str, int | float | str] = {}


class Welcome(_Message, tag=2, frozen=True):
    """Server's answer to Hello: the version to use and the last batch it has executed."""

    version: int
    session: str
    device: DeviceInfo
    executed: int = 0


class Refuse(_Message, tag=3, frozen=True):
    """Server's other answer to Hello; the channel closes after it. `reason` is machine-readable."""

    reason: str
    message: str
    minimum: int = 0
    current: int = 0


class Batch(_Message, tag=4, frozen=True):
    """Operations in order; `sequence` counts 1, 2, 3, ... within a session."""

    sequence: int
    records: list[list[Any]]


class Failure(msgspec.Struct, array_like=True, frozen=True):
    """An exception as data; `error` is a name of `proto.failures`' closed list."""

    error: str
    message: str
    arguments: list[Any] = []
    operation: str = ""
    device: str = ""
    traceback: str = ""


class Notice(msgspec.Struct, array_like=True, frozen=True):
    """The device will be taken away in `within_s` seconds.

    `reason` is "preempted", "deadline" or "drain"; "withdrawn" takes an earlier notice back.
    """

    reason: str
    message: str = ""
    within_s: float = 0.0


class Ack(_Message, tag=5, frozen=True):
    """All batches up to `sequence` were executed; `failures` are those since the last Ack.

    `notices` are for the script; an Ack that carries some may have the sequence 0.
    `printed` is what kernels have printed since then, for the script's standard output.
    """

    sequence: int
    failures: list[Failure] = []
    relaid: dict[str, int] = {}
    notices: list[Notice] = []
    printed: str = ""


class Value(_Message, tag=6, frozen=True):
    """Answer to a request record: a value of `proto.values`' grammar and the payloads it names."""

    request: int
    value: Any


class Failed(_Message, tag=7, frozen=True):
    """Answer to a request record that could not be done."""

    request: int
    failure: Failure


class Chunk(_Message, tag=8, frozen=True):
    """Bytes of a transfer, one payload frame; chunks of a transfer come in order."""

    transfer: int
    offset: int


class Credit(_Message, tag=9, frozen=True):
    """The receiver of a transfer allows `chunks` more."""

    transfer: int
    chunks: int


class Ping(_Message, tag=10, frozen=True):
    token: int


class Pong(_Message, tag=11, frozen=True):
    token: int


class Bye(_Message, tag=12, frozen=True):
    """The last message of either side; `reason` is machine-readable, `message` for people."""

    reason: str
    message: str = ""


Message: TypeAlias = (
    Hello | Welcome | Refuse | Batch | Ack | Value | Failed | Chunk | Credit | Ping | Pong | Bye
)

_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[Message] = msgspec.msgpack.Decoder(Message)
encode = _encoder.encode


def decode(frames: Sequence[Frame]) -> Message:
    """Decode frame 0 of a message.

    Raises:
        ProtocolViolation: no frame, too many frames, too large, or not a message.
    """
    if not frames or len(frames) > MAX_PAYLOADS + 1:
        raise ProtocolViolation(f"a message has {len(frames)} frames (1 to {MAX_PAYLOADS + 1})")
    header = memoryview(frames[0])
    if header.nbytes > HEADER_LIMIT_BYTES:
        raise ProtocolViolation(
            f"a header frame has {header.nbytes} bytes, the limit is {HEADER_LIMIT_BYTES}"
        )
    try:
        return _decoder.decode(header)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError) as exc:
        raise ProtocolViolation(f"a header frame is not a message: {exc}") from exc
