"""Messages in a stream of bytes: what a Unix socket carries. No I/O in here.

    length, first part, large frames one after the other, length, first part, ...

A length is 4 bytes, little-endian. The first part (see `frames`) says how long the frames are
that follow it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from cupool.errors import ProtocolViolation
from cupool.proto.messages import CHUNK_BYTES, Frame
from cupool.transport import frames as wire
from cupool.transport.channel import Frames

LENGTH_BYTES = 4
_BUFFER_BYTES = 256 << 10  # holds the largest first part: inlined frames, padding, the table
_SPARE = 8
_UNUSED = sys.getrefcount(bytearray()) + 2  # references of a buffer that only its list knows

Message = tuple[Frames, int]


def head(first: Frame) -> bytes:
    """Return a first part with its length before it."""
    return len(first).to_bytes(LENGTH_BYTES, "little") + first


class Inflow:
    """Cuts received bytes into messages and controls.

    Attributes:
        room: where the next bytes may be received, in this order.
        broken: bytes were received and not counted; nothing more can be read.
    """

    def __init__(self) -> None:
        self._buffer = bytearray(_BUFFER_BYTES)
        self._view = memoryview(self._buffer)
        self._begin = self._end = 0
        self._spare: list[bytearray] = []
        self._first = b""  # of a message whose large frames are still coming
        self._lengths: list[int] = []
        self._apart: list[memoryview] = []
        self._target: memoryview | None = None
        self.room: list[memoryview] = [self._view]

    def received(self, count: int) -> None:
        """Count bytes that were put into `room`."""
        target = self._target
        if target is not None:
            taken = min(count, target.nbytes)
            self._target = target[taken:]
            count -= taken
        self._end += count

    def take(self) -> bytes | Message | None:
        """Return the next message with its size in bytes, or the next control part, or None.

        Raises:
            ProtocolViolation: this is no message.
        """
        if self._first:
            return self._rest()
        begin = self._begin + LENGTH_BYTES
        if begin > self._end:
            self._wait()
            return None
        length = int.from_bytes(self._view[self._begin : begin], "little")
        if not length or length > _BUFFER_BYTES - LENGTH_BYTES:
            raise ProtocolViolation(f"a first part of {length} bytes")
        end = begin + length
        if end > self._end:
            self._wait()
            return None
        self._begin = end
        first = bytes(self._view[begin:end])
        if first[0] == wire.ONE and length < 2048:
            return [first[1:]], length + wire.ONE_COST
        if first[0] > wire.SEVERAL:
            return first
        self._lengths = wire.apart_lengths(first)
        if not self._lengths:
            return self._message(first, ())
        self._first = first
        self._open_next()
        return self._rest()

    def _rest(self) -> Message | None:
        """Fill the large frames from what has come already."""
        while (target := self._target) is not None:
            count = min(target.nbytes, self._end - self._begin)
            if count:
                target[:count] = self._view[self._begin : self._begin + count]
                self._begin += count
                self._target = target = target[count:]
            if target.nbytes:
                self._wait()
                return None
            self._open_next()
        first, self._first = self._first, b""
        apart, self._apart = self._apart, []
        return self._message(first, apart)

    def _open_next(self) -> None:
        """Make room for the next large frame, if there is one."""
        if len(self._apart) == len(self._lengths):
            self._target = None
            return
        size = self._lengths[len(self._apart)]
        view = self._memory(size)
        self._apart.append(view.toreadonly())
        self._target = view

    def _memory(self, size: int) -> memoryview:
        """Return memory for a frame: fresh pages cost as much as the copy into them."""
        if size > CHUNK_BYTES or size < CHUNK_BYTES // 8:
            return memoryview(bytearray(size))
        for buffer in self._spare:
            if sys.getrefcount(buffer) == _UNUSED:
                return memoryview(buffer)[:size]
        buffer = bytearray(CHUNK_BYTES)
        if len(self._spare) < _SPARE:
            self._spare.append(buffer)
        return memoryview(buffer)[:size]

    def _message(self, first: bytes, apart: Sequence[memoryview]) -> Message:
        message = wire.unpack(first, apart)
        return message, wire.message_size(message)

    def _wait(self) -> None:
        """Say where the next bytes go."""
        begin, end = self._begin, self._end
        if begin == end:
            self._begin = self._end = 0
        elif begin:
            # What is left is the beginning of a first part: short, most often.
            self._view[: end - begin] = bytes(self._view[begin:end])
            self._begin, self._end = 0, end - begin
        tail = self._view[self._end :] if self._end else self._view
        self.room = [tail] if self._target is None else [self._target, tail]


class Outflow:
    """What is to be sent and the socket has not taken."""

    def __init__(self) -> None:
        self.parts: list[Frame] = []
        self._own = True

    def __bool__(self) -> bool:
        return bool(self.parts)

    def put(self, parts: Sequence[Frame]) -> None:
        """Append parts of the caller's memory."""
        self.parts += parts
        self._own = False

    def sent(self, count: int) -> None:
        """Forget bytes that the socket has taken."""
        parts = self.parts
        done = 0
        while done < len(parts):
            size = len(parts[done])
            if count < size:
                break
            count -= size
            done += 1
        del parts[:done]
        if count:
            parts[0] = memoryview(parts[0])[count:]

    def keep(self) -> None:
        """Copy what is the caller's memory: he may use it again."""
        if not self._own:
            self.parts = [part if type(part) is bytes else bytes(part) for part in self.parts]
            self._own = True
