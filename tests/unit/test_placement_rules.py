"""What each rule of placement is for, by example."""

from __future__ import annotations

import itertools

import pytest

from cupool.pool_server.broker.placement import (
    POLICIES,
    Demand,
    DeviceRoom,
    Fleet,
    History,
    Near,
    ServerRoom,
    Slot,
    Usual,
    could_fit,
    explain,
    missing,
    place,
    policy,
)
from cupool.pool_server.broker.placement.moves import Held, make_room

GIB = 1 << 30


def pool(servers: dict[str, int], **common: object) -> Fleet:
    return Fleet(
        DeviceRoom(server, ordinal, 16 * GIB, 16 * GIB, **common)  # type: ignore[arg-type]
        for server, count in servers.items()
        for ordinal in range(count)
    )


def where(slots: list[Slot] | None) -> list[tuple[str, int]] | None:
    return None if slots is None else [(slot.server, slot.ordinal) for slot in slots]


def take(fleet: Fleet, demand: Demand, rule: str = "bestfit") -> list[Slot]:
    slots = place(rule, demand, fleet)
    assert slots is not None
    fleet.take(slots)
    return slots


# ---------------------------------------------------------------- one device


def test_best_fit_fills_the_fullest_device_and_spread_the_emptiest() -> None:
    fleet = pool({"a": 2, "b": 2})
    take(fleet, Demand(share_milli=300))
    assert where(place("bestfit", Demand(share_milli=500), fleet)) == [("a", 0)]
    assert where(place("spread", Demand(share_milli=500), fleet)) == [("b", 0)]
    assert where(place("bestfit", Demand(share_milli=800), fleet)) == [("a", 1)]


def test_a_share_without_memory_gets_its_part_of_the_memory() -> None:
    fleet = pool({"a": 1})
    slot = take(fleet, Demand(share_milli=250))[0]
    assert (slot.memory_bytes, slot.milli, slot.whole) == (4 * GIB, 250, False)
    take(fleet, Demand(memory_bytes=12 * GIB))
    assert place("bestfit", Demand(share_milli=100), fleet) is None, "compute, but no memory"


def test_whole_means_alone_and_may_name_the_least_memory() -> None:
    fleet = pool({"a": 1})
    fleet.update(DeviceRoom("b", 0, 80 * GIB, 80 * GIB))
    whole = Demand(share_milli=1000, memory_bytes=40 * GIB)
    assert where(take(fleet, whole)) == [("b", 0)]
    assert place("bestfit", Demand(memory_bytes=17 * GIB), fleet) is None
    assert place("bestfit", whole, fleet) is None


def test_random_draws_from_all_and_repeats_itself() -> None:
    fleet = pool({name: 2 for name in "abcdefgh"})
    drawn = []
    for _ in range(30):
        slots = place(policy("random", seed=5), Demand(share_milli=100), fleet)
        assert slots == place(policy("random", seed=5), Demand(share_milli=100), fleet)
        assert slots is not None
        fleet.take(slots)
        drawn += where(slots) or []
    assert len({server for server, _ in drawn}) == 8
    assert len(set(drawn)) > 10


def test_an_unknown_policy_is_named() -> None:
    with pytest.raises(ValueError, match=r"'best'.*bestfit, fgd"):
        policy("best")


def test_the_cheapest_that_fits_goes_to_who_names_no_model() -> None:
    fleet = pool({"a": 1}, model="H100", cost=8.0)
    fleet.update(DeviceRoom("b", 0, 15 * GIB, 15 * GIB, model="T4", cost=1.0))
    assert where(place("fgd", Demand(share_milli=100), fleet)) == [("b", 0)]
    assert where(place("bestfit", Demand(memory_bytes=16 * GIB), fleet)) == [("a", 0)]
    assert where(place("bestfit", Demand(models=("H100",)), fleet)) == [("a", 0)]


@pytest.mark.parametrize(
    ("constant", "demand"),
    [
        ({"model": "T4"}, Demand(models=("A100", "H100"))),
        ({"compute_capability": (7, 5)}, Demand(min_compute_capability=(8, 0))),
        ({"zone": "z1"}, Demand(zone="z2")),
        ({"rack": "r1"}, Demand(racks=("r2", "r3"))),
        ({"partition": "prod"}, Demand()),
        ({}, Demand(partition="prod")),
        ({"taints": frozenset({"old"})}, Demand(tolerations=frozenset({"new"}))),
        ({"healthy": False}, Demand()),
        ({}, Demand(servers=frozenset({"b"}))),
        ({}, Demand(memory_bytes=17 * GIB)),
        ({}, Demand(bandwidth_mbps=1)),
        ({}, Demand(gpus=3)),
        ({}, Demand(gpus=2, spread=True)),
    ],
)
def test_filters(constant: dict[str, object], demand: Demand) -> None:
    fleet = pool({"a": 2}, **constant)
    for name in POLICIES:
        assert place(name, demand, fleet) is None
    assert missing(demand, fleet) is not None and not could_fit(demand, fleet)


def test_a_server_that_is_not_up_counts_only_for_what_could_be() -> None:
    fleet = pool({"a": 1})
    fleet.update_server(ServerRoom("a", up=False))
    assert place("bestfit", Demand(), fleet) is None
    assert could_fit(Demand(), fleet)
    assert "server not up" in explain(Demand(), fleet).sentence


# ---------------------------------------------------------------- gangs and the network


def racks() -> Fleet:
    fleet = Fleet()
    for number, (zone, rack) in enumerate(
        [("z1", "r1"), ("z1", "r2"), ("z1", "r2"), ("z2", "r3"), ("z2", "r3"), ("z2", "r3")]
    ):
        for ordinal in range(2):
            room = DeviceRoom(f"s{number}", ordinal, GIB, GIB, zone=zone, rack=rack)
            fleet.update(room)
    return fleet


def test_a_gang_stays_on_one_server_if_it_can() -> None:
    assert where(place("bestfit", Demand(gpus=2), racks())) == [("s0", 0), ("s0", 1)]


def test_a_gang_of_several_servers_stays_in_a_rack_then_in_a_zone() -> None:
    fleet = racks()
    assert {s for s, _ in where(take(fleet, Demand(gpus=4))) or []} == {"s1", "s2"}
    assert {s for s, _ in where(take(fleet, Demand(gpus=5))) or []} == {"s3", "s4", "s5"}
    assert place("bestfit", Demand(gpus=3, near=Near.ZONE), fleet) is None
    assert len(where(place("bestfit", Demand(gpus=3), fleet)) or []) == 3


def test_nearness_is_kept_or_refused() -> None:
    for near, most in ((Near.SERVER, 2), (Near.RACK, 6), (Near.ZONE, 6), (Near.POOL, 12)):
        assert place("bestfit", Demand(gpus=most, near=near), racks()) is not None
        assert place("bestfit", Demand(gpus=most + 1, near=near), racks()) is None
        lack = missing(Demand(gpus=most + 1, near=near), racks())
        assert lack is not None and lack.devices == most


def test_replicas_are_spread() -> None:
    slots = place("bestfit", Demand(gpus=3, spread=True, near=Near.ZONE), racks())
    assert {s for s, _ in where(slots) or []} in ({"s0", "s1", "s2"}, {"s3", "s4", "s5"})


def links() -> Fleet:
    fleet = pool({"fast": 4, "slow": 4})
    fleet.update_server(ServerRoom("fast", link_mbps=100_000, free_link_mbps=100_000))
    fleet.update_server(ServerRoom("slow", link_mbps=10_000, free_link_mbps=10_000))
    return fleet


def test_training_gets_the_fast_link_and_inference_leaves_it() -> None:
    fleet = links()
    assert where(take(fleet, Demand(share_milli=200))) == [("slow", 0)]
    training = Demand(gpus=2, bandwidth_mbps=2_000)
    assert {s for s, _ in where(take(fleet, training)) or []} == {"fast"}


def test_bandwidth_is_used_up_and_given_back() -> None:
    fleet = links()
    demand = Demand(share_milli=100, bandwidth_mbps=30_000)
    taken = [take(fleet, demand) for _ in range(3)]
    assert {slot.server for slots in taken for slot in slots} == {"fast"}
    assert place("bestfit", demand, fleet) is None
    assert ("bandwidth", 0) in explain(demand, fleet).remaining
    fleet.give(taken[0])
    assert place("bestfit", demand, fleet) is not None


# ---------------------------------------------------------------- fragmentation


def test_fgd_keeps_whole_devices_for_those_who_use_whole_devices() -> None:
    """Of two devices with the same room for a share, it takes the one nobody else could use."""
    fleet = pool({"a": 2})
    fleet.update(DeviceRoom("a", 0, 16 * GIB, 16 * GIB, free_milli=600, leases=1))
    usual = Usual((Demand(), Demand(share_milli=300)), (9, 1))
    assert where(place("fgd", Demand(share_milli=300), fleet, usual)) == [("a", 0)]


def test_fgd_without_a_history_is_best_fit() -> None:
    fleet = pool({"a": 3, "b": 2})
    take(fleet, Demand(share_milli=300))
    for demand in (Demand(), Demand(share_milli=300), Demand(gpus=2), Demand(gpus=4)):
        assert place("fgd", demand, fleet) == place("bestfit", demand, fleet)


def test_the_usual_demands_are_those_that_come_most() -> None:
    history = History(every=100)
    rare, common = Demand(gpus=8), Demand(share_milli=250)
    for demand in itertools.chain([rare] * 3, [common] * 97):
        history.record(demand)
    assert history.usual.demands == (common,)


# ---------------------------------------------------------------- reasons


def test_what_is_nearest_is_named_with_its_place() -> None:
    fleet = pool({"a": 2}, model="T4", compute_capability=(7, 5))
    lack = missing(Demand(memory_bytes=20 * GIB), fleet)
    assert lack is not None
    assert (lack.condition, lack.wanted, lack.nearest) == ("memory", "20 GiB", "16 GiB")
    assert (lack.server, lack.ordinal, lack.devices) == ("a", 0, 0)
    lack = missing(Demand(models=("A100",)), fleet)
    assert lack is not None and (lack.condition, lack.nearest) == ("model", "T4")
    lack = missing(Demand(min_compute_capability=(9, 0)), fleet)
    assert lack is not None and (lack.wanted, lack.nearest) == ("9.0", "7.5")
    lack = missing(Demand(gpus=3), fleet)
    assert lack is not None and (lack.condition, lack.nearest) == ("count", "2 GPUs")
    assert missing(Demand(), Fleet()) is not None


def test_what_a_demand_waits_for_is_counted() -> None:
    fleet = pool({"a": 4}, model="T4")
    take(fleet, Demand(gpus=2))
    take(fleet, Demand(share_milli=800, memory_bytes=GIB))
    reason = explain(Demand(share_milli=500), fleet)
    assert reason.devices == 4
    assert reason.sentence == (
        "1 of 4 GPUs would do now, 1 wanted (ruled out: 2 by exclusive leases, 1 by compute in use)"
    )


# ---------------------------------------------------------------- moves


def crowded() -> tuple[Fleet, dict[str, Held]]:
    """Two servers of two devices, each with a share of 300."""
    fleet = pool({"a": 2, "b": 2})
    held = {}
    for number, server in enumerate("ab"):
        demand = Demand(share_milli=300)
        slots = (Slot(server, 0, 4 * GIB, 300, False),)
        fleet.take(slots)
        held[f"lease-{number}"] = Held(demand, slots)
    return fleet, held


def test_room_is_made_by_moving_what_is_in_the_way() -> None:
    fleet, held = crowded()
    before = fleet.rooms()
    gang = Demand(gpus=2, near=Near.SERVER)
    assert place("bestfit", gang, fleet) is None
    plan = make_room(policy("bestfit"), gang, fleet, held)
    assert plan is not None and plan.moved == 1
    assert [move.lease for move in plan.moves] == ["lease-0"]
    assert where(list(plan.moves[0].after)) == [("b", 0)]
    assert where(list(plan.slots)) == [("a", 0), ("a", 1)]
    assert fleet.rooms() == before, "a plan changes nothing"


def test_no_plan_moves_too_many_or_what_may_not_be_moved() -> None:
    fleet, held = crowded()
    gang = Demand(gpus=2, near=Near.SERVER)
    assert make_room(policy("bestfit"), gang, fleet, held, most=0) is None
    assert make_room(policy("bestfit"), gang, fleet, {}) is None
    too_large = Demand(gpus=3, near=Near.SERVER)
    assert make_room(policy("bestfit"), too_large, fleet, held) is None
