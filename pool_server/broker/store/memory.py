"""A store in this process: what several brokers of one test share. It outlives none of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from cupool.pool_server.broker.store.base import (
    Leader,
    Store,
    Superseded,
    Term,
    Timings,
    Writes,
    elapsed,
    next_epoch,
)


class Memory:
    """Rows and leader that every `MemoryStore` of it sees."""

    def __init__(self, clock: Callable[[], float] = elapsed) -> None:
        self.rows: dict[str, bytes] = {}
        self.clock = clock
        self.epoch = 0
        self._leader: Leader | None = None
        self._expires_at = 0.0
        self.changed = asyncio.Event()

    @property
    def leader(self) -> Leader | None:
        return self._leader if self.clock() < self._expires_at else None

    @property
    def time_left_s(self) -> float:
        return max(0.0, self._expires_at - self.clock())

    def lead(self, leader: Leader | None, lease_s: float) -> None:
        """Write down who leads, and until when."""
        if leader != self._leader:
            self.changed.set()
            self.changed = asyncio.Event()
        self._leader, self._expires_at = leader, self.clock() + lease_s


class MemoryStore(Store):
    """One broker's access to a `Memory`."""

    def __init__(self, memory: Memory, timings: Timings | None = None) -> None:
        self._memory = memory
        self._timings = timings or Timings()

    async def campaign(self, holder: str, address: str) -> Term | None:
        memory = self._memory
        if memory.leader is not None:
            return None
        memory.epoch = next_epoch(memory.epoch)
        memory.lead(Leader(holder, address, memory.epoch), self._timings.lease_s)
        return Term(memory.epoch)

    async def leader(self) -> Leader | None:
        return self._memory.leader

    async def vacancy(self, known: Leader | None, timeout_s: float) -> None:
        if self._memory.leader != known:
            return
        left_s = min(timeout_s, self._memory.time_left_s) if known is not None else timeout_s
        try:
            async with asyncio.timeout(left_s):
                await self._memory.changed.wait()
        except TimeoutError:
            pass

    def _check(self, term: Term) -> Leader:
        leader = self._memory.leader
        if leader is None or leader.epoch != term.epoch:
            raise Superseded("the term is over" if leader is None else f"{leader.address} leads")
        return leader

    async def renew(self, term: Term) -> None:
        self._memory.lead(self._check(term), self._timings.lease_s)

    async def resign(self, term: Term) -> None:
        leader = self._memory.leader
        if leader is not None and leader.epoch == term.epoch:
            self._memory.lead(None, 0.0)

    async def load(self, term: Term) -> dict[str, bytes]:
        self._check(term)
        return dict(self._memory.rows)

    async def commit(self, term: Term, writes: Writes) -> None:
        self._check(term)
        for key, value in writes.items():
            if value is None:
                self._memory.rows.pop(key, None)
            else:
                self._memory.rows[key] = value
