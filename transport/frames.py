"""How a message becomes parts, and how much may be on its way: shared by the socket carriers.

A carrier moves *parts* (a ZeroMQ message part, a gRPC message). The first part of a message says
what follows; small frames ride inside it, so that a usual message is one part:

    0x00 frame                        one small frame
    0x01 000 count lengths... frames  several frames, or a large one; a length with its top bit
                                      set belongs to a frame that follows as a part of its own
    0x02 "cupool"                     open: the first part that a peer sends
    0x03 text                         close: the last part that a peer sends, with its reason
    0x04 messages bytes               credit: what the receiver has taken so far, in all

Integers are little-endian. Frames inside the first part begin at multiples of 16 bytes, so that
arrays can be laid over them where they are.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from cupool.errors import ProtocolViolation
from cupool.proto.messages import CHUNK_BYTES, HEADER_LIMIT_BYTES, MAX_PAYLOADS, Frame
from cupool.transport.channel import Frames

FRAME_LIMIT_BYTES = max(HEADER_LIMIT_BYTES, CHUNK_BYTES) + (64 << 10)
"""A single frame above this is refused by both ends."""
MESSAGE_LIMIT_BYTES = 64 << 20
"""All frames of one message together; what is larger travels as chunks."""
WINDOW_MESSAGES = 128
WINDOW_BYTES = 16 << 20
"""Messages and bytes that one side may have sent and the other's application not yet taken."""

ONE, SEVERAL, OPEN, CLOSE, CREDIT = range(5)
OPENING = b"\x02cupool"
_INLINE_BELOW = 8 << 10
_INLINE_TOTAL = 64 << 10
_APART = 1 << 31
_PADDING = [bytes(size) for size in range(16)]
_QUANTUM_MESSAGES = WINDOW_MESSAGES // 4  # a credit is due when this much was taken; what is
_QUANTUM_BYTES = WINDOW_BYTES // 4  # below it the sender must not wait for, it may never come
_MESSAGE_COST = 64  # what an empty message costs in the byte window
ONE_COST = _MESSAGE_COST - 1
"""What `message_size` adds to the length of the part that is a whole message."""
_credit = struct.Struct("<BQQ")


def pack(frames: Sequence[Frame]) -> tuple[list[Frame], int]:
    """Return the parts of a message and its size in bytes.

    The first part is new; the others are the caller's own memory.

    Raises:
        ProtocolViolation: no frames, too many, or too large.
    """
    if len(frames) == 1:
        frame = frames[0]
        size = len(frame) if type(frame) is bytes else memoryview(frame).nbytes
        if size < _INLINE_TOTAL:
            return [b"\0" + frame], size + _MESSAGE_COST
    if not 0 < len(frames) <= MAX_PAYLOADS + 1:
        raise ProtocolViolation(f"a message of {len(frames)} frames (1 to {MAX_PAYLOADS + 1})")
    lengths: list[int] = []
    inline: list[Frame] = []
    apart: list[Frame] = []
    inlined = total = 0
    for frame in frames:
        view = memoryview(frame)
        size = view.nbytes
        total += size
        if size > FRAME_LIMIT_BYTES or total > MESSAGE_LIMIT_BYTES:
            raise _too_large(size, total)
        if size < _INLINE_BELOW and inlined + size <= _INLINE_TOTAL:
            lengths.append(size)
            inline += (view, _PADDING[-size % 16])
            inlined += size
        else:
            lengths.append(size | _APART)
            apart.append(view.cast("B") if view.ndim != 1 or view.itemsize != 1 else view)
    more = apart != []
    table = struct.pack(f"<BB2xI{len(lengths)}I", SEVERAL, more, len(lengths), *lengths)
    first = b"".join((table, _PADDING[-len(table) % 16], *inline))
    return [first, *apart], total + _MESSAGE_COST


def unpack(first: bytes, apart: Sequence[memoryview] = ()) -> Frames:
    """Return the frames of a message from its parts, without copying the large ones.

    Raises:
        ProtocolViolation: the parts are not a message.
    """
    if first[:1] == b"\0":
        if apart:
            raise ProtocolViolation(f"a message of one frame came with {len(apart)} more parts")
        return [first[1:] if len(first) < 2048 else memoryview(first)[1:]]
    lengths, position = _table(first)
    view = memoryview(first)
    parts = iter(apart)
    frames: Frames = []
    total = 0
    for length in lengths:
        if length & _APART:
            part = next(parts, None)
            if part is None or part.nbytes != length ^ _APART:
                raise ProtocolViolation("a message's parts do not have the announced sizes")
            frames.append(part)
            total += part.nbytes
        else:
            if position + length > len(first):
                raise ProtocolViolation("a message is shorter than it says")
            frames.append(view[position : position + length])
            position += length + -length % 16
            total += length
    if next(parts, None) is not None or position != len(first) or total > MESSAGE_LIMIT_BYTES:
        raise ProtocolViolation(f"a message of {total} bytes is longer than it says or may be")
    return frames


def apart_lengths(first: bytes) -> list[int]:
    """Return the sizes in bytes of the parts that follow a message's first part.

    Raises:
        ProtocolViolation: not the first part of a message, or over the limits.
    """
    if first[:1] == b"\0" or (len(first) > 1 and not first[1]):
        return []  # who announces none and sends some is found out by `unpack`
    lengths = [length ^ _APART for length in _table(first)[0] if length & _APART]
    if lengths and (max(lengths) > FRAME_LIMIT_BYTES or sum(lengths) > MESSAGE_LIMIT_BYTES):
        raise ProtocolViolation(f"a message announces {sum(lengths)} bytes, over the limit")
    return lengths


def _table(first: bytes) -> tuple[tuple[int, ...], int]:
    if len(first) < 8 or first[0] != SEVERAL:
        raise ProtocolViolation(f"the first part of a message begins with {bytes(first[:8])!r}")
    count = int.from_bytes(first[4:8], "little")
    end = 8 + 4 * count
    if not 0 < count <= MAX_PAYLOADS + 1 or len(first) < end:
        raise ProtocolViolation(f"a message announces {count} frames in {len(first)} bytes")
    return struct.unpack_from(f"<{count}I", first, 8), end + -end % 16


def closing(reason: str) -> bytes:
    """Return the part that ends a channel."""
    return b"\x03" + reason.encode()[:500]


def closing_reason(part: bytes) -> str:
    """Return what the peer gave as its reason, fit to be shown."""
    return part[1:501].decode(errors="replace")


class SendWindow:
    """What was sent and not yet taken by the peer's application; asks no clock, does no I/O."""

    __slots__ = ("_bytes", "_messages", "_taken_bytes", "_taken_messages")

    def __init__(self) -> None:
        self._messages = self._bytes = 0
        self._taken_messages = self._taken_bytes = 0

    def admit(self, size: int) -> bool:
        """Count a message of `size` bytes as sent if it may go now.

        A nearly empty window takes any: the credit for the rest may not be due yet.
        """
        waiting = self._bytes - self._taken_bytes
        if self._messages - self._taken_messages >= WINDOW_MESSAGES or (
            waiting + size > WINDOW_BYTES and waiting >= _QUANTUM_BYTES
        ):
            return False
        self._messages += 1
        self._bytes += size
        return True

    def unsent(self, size: int) -> None:
        """Take back a message that was admitted and not sent."""
        self._messages -= 1
        self._bytes -= size

    def credit(self, part: bytes) -> None:
        """Take the peer's report of what its application has received.

        Raises:
            ProtocolViolation: malformed, going backwards, or more than was sent.
        """
        if len(part) != _credit.size:
            raise ProtocolViolation(f"a credit of {len(part)} bytes, not {_credit.size}")
        _, messages, size = _credit.unpack(part)
        if not (
            self._taken_messages <= messages <= self._messages
            and self._taken_bytes <= size <= self._bytes
        ):
            raise ProtocolViolation(f"a credit for {messages} messages, {self._messages} were sent")
        self._taken_messages, self._taken_bytes = messages, size


def check_window(waiting: Sequence[int], size: int) -> None:
    """Check that a message of `size` bytes may come while those in `waiting` are not yet taken.

    Raises:
        ProtocolViolation: the peer sends on without credit.
    """
    before = sum(waiting)
    if len(waiting) >= WINDOW_MESSAGES or (
        before + size > WINDOW_BYTES and before >= _QUANTUM_BYTES
    ):
        raise ProtocolViolation("the peer sent more than its window allows")


class ReceiveWindow:
    """What has arrived and what the application has taken, and when to report it."""

    __slots__ = ("_arrived_bytes", "_arrived_messages", "_due_bytes", "_due_messages", "_taken",
                 "_taken_bytes")  # fmt: skip

    def __init__(self) -> None:
        self._taken = self._taken_bytes = 0
        self._due_messages = _QUANTUM_MESSAGES
        self._due_bytes = _QUANTUM_BYTES

    def taken(self, size: int) -> bool:
        """Count a message that the application took; True when a credit is due."""
        self._taken += 1
        self._taken_bytes += size
        return self._taken >= self._due_messages or self._taken_bytes >= self._due_bytes

    def credit(self) -> bytes:
        """Return the credit part that reports all that was taken until now."""
        return _credit.pack(CREDIT, self._taken, self._taken_bytes)

    def credited(self) -> None:
        """Note that the credit was sent; the next is due a quarter of a window later."""
        self._due_messages = self._taken + _QUANTUM_MESSAGES
        self._due_bytes = self._taken_bytes + _QUANTUM_BYTES


def message_size(frames: Sequence[Frame]) -> int:
    """Return the size in bytes that `pack` gave for the same frames."""
    total = _MESSAGE_COST
    for frame in frames:
        total += len(frame) if type(frame) is bytes else memoryview(frame).nbytes
    return total


def checked_size(frames: Sequence[Frame]) -> int:
    """Return the size in bytes that `pack` would give, for a carrier that needs no parts.

    Raises:
        ProtocolViolation: no frames, too many, or too large.
    """
    sizes = [len(frame) if type(frame) is bytes else memoryview(frame).nbytes for frame in frames]
    if not 0 < len(sizes) <= MAX_PAYLOADS + 1:
        raise ProtocolViolation(f"a message of {len(sizes)} frames (1 to {MAX_PAYLOADS + 1})")
    total = sum(sizes)
    if max(sizes) > FRAME_LIMIT_BYTES or total > MESSAGE_LIMIT_BYTES:
        raise _too_large(max(sizes), total)
    return total + _MESSAGE_COST


def _too_large(frame_bytes: int, message_bytes: int) -> ProtocolViolation:
    return ProtocolViolation(
        f"a frame of {frame_bytes} bytes in a message of {message_bytes} or more; "
        f"the limits are {FRAME_LIMIT_BYTES} and {MESSAGE_LIMIT_BYTES}"
    )
