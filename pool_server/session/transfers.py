"""Transfers as a session sees them, besides those of `transport.transfers`."""

from __future__ import annotations

from cupool.errors import ProtocolViolation
from cupool.proto.messages import CHUNK_CREDITS, Chunk, Frame

EARLY_CHUNKS = 16 * CHUNK_CREDITS
"""Chunks that may come before the records that name their transfers are reached."""


class Discarded:
    """A transfer that nobody can use, because its record failed: chunks are only counted."""

    def __init__(self, transfer: int, size_bytes: int) -> None:
        self.transfer = transfer
        self._left = size_bytes

    @property
    def done(self) -> bool:
        return self._left == 0

    def accept(self, offset: int, payload: Frame) -> int:
        """Count a chunk and return how many chunks to give as credit: 0 or 1."""
        size = memoryview(payload).nbytes
        if not 0 < size <= self._left:
            raise ProtocolViolation(f"transfer {self.transfer}: a chunk of {size} bytes too many")
        self._left -= size
        return 1 if self._left else 0


class Early:
    """Chunks whose record has not been reached yet; bounded."""

    def __init__(self) -> None:
        self._chunks: dict[int, list[tuple[int, Frame]]] = {}
        self._count = 0

    def put(self, chunk: Chunk, payload: Frame) -> None:
        """Keep a chunk.

        Raises:
            ProtocolViolation: more came than credit allows.
        """
        self._count += 1
        if self._count > EARLY_CHUNKS:
            raise ProtocolViolation("chunks came of transfers that no record names")
        self._chunks.setdefault(chunk.transfer, []).append((chunk.offset, payload))

    def take(self, transfer: int) -> list[tuple[int, Frame]]:
        """Return and forget the chunks of a transfer."""
        chunks = self._chunks.pop(transfer, [])
        self._count -= len(chunks)
        return chunks

    def clear(self) -> None:
        self._chunks.clear()
        self._count = 0
