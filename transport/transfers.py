"""Bulk payloads in chunks: who may send the next one, and where it goes. No I/O in here.

The receiver of a transfer knows its size from the message that announced it. `CHUNK_CREDITS`
chunks may travel unasked; each chunk that has reached its place earns the sender another, so
that at most so many lie in buffers between the two, whatever the payload's size.

    sender                                        receiver
    Outgoing(7, data) ── Chunk(7, offset), bytes ──► Incoming(7, destination).accept(...)
    .credit(1)        ◄── Credit(7, 1) ───────────── what `accept` returned, if not 0
"""

from __future__ import annotations

from collections.abc import Iterator

from cupool.errors import ProtocolViolation
from cupool.proto.messages import CHUNK_BYTES, CHUNK_CREDITS, Chunk, Frame, encode


class Outgoing:
    """The sender's side of one transfer.

    Args:
        transfer: the number by which both sides know it.
        buffer: the payload; C-contiguous, unchanged until `done`.
    """

    def __init__(self, transfer: int, buffer: Frame, chunk_bytes: int = CHUNK_BYTES) -> None:
        self.transfer = transfer
        self._data = _flat(memoryview(buffer))
        self._chunk_bytes = chunk_bytes
        self._offset = 0
        self._credits = CHUNK_CREDITS

    @property
    def done(self) -> bool:
        """Whether the last chunk was handed out. An empty payload has no chunks."""
        return self._offset >= self._data.nbytes

    def chunks(self) -> Iterator[tuple[bytes, memoryview]]:
        """Yield messages to send, each of two frames, while there is credit."""
        while self._credits and not self.done:
            start = self._offset
            part = self._data[start : start + self._chunk_bytes]
            # Counted before it is handed out: a send that was interrupted may have happened.
            self._offset += part.nbytes
            self._credits -= 1
            yield encode(Chunk(self.transfer, start)), part

    def credit(self, chunks: int) -> None:
        """Take the receiver's permission for more chunks.

        Raises:
            ProtocolViolation: not a positive number, or more than can be on their way.
        """
        if chunks <= 0 or self._credits + chunks > CHUNK_CREDITS:
            raise ProtocolViolation(
                f"transfer {self.transfer}: a credit of {chunks} chunks on top of {self._credits}, "
                f"the limit is {CHUNK_CREDITS}"
            )
        self._credits += chunks


class Incoming:
    """The receiver's side of one transfer; chunks are copied straight into their place.

    Args:
        transfer: the number by which both sides know it.
        destination: writable and C-contiguous, of the payload's exact size.
    """

    def __init__(self, transfer: int, destination: Frame) -> None:
        view = memoryview(destination)
        if view.readonly:
            raise ValueError("the destination of a transfer must be writable")
        self.transfer = transfer
        self._data = _flat(view)
        self._offset = 0

    @property
    def done(self) -> bool:
        """Whether every byte has arrived."""
        return self._offset == self._data.nbytes

    @property
    def received_bytes(self) -> int:
        """How much has arrived."""
        return self._offset

    def accept(self, offset: int, payload: Frame) -> int:
        """Put a chunk in its place and return how many chunks to give as credit: 0 or 1.

        Raises:
            ProtocolViolation: out of order, empty, too large, or past the end.
        """
        size = memoryview(payload).nbytes
        end = offset + size
        if offset != self._offset or not 0 < size <= CHUNK_BYTES or end > self._data.nbytes:
            raise ProtocolViolation(
                f"transfer {self.transfer}: a chunk of {size} bytes at {offset}; "
                f"{self._offset} of {self._data.nbytes} bytes have arrived"
            )
        self._data[offset:end] = payload
        self._offset = end
        # The last chunks need no credit: nothing follows that could use it.
        left = self._data.nbytes - end
        return 1 if left > 0 else 0


def _flat(view: memoryview) -> memoryview:
    # An empty array's view cannot be cast.
    return view.cast("B") if view.nbytes else memoryview(bytearray())
