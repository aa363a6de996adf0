"""Who leads, and that nothing is told before it is written: brokers on a store that has faults."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeAlias

import pytest
from tests.unit.faulty_store import FAST, FaultyStore

from cupool.pool_server.broker import changes as c
from cupool.pool_server.broker.books import Books
from cupool.pool_server.broker.model import Quota
from cupool.pool_server.broker.store.base import Leader, Store, StoreError, Term
from cupool.pool_server.broker.store.election import Election
from cupool.pool_server.broker.store.journal import Journal
from cupool.pool_server.broker.store.memory import Memory, MemoryStore
from cupool.pool_server.broker.store.rows import rows_of

Drive: TypeAlias = Callable[[Coroutine[Any, Any, None]], None]


class Broker:
    """Records what an election tells it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.books: Books | None = None
        self.journal: Journal | None = None
        self.epoch = 0
        self.leader: Leader | None = None
        self.why = ""
        self.trouble = ""
        self.changed = asyncio.Event()

    def lead(self, books: Books, epoch: int, journal: Journal) -> None:
        self.books, self.epoch, self.journal = books, epoch, journal
        self._notify()

    def follow(self, leader: Leader | None, why: str) -> None:
        self.journal, self.leader, self.why = None, leader, why
        self._notify()

    def store_trouble(self, why: str) -> None:
        self.trouble = why
        self._notify()

    def _notify(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()

    async def until(self, condition: Callable[[], object]) -> None:
        while not condition():
            await self.changed.wait()

    async def leads(self) -> None:
        await self.until(lambda: self.journal is not None)

    def write(self, change: c.Change, told: list[str], what: str) -> None:
        assert self.books is not None and self.journal is not None
        self.books.apply(change)
        self.journal.submit(rows_of([change], self.books), lambda: told.append(what))


@contextlib.asynccontextmanager
async def electing(parts: Iterable[tuple[Store, Broker]]) -> Any:
    tasks = [
        asyncio.ensure_future(Election(s, b, b.name, f"grpc://{b.name}", FAST).run())
        for s, b in parts
    ]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        for done in await asyncio.gather(*tasks, return_exceptions=True):
            assert isinstance(done, asyncio.CancelledError), done


def quota(tenant: str) -> c.QuotaSet:
    return c.QuotaSet(Quota(tenant, 1000))


def test_a_follower_names_the_leader_and_takes_over_its_books(drive: Drive) -> None:
    async def main() -> None:
        memory = Memory()
        one, two = Broker("one"), Broker("two")
        told: list[str] = []
        async with electing([(MemoryStore(memory, FAST), one)]) as (first,):
            await one.leads()
            async with electing([(MemoryStore(memory, FAST), two)]):
                await two.until(lambda: two.leader)
                assert two.leader is not None and two.leader.address == "grpc://one"
                one.write(quota("a"), told, "a")
                assert one.journal is not None
                await one.journal.flushed()
                first.cancel()
                await two.leads()
                assert two.books is not None and set(two.books.quotas) == {"a"}
                assert two.epoch > one.epoch
                assert one.journal is None and told == ["a"]

    drive(main())


def test_a_leader_that_cannot_renew_steps_down_before_another_leads(drive: Drive) -> None:
    async def main() -> None:
        memory = Memory()
        one, two = Broker("one"), Broker("two")
        cut = FaultyStore(memory)
        both_led = []
        async with electing([(cut, one)]):
            await one.leads()
            async with electing([(MemoryStore(memory, FAST), two)]):
                lead = two.lead

                def leads(*given: Any) -> None:
                    both_led.append(one.journal is not None)
                    lead(*given)

                two.lead = leads  # type: ignore[method-assign]
                cut.away.set()
                await two.leads()
                assert both_led == [False]
                cut.away.clear()
                await one.until(lambda: one.leader)
                assert one.leader is not None and one.leader.address == "grpc://two"

    drive(main())


def test_a_term_that_ended_while_the_store_was_away_is_given_back(drive: Drive) -> None:
    async def main() -> None:
        one, store = Broker("one"), FaultyStore(Memory(), dataclasses.replace(FAST, lease_s=1e6))
        async with electing([(store, one)]):
            await one.leads()
            before = one.epoch
            store.away.set()
            await one.until(lambda: one.journal is None and "no route" in one.why)
            store.away.clear()
            await one.leads()  # the lease of the first term would be held for days
            assert one.epoch > before

    drive(main())


@pytest.mark.parametrize("fault", ["away", "hangs"])
def test_what_was_not_written_is_never_told(drive: Drive, fault: str) -> None:
    async def main() -> None:
        memory = Memory()
        one, store = Broker("one"), FaultyStore(memory)
        told: list[str] = []
        async with electing([(store, one)]):
            await one.leads()
            if fault == "away":
                store.away.set()
            else:
                store.hangs = True
            one.write(quota("lost"), told, "lost")
            await one.until(lambda: one.journal is None)
            assert told == [] and memory.rows == {}
            assert one.why
            store.away.clear()
            store.hangs = False
            await one.leads()
            one.write(quota("kept"), told, "kept")
            assert one.journal is not None
            await one.journal.flushed()
            assert told == ["kept"] and set(memory.rows) == {"quota/kept"}

    drive(main())


def test_a_store_that_is_full_is_reported_and_written_later(drive: Drive) -> None:
    async def main() -> None:
        memory = Memory()
        one, store = Broker("one"), FaultyStore(memory)
        told: list[str] = []
        async with electing([(store, one)]):
            await one.leads()
            store.full = "the disk is full"
            one.write(quota("a"), told, "a")
            assert one.journal is not None
            with pytest.raises(StoreError, match="the disk is full"):
                await one.journal.flushed()
            await one.until(lambda: one.trouble)
            assert one.trouble == "the disk is full" and one.journal.trouble and told == []
            store.full = ""
            await one.journal.flushed()
            assert one.journal.trouble == "" and told == ["a"]

    drive(main())


def test_news_come_in_order_and_share_commits(drive: Drive) -> None:
    async def main() -> None:
        memory = Memory()
        one, store = Broker("one"), FaultyStore(memory)
        told: list[str] = []
        async with electing([(store, one)]):
            await one.leads()
            assert one.journal is not None
            one.journal.submit({}, lambda: told.append("at once"))
            assert told == ["at once"]
            store.late.clear()
            one.write(quota("first"), told, "first")
            await asyncio.sleep(0)
            for n in range(20):
                one.write(quota(f"q{n}"), told, f"q{n}")
            one.journal.submit({}, lambda: told.append("behind"))
            assert told == ["at once"]
            store.late.set()
            await one.journal.flushed()
            assert told == ["at once", "first", *(f"q{n}" for n in range(20)), "behind"]
            assert one.journal.commits <= 2 and len(memory.rows) == 21

    drive(main())


def test_a_store_with_damaged_rows_is_not_led_on(drive: Drive) -> None:
    async def main() -> None:
        memory = Memory()
        memory.rows["lease/x"] = b"rubbish"
        one = Broker("one")
        async with electing([(MemoryStore(memory, FAST), one)]):
            await one.until(lambda: "lease/x" in one.why)
            assert one.books is None
            memory.rows.clear()
            await one.leads()

    drive(main())


def test_an_unforeseen_fault_ends_the_election_with_its_error(drive: Drive) -> None:
    class Broken(MemoryStore):
        async def renew(self, term: Term) -> None:
            raise ZeroDivisionError

    async def main() -> None:
        one = Broker("one")
        with pytest.raises(ZeroDivisionError):
            await Election(Broken(Memory(), FAST), one, "one", "grpc://one", FAST).run()
        assert one.journal is None

    drive(main())
