"""Timers: what recurs is set once, however often it is asked for."""

from __future__ import annotations

from tests.unit.broker_pool import Pool

from cupool.pool_server.broker.timers import Timers


def test_recurring_timers_are_not_doubled() -> None:
    timers = Timers()
    for _ in range(10):
        timers.set(5.0, "server", "a")
    timers.set(7.0, "server", "a")
    assert len(timers) == 1
    timers.set(3.0, "server", "a")  # earlier: needed
    assert timers.next == 3.0
    assert timers.due(6.0) == [("server", "a"), ("server", "a")]
    timers.set(7.0, "server", "a")
    assert timers.next == 7.0


def test_others_are_all_kept() -> None:
    timers = Timers()
    timers.set(5.0, "lease", "x")
    timers.set(9.0, "lease", "x")
    assert timers.due(9.0) == [("lease", "x"), ("lease", "x")]
    assert timers.next is None


def test_a_server_that_comes_and_goes_leaves_no_timers_behind() -> None:
    pool = Pool()
    for _ in range(200):
        link = pool.server("a")
        pool.play(pool.state.link_broken(link, pool.now))
        pool.advance(1.0)
    waiting = [pool.ask(wait=5.0) for _ in range(50)]
    for _ in range(100):
        pool.advance(1.0)
    assert all(pool.answers(number) for number in waiting)
    assert len(pool.state.timers) < 10
