"""Shares of one device among its sessions: time by weights, memory by sums. No processes."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from cupool.pool_server.devices.errors import OutOfMemoryError
from cupool.pool_server.devices.mock.memory import MemoryPool
from cupool.pool_server.session import turns as t
from cupool.pool_server.session.share_table import (
    ACTIVE_UNTIL,
    DEVICE_TIME,
    ROWS,
    VIRTUAL_TIME,
    ShareTable,
    row_word,
)


@pytest.fixture
def table() -> Iterator[ShareTable]:
    one = ShareTable()
    yield one
    one.close()


class Device:
    """A simulated device: one clock, on which records take time and sleeping does, too."""

    def __init__(self, table: ShareTable) -> None:
        self.table = table
        self.now = 1_000_000_000
        self.sleeps = 0
        self.late_ns = 0

    def clock(self) -> int:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.sleeps += 1
        self.now += int(seconds * 1e9) + self.late_ns

    def session(self, lease: str, share: int, cap: int = 0) -> tuple[int, t.Turns]:
        row = self.table.open(0, lease, share)
        return row, t.Turns(self.table, row, 0, cap, None, self.clock, self.sleep)

    def execute(self, records: Sequence[int], start: int, payloads: Any) -> int:
        self.now += sum(records[start:])
        return len(records)


def never() -> bool:
    return False


def compute(device: Device, session: t.Turns, *records: int) -> None:
    assert session.run(device.execute, records, 0, (), never) == len(records)


def fair(device: Device, sessions: dict[int, t.Turns], rounds: int, costs: list[int]) -> None:
    """Let whoever is next compute a batch, all of them always wanting to."""
    words = device.table.words
    draw = random.Random(7)
    for _ in range(rounds):
        for row in sessions:
            words[row_word(row, ACTIVE_UNTIL)] = device.now + 10**12
        ready = [row for row, one in sessions.items() if one._is_next(device.now)]
        assert len(ready) == 1, "exactly one is next"
        compute(device, sessions[ready[0]], draw.choice(costs))


@pytest.mark.parametrize("shares", [(300, 700), (1, 999), (500, 500), (100, 200, 700)])
def test_time_goes_by_shares(table: ShareTable, shares: tuple[int, ...]) -> None:
    device = Device(table)
    sessions = dict(device.session(f"l{n}", share) for n, share in enumerate(shares))
    fair(device, sessions, 4000, [100_000, 900_000, 2_000_000])
    used = [table.words[row_word(row, DEVICE_TIME)] for row in sessions]
    for share, spent in zip(shares, used, strict=True):
        assert spent / sum(used) == pytest.approx(share / sum(shares), abs=0.002)


def test_sessions_of_one_lease_divide_its_share(table: ShareTable) -> None:
    device = Device(table)
    sessions = dict([device.session("a", 500), device.session("a", 500), device.session("b", 500)])
    fair(device, sessions, 4000, [1_000_000])
    used = [table.words[row_word(row, DEVICE_TIME)] for row in sessions]
    assert [round(each / sum(used), 2) for each in used] == [0.25, 0.25, 0.5]


def test_without_a_promise_there_is_what_others_leave(table: ShareTable) -> None:
    device = Device(table)
    sessions = dict([device.session("a", 600), device.session("b", 0), device.session("c", 0)])
    fair(device, sessions, 4000, [1_000_000])
    used = [table.words[row_word(row, DEVICE_TIME)] for row in sessions]
    assert [round(each / sum(used), 2) for each in used] == [0.6, 0.2, 0.2]


def test_alone_it_goes_ahead_whatever_its_share(table: ShareTable) -> None:
    device = Device(table)
    row, session = device.session("a", 1)
    for _ in range(100):
        compute(device, session, 5_000_000)
    assert device.sleeps == 0
    assert session.device_time_s == pytest.approx(0.5)
    assert table.words[row_word(row, VIRTUAL_TIME)] == 0 or device.sleeps == 0


def test_an_idle_peer_is_not_waited_for(table: ShareTable) -> None:
    device = Device(table)
    device.session("idle", 900)
    _, session = device.session("busy", 100)
    for _ in range(100):
        compute(device, session, 5_000_000)
    assert device.sleeps == 0


def test_who_comes_back_does_not_get_all_the_time_that_others_had(table: ShareTable) -> None:
    device = Device(table)
    one, busy = device.session("busy", 500)
    two, back = device.session("back", 500)
    for _ in range(1000):
        compute(device, busy, 10_000_000)  # ten seconds alone
    words = table.words
    words[row_word(two, ACTIVE_UNTIL)] = 1  # it has computed before
    back._join(device.now + t.STALE_NS)  # also while the busy one is between two batches
    lag = words[row_word(one, VIRTUAL_TIME)] - words[row_word(two, VIRTUAL_TIME)]
    assert lag == t.LAG_NS


def test_a_newcomer_has_nothing_to_make_up(table: ShareTable) -> None:
    device = Device(table)
    one, busy = device.session("busy", 500)
    device.session("idle", 100)
    for _ in range(100):
        compute(device, busy, 10_000_000)
    two, new = device.session("new", 400)
    new._join(device.now)
    assert table.words[row_word(two, VIRTUAL_TIME)] == table.words[row_word(one, VIRTUAL_TIME)] > 0


def test_who_has_work_queued_keeps_its_place_for_a_moment(table: ShareTable) -> None:
    device = Device(table)
    row, session = device.session("a", 500)
    _, other = device.session("b", 500)
    compute(device, session, 1_000_000)
    compute(device, other, 50_000_000)  # the first is behind now, and idle
    later = device.now + t.LINGER_NS
    assert other._is_next(later)
    session.expect()
    assert not other._is_next(later)
    assert other._is_next(device.now + t.QUEUED_NS)
    assert table.words[row_word(row, ACTIVE_UNTIL)] == device.now + t.QUEUED_NS


def test_a_stuck_peer_is_waited_for_but_not_for_ever(table: ShareTable) -> None:
    device = Device(table)
    stuck, _ = device.session("stuck", 500)
    _, session = device.session("other", 500)
    table.words[row_word(stuck, ACTIVE_UNTIL)] = device.now + 10**15
    table.words[row_word(stuck, VIRTUAL_TIME)] = -(10**15)
    began = device.now
    compute(device, session, 1000)
    assert t.STALE_NS <= device.now - began < 2 * t.STALE_NS


def test_a_cap_holds_also_alone(table: ShareTable) -> None:
    device = Device(table)
    _, session = device.session("a", 200, cap=250)
    began = device.now
    for _ in range(400):
        compute(device, session, 10_000_000)
    part = session.device_time_s * 1e9 / (device.now - began)
    assert part == pytest.approx(0.25, abs=0.01)


@pytest.mark.parametrize("late_ms", [0, 40, 100])
def test_who_wakes_late_loses_nothing_of_a_cap(table: ShareTable, late_ms: int) -> None:
    device = Device(table)
    device.late_ns = late_ms * 1_000_000
    _, session = device.session("a", 200, cap=250)
    began = device.now
    for _ in range(2000):
        compute(device, session, 1_000_000)
    part = session.device_time_s * 1e9 / (device.now - began)
    assert part == pytest.approx(0.25, abs=0.01)


def test_who_was_idle_computes_above_its_cap_for_a_moment_only(table: ShareTable) -> None:
    device = Device(table)
    _, session = device.session("a", 200, cap=250)
    for _ in range(1000):
        compute(device, session, 1_000_000)
    device.now += 3600 * 10**9
    before, began = session.device_time_s, device.now
    while device.now < began + 10**9:
        compute(device, session, 1_000_000)
    allowed = 0.25 * (10**9 + t.CAP_CREDIT_NS + t.CAP_BURST_NS) / 1e9
    assert session.device_time_s - before <= allowed + 0.002


@pytest.mark.parametrize("others", [0, 1])
def test_a_batch_that_is_dearer_than_expected_is_no_slice_of_seconds(
    table: ShareTable, others: int
) -> None:
    device = Device(table)
    _, session = device.session("a", 500)
    for number in range(others):
        device.session(f"other{number}", 100)
    for _ in range(20):
        compute(device, session, *[1000] * 100)  # cheap so far
    gone: list[int] = []

    def execute(records: Sequence[int], start: int, payloads: Any) -> int:
        gone.append(len(records) - start)
        return device.execute(records, start, payloads)

    assert session.run(execute, [100_000_000] * 100, 0, (), lambda: True) < 100
    assert sum(gone) <= 8
    gone.clear()
    assert session.run(execute, [100_000_000] * 100, 0, (), never) == 100
    assert max(gone) <= 8 and sum(gone) == 100


def test_a_long_batch_is_cut_where_others_wait(table: ShareTable) -> None:
    device = Device(table)
    _, session = device.session("a", 500)
    device.session("b", 500)
    session._record_ns = 1e6
    slices: list[tuple[int, int]] = []

    def execute(records: Sequence[int], start: int, payloads: Any) -> int:
        slices.append((start, len(records)))
        device.now += 1_000_000 * (len(records) - start)
        return len(records)

    assert session.run(execute, [0] * 9, 0, (), never) == 9
    assert slices == [(0, 2), (2, 4), (4, 6), (6, 8), (8, 9)]


def test_what_the_device_reports_late_is_told(table: ShareTable) -> None:
    def settle() -> None:
        raise OutOfMemoryError(1, 2)

    device, seen = Device(table), []
    device.session("other", 500)
    row = table.open(0, "own", 500)
    session = t.Turns(table, row, 0, 0, settle, device.clock, device.sleep)
    session.on_failure = seen.append
    compute(device, session, 1_000_000)
    assert [type(exc) for exc in seen] == [OutOfMemoryError]


def test_a_batch_that_pauses_is_not_carried_on(table: ShareTable) -> None:
    device = Device(table)
    _, session = device.session("a", 500)
    device.session("b", 500)
    session._record_ns = 1e6
    assert session.run(device.execute, [1] * 9, 0, (), lambda: True) == 2
    assert session.run(lambda r, s, p: s + 1, [1] * 9, 3, (), never) == 4


def test_memory_of_all_sessions_of_a_lease_stays_within_its_share(table: ShareTable) -> None:
    pools = []
    for _ in range(2):
        pool = MemoryPool(1 << 20)
        row = table.open(0, "lease", 500)
        pool.share = t.MemoryShare(table, row, 1 << 20, "GPU 0 of server s")
        pools.append(pool)
    other = MemoryPool(1 << 20)
    other.share = t.MemoryShare(table, table.open(0, "other", 500), 1 << 20, "GPU 0 of server s")
    other.allocate(1 << 20)  # another lease's memory is none of theirs
    one, two = pools
    block = one.allocate(700 << 10)
    with pytest.raises(OutOfMemoryError) as caught:
        two.allocate(400 << 10)
    assert "share of GPU 0 of server s is 1,048,576 bytes" in str(caught.value)
    assert "other sessions of the job hold 716,800" in str(caught.value)
    two.allocate(300 << 10)
    one.release(block)
    with pytest.raises(OutOfMemoryError):
        two.allocate(400 << 10)  # the other keeps the free block
    one.release_blocks()
    two.allocate(400 << 10)


def test_a_row_is_free_again_when_its_session_ends(table: ShareTable) -> None:
    rows = [table.open(0, f"l{n}", 1) for n in range(ROWS)]
    assert table.open(0, "one too many", 1) == -1
    table.free(rows[7])
    assert table.open(0, "again", 1) == rows[7]
    table.free(-1)
    assert table.open(99, "no such device", 1) == -1
