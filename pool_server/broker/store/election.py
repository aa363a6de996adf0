"""One broker's part in who leads: it follows until it wins, and leads until it cannot prove it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import Awaitable
from typing import Protocol, TypeVar

from cupool.pool_server.broker.books import Books
from cupool.pool_server.broker.store.base import (
    Leader,
    Store,
    StoreError,
    Superseded,
    Term,
    Timings,
    elapsed,
)
from cupool.pool_server.broker.store.journal import Journal
from cupool.pool_server.broker.store.rows import books_of

log = logging.getLogger("cupool.broker.store")

_T = TypeVar("_T")
_RETRY_S = 0.25


class Led(Protocol):
    """What an election tells the broker. Neither call may wait."""

    def lead(self, books: Books, epoch: int, journal: Journal) -> None:
        """Serve from now on, with what an earlier leader left."""

    def follow(self, leader: Leader | None, why: str) -> None:
        """Serve nobody: another broker leads, or none, and why this one does not."""

    def store_trouble(self, why: str) -> None:
        """Nothing could be written for a while; those who wait for a grant should know."""


class Election:
    """Campaigns for one broker, for ever.

    Args:
        holder: an identity that no other broker has.
        address: where clients and servers reach this broker.
    """

    def __init__(
        self,
        store: Store,
        broker: Led,
        holder: str,
        address: str,
        timings: Timings | None = None,
    ) -> None:
        self._store = store
        self._broker = broker
        self._holder = holder
        self._address = address
        self._timings = timings or Timings()
        self._renewed_at = 0.0
        self._over: Term | None = None

    async def run(self) -> None:
        """Follow and lead in turn until cancelled; a leader that is cancelled resigns."""
        why = "it has just started"
        while True:
            self._broker.follow(None, why)
            term = await self._win()
            try:
                rows = await self._call(self._store.load(term), self._timings.step_down_s)
                books = books_of(rows)
            except (StoreError, Superseded) as exc:
                why = str(exc)
                log.error("cannot lead", extra={"why": why})
                self._broker.follow(None, why)
                await self._resign(term)
                await asyncio.sleep(self._timings.renew_s)
                continue
            why = await self._lead(term, books)

    async def _call(self, call: Awaitable[_T], within_s: float) -> _T:
        try:
            async with asyncio.timeout(max(0.001, within_s)):
                return await call
        except TimeoutError:
            raise StoreError(f"the store has not answered within {within_s:g} s") from None

    # ------------------------------------------------------------ following

    async def _win(self) -> Term:
        timings = self._timings
        while True:
            started_at = elapsed()
            try:
                campaign = self._store.campaign(self._holder, self._address)
                term = await self._call(campaign, timings.call_s)
                if term is not None:
                    self._renewed_at = started_at
                    return term
                leader = await self._call(self._store.leader(), timings.call_s)
                if leader is not None and leader.holder == self._holder and self._over:
                    # The store was away when this broker stepped down: it still waits for it.
                    await self._resign(self._over)
                    continue
                self._broker.follow(leader, "" if leader else "an election is under way")
                # A watch may be deaf: who leads is looked up now and then in any case.
                vacancy = self._store.vacancy(leader, timings.renew_s)
                await self._call(vacancy, timings.renew_s + 2 * timings.call_s)
            except StoreError as exc:
                self._broker.follow(None, str(exc))
                await asyncio.sleep(_RETRY_S * random.uniform(0.5, 1.0))

    # ------------------------------------------------------------ leading

    def _holds(self) -> bool:
        return elapsed() - self._renewed_at < self._timings.step_down_s

    async def _lead(self, term: Term, books: Books) -> str:
        """Lead until the term is over; returns why it is."""
        log.info("leads", extra={"epoch": term.epoch, "leases": len(books.leases)})
        journal = Journal(self._store, term, self._timings, self._holds, self._broker.store_trouble)
        self._broker.lead(books, term.epoch, journal)
        tasks = [asyncio.ensure_future(self._keep(term)), asyncio.ensure_future(journal.run())]
        why = "it was stopped"
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()  # it never returns
        except Superseded as exc:
            why = str(exc)
        finally:
            for task in tasks:
                task.cancel()
            self._broker.follow(None, why)
            log.warning("leads no more", extra={"epoch": term.epoch, "why": why})
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._resign(term)
        return why

    async def _keep(self, term: Term) -> None:
        """Renew the lease.

        Raises:
            Superseded: the term is over, or could not be renewed for too long.
        """
        timings = self._timings
        while True:
            started_at = elapsed()
            left_s = self._renewed_at + timings.step_down_s - started_at
            try:
                await self._call(self._store.renew(term), min(timings.call_s, left_s))
            except StoreError as exc:
                if not self._holds():
                    raise Superseded(
                        f"its lease could not be renewed for {timings.step_down_s:g} s: {exc}"
                    ) from None
                await asyncio.sleep(min(_RETRY_S, max(0.0, left_s)))
                continue
            self._renewed_at = started_at
            await asyncio.sleep(timings.renew_s)

    async def _resign(self, term: Term) -> None:
        self._over = term
        with contextlib.suppress(StoreError, Superseded):
            await self._call(self._store.resign(term), self._timings.call_s)
            self._over = None
