"""What the threads around one ZeroMQ socket share: their peers, their buffers."""

from __future__ import annotations

import collections

import zmq

from cupool.proto.messages import CHUNK_BYTES, Frame
from cupool.transport import frames as wire
from cupool.transport.channel import Frames
from cupool.transport.sleeper import Sleeper

_STAGES = 16


class Peer:
    """One peer as the socket sees it: its windows, its inbox, and how it ended."""

    __slots__ = ("closed", "descriptor", "end", "inbox", "incoming", "key", "lost", "outgoing",
                 "reader", "refused", "told", "url", "writer")  # fmt: skip

    def __init__(self, key: bytes, url: str, reader: Sleeper, writer: Sleeper) -> None:
        self.key = key
        self.url = url
        self.inbox: collections.deque[tuple[Frames, int]] = collections.deque()
        self.incoming = wire.ReceiveWindow()
        self.outgoing = wire.SendWindow()
        self.reader = reader
        self.writer = writer
        self.end: Exception | None = None
        self.closed = False  # by this side's application
        self.lost = False  # the connection is gone; what had come before it may still be read
        self.refused = False  # nothing more is taken from it, not even what already came
        self.told = False  # the application knows the end
        self.descriptor = -1

    @property
    def ready(self) -> bool:
        """Whether a receive would have something to say."""
        return bool(self.inbox) or (self.end is not None and not self.told and not self.closed)

    def finish(self, error: Exception, refuse: bool = False) -> None:
        """Note the first reason why nothing more comes, and wake who waits."""
        if self.end is None:
            self.end = error
        self.refused = self.refused or refuse
        self.reader.wake()
        self.writer.wake()


class Stages:
    """Buffers that large frames are copied into, for ZeroMQ to send from without another copy.

    The caller's memory is free again at once, and nothing waits for ZeroMQ: a send that was
    taken cannot be taken back, so waiting afterwards could neither time out nor be interrupted.
    """

    def __init__(self) -> None:
        self._free: list[bytearray] = []
        self._busy: collections.deque[tuple[zmq.MessageTracker, bytearray]] = collections.deque()

    def copy(self, frame: Frame) -> tuple[Frame, bytearray | None]:
        """Return a copy of the frame and the buffer it lies in, if it is one of ours."""
        busy = self._busy
        while busy and busy[0][0].done:
            self._free.append(busy.popleft()[1])
        size = len(frame)
        if size > CHUNK_BYTES or (not self._free and len(busy) >= _STAGES):
            return bytes(frame), None
        buffer = self._free.pop() if self._free else bytearray(CHUNK_BYTES)
        view = memoryview(buffer)[:size]
        view[:] = frame
        return view, buffer

    def sent(self, tracker: zmq.MessageTracker, buffer: bytearray) -> None:
        """Take the buffer back when ZeroMQ is done with it."""
        self._busy.append((tracker, buffer))
