"""A store for tests whose faults are switched on and off."""

from __future__ import annotations

import asyncio

from cupool.pool_server.broker.store.base import Leader, StoreError, Term, Timings, Writes
from cupool.pool_server.broker.store.memory import Memory, MemoryStore

FAST = Timings(lease_s=2.0, renew_s=0.2, step_down_s=1.2, call_s=0.5)


class FaultyStore(MemoryStore):
    """A store that can be cut off, hang, or refuse to write."""

    def __init__(self, memory: Memory, timings: Timings = FAST) -> None:
        super().__init__(memory, timings)
        self.away = asyncio.Event()
        self.hangs = False
        self.full = ""
        self.late = asyncio.Event()
        self.late.set()

    async def _reach(self) -> None:
        if self.hangs:
            await asyncio.Event().wait()
        if self.away.is_set():
            raise StoreError("no route to the store")

    async def campaign(self, holder: str, address: str) -> Term | None:
        await self._reach()
        return await super().campaign(holder, address)

    async def leader(self) -> Leader | None:
        await self._reach()
        return await super().leader()

    async def renew(self, term: Term) -> None:
        await self._reach()
        await super().renew(term)

    async def resign(self, term: Term) -> None:
        await self._reach()
        await super().resign(term)

    async def commit(self, term: Term, writes: Writes) -> None:
        await self._reach()
        await self.late.wait()
        if self.full:
            raise StoreError(self.full)
        await super().commit(term, writes)
