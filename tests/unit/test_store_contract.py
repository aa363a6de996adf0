"""What every store promises: one term at a time, and rows that only its leader writes."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest
from benchmarks.etcd_cluster import MISSING, Cluster, cluster
from tests.unit.store_kinds import KINDS, PATIENT, Opener, stores

from cupool.pool_server.broker.store.base import Store, Superseded, Term, Timings, elapsed

Drive: TypeAlias = Callable[[Callable[[Opener], Awaitable[None]]], None]
SHORT = Timings(lease_s=2.0, renew_s=0.1, step_down_s=1.0)
LONG_S = 20.0


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[int], Cluster]]:
    """Start etcd clusters by their size when they are first asked for."""
    with contextlib.ExitStack() as stack:

        @functools.cache
        def of(members: int) -> Cluster:
            return stack.enter_context(cluster(tmp_path_factory.mktemp("etcd"), members))

        yield of


@pytest.fixture(params=KINDS)
def drive(
    request: pytest.FixtureRequest, tmp_path: Path, clusters: Callable[[int], Cluster]
) -> Drive:
    """Run a test's coroutine on a kind of store."""
    kind: str = request.param
    endpoints = None
    if kind.startswith("etcd"):
        if MISSING:
            pytest.skip(MISSING)
        endpoints = clusters(3 if kind.endswith("three") else 1).endpoints

    def run(test: Callable[[Opener], Awaitable[None]]) -> None:
        async def main() -> None:
            async with stores(kind, tmp_path, endpoints) as another:
                await test(another)

        asyncio.run(main())

    return run


async def won(store: Store, holder: str = "me") -> Term:
    term = await store.campaign(holder, f"grpc://{holder}")
    assert term is not None
    return term


def test_one_broker_leads_and_the_others_see_who(drive: Drive) -> None:
    async def test(another: Opener) -> None:
        one, two = another(PATIENT), another(PATIENT)
        assert await one.leader() is None
        term = await won(one, "one")
        assert await two.campaign("two", "grpc://two") is None
        leader = await two.leader()
        assert leader is not None
        assert (leader.holder, leader.address) == ("one", "grpc://one")
        assert leader.epoch == term.epoch

    drive(test)


def test_rows_come_back_as_they_were_written_last(drive: Drive) -> None:
    async def test(another: Opener) -> None:
        store = another(PATIENT)
        term = await won(store)
        assert await store.load(term) == {}
        await store.commit(term, {"a": b"1", "b/ü": b"\x00\xff", "c": b"3"})
        await store.commit(term, {"a": b"2", "c": None, "never": None})
        await store.commit(term, {})
        assert await store.load(term) == {"a": b"2", "b/ü": b"\x00\xff"}

    drive(test)


def test_the_next_leader_finds_the_rows_and_has_a_higher_epoch(drive: Drive) -> None:
    async def test(another: Opener) -> None:
        one, two = another(PATIENT), another(PATIENT)
        first = await won(one)
        await one.commit(first, {"a": b"1"})
        await one.resign(first)
        second = await won(two)
        assert second.epoch > first.epoch
        assert await two.load(second) == {"a": b"1"}

    drive(test)


def test_who_was_superseded_can_neither_write_nor_read_nor_renew(drive: Drive) -> None:
    async def test(another: Opener) -> None:
        one, two = another(PATIENT), another(PATIENT)
        first = await won(one)
        await one.resign(first)
        second = await won(two)
        for attempt in (one.renew(first), one.commit(first, {"a": b"x"}), one.load(first)):
            with pytest.raises(Superseded):
                await attempt
        await one.resign(first)  # says nothing to the one who leads
        await two.renew(second)
        assert await two.load(second) == {}

    drive(test)


def test_the_lease_of_a_silent_leader_ends(drive: Drive) -> None:
    async def test(another: Opener) -> None:
        one, two = another(SHORT), another(SHORT)
        first = await won(one, "one")
        known = await two.leader()
        end = elapsed() + LONG_S
        second = None
        while second is None and elapsed() < end:
            await two.vacancy(known, LONG_S)
            second = await two.campaign("two", "grpc://two")
        assert second is not None and second.epoch > first.epoch
        with pytest.raises(Superseded):
            await one.commit(first, {"a": b"late"})
        assert await two.load(second) == {}

    drive(test)


def test_a_lease_that_is_renewed_does_not_end(drive: Drive) -> None:
    async def test(another: Opener) -> None:
        one, two = another(SHORT), another(SHORT)
        term = await won(one)
        known = await two.leader()
        waiting = asyncio.ensure_future(two.vacancy(known, 1.5 * SHORT.lease_s))
        while not waiting.done():
            await one.renew(term)
            await asyncio.wait({waiting}, timeout=SHORT.renew_s)
        assert await two.campaign("two", "grpc://two") is None
        await one.commit(term, {"a": b"1"})

    drive(test)


def test_followers_learn_at_once_that_a_leader_resigned(drive: Drive) -> None:
    async def test(another: Opener) -> None:
        one, two = another(PATIENT), another(PATIENT)
        term = await won(one)
        known = await two.leader()
        waiting = asyncio.ensure_future(two.vacancy(known, 600.0))
        await asyncio.sleep(0)
        await one.resign(term)
        await asyncio.wait_for(waiting, LONG_S)

    drive(test)


def test_of_many_who_campaign_at_once_one_wins(drive: Drive) -> None:
    async def test(another: Opener) -> None:
        brokers = [another(PATIENT) for _ in range(5)]
        terms = await asyncio.gather(
            *(each.campaign(f"b{n}", f"grpc://b{n}") for n, each in enumerate(brokers))
        )
        assert len([term for term in terms if term is not None]) == 1

    drive(test)


def test_many_rows_in_one_commit(drive: Drive) -> None:
    async def test(another: Opener) -> None:
        store = another(PATIENT)
        term = await won(store)
        rows = {f"lease/{n}": b"x" * 100 for n in range(1500)}
        await store.commit(term, dict(rows))
        assert await store.load(term) == rows
        await store.commit(term, dict.fromkeys(rows))
        assert await store.load(term) == {}

    drive(test)


def test_writes_that_are_tried_again_count_once(drive: Drive) -> None:
    async def test(another: Opener) -> None:
        store = another(PATIENT)
        term = await won(store)
        for _ in range(2):
            await store.commit(term, {"a": b"1", "b": None})
        assert await store.load(term) == {"a": b"1"}

    drive(test)
