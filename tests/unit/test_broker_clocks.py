"""Clocks that jump, brokers that stood still, and what is read of an earlier broker's clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

from tests.unit.broker_pool import LIMITS, Pool

from cupool.pool_server.broker import explain, view
from cupool.pool_server.broker.books import Books, replay
from cupool.pool_server.broker.decisions import DropLink
from cupool.pool_server.broker.model import Limits
from cupool.pool_server.broker.service import BrokerService
from cupool.pool_server.broker.state import BrokerState

Drive: TypeAlias = Callable[[Coroutine[Any, Any, None]], None]


def test_a_broker_that_stood_still_takes_nobody_for_silent() -> None:
    pool = Pool()
    pool.server("a")
    pool.server("b")
    gone = pool.server("c")
    lease = pool.grant(pool.ask(3)).lease_id
    pool.play(pool.state.link_broken(gone, pool.now))  # it has 3 s to come back
    pool.now += 3600
    pool.state.stood_still(pool.now)
    pool.play(pool.state.tick(pool.now))
    assert lease in pool.state.ledger.leases and not pool.of(DropLink)
    assert len(pool.state.ledger.leases[lease].placements) == 3
    pool.advance(4.0, alive=["a"])
    assert len(pool.state.ledger.leases[lease].placements) == 2  # c did not come back
    pool.advance(2.0, alive=["a"])
    assert [each.link for each in pool.of(DropLink)] == [pool.links["b"]]  # silent by itself


def test_sessions_that_were_being_opened_have_their_time_after_a_standstill() -> None:
    pool = Pool()
    pool.server("a")
    pool.answering = False
    number = pool.ask()
    pool.now += 600
    pool.state.stood_still(pool.now)
    pool.advance(1.0, alive=["a"])
    assert not pool.answers(number)
    pool.advance(LIMITS.open_s, alive=["a"])
    assert "no worker answered within 20 s" in pool.refusal(number).message


def test_the_service_notices_that_it_stood_still(drive: Drive) -> None:
    async def main() -> None:
        now = 1000.0
        limits = Limits(silence_s=5.0)
        service = BrokerService("b", limits, clock=lambda: now, settled=True)
        pool = Pool()
        pool.state = service.state
        pool.now = now
        pool.server("a")
        service.apply([])
        while service.state.ledger.servers["a"].state.value == "up":
            now = service._timer_at + 0.5  # a little late, as it happens
            service._tick()
        assert now <= 1006.0
        pool.now = now
        pool.server("b")
        service.apply([])
        now = service._timer_at + 60
        service._tick()
        assert service.state.ledger.servers["b"].state.value == "up"
        service.close()
        await asyncio.sleep(0)

    drive(main())


def test_time_never_goes_back() -> None:
    pool = Pool()
    pool.server("a")
    pool.grant(pool.ask(max_time_s=60))
    pool.advance(30, alive=["a"])
    forward = pool.now
    pool.now -= 1_000_000
    waiting = pool.ask(wait=5)
    assert not pool.answers(waiting)
    for part in (view.status(pool.state, "x", pool.now), explain.why(pool.state, "r3", "", 0.0)):
        assert part is not None
    pool.play(pool.state.tick(pool.now))
    assert len(pool.state.ledger.leases) == 1
    pool.now = forward
    pool.advance(6, alive=["a"])
    assert pool.refusal(waiting).reason == "timeout"
    pool.advance(30, alive=["a"])
    assert not pool.state.ledger.leases  # its time is over when it is over


def test_a_broker_that_comes_back_to_an_earlier_hour_keeps_what_it_finds() -> None:
    old = Pool()
    old.server("a")
    lease = old.grant(old.ask(max_time_s=600)).lease_id
    books = replay(old.state.take_changes())
    reports = old.reports("a")
    new = Pool()
    new.now = old.now - 86_400  # its clock was set back by a day
    new.state = BrokerState(new.now, LIMITS, books=books, epoch=2)
    new.server("a", sessions=reports)
    assert new.state.ledger.leases[lease].placements
    assert new.state.ledger.books.taken[("a", 0)].leases == 1
    (seen,) = view.status(new.state, "x", new.now).leases
    assert seen.age_s == 0.0
    assert "for 0 s" in explain.why(new.state, lease, "", new.now).summary
    assert not new.answers(new.ask())


def test_a_broker_that_comes_back_to_a_later_hour_ends_what_is_over_and_grants_once() -> None:
    old = Pool()
    old.server("a", (1 << 32, 1 << 32))
    short = old.grant(old.ask(max_time_s=600)).lease_id
    long = old.grant(old.ask()).lease_id
    books, reports = replay(old.state.take_changes()), old.reports("a")
    new = Pool()
    new.now = old.now + 86_400
    new.state = BrokerState(new.now, LIMITS, books=books, epoch=2)
    new.server("a", (1 << 32, 1 << 32), sessions=reports)
    new.advance(LIMITS.settle_s + 1, alive=["a"])
    assert set(new.state.ledger.leases) == {long} and short != long
    granted = new.grant(new.ask())
    held = [p.ordinal for p in new.state.ledger.leases[long].placements.values()]
    assert [each.placement.ordinal for each in granted.devices] == [1 - held[0]]


def test_empty_books_are_a_start_like_any_other() -> None:
    assert not BrokerState(0.0, LIMITS, books=Books(), epoch=1).ledger.leases
