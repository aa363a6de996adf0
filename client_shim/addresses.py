"""Which array or allocation is at a device address, as far as addresses were handed out."""

from __future__ import annotations

import threading
import weakref
from bisect import bisect_right, insort
from typing import NamedTuple

from cupool.client_shim.handles import Handle


class Range(NamedTuple):
    """Bytes on the device.

    Attributes:
        kind: "device", "managed", "async", or "array" for memory that an array owns.
        handle: what they are a part of; for an array only as long as it lives.
    """

    start: int
    size_bytes: int
    kind: str
    handle: Handle | weakref.ref[Handle]

    def owner(self) -> Handle | None:
        """Return the handle, None if its array is gone."""
        return self.handle if isinstance(self.handle, Handle) else self.handle()


class AddressTable:
    """Ranges of one device, by address. An allocation stays until it is dropped."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ranges: dict[int, Range] = {}
        self._lock = threading.Lock()

    def add(self, start: int, size_bytes: int, kind: str, handle: Handle) -> None:
        """Note what lies at an address; what was known of these bytes is out of date."""
        kept = weakref.ref(handle) if kind == "array" else handle
        with self._lock:
            first = max(bisect_right(self._starts, start) - 1, 0)
            while first < len(self._starts) and self._starts[first] < start + size_bytes:
                known = self._ranges[self._starts[first]]
                if known.start + known.size_bytes > start:
                    del self._ranges[self._starts.pop(first)]
                else:
                    first += 1
            insort(self._starts, start)
            self._ranges[start] = Range(start, size_bytes, kind, kept)

    def find(self, address: int) -> Range | None:
        """Return the range in which an address lies, None if nothing known is there."""
        with self._lock:
            index = bisect_right(self._starts, address) - 1
            if index < 0:
                return None
            found = self._ranges[self._starts[index]]
            if address >= found.start + found.size_bytes or found.owner() is None:
                return None
            return found

    def drop(self, start: int) -> Range | None:
        """Forget the allocation that begins at an address and return it, None if there is none."""
        with self._lock:
            found = self._ranges.get(start)
            if found is None or found.kind == "array":
                return None
            self._starts.remove(start)
            return self._ranges.pop(start)

    def held_bytes(self, kind: str) -> int:
        """Return what allocations of a kind hold."""
        with self._lock:
            return sum(r.size_bytes for r in self._ranges.values() if r.kind == kind)
