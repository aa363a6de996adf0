"""Subjects: carriers without cupool. Ping-pong of 64 bytes, and a stream of 1 MB chunks.

    python -m benchmarks.bare serve KIND          prints its address
    python -m benchmarks.bare client KIND ADDRESS

The server end is as bare as the client's: Python, blocking, one loop. ZeroMQ streams run under a
credit of four chunks, as cupool's do; TCP and HTTP/2 have flow control of their own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from benchmarks.children import answer, timed

Array: TypeAlias = "np.ndarray[Any, Any]"

CHUNK_BYTES = 1 << 20
CREDITS = 4
PING = b"p" * 64
KINDS = ("tcp", "zmq+ipc", "zmq+tcp", "grpc")
"""Raw TCP socket; DEALER/ROUTER over a Unix socket and TCP; a bidirectional stream of raw bytes."""


class Fill:
    """Puts chunks where they belong, as both ends of every carrier must."""

    def __init__(self, size_bytes: int, into: Array | None) -> None:
        target: Array = np.empty(size_bytes, np.uint8) if into is None else into
        self._view = target.data
        self._offset = 0

    @property
    def left(self) -> int:
        """Return how many bytes are still to come."""
        return self._view.nbytes - self._offset

    def place(self, chunk: bytes | memoryview) -> None:
        """Copy a chunk to its place."""
        end = self._offset + len(chunk)
        self._view[self._offset : end] = chunk
        self._offset = end

    def room(self) -> memoryview:
        """Return where the next chunk goes, for a carrier that can write there itself."""
        return self._view[self._offset : self._offset + CHUNK_BYTES]

    def advance(self, size_bytes: int) -> None:
        """Count what was written to `room`."""
        self._offset += size_bytes


class Store:
    """Memory of one end: what it sends, and memory that is used again and again."""

    def __init__(self) -> None:
        self._old: dict[int, Array] = {}

    def old(self, size_bytes: int) -> Array:
        """Return memory that exists already."""
        if size_bytes not in self._old:
            self._old[size_bytes] = np.ones(size_bytes, np.uint8)
        return self._old[size_bytes]

    def target(self, size_bytes: int, new: bool) -> Fill:
        """Return what a stream fills."""
        return Fill(size_bytes, None if new else self.old(size_bytes))

    def chunks(self, size_bytes: int) -> list[memoryview]:
        """Return what a stream sends, in pieces."""
        view = self.old(size_bytes).data
        return [view[i : i + CHUNK_BYTES] for i in range(0, size_bytes, CHUNK_BYTES)]


def request(kind: str, size_bytes: int, new: bool = False) -> bytes:
    """Write what the client asks of the server: b"u" takes a stream, b"d" sends one."""
    return f"{kind}{int(new)}{size_bytes}".encode()


def requested(head: bytes) -> tuple[str, bool, int]:
    """Read it."""
    return chr(head[0]), head[1:2] == b"1", int(head[2:])


def measure(
    ping: Callable[[], object], up: Callable[[int, bool], object], down: Callable[[Fill], object]
) -> None:
    """Answer the benchmark's questions with a carrier's three moves."""
    store = Store()

    def awaited(count: int) -> list[float]:
        return [timed(ping) for _ in range(count)]

    def bulk(size_bytes: int) -> dict[str, float]:
        return {
            "up": timed(lambda: up(size_bytes, True)),
            "up_in_place": timed(lambda: up(size_bytes, False)),
            "down_in_place": timed(lambda: down(store.target(size_bytes, new=False))),
            "down": timed(lambda: down(store.target(size_bytes, new=True))),
        }

    answer({"awaited": awaited, "bulk": bulk})


def main() -> None:
    """Be one end of one carrier."""
    role, kind = sys.argv[1:3]
    if kind == "tcp":
        from benchmarks import bare_tcp as ends
    elif kind == "grpc":
        from benchmarks import bare_grpc as ends  # type: ignore[no-redef]
    else:
        from benchmarks import bare_zeromq as ends  # type: ignore[no-redef]
    if role == "serve":
        ends.serve(kind)
    else:
        ends.client(sys.argv[3])


if __name__ == "__main__":
    main()
