"""Who is served, and when: shares, quotas, priorities, backfill, preemption, time limits."""

from __future__ import annotations

import pytest
from tests.unit.broker_pool import GIB, LIMITS, Pool

from cupool.pool_server.broker import explain
from cupool.pool_server.broker.decisions import CloseSession, Notify, TellQueued
from cupool.pool_server.broker.model import DeviceSpec, Limits, Partition, Priority, Quota

H100 = (DeviceSpec(0, "mock H100", "mock", 8 * GIB, "9.0", model="H100", maker="NVIDIA"),)
MI300 = (DeviceSpec(0, "mock MI300X", "mock", 16 * GIB, model="MI300X", maker="AMD"),)


def end(pool: Pool, number: int) -> None:
    """Let the job of a request end."""
    for device in pool.grant(number).devices:
        if device.session_id in pool.state.ledger.sessions:
            pool.ended(device.session_id)


def notices(pool: Pool) -> list[tuple[str, str]]:
    return [(d.session_id, d.reason) for d in pool.log if isinstance(d, Notify)]


# ---------------------------------------------------------------- shares and models


def test_compute_is_not_promised_twice() -> None:
    pool = Pool()
    pool.server("a", [8 * GIB])
    large, small = pool.ask(share_milli=700), pool.ask(share_milli=300)
    assert pool.grant(large).devices[0].placement.milli == 700
    assert pool.grant(large).devices[0].placement.memory_bytes == 8 * GIB * 7 // 10
    assert pool.grant(small).terms.share_milli == 300
    assert pool.refusal(pool.ask(share_milli=1, memory=1, wait=0)).reason == "no_devices"


def test_overcommit_queues_on_the_device_instead_of_failing() -> None:
    pool = Pool()
    pool.server("a", [8 * GIB])
    pool.grant(pool.ask(share_milli=900, memory=GIB))
    number = pool.ask(share_milli=500, memory=GIB, overcommit=True)
    assert pool.grant(number).devices[0].placement.milli == 0
    assert pool.refusal(pool.ask(overcommit=True)).reason == "invalid"


def test_models_capabilities_and_makers_live_in_one_pool() -> None:
    pool = Pool()
    pool.server("a", devices=H100)
    pool.server("b", devices=MI300)
    amd = pool.ask(models=("MI300X",))
    assert pool.grant(amd).devices[0].device.maker == "AMD"
    nvidia = pool.ask(min_compute_capability=(8, 0))
    assert pool.grant(nvidia).devices[0].device.model == "H100"
    assert pool.refusal(pool.ask(models=("AMD",), wait=0)).reason == "no_devices"  # it is taken
    assert pool.refusal(pool.ask(models=("NVIDIA", "B200"), wait=0)).reason == "no_devices"
    refusal = pool.refusal(pool.ask(2, models=("AMD",)))
    assert refusal.reason == "too_large" and "the pool has 1" in refusal.message
    refusal = pool.refusal(pool.ask(models=("B200",)))
    assert refusal.reason == "too_large" and "there is: H100, MI300X" in refusal.message
    assert "9.0" in pool.refusal(pool.ask(min_compute_capability=(12, 0))).message


def test_zone_bandwidth_and_spread() -> None:
    pool = Pool()
    pool.server("a", [GIB] * 2, zone="z1", link_mbps=10_000)
    pool.server("b", [GIB] * 2, zone="z2", link_mbps=100_000)
    assert pool.grant(pool.ask(zone="z2")).devices[0].placement.server == "b"
    fast = pool.ask(memory=1, bandwidth_mbps=50_000)
    assert pool.grant(fast).devices[0].placement.server == "b"
    assert not pool.answers(pool.ask(memory=1, bandwidth_mbps=60_000))  # 50,000 are left
    assert "100000 Mbit/s" in pool.refusal(pool.ask(bandwidth_mbps=200_000)).message
    apart = pool.ask(2, memory=1, spread="spread", share_milli=0)
    assert {d.placement.server for d in pool.grant(apart).devices} == {"a", "b"}
    assert pool.refusal(pool.ask(3, spread="same-server")).reason == "too_large"


def test_taints_keep_requests_away_that_do_not_tolerate_them() -> None:
    pool = Pool()
    pool.server("a", taints=("flaky",))
    assert pool.refusal(pool.ask()).reason == "too_large"
    assert pool.grant(pool.ask(tolerations=frozenset({"flaky"})))


def test_an_unhealthy_device_gets_nothing_until_it_is_well() -> None:
    pool = Pool()
    link = pool.server("a", [GIB, GIB])
    pool.play(pool.state.health(link, 0, "double-bit ECC error", pool.now))
    assert pool.grant(pool.ask()).devices[0].placement.ordinal == 1
    waiting = pool.ask()
    pool.play(pool.state.health(link, 0, "", pool.now))
    assert pool.grant(waiting).devices[0].placement.ordinal == 0


@pytest.mark.parametrize(
    "wish",
    [
        {"gpus": 0},
        {"gpus": 10**9},
        {"memory": -1},
        {"memory": 1 << 60},
        {"share_milli": 1001},
        {"share_milli": -1},
        {"cap_milli": 100, "share_milli": 200},
        {"priority": 9},
        {"spread": "apart"},
        {"policy": "magic"},
        {"max_time_s": -1.0},
        {"max_time_s": float("nan")},
        {"wait": float("inf")},
        {"bandwidth_mbps": -1},
        {"tenant": ""},
        {"zone": "z" * 300},
        {"zone": "r12\x1b[2J"},
        {"job_id": "j" * 300},
        {"min_compute_capability": (-1, 0)},
        {"cap_milli": 1001},
        {"overcommit": True},
        {"overcommit": True, "memory": GIB, "share_milli": 1000},
        {"hold": True},
        {"carriers": ()},
    ],
)
def test_nonsense_is_refused_with_words(wish: dict[str, object]) -> None:
    pool = Pool()
    pool.server("a")
    refusal = pool.refusal(pool.ask(**wish))  # type: ignore[arg-type]
    assert refusal.reason == "invalid" and len(refusal.message) > 20


# ---------------------------------------------------------------- the order of the line


def test_the_more_urgent_is_served_first_and_waiting_makes_urgent() -> None:
    pool = Pool()
    pool.server("a")
    holder = pool.ask(priority=Priority.URGENT)
    old = pool.ask(priority=Priority.LOW, wait=1e6)
    for _ in range(4):
        pool.advance(LIMITS.aging_s, ["a"])
    late = [pool.ask(priority=p) for p in (Priority.LOW, Priority.HIGH, Priority.URGENT)]
    end(pool, holder)
    assert pool.grant(old), "after so long it counts as more than urgent"
    end(pool, old)
    assert pool.grant(late[2]) and not pool.answers(late[1])


def test_tenants_get_their_fair_shares() -> None:
    pool = Pool()
    pool.server("a", [GIB] * 4)
    first = [pool.ask(tenant="many") for _ in range(4)]
    waiting = [pool.ask(tenant="many") for _ in range(4)]
    other = [pool.ask(tenant="few") for _ in range(2)]
    for number in first:
        end(pool, number)
    assert pool.grant(other[0]) and pool.grant(other[1]), "they came last, and held nothing"
    assert len([each for each in waiting if pool.answers(each)]) == 2


def test_a_weight_is_a_larger_share() -> None:
    pool = Pool()
    pool.server("a", [GIB] * 6)
    pool.play(pool.state.set_quota(Quota("heavy", 0, borrow_milli=-1, weight=2.0), 0).decisions)
    holders = [pool.ask() for _ in range(6)]
    heavy = [pool.ask(tenant="heavy") for _ in range(6)]
    light = [pool.ask(tenant="light") for _ in range(6)]
    pool.play(pool.state.set_quota(Quota("light", 0, borrow_milli=-1), pool.now).decisions)
    for number in holders:
        end(pool, number)
    served = [sum(bool(pool.answers(each)) for each in group) for group in (heavy, light)]
    assert served == [4, 2]


def test_small_requests_go_first_where_that_delays_nobody() -> None:
    pool = Pool()
    pool.server("a", [8 * GIB])
    pool.server("b", [4 * GIB])
    pool.grant(pool.ask(memory=6 * GIB, max_time_s=100.0))
    whole = pool.ask(models=(), memory=8 * GIB)  # only a can do that, once it is free
    assert not pool.answers(whole)
    assert pool.grant(pool.ask(memory=GIB)).devices[0].placement.server == "b"
    assert pool.grant(pool.ask(memory=3 * GIB)).devices[0].placement.server == "b"
    short = pool.ask(memory=2 * GIB, max_time_s=90.0)
    assert pool.grant(short).devices[0].placement.server == "a", "it ends before"
    assert not pool.answers(pool.ask(memory=1, max_time_s=200.0)), "it would delay"


def test_backfill_does_not_starve_the_first() -> None:
    pool = Pool()
    pool.server("a", [8 * GIB])
    holder = pool.ask(memory=5 * GIB)
    first = pool.ask(memory=6 * GIB)
    assert pool.grant(pool.ask(memory=2 * GIB))  # beside the first there are 2 GiB
    assert not pool.answers(pool.ask(memory=GIB)), "there would be no room for the first"
    end(pool, holder)
    assert pool.grant(first)


# ---------------------------------------------------------------- quotas


def test_a_hard_quota_holds_and_others_pass() -> None:
    pool = Pool()
    pool.server("a", [GIB] * 4)
    pool.state.set_quota(Quota("t", 2000), pool.now)
    for _ in range(2):
        pool.grant(pool.ask(tenant="t"))
    third = pool.ask(tenant="t")
    assert not pool.answers(third)
    told = [d.reason for d in pool.log if isinstance(d, TellQueued) and d.request_id == third]
    assert told[-1] == "the quota of tenant t is 2 GPUs, and it holds 2"
    assert pool.grant(pool.ask(tenant="u"))
    assert "3 GPUs were asked for" in pool.refusal(pool.ask(3, tenant="t")).message
    pool.play(pool.state.set_quota(Quota("t", 3000), pool.now).decisions)
    assert pool.grant(third)


def test_memory_quotas_and_priority_caps() -> None:
    pool = Pool()
    pool.server("a", [8 * GIB])
    pool.state.set_quota(Quota("t", 1000, 2 * GIB, max_priority=Priority.NORMAL), pool.now)
    pool.grant(pool.ask(tenant="t", memory=2 * GIB))
    assert pool.refusal(pool.ask(tenant="t", memory=GIB, wait=0)).reason == "quota"
    refusal = pool.refusal(pool.ask(tenant="t", memory=1, priority=Priority.HIGH))
    assert refusal.reason == "quota" and "normal at most" in refusal.message


def test_what_was_borrowed_is_taken_back_with_notice() -> None:
    pool = Pool()
    pool.server("a", [GIB] * 2)
    pool.state.set_quota(Quota("borrower", 1000, borrow_milli=-1), pool.now)
    pool.state.set_quota(Quota("owner", 1000), pool.now)
    own, borrowed = pool.ask(tenant="borrower"), pool.ask(tenant="borrower")
    pool.advance(5.0, ["a"])
    owner = pool.ask(tenant="owner", wait=1000.0)
    told = notices(pool)
    assert len(told) == 1 and told[0][1] == "preempted", "one is enough, the other is its quota"
    message = next(d.message for d in pool.log if isinstance(d, Notify))
    assert "tenant owner takes back what tenant borrower borrowed" in message
    assert not pool.answers(owner)
    for _ in range(8):
        pool.advance(4.0, ["a"])
    assert pool.grant(owner)
    fates = {pool.state.explain(pool.grant(n).devices[0].session_id, pool.now).state
             for n in (own, borrowed)}  # fmt: skip
    assert fates == {"running", "preempted"}


# ---------------------------------------------------------------- preemption


def test_the_fewest_and_cheapest_leave_for_the_more_urgent() -> None:
    pool = Pool()
    pool.server("a", [4 * GIB])
    pool.server("b", [4 * GIB])
    two = [pool.ask(memory=2 * GIB, priority=Priority.LOW) for _ in range(2)]
    one = pool.ask(memory=3 * GIB, priority=Priority.NORMAL)
    assert len({pool.grant(n).devices[0].placement.server for n in two}) == 1
    pool.advance(3.0, ["a", "b"])
    urgent = pool.ask(priority=Priority.URGENT)
    assert notices(pool) == [(pool.grant(one).devices[0].session_id, "preempted")]
    assert not pool.answers(urgent)
    end(pool, one)  # it saved its work and left
    assert pool.grant(urgent)
    assert all(pool.state.explain(pool.grant(n).devices[0].session_id, pool.now).state == "running"
               for n in two)  # fmt: skip


def test_nobody_is_asked_to_leave_in_vain() -> None:
    pool = Pool()
    pool.server("a")
    pool.grant(pool.ask(priority=Priority.LOW))
    assert pool.refusal(pool.ask(priority=Priority.URGENT, wait=0)).reason == "no_devices"
    pool.ask(priority=Priority.URGENT, wait=LIMITS.grace_s / 2)  # it will not wait so long
    pool.ask(priority=Priority.LOW, wait=1000.0)
    assert notices(pool) == []


def test_a_notice_is_withdrawn_when_its_reason_is_gone() -> None:
    pool = Pool()
    pool.server("a")
    holder = pool.ask(priority=Priority.LOW)
    urgent = pool.ask(priority=Priority.URGENT)
    session = pool.grant(holder).devices[0].session_id
    pool.play(pool.state.leave(urgent, pool.now))
    assert notices(pool) == [(session, "preempted"), (session, "withdrawn")]
    for _ in range(10):
        pool.advance(4.0, ["a"])
    assert pool.state.explain(session, pool.now).state == "running"


def test_a_gang_makes_room_all_or_nothing() -> None:
    pool = Pool()
    pool.server("a", [GIB] * 2)
    pool.server("b", [GIB] * 2)
    low = [pool.ask(priority=Priority.LOW) for _ in range(3)]
    pool.grant(pool.ask(priority=Priority.URGENT))
    gang = pool.ask(2, priority=Priority.HIGH, spread="same-server")
    told = {session for session, _ in notices(pool)}
    on_a = {pool.grant(n).devices[0].session_id for n in low
            if pool.grant(n).devices[0].placement.server == "a"}  # fmt: skip
    assert told == on_a and len(told) == 2
    for _ in range(8):
        pool.advance(4.0, ["a", "b"])
    assert {d.placement.server for d in pool.grant(gang).devices} == {"a"}


# ---------------------------------------------------------------- time limits


def test_a_lease_is_warned_and_then_ended() -> None:
    pool = Pool()
    pool.server("a")
    number = pool.ask(max_time_s=20.0)
    assert pool.grant(number).ends_in_s == 20.0
    session = pool.grant(number).devices[0].session_id
    pool.advance(4.5, ["a"])
    assert notices(pool) == []
    for _ in range(4):
        pool.advance(3.4, ["a"])
    assert notices(pool) == [(session, "deadline")]
    pool.advance(2.0, ["a"])
    assert any(isinstance(d, CloseSession) and d.session_id == session for d in pool.log)
    fate = pool.state.explain(session, pool.now)
    assert fate.state == "expired" and "--max-time" in fate.message


def test_a_clock_that_jumps_back_changes_nothing() -> None:
    pool = Pool()
    pool.server("a")
    session = pool.grant(pool.ask(max_time_s=50.0)).devices[0].session_id
    pool.play(pool.state.tick(pool.now - 1000.0))
    pool.play(pool.state.heartbeat(pool.links["a"], (), 0, pool.now - 1000.0))
    assert pool.state.explain(session, pool.now).state == "running"
    pool.advance(1e9)
    assert pool.state.explain(session, pool.now).state in ("expired", "server_lost")


# ---------------------------------------------------------------- why


def test_who_waits_learns_what_is_missing_who_has_it_and_until_when() -> None:
    pool = Pool()
    pool.server("a")
    pool.grant(pool.ask(max_time_s=600.0))
    number = pool.ask(tenant="t", wait=1e5)
    why = explain.why(pool.state, f"r{number}", "t", pool.now)
    assert why.state == "waiting" and why.expected_in_s == pytest.approx(600.0)
    text = "\n".join((why.summary, *why.details))
    assert "1 of 1 in line" in text and "wants 1 whole GPUs" in text
    assert "0 of 1 GPUs would do now" in text
    assert explain.why(pool.state, f"r{number}", "other", pool.now).state == "unknown"
    assert explain.why(pool.state, "r99", "", pool.now).state == "unknown"


def test_partitions_do_not_see_each_other() -> None:
    from cupool.pool_server.broker import view

    pool = Pool()
    pool.server("a")
    pool.server("b")
    pool.play(pool.state.set_partition(Partition("red", ("r",), ("b",)), pool.now).decisions)
    red, blue = pool.ask(tenant="r"), pool.ask(tenant="s")
    assert pool.grant(red).devices[0].placement.server == "b"
    assert pool.grant(red).terms.partition == "red"
    assert pool.grant(blue).devices[0].placement.server == "a"
    assert pool.refusal(pool.ask(tenant="r", wait=0)).reason == "no_devices"
    seen = view.status(pool.state, "x", pool.now, "r")
    assert [server.name for server in seen.servers] == ["b"]
    assert [lease.terms.tenant for lease in seen.leases] == ["r"]
    assert len(view.status(pool.state, "x", pool.now).servers) == 2


def test_a_hundred_who_wait_are_served_when_room_appears() -> None:
    pool = Pool(limits=Limits(backfill=4))
    pool.server("a", [GIB])
    pool.grant(pool.ask(wait=1e5))
    waiting = [pool.ask(wait=1e5, tenant=f"t{n % 5}") for n in range(100)]
    pool.server("b", [GIB] * 50)
    pool.server("c", [GIB] * 50)
    assert all(pool.grant(number) for number in waiting)


def test_servers_that_come_and_go_do_not_let_others_pass_the_first() -> None:
    pool = Pool()
    pool.server("a", [8 * GIB])
    holder = pool.ask(memory=5 * GIB)
    first = pool.ask(memory=6 * GIB)
    assert pool.grant(pool.ask(memory=2 * GIB))
    for _ in range(3):
        pool.play(pool.state.link_broken(pool.server("b", [GIB]), pool.now))
        pool.advance(1.5, ["a"])
        late = pool.ask(memory=GIB, models=())
        assert not pool.answers(late), "with it there would be no room for the first"
    end(pool, holder)
    assert pool.grant(first)
