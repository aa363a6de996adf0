"""What has to be looked at when: a heap of times, checked when they come."""

from __future__ import annotations

import heapq
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["server", "request", "opening", "lease", "line"]

_RECURRING = ("server", "line")
"""Who finds these early sets them again: one that is pending is enough."""


class Timers:
    """Times at which something may be due. A timer is not cancelled: who finds, when it comes,
    that it is early or about something that is gone, sets another or none."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Kind, str | int]] = []
        self._pending: dict[tuple[Kind, str | int], float] = {}
        self._count = 0

    def __len__(self) -> int:
        return len(self._heap)

    def set(self, at: float, kind: Kind, key: str | int) -> None:
        if kind in _RECURRING:
            if self._pending.get((kind, key), at + 1.0) <= at:
                return
            self._pending[kind, key] = at
        self._count += 1
        heapq.heappush(self._heap, (at, self._count, kind, key))

    def due(self, now: float) -> list[tuple[Kind, str | int]]:
        """Take off and return what was set for `now` or before."""
        found: list[tuple[Kind, str | int]] = []
        while self._heap and self._heap[0][0] <= now:
            at, _, kind, key = heapq.heappop(self._heap)
            if self._pending.get((kind, key)) == at:
                del self._pending[kind, key]
            found.append((kind, key))
        return found

    @property
    def next(self) -> float | None:
        return self._heap[0][0] if self._heap else None
