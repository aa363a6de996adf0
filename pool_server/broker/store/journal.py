"""What a leading broker decides, made durable before anybody hears of it.

Decisions come with the rows that they change and are passed on, in order, once these are written.
While one commit is on its way the next rows gather, so that many grants share one.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable

from cupool.pool_server.broker.store.base import (
    Store,
    StoreError,
    Superseded,
    Term,
    Timings,
    Writes,
    elapsed,
)

log = logging.getLogger("cupool.broker.store")

_RETRY_S = 0.2


class Journal:
    """The rows of one term on their way to the store.

    Args:
        valid: whether the term still holds; asked before decisions are passed on.
        on_trouble: called once when nothing could be written for `step_down_s`.

    Attributes:
        trouble: why the store cannot be written at the moment, "" = it can.
    """

    def __init__(
        self,
        store: Store,
        term: Term,
        timings: Timings,
        valid: Callable[[], bool],
        on_trouble: Callable[[str], None] = lambda why: None,
    ) -> None:
        self._store = store
        self._term = term
        self._timings = timings
        self._valid = valid
        self._on_trouble = on_trouble
        self._waiting: deque[tuple[Writes, Callable[[], None]]] = deque()
        self._wake = asyncio.Event()
        self._writing = False
        self._ill_since = 0.0
        self._told = False
        self.trouble = ""
        self.commits = 0

    def submit(self, writes: Writes, then: Callable[[], None]) -> None:
        """Call `then` once `writes`, and all that was submitted before, are durable."""
        if not writes and not self._waiting and not self._writing and self._valid():
            then()
            return
        self._waiting.append((writes, then))
        self._wake.set()

    async def flushed(self) -> None:
        """Return when all that was submitted is durable.

        Raises:
            StoreError: the store has not taken it within `step_down_s`; it may yet.
        """
        future = asyncio.get_running_loop().create_future()
        self.submit({}, lambda: None if future.done() else future.set_result(None))
        try:
            async with asyncio.timeout(self._timings.step_down_s):
                await future
        except TimeoutError:
            raise StoreError(self.trouble or "it takes too long") from None

    async def run(self) -> None:
        """Write until cancelled.

        Raises:
            Superseded: the term is over; what was not written is forgotten.
        """
        while True:
            self._wake.clear()
            if not self._waiting:
                await self._wake.wait()
            self._writing = True
            batch, rows = self._next_batch()
            if rows:
                await self._write(rows)
                self.commits += 1
            if not self._valid():
                raise Superseded("the lease was not renewed in time")
            self._writing = False
            for then in batch:
                then()

    def _next_batch(self) -> tuple[list[Callable[[], None]], Writes]:
        """Take what fits into one transaction, or one submission that does not."""
        rows: dict[str, bytes | None] = {}
        batch: list[Callable[[], None]] = []
        while self._waiting:
            writes, then = self._waiting[0]
            if batch and len(rows) + len(writes) > self._store.most_rows:
                break
            self._waiting.popleft()
            rows.update(writes)
            batch.append(then)
        return batch, rows

    async def _write(self, rows: Writes) -> None:
        while True:
            commit = asyncio.ensure_future(self._store.commit(self._term, rows))
            try:
                done, _ = await asyncio.wait({commit}, timeout=self._timings.call_s)
                while not done:
                    self._ill(f"it has not answered for {self._timings.call_s:g} s")
                    done, _ = await asyncio.wait({commit}, timeout=self._timings.call_s)
                await commit
            except StoreError as exc:
                self._ill(str(exc))
                await asyncio.sleep(_RETRY_S)
                continue
            finally:
                commit.cancel()
            if self.trouble:
                log.info("the store takes writes again")
            self.trouble, self._told = "", False
            return

    def _ill(self, why: str) -> None:
        if not self.trouble:
            self._ill_since = elapsed()
            log.error("the store cannot be written", extra={"why": why})
        self.trouble = why
        if not self._told and elapsed() - self._ill_since >= self._timings.step_down_s:
            self._told = True
            self._on_trouble(why)
