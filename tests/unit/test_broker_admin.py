"""Administrators, servers that lie or flap, and what outlives a broker."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from tests.unit.broker_pool import GIB, LIMITS, Pool

from cupool.errors import ConfigurationError
from cupool.pool_server.broker import convert
from cupool.pool_server.broker.administration import Refused
from cupool.pool_server.broker.audit import Audit
from cupool.pool_server.broker.books import replay
from cupool.pool_server.broker.changes import LeaseGranted, decode, encode
from cupool.pool_server.broker.decisions import CloseSession, Notify
from cupool.pool_server.broker.model import (
    DeviceSpec,
    Limits,
    Partition,
    Placement,
    Quota,
    Report,
)
from cupool.pool_server.broker.state import BrokerState, Rejected
from cupool.proto.v1 import pool_pb2 as pb


def gpu(ordinal: int, uuid: str = "", memory: int = GIB, kind: str = "cuda") -> DeviceSpec:
    return DeviceSpec(ordinal, "H100", kind, memory, "9.0", uuid)


# ---------------------------------------------------------------- cordon and drain


def test_a_cordoned_server_keeps_its_leases_and_gets_no_new_ones() -> None:
    pool = Pool()
    pool.server("a", [GIB, GIB])
    held = pool.ask()
    done = pool.state.cordon("a", "a fan is broken", pool.now)
    assert done.changed and done.leases == (pool.grant(held).lease_id,)
    assert not pool.state.cordon("a", "a fan is broken", pool.now).changed
    waiting = pool.ask()
    assert not pool.answers(waiting)
    pool.server("a", [GIB, GIB], sessions=pool.reports("a"))  # comes back: still cordoned
    assert not pool.answers(waiting)
    pool.play(pool.state.uncordon("a", pool.now).decisions)
    assert pool.grant(waiting)
    with pytest.raises(Refused, match="there is no server 'x'; there are: a"):
        pool.state.cordon("x", "", pool.now)


def test_a_drain_gives_notice_and_then_ends_what_is_left() -> None:
    pool = Pool()
    pool.server("a", [GIB, GIB])
    session = pool.grant(pool.ask()).devices[0].session_id
    pool.play(pool.state.drain("a", 10.0, "new firmware", pool.now).decisions)
    (notice,) = [d for d in pool.log if isinstance(d, Notify)]
    assert (notice.reason, notice.within_s) == ("drain", 10.0)
    assert "new firmware" in notice.message
    pool.advance(4.0, ["a"])
    assert pool.state.explain(session, pool.now).state == "running"
    for _ in range(2):
        pool.advance(4.0, ["a"])
    assert pool.state.explain(session, pool.now).state == "drained"


def test_a_drain_that_is_called_off_is_taken_back() -> None:
    pool = Pool()
    pool.server("a")
    session = pool.grant(pool.ask()).devices[0].session_id
    pool.play(pool.state.drain("a", 10.0, "", pool.now).decisions)
    pool.play(pool.state.uncordon("a", pool.now).decisions)
    for _ in range(4):
        pool.advance(4.0, ["a"])
    assert pool.state.explain(session, pool.now).state == "running"
    assert [d.reason for d in pool.log if isinstance(d, Notify)] == ["drain", "withdrawn"]


@pytest.mark.parametrize(
    "quota",
    [
        Quota("", 1),
        Quota("t", -1),
        Quota("t", 1, borrow_milli=-2),
        Quota("t", 1, memory_bytes=-1),
        Quota("t", 1, weight=0.0),
        Quota("t", 1, weight=float("nan")),
        Quota("t", 1, max_priority=7),
        Quota("t", 1 << 50),
    ],
)
def test_quotas_that_make_no_sense_are_refused(quota: Quota) -> None:
    with pytest.raises(Refused):
        Pool().state.set_quota(quota, 100.0)


def test_partitions_do_not_overlap() -> None:
    state = Pool().state
    state.set_partition(Partition("red", ("r",), ("a",)), 100.0)
    for other in (
        Partition("blue", ("r",)),
        Partition("blue", ("b",), ("a",)),
        Partition("blue", ("b",), ("a/0",)),
    ):
        with pytest.raises(Refused, match="is in partition red already"):
            state.set_partition(other, 100.0)
    with pytest.raises(Refused, match="everybody"):
        state.set_partition(Partition("blue", ("default",)), 100.0)
    state.set_partition(Partition("green", ("g",), ("b/0",)), 100.0)
    state.set_partition(Partition("blue", ("b",), ("b/1",)), 100.0)
    with pytest.raises(Refused, match="b/1 is in partition blue already"):
        state.set_partition(Partition("green", ("g",), ("b",)), 100.0)
    assert not state.set_partition(Partition("red", ("r",), ("a",)), 100.0).changed
    assert state.remove_partition("red", 100.0).changed
    assert not state.remove_partition("red", 100.0).changed
    assert not state.remove_quota("nobody", 100.0).changed


# ---------------------------------------------------------------- servers that lie or flap


@pytest.mark.parametrize(
    ("devices", "words"),
    [
        ((gpu(0), gpu(0)), "names GPU 0 twice"),
        ((gpu(0, memory=0),), "0 bytes of memory"),
        ((gpu(0, memory=1 << 60),), "which cannot be"),
        ((gpu(0, "u"), gpu(1, "u")), "one physical GPU twice"),
        ((gpu(64),), "GPU 64 of server a: they count from 0"),
        (tuple(gpu(n) for n in range(65)), "may have 64 devices"),
    ],
)
def test_devices_that_cannot_be_are_not_let_in(devices: tuple[DeviceSpec, ...], words: str) -> None:
    with pytest.raises(Rejected, match=words):
        Pool().server("a", devices=devices)


def test_a_physical_gpu_is_offered_by_one_server() -> None:
    pool = Pool()
    pool.server("a", devices=(gpu(0, "GPU-1"),))
    with pytest.raises(Rejected, match="offered already by server a"):
        pool.server("b", devices=(gpu(0, "GPU-1"),))
    pool.server("m1", devices=(gpu(0, "mock-1", kind="mock"),))
    pool.server("m2", devices=(gpu(0, "mock-1", kind="mock"),))


def test_a_server_cannot_report_more_than_its_devices_hold() -> None:
    pool = Pool()
    pool.answering = False
    place = Placement("a", 0, GIB, True)
    reports = tuple(Report(f"s{n}", f"l{n}", place) for n in range(3))
    pool.server("a", [GIB], sessions=reports)
    assert list(pool.state.ledger.leases) == ["l0"]
    closed = [d.session_id for d in pool.log if isinstance(d, CloseSession)]
    assert closed == ["s1", "s2"]
    other = Pool()
    other.answering = False
    wrong = Report("s", "l", Placement("a", 0, 8 * GIB, False, 0))
    other.server("a", [GIB], sessions=(wrong, Report("t", "m", Placement("a", 5, 1, False, 0))))
    assert not other.state.ledger.leases


def test_a_server_that_comes_back_with_other_devices_loses_what_was_on_them() -> None:
    pool = Pool()
    link = pool.server("a", devices=(gpu(0, "GPU-1"), gpu(1, "GPU-2")))
    sessions = [pool.grant(pool.ask()).devices[0] for _ in range(2)]
    pool.play(pool.state.link_broken(link, pool.now))
    reports = pool.reports("a")
    pool.server("a", devices=(gpu(0, "GPU-1"), gpu(1, "GPU-9")), sessions=reports)
    fates = {d.placement.ordinal: pool.state.explain(d.session_id, pool.now) for d in sessions}
    assert fates[0].state == "running"
    assert fates[1].state == "server_lost" and "GPU 1 is another one" in fates[1].message
    assert pool.grant(pool.ask()).devices[0].device.uuid == "GPU-9"


def test_a_server_that_flaps_gets_nothing_new_for_a_while() -> None:
    pool = Pool()
    for _ in range(LIMITS.flaps):
        link = pool.server("a")
        pool.play(pool.state.link_broken(link, pool.now))
        pool.now += 1.0
    pool.server("a")
    waiting = pool.ask()
    assert not pool.answers(waiting)
    for _ in range(8):
        pool.advance(4.0, ["a"])
    assert pool.grant(waiting)


# ---------------------------------------------------------------- what outlives a broker


def test_a_new_broker_goes_on_from_the_records_of_the_old_one() -> None:
    old = Pool()
    old.server("a", [GIB] * 2)
    old.state.set_quota(Quota("t", 1000), old.now)
    old.state.cordon("a", "x", old.now)
    old.state.uncordon("a", old.now)
    number = old.ask(job_id="j", job_token_hash="h", tenant="t", max_time_s=500.0)
    records = [encode(change) for change in old.state.take_changes()]
    books = replay(decode(record) for record in records)
    assert books.same_as(old.state.ledger.books)
    new = Pool()
    new.state = BrokerState(new.now, LIMITS, books=books, epoch=7, settled=True)
    assert new.state.tenants.used("t").milli == 1000
    new.server("a", [GIB] * 2, sessions=old.reports("a"))
    assert new.refusal(new.ask(tenant="t", wait=0)).reason == "quota"
    (lease,) = new.state.ledger.leases.values()
    assert lease.lease_id == old.grant(number).lease_id and lease.sessions
    for _ in range(200):
        new.advance(3.0, ["a"])
    assert not new.state.ledger.leases, "its time is over"


def test_leases_whose_server_does_not_come_back_end_with_the_settling() -> None:
    old = Pool()
    old.server("a")
    old.grant(old.ask())
    state = BrokerState(0.0, LIMITS, books=replay(old.state.take_changes()))
    state.tick(LIMITS.settle_s - 0.1)
    assert state.ledger.leases
    state.tick(LIMITS.settle_s + 0.1)
    assert not state.ledger.leases and not state.ledger.books.taken


def _restored(old: Pool) -> Pool:
    new = Pool(settled=False)
    books = replay(decode(encode(change)) for change in old.state.take_changes())
    new.state = BrokerState(new.now, LIMITS, books=books, epoch=7)
    return new


def test_what_ended_while_no_broker_led_is_free_once_its_servers_are_back() -> None:
    old = Pool()
    old.server("a", [GIB, GIB])
    old.server("b", [GIB])
    old.grant(old.ask(3))
    new = _restored(old)
    waiting = new.ask(3)
    new.server("a", [GIB, GIB])
    assert not new.answers(waiting), "a server of the old lease is away: it may still run it"
    new.server("b", [GIB])
    assert new.grant(waiting)


def test_what_still_runs_or_is_held_stays_with_its_owner() -> None:
    old = Pool()
    old.server("a", [GIB] * 2)
    running = old.grant(old.ask())
    held = old.grant(old.ask(hold=True, job_id="j", job_token_hash="h", max_time_s=90.0))
    reports = tuple(each for each in old.reports("a") if each.lease_id == running.lease_id)
    new = _restored(old)
    new.server("a", [GIB] * 2, sessions=reports)
    assert set(new.state.ledger.leases) == {running.lease_id, held.lease_id}
    assert not new.answers(new.ask())


def test_the_audit_log_is_bounded_and_keeps_no_secret(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    audit = Audit(str(path), file_bytes=2000, old_files=2, clock=lambda: 12.5)
    pool = Pool()
    pool.server("a")
    pool.ask(job_id="j", job_token_hash="very secret")
    changes = pool.state.take_changes()
    assert isinstance(changes[0], LeaseGranted)
    for _ in range(100):
        audit.changes(changes, 3)
    audit.close()
    files = sorted(tmp_path.iterdir())
    assert [each.name for each in files] == ["audit.log", "audit.log.1", "audit.log.2"]
    assert all(each.stat().st_size <= 2000 for each in files)
    record = json.loads(path.read_text().splitlines()[0])
    assert (record["what"], record["at"], record["epoch"]) == ("lease-granted", 12.5, 3)
    assert "secret" not in path.read_text()
    with pytest.raises(ConfigurationError, match="cannot be written"):
        Audit("/no/such/folder/audit.log")


def test_tenants_and_partitions_are_bounded() -> None:
    state = Pool(limits=Limits(tenants=1, partitions=1)).state
    state.set_quota(Quota("a", 1), 100.0)
    state.set_partition(Partition("p"), 100.0)
    with pytest.raises(Refused, match="the limit"):
        state.set_quota(Quota("b", 1), 100.0)
    with pytest.raises(Refused, match="the limit"):
        state.set_partition(Partition("q"), 100.0)


@pytest.mark.parametrize("name", ["", "a" * 201, "a\nb", "a\x1b[2J"])
def test_names_of_servers_are_fit_for_terminals(name: str) -> None:
    with pytest.raises(Rejected, match="name must have"):
        Pool().server(name)


def test_what_others_call_themselves_cannot_write_on_a_terminal() -> None:
    evil = "x\x1b]0;owned\x07\ny" + "z" * 500
    device = pb.Device(
        ordinal=0, name=evil, model=evil, maker=evil, kind="mock", memory_bytes=GIB, cost=-1.0
    )
    nan = float("nan")
    terms = pb.LeaseTerms(ends_in_s=nan, bandwidth_mbps=nan)
    session = pb.Session(session_id="s", lease_id="l", client=evil, terms=terms, device_time_s=nan)
    hello = pb.Register(name="a", instance="1", devices=[device], sessions=[session], zone=evil)
    found = convert.registration(hello, "here")
    wish = convert.wish(pb.AcquireRequest(client=evil, min_compute_capability="evil"))
    texts = [found.zone, found.devices[0].name, found.devices[0].model, found.sessions[0].client]
    for text in (*texts, wish.client):
        assert text.isprintable() and len(text) <= 200
    assert found.devices[0].cost == 1.0
    assert (found.sessions[0].ends_in_s, found.sessions[0].device_time_s) == (0.0, 0.0)
    assert wish.min_compute_capability < (0, 0)


def test_a_session_with_bandwidth_that_is_none_is_not_taken_over() -> None:
    terms = pb.LeaseTerms(bandwidth_mbps=float("inf"))
    reported = convert.report(pb.Session(session_id="s", lease_id="l", terms=terms), "a")
    pool = Pool()
    pool.answering = False
    pool.server("a", sessions=(reported, dataclasses.replace(reported, lease_id="")))
    assert not pool.state.ledger.leases and not pool.state.ledger.books.bandwidth
    assert [each.session_id for each in pool.of(CloseSession)] == ["s"]
