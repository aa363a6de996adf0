"""The broker's state machine, driven by hand: no clock, no sockets."""

from __future__ import annotations

import pytest
from tests.unit.broker_pool import GIB, LIMITS, Pool

from cupool.pool_server.broker.decisions import (
    CloseSession,
    DropLink,
    OpenSession,
    TellQueued,
)
from cupool.pool_server.broker.model import (
    DeviceSpec,
    Limits,
    Placement,
)
from cupool.pool_server.broker.state import Rejected


def test_a_whole_device_goes_to_one_lease() -> None:
    pool = Pool()
    pool.server("a")
    first, second = pool.ask(), pool.ask(memory=1 * GIB)
    (device,) = pool.grant(first).devices
    assert device.placement == Placement("a", 0, 4 * GIB, True)
    assert device.urls == (f"zmq+ipc://{device.session_id}",)
    assert not pool.answers(second)
    pool.ended(device.session_id)
    assert pool.grant(second).devices[0].placement.memory_bytes == 1 * GIB


def test_shares_fill_a_device_and_no_more() -> None:
    pool = Pool()
    pool.server("a")
    granted = [pool.ask(memory=1 * GIB) for _ in range(4)]
    for number in granted:
        pool.grant(number)
    assert pool.refusal(pool.ask(memory=1, wait=0)).reason == "no_devices"


def test_the_line_is_first_come_first_served() -> None:
    pool = Pool()
    pool.server("a", [4 * GIB])
    holder = pool.ask(memory=3 * GIB)
    big = pool.ask(memory=4 * GIB)
    small = pool.ask(memory=1 * GIB)  # would fit, but would delay the one before it
    places = [(d.request_id, d.position) for d in pool.log if isinstance(d, TellQueued)]
    assert places == [(big, 1), (small, 2)]
    pool.ended(pool.grant(holder).devices[0].session_id)
    assert pool.grant(big) and not pool.answers(small)
    pool.ended(pool.grant(big).devices[0].session_id)
    assert pool.grant(small)


def test_leaving_the_line_lets_the_next_one_through() -> None:
    pool = Pool()
    pool.server("a", [4 * GIB])
    pool.ask(memory=3 * GIB)
    big, small = pool.ask(memory=2 * GIB), pool.ask(memory=1 * GIB)
    pool.play(pool.state.leave(big, pool.now))
    assert pool.grant(small)
    assert not pool.answers(big)


def test_leaving_while_sessions_open_closes_them() -> None:
    pool = Pool()
    pool.server("a")
    pool.answering = False
    number = pool.ask()
    (order,) = [d for d in pool.log if isinstance(d, OpenSession)]
    pool.play(pool.state.leave(number, pool.now))
    assert CloseSession(order.link, order.session_id, "the client went away") in pool.log
    pool.opened(order)  # crossed the close on its way
    assert not pool.answers(number)
    pool.answering = True
    pool.ended(order.session_id)
    assert pool.grant(pool.ask())


def test_a_wait_ends_with_numbers_and_a_remedy() -> None:
    pool = Pool()
    pool.server("a")
    pool.ask()
    number = pool.ask(wait=5.0)
    pool.advance(4.9, ["a"])
    assert not pool.answers(number)
    assert pool.state.next_tick() == pytest.approx(105.0)
    pool.advance(0.2, ["a"])
    refusal = pool.refusal(number)
    assert refusal.reason == "timeout"
    assert "within 5 s (1 of 1 leased: client2 5 s)" in refusal.message
    assert "cupool status" in refusal.remedy


@pytest.mark.parametrize(
    ("gpus", "memory", "words"),
    [
        (4, 0, "4 GPUs were asked for, the pool has 3"),
        (1, 64 * GIB, "the largest GPU that could be taken has 8 GiB (mock, GPU 0 of b)"),
        (2, 5 * GIB, "only 1 GPUs of the pool have that much"),
    ],
)
def test_what_can_never_fit_is_refused_at_once(gpus: int, memory: int, words: str) -> None:
    pool = Pool()
    pool.server("a", [4 * GIB, 4 * GIB])
    pool.server("b", [8 * GIB])
    refusal = pool.refusal(pool.ask(gpus, memory))
    assert refusal.reason == "too_large"
    assert words in refusal.message


def test_an_empty_pool_says_how_to_fill_it() -> None:
    pool = Pool()
    refusal = pool.refusal(pool.ask())
    assert refusal.reason == "no_devices"
    assert "cupool serve" in refusal.remedy


def test_a_young_broker_waits_for_its_servers() -> None:
    pool = Pool(settled=False)
    number = pool.ask(wait=0)
    assert not pool.answers(number)
    pool.advance(1.0)
    pool.server("a")
    assert pool.grant(number)
    late = Pool(settled=False)
    number = late.ask(wait=0)
    late.advance(LIMITS.settle_s)
    assert late.refusal(number).reason == "no_devices"


def test_nonsense_is_refused() -> None:
    pool = Pool(limits=Limits(waiting=1))
    pool.server("a")
    assert pool.refusal(pool.ask(0)).reason == "invalid"
    assert pool.refusal(pool.ask(carriers=())).reason == "invalid"
    pool.ask()
    pool.ask()
    assert "the line is full" in pool.refusal(pool.ask()).message


def test_a_gang_is_all_or_nothing_over_servers() -> None:
    pool = Pool()
    pool.server("a", [GIB, GIB])
    pool.server("b", [GIB, GIB])
    one = pool.ask()
    gang = pool.ask(3)
    where = [(d.placement.server, d.placement.ordinal) for d in pool.grant(gang).devices]
    assert len(set(where)) == 3
    assert pool.refusal(pool.ask(2, wait=0)).reason == "no_devices"
    pool.play(pool.state.release("", pool.grant(gang).lease_id))
    assert pool.grant(pool.ask(2))
    assert pool.grant(one)


def test_a_gang_prefers_one_server() -> None:
    pool = Pool()
    pool.server("a", [GIB])
    pool.server("b", [GIB] * 3)
    pool.server("c", [GIB] * 2)
    devices = pool.grant(pool.ask(2)).devices
    assert {device.placement.server for device in devices} == {"c"}


def test_a_job_shares_its_lease() -> None:
    pool = Pool()
    pool.server("a")
    first = pool.ask(job_id="j", job_token_hash="h")
    waiting = pool.ask()
    second = pool.ask(job_id="j", job_token_hash="h")
    assert pool.grant(second).joined and not pool.grant(first).joined
    assert pool.grant(second).lease_id == pool.grant(first).lease_id
    assert pool.grant(second).devices[0].session_id != pool.grant(first).devices[0].session_id
    assert pool.refusal(pool.ask(job_id="j", job_token_hash="x")).reason == "denied"
    pool.ended(pool.grant(first).devices[0].session_id)
    assert not pool.answers(waiting)
    pool.ended(pool.grant(second).devices[0].session_id)
    assert pool.grant(waiting)


def test_two_processes_of_a_job_in_line_get_one_lease() -> None:
    pool = Pool(settled=False)
    one = pool.ask(job_id="j", job_token_hash="h")
    two = pool.ask(job_id="j", job_token_hash="h")
    pool.server("a")
    assert pool.grant(one).lease_id == pool.grant(two).lease_id


def test_a_silent_server_is_lost_within_six_seconds() -> None:
    pool = Pool()
    link = pool.server("a")
    session = pool.grant(pool.ask()).devices[0].session_id
    pool.advance(4.9)
    assert pool.state.explain(session, pool.now).state == "running"
    pool.advance(0.2)
    assert DropLink(link, "it was silent for too long") in pool.log
    fate = pool.state.explain(session, pool.now)
    assert fate.state == "server_lost" and "server a is gone" in fate.message
    assert not pool.state.ledger.leases
    assert "no server is in the pool" in str(pool.log[-1]) or not pool.state.line.waiting


def test_a_broken_stream_is_told_at_once_and_forgiven_for_a_while() -> None:
    pool = Pool()
    link = pool.server("a")
    number = pool.ask(job_id="j")
    session = pool.grant(number).devices[0].session_id
    pool.play(pool.state.link_broken(link, pool.now))
    assert pool.state.explain(session, pool.now).state == "server_lost"
    reports = pool.reports("a")
    pool.advance(2.9)
    pool.server("a", sessions=reports)
    assert pool.state.explain(session, pool.now).state == "running"
    assert pool.grant(pool.ask(job_id="j")).joined


def test_a_server_that_comes_back_tells_how_sessions_ended() -> None:
    pool = Pool()
    link = pool.server("a")
    session = pool.grant(pool.ask()).devices[0].session_id
    pool.play(pool.state.link_broken(link, pool.now))
    link = pool.server("a")
    assert "had no connection" in pool.state.explain(session, pool.now).message
    pool.play(pool.state.session_ended(link, session, "worker_died", "killed", pool.now))
    assert pool.state.explain(session, pool.now).message == "killed"


def test_a_server_that_does_not_come_back_is_lost() -> None:
    pool = Pool()
    link = pool.server("a")
    session = pool.grant(pool.ask()).devices[0].session_id
    pool.play(pool.state.link_broken(link, pool.now))
    waiting = pool.ask()
    pool.advance(3.1)
    assert not pool.state.ledger.leases
    assert pool.state.explain(session, pool.now).state == "server_lost"
    assert not pool.answers(waiting)  # its device may come back
    pool.advance(61.0)
    assert pool.refusal(waiting).reason == "no_devices"


def test_a_restarted_server_ends_its_old_sessions() -> None:
    pool = Pool()
    link = pool.server("a")
    session = pool.grant(pool.ask()).devices[0].session_id
    pool.play(pool.state.link_broken(link, pool.now))
    pool.server("a", instance="2")
    assert pool.state.explain(session, pool.now).state == "server_lost"
    assert pool.grant(pool.ask())


def test_a_name_is_taken_while_its_server_lives() -> None:
    pool = Pool()
    pool.server("a")
    with pytest.raises(Rejected, match="already has a server named 'a'") as caught:
        pool.server("a", instance="2")
    assert caught.value.reason == "name_taken"


def test_a_server_may_come_back_on_a_second_stream() -> None:
    pool = Pool()
    first = pool.server("a")
    session = pool.grant(pool.ask()).devices[0].session_id
    pool.server("a", sessions=pool.reports("a"))
    assert DropLink(first, "the server connected again") in pool.log
    pool.play(pool.state.link_broken(first, pool.now))  # the old one; nothing is lost
    assert pool.state.explain(session, pool.now).state == "running"


def test_a_new_broker_learns_of_running_sessions() -> None:
    old = Pool()
    old.server("a", [GIB, GIB])
    old.server("b", [GIB])
    number = old.ask(3, job_id="j", job_token_hash="h")
    new = Pool(settled=False)
    new.server("a", [GIB, GIB], sessions=old.reports("a"))
    joining = new.ask(job_id="j", job_token_hash="h", gpus=3)
    assert not new.answers(joining)  # a device of the lease is still missing
    new.server("b", [GIB], sessions=old.reports("b"))
    assert new.grant(joining).joined
    places = [device.placement for device in new.grant(joining).devices]
    assert places == [device.placement for device in old.grant(number).devices]
    assert new.refusal(new.ask(job_id="j", job_token_hash="x")).reason == "denied"


def test_a_server_lost_while_it_opens_puts_the_request_back() -> None:
    pool = Pool()
    pool.answering = False
    link = pool.server("a")
    number = pool.ask()
    later = pool.ask()
    pool.play(pool.state.link_broken(link, pool.now))
    pool.answering = True
    pool.server("b")
    assert pool.grant(number).devices[0].placement.server == "b"
    assert not pool.answers(later)


def test_a_session_that_fails_to_open_refuses_its_request() -> None:
    pool = Pool()
    pool.answering = False
    link = pool.server("a", [GIB, GIB])
    number = pool.ask(2)
    first, second = [d for d in pool.log if isinstance(d, OpenSession)]
    pool.play(pool.state.session_failed(link, first.session_id, "no memory", pool.now))
    assert pool.refusal(number).reason == "failed"
    assert "no memory" in pool.refusal(number).message
    assert any(isinstance(d, CloseSession) and d.session_id == second.session_id for d in pool.log)
    pool.answering = True
    pool.ended(second.session_id)
    assert pool.grant(pool.ask(2))


def test_a_session_that_never_opens_is_given_up() -> None:
    pool = Pool()
    pool.answering = False
    pool.server("a")
    number = pool.ask()
    for _ in range(6):
        pool.advance(4.0, ["a"])
    assert "within 20 s" in pool.refusal(number).message


def test_a_draining_server_gets_nothing_new() -> None:
    pool = Pool()
    link = pool.server("a")
    pool.server("b", [8 * GIB])
    pool.play(pool.state.draining(link, pool.now))
    assert pool.grant(pool.ask()).devices[0].placement.server == "b"
    pool.play(pool.state.link_broken(link, pool.now))
    assert "a" not in pool.state.ledger.servers  # it left on purpose


def test_how_a_session_ended_is_remembered_for_its_owner() -> None:
    pool = Pool(limits=Limits(history=2))
    pool.server("a")
    sessions = []
    for number in range(3):
        sessions.append(pool.grant(pool.ask()).devices[0].session_id)
        pool.ended(sessions[-1], "worker_died", f"worker {number} was killed")
    assert pool.state.explain(sessions[2], pool.now).message == "worker 2 was killed"
    assert pool.state.explain(sessions[1], pool.now).state == "worker_died"
    assert pool.state.explain(sessions[0], pool.now).state == "unknown"


def test_release_ends_one_session_or_the_lease() -> None:
    pool = Pool()
    pool.server("a", [GIB, GIB])
    grant = pool.grant(pool.ask(2))
    pool.play(pool.state.release(grant.devices[0].session_id, ""))
    assert len(pool.state.ledger.leases) == 1
    pool.play(pool.state.release("", grant.lease_id))
    assert not pool.state.ledger.leases
    assert pool.state.release("nothing", "") == [] == pool.state.release("", "nothing")


def test_local_sockets_are_for_one_machine() -> None:
    pool = Pool()
    pool.server("a", host="m1")
    far = pool.ask(carriers=("zmq+ipc", "zmq+tcp"), host="m2")
    near = pool.ask(carriers=("zmq+ipc", "zmq+tcp"), host="m1")
    pool.ended(pool.grant(far).devices[0].session_id)
    assert pool.grant(near)
    orders = [d.carriers for d in pool.log if isinstance(d, OpenSession)]
    assert orders == [("zmq+tcp",), ("zmq+ipc", "zmq+tcp")]
    refusal = pool.refusal(pool.ask(carriers=("zmq+ipc",), host="m2"))
    assert "cannot be reached" in refusal.message


def test_a_server_speaks_only_for_its_own_sessions() -> None:
    pool = Pool()
    pool.server("a")
    other = pool.server("b", [8 * GIB])
    session = pool.grant(pool.ask()).devices[0].session_id
    pool.play(pool.state.session_ended(other, session, "closed", "", pool.now))
    pool.play(pool.state.session_failed(other, session, "", pool.now))
    assert pool.state.explain(session, pool.now).state == "running"
    assert pool.state.session_opened(999, session, (), 1, pool.now) == []


def test_tables_are_bounded() -> None:
    pool = Pool(limits=Limits(servers=1, devices_per_server=2))
    with pytest.raises(Rejected, match="2 devices"):
        pool.server("a", [1, 1, 1])
    pool.server("a", [1])
    with pytest.raises(Rejected, match="its limit"):
        pool.server("b", [1])
    with pytest.raises(Rejected, match="name must have 1 to"):
        pool.server("")


# ---------------------------------------------------------------- leases that are held

HELD = {"job_id": "batch", "job_token_hash": "h", "hold": True, "max_time_s": 3600.0}


def test_a_held_lease_stays_without_sessions() -> None:
    pool = Pool()
    pool.server("a")
    (device,) = pool.grant(pool.ask(**HELD)).devices
    pool.ended(device.session_id)
    waiting = pool.ask(wait=10_000.0)
    pool.advance(1000, alive="a")
    assert not pool.answers(waiting)
    later = pool.grant(pool.ask(job_id="batch", job_token_hash="h"))
    assert later.joined
    assert pool.refusal(pool.ask(job_id="batch", job_token_hash="x")).reason == "denied"
    pool.ended(later.devices[0].session_id)
    pool.play(pool.state.release("", later.lease_id))
    pool.advance(0, alive="a")
    assert pool.grant(waiting).lease_id != later.lease_id


def test_a_held_lease_ends_with_its_time() -> None:
    pool = Pool()
    pool.server("a")
    (device,) = pool.grant(pool.ask(**HELD)).devices
    pool.ended(device.session_id)
    waiting = pool.ask(wait=10_000.0)
    for _ in range(36):
        assert not pool.answers(waiting)
        pool.advance(100, alive="a")
    pool.advance(1, alive="a")
    assert pool.grant(waiting)


def test_a_held_lease_ends_with_its_last_device() -> None:
    pool = Pool()
    pool.server("a")
    pool.server("b")
    grant = pool.grant(pool.ask(2, **HELD))
    for device in grant.devices:
        pool.ended(device.session_id)
    pool.advance(6, alive="b")
    assert grant.lease_id in pool.state.ledger.leases
    pool.advance(6)
    assert grant.lease_id not in pool.state.ledger.leases


@pytest.mark.parametrize("missing", ["job_id", "job_token_hash", "max_time_s"])
def test_a_lease_that_nobody_could_end_is_not_held(missing: str) -> None:
    pool = Pool()
    pool.server("a")
    wish = {key: value for key, value in HELD.items() if key != missing}
    assert pool.refusal(pool.ask(**wish)).reason == "invalid"


# ---------------------------------------------------------------- where, and for how much


def test_a_gang_stays_within_the_rack_or_zone_that_it_asks_for() -> None:
    pool = Pool()
    for name, zone, rack in (("a", "z1", "r1"), ("b", "z1", "r2"), ("c", "z2", "r3")):
        pool.server(name, zone=zone, rack=rack)
    refused = pool.refusal(pool.ask(2, spread="same-rack"))
    assert refused.reason == "too_large" and "in one rack" in refused.message
    zone = pool.grant(pool.ask(2, spread="same-zone")).devices
    assert {each.placement.server for each in zone} == {"a", "b"}
    assert pool.refusal(pool.ask(3, spread="same-zone")).reason == "too_large"


def test_who_names_no_model_gets_the_cheapest() -> None:
    pool = Pool()
    for name, cost in (("a", 3.0), ("b", 0.5), ("c", 1.0)):
        spec = DeviceSpec(0, "mock", "mock", 4 * GIB, model=name.upper(), cost=cost)
        pool.server(name, devices=(spec,))
    got = [pool.grant(pool.ask()).devices[0].placement.server for _ in range(3)]
    assert got == ["b", "c", "a"]
