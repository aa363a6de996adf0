"""Places in line outlive the broker; nobody overtakes by being back first."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.broker_pool import GIB, Pool

from cupool.pool_server.broker.model import Limits, Priority

JOBS = ("a", "b", "c")


def job(name: str, **more: object) -> dict[str, object]:
    return {"job_id": name, "job_token_hash": f"of {name}"} | more


@pytest.fixture
def pool() -> Pool:
    """One GPU, which somebody has, and three jobs in line for it."""
    pool = Pool()
    pool.server("s")
    pool.grant(pool.ask(**job("holder")))
    for name in JOBS:
        pool.advance(10.0, alive=("s",))
        pool.ask(**job(name))
    assert len(pool.state.line.queue) == 3
    return pool


def back(pool: Pool) -> None:
    """The server comes back, with what it runs."""
    running = pool.reports("s")
    pool.restart()
    pool.server("s", sessions=running)


def free(pool: Pool) -> None:
    (session,) = pool.state.ledger.sessions
    pool.ended(session)


def order_of_service(pool: Pool, numbers: dict[str, int]) -> list[str]:
    served: list[str] = []
    while len(served) < len(numbers):
        free(pool)
        served += [each for each in numbers if each not in served and pool.answers(numbers[each])]
    return served


def test_the_line_keeps_its_order_over_a_restart(pool: Pool) -> None:
    back(pool)
    numbers = {name: pool.ask(**job(name)) for name in ("c", "new", "b", "a")}
    assert order_of_service(pool, numbers) == ["a", "b", "c", "new"]
    assert not pool.state.ledger.books.waiting


def test_and_over_the_next_one(pool: Pool) -> None:
    for _ in range(3):
        back(pool)
        numbers = {name: pool.ask(**job(name)) for name in ("b", "c", "new", "a")}
    assert order_of_service(pool, numbers) == ["a", "b", "c", "new"]


def test_who_waited_long_is_as_urgent_as_before(pool: Pool) -> None:
    pool.limits = replace(pool.limits, aging_s=100.0)
    back(pool)
    pool.now += 100.0
    urgent = pool.ask(**job("new", priority=Priority.HIGH))
    old = pool.ask(**job("a"))
    request = pool.state.line.queue.get(old)
    assert request is not None and pool.state.line.queue.level(request, pool.now) == 2
    free(pool)
    assert pool.answers(old) and not pool.answers(urgent)


def test_a_free_gpu_waits_a_moment_for_those_who_may_come_back(pool: Pool) -> None:
    pool.restart()
    pool.server("s")  # what it ran has ended
    new = pool.ask(**job("new"))
    assert not pool.answers(new)
    first = pool.ask(**job("a"))
    pool.grant(first)
    free(pool)
    assert not pool.answers(new)
    pool.advance(pool.limits.return_s, alive=("s",))  # b and c are gone for good
    pool.grant(new)


def test_who_is_more_urgent_need_not_wait_for_them(pool: Pool) -> None:
    pool.restart()
    pool.server("s")
    pool.grant(pool.ask(**job("new", priority=Priority.URGENT)))


@pytest.mark.parametrize(
    "other",
    [
        {"job_token_hash": "another"},
        {"priority": Priority.HIGH},
        {"tenant": "another"},
        {"memory": GIB},
        {"gpus": 1, "job_id": ""},
    ],
    ids=str,
)
def test_a_place_is_for_the_same_job_and_the_same_wish(
    pool: Pool, other: dict[str, object]
) -> None:
    back(pool)
    number = pool.ask(**(job("a") | other))
    request = pool.state.line.queue.get(number)
    assert request is not None and request.place > 4 and request.since == pool.now
    again = pool.state.line.queue.get(pool.ask(**job("a", client="a new process", wait=5.0)))
    assert again is not None and again.place == 2


def test_places_of_those_who_stay_away_are_given_up(pool: Pool) -> None:
    back(pool)
    pool.ask(**job("b"))
    for _ in range(40):
        pool.advance(2.0, alive=("s",))
    assert [each.wish.job_id for each in pool.state.ledger.books.waiting.values()] == ["b"]
    request = pool.state.line.queue.get(pool.ask(**job("a")))
    assert request is not None and request.place > 4


def test_a_place_is_kept_until_the_grant_is_told(pool: Pool) -> None:
    """The broker dies while the first in line has a lease, and no session yet."""
    pool.answering = False
    free(pool)
    assert len(pool.state.line.opening) == 1
    pool.answering = True
    pool.restart()
    pool.server("s")
    numbers = {name: pool.ask(**job(name)) for name in ("c", "b", "a")}
    assert [name for name in numbers if pool.answers(numbers[name])] == ["a"]


def test_processes_of_one_job_have_a_place_each() -> None:
    pool = Pool(limits=Limits())
    pool.server("s")
    pool.grant(pool.ask(**job("holder")))
    for _ in range(3):
        pool.ask(**job("a"))
    back(pool)
    requests = [pool.state.line.queue.get(pool.ask(**job("a"))) for _ in range(4)]
    assert [each.place for each in requests if each is not None] == [2, 3, 4, 5]
