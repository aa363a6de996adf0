"""The mock's schedule of streams: what order it keeps, what it may change, and by which seed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from cupool.pool_server.devices.mock import MockDevice, MockOptions
from cupool.pool_server.devices.mock.streams import MAX_QUEUED, NULL, RaceSchedule
from cupool.pool_server.session.loopback import Loopback
from cupool.pool_server.session.worker import SessionCore
from cupool.proto.values import ARRAY

SEEDS = range(1, 33)


def _orders(fill: object) -> set[str]:
    found = set()
    for seed in range(1, 200):
        schedule, log = RaceSchedule(seed), []
        fill(schedule, lambda name, log=log: lambda: log.append(name))  # type: ignore[operator]
        schedule.drain_all()
        found.add("".join(log))
    return found


def test_a_stream_keeps_its_order_and_two_do_not_keep_each_others() -> None:
    def fill(schedule: RaceSchedule, step: object) -> None:
        for name in "ab":
            schedule.add(1, step(name), blocking=False)  # type: ignore[operator]
        schedule.add(2, step("x"), blocking=False)  # type: ignore[operator]

    assert _orders(fill) == {"abx", "axb", "xab"}


def test_an_event_orders_two_streams() -> None:
    def fill(schedule: RaceSchedule, step: object) -> None:
        event = schedule.add(1, step("a"), blocking=False)  # type: ignore[operator]
        schedule.join(2, event)
        schedule.add(2, step("x"), blocking=False)  # type: ignore[operator]

    assert _orders(fill) == {"ax"}


def test_the_null_stream_waits_for_blocking_streams_and_they_for_it() -> None:
    def fill(schedule: RaceSchedule, step: object) -> None:
        schedule.add(1, step("a"))  # type: ignore[operator]
        schedule.add(NULL, step("n"))  # type: ignore[operator]
        schedule.add(1, step("b"))  # type: ignore[operator]

    assert _orders(fill) == {"anb"}


def test_a_non_blocking_stream_is_out_of_step_with_the_null_stream() -> None:
    def fill(schedule: RaceSchedule, step: object) -> None:
        schedule.add(1, step("a"), blocking=False)  # type: ignore[operator]
        schedule.add(NULL, step("n"))  # type: ignore[operator]

    assert _orders(fill) == {"an", "na"}


def test_the_same_seed_takes_the_same_order() -> None:
    def order(seed: int) -> list[int]:
        schedule: RaceSchedule = RaceSchedule(seed)
        log: list[int] = []
        for number in range(60):
            schedule.add(1 + number % 3, lambda n=number: log.append(n), blocking=False)  # type: ignore[misc]
        schedule.drain_all()
        return log

    assert order(5) == order(5)
    assert len({tuple(order(seed)) for seed in SEEDS}) > 1


def test_the_queue_is_bounded() -> None:
    schedule, done = RaceSchedule(1), []
    for number in range(MAX_QUEUED + 5):
        schedule.add(1, lambda n=number: done.append(n), blocking=False)  # type: ignore[misc]
    assert done == list(range(5))


@pytest.fixture(params=SEEDS)
def racing(request: pytest.FixtureRequest) -> Iterator[Loopback]:
    core = SessionCore(MockDevice(options=MockOptions(race=request.param)))
    client = Loopback(core)
    client.batch(
        ["stream_create", [[101, "object"]], [True, 0], None],
        ["stream_create", [[102, "object"]], [True, 0], None],
        ["event_create", [[103, "object"]], [True], None],
        ["empty", [[1, "<f8", [4], "C"]], [], None],
        ["fill", [], [[ARRAY, 1], 0.0], None],
    )
    client.ask("synchronize")
    yield client
    core.close()


def _both(client: Loopback, *between: list[object]) -> float:
    client.batch(
        ["fill", [], [[ARRAY, 1], 1.0], None, 101],
        *between,
        ["add", [[2, "<f8", [4], "C"]], [[ARRAY, 1], 1.0], None, 102],
    )
    client.ask("stream_synchronize", [ARRAY, 102])
    value = float(client.ask("fetch", [ARRAY, 2])[0])
    client.ask("synchronize")
    assert client.failures == []
    return value


def test_a_missing_wait_may_show(racing: Loopback) -> None:
    assert _both(racing) in (1.0, 2.0)


def test_a_wait_hides_nothing(racing: Loopback) -> None:
    event, streams = [ARRAY, 103], ([ARRAY, 101], [ARRAY, 102])
    value = _both(
        racing,
        ["event_record", [], [event, streams[0]], None],
        ["stream_wait", [], [streams[1], event], None],
    )
    assert value == 2.0
    assert racing.ask("event_query", event) is True


def test_seeds_find_a_missing_wait() -> None:
    found = set()
    for seed in SEEDS:
        core = SessionCore(MockDevice(options=MockOptions(race=seed)))
        client = Loopback(core)
        client.batch(
            ["stream_create", [[101, "object"]], [True, 0], None],
            ["stream_create", [[102, "object"]], [True, 0], None],
            ["empty", [[1, "<f8", [4], "C"]], [], None],
            ["fill", [], [[ARRAY, 1], 0.0], None],
        )
        client.ask("synchronize")
        found.add(_both(client))
        core.close()
    assert found == {1.0, 2.0}


def test_freed_memory_is_kept_for_what_was_issued() -> None:
    core = SessionCore(MockDevice(options=MockOptions(race=1)))
    client = Loopback(core)
    client.batch(
        ["empty", [[1, "<f8", [4], "C"]], [], None],
        ["fill", [], [[ARRAY, 1], 3.0], None],
        ["add", [[2, "<f8", [4], "C"]], [[ARRAY, 1], 1.0], None],
        ["free", [], [1], None],
    )
    assert np.array_equal(client.ask("fetch", [ARRAY, 2]), np.full(4, 4.0))
    assert client.ask("memory")["used"] == 512
    core.close()


def test_a_failure_of_a_deferred_operation_poisons_its_result() -> None:
    core = SessionCore(MockDevice(options=MockOptions(race=1)))
    client = Loopback(core)
    client.batch(
        ["empty", [[1, "<f8", [4], "C"]], [], None],
        ["empty", [[2, "<f8", [3], "C"]], [], None],
        ["add", [[3, "<f8", [4], "C"]], [[ARRAY, 1], [ARRAY, 2]], None],
    )
    client.ask("synchronize")
    assert [failure.operation for failure in client.failures] == ["add"]
    with pytest.raises(AssertionError, match="could not be broadcast"):
        client.ask("fetch", [ARRAY, 3])
    core.close()
