"""Placement against a slow and obvious search: nothing is over-allocated, missed or torn apart."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import hypothesis.strategies as st
from hypothesis import given, settings

from cupool.pool_server.broker.placement import (
    POLICIES,
    Demand,
    DeviceRoom,
    Fleet,
    Near,
    ServerRoom,
    Slot,
    Usual,
    could_fit,
    explain,
    missing,
    place,
)

SERVERS = {"a": 2, "b": 3, "c": 1, "d": 2}
PLACES = {"a": ("z1", "r1"), "b": ("z1", "r2"), "c": ("z1", "r2"), "d": ("z2", "r1")}
MODELS = ("T4", "A100")
LINK = 100

demands = st.builds(
    Demand,
    gpus=st.integers(1, 5),
    memory_bytes=st.sampled_from((0, 0, 1, 3, 5)),
    share_milli=st.sampled_from((0, 0, 200, 500, 700, 1000)),
    near=st.sampled_from(Near),
    spread=st.booleans(),
    bandwidth_mbps=st.sampled_from((0, 0, 40)),
    models=st.sampled_from(((), (), ("A100",), ("T4", "A100"))),
    zone=st.sampled_from(("", "", "z1")),
    servers=st.sampled_from((None, None, frozenset("ab"))),
)
steps = st.lists(st.one_of(demands, st.integers(0, 20)), max_size=25)


def empty_fleet() -> Fleet:
    devices = [
        DeviceRoom(
            server,
            ordinal,
            memory_bytes=4 + 4 * (ordinal % 2),
            free_bytes=4 + 4 * (ordinal % 2),
            model=MODELS[(ordinal + ord(server)) % 2],
            zone=PLACES[server][0],
            rack=PLACES[server][1],
        )
        for server, count in SERVERS.items()
        for ordinal in range(count)
    ]
    links = [ServerRoom(server, link_mbps=LINK, free_link_mbps=LINK) for server in SERVERS]
    return Fleet(devices, links)


def device_fits(room: DeviceRoom, demand: Demand) -> bool:
    if demand.models and room.model not in demand.models:
        return False
    if demand.zone and room.zone != demand.zone:
        return False
    if demand.servers is not None and room.server not in demand.servers:
        return False
    if room.memory_bytes < demand.memory_bytes:
        return False
    if demand.whole:
        return room.leases == 0
    need = demand.memory_bytes or room.memory_bytes * demand.share_milli // 1000
    return not room.exclusive and room.free_bytes >= need and room.free_milli >= demand.share_milli


def together(rooms: tuple[DeviceRoom, ...], near: Near) -> bool:
    servers = {room.server for room in rooms}
    if near is Near.POOL or len(servers) == 1:
        return True
    racks = {(room.zone, room.rack) for room in rooms}
    if near is Near.RACK:
        return len(racks) == 1
    return near is Near.ZONE and len({room.zone for room in rooms}) == 1


def valid(rooms: tuple[DeviceRoom, ...], demand: Demand, links: dict[str, int]) -> bool:
    counts = Counter(room.server for room in rooms)
    if demand.spread and max(counts.values()) > 1:
        return False
    if any(links[server] < many * demand.bandwidth_mbps for server, many in counts.items()):
        return False
    return together(rooms, demand.near)


def search(fleet: Fleet, demand: Demand, links: dict[str, int]) -> bool:
    able = [room for room in fleet.rooms() if device_fits(room, demand)]
    return any(valid(rooms, demand, links) for rooms in combinations(able, demand.gpus))


def free_links(fleet: Fleet) -> dict[str, int]:
    return {name: int(fleet.free_link_mbps[row]) for name, row in fleet.row_of.items()}


def recount(leases: list[list[Slot]]) -> Fleet:
    """Build the fleet anew, device by device, from who holds what."""
    fleet = empty_fleet()
    for room in empty_fleet().rooms():
        held = [
            (slot, len(slots))
            for slots in leases
            for slot in slots
            if (slot.server, slot.ordinal) == (room.server, room.ordinal)
        ]
        alone = [gang for slot, gang in held if slot.whole]
        fleet.update(
            DeviceRoom(
                room.server,
                room.ordinal,
                room.memory_bytes,
                room.memory_bytes - sum(slot.memory_bytes for slot, _ in held),
                1000 - sum(slot.milli for slot, _ in held),
                len(held),
                bool(alone),
                alone[0] if alone else 0,
                room.model,
                zone=room.zone,
                rack=room.rack,
            )
        )
    for name in SERVERS:
        used = sum(slot.bandwidth_mbps for slots in leases for slot in slots if slot.server == name)
        fleet.update_server(ServerRoom(name, link_mbps=LINK, free_link_mbps=LINK - used))
    return fleet


@settings(max_examples=150, deadline=None)
@given(steps, st.sampled_from(POLICIES))
def test_arrivals_and_departures_of_any_kind(steps: list[Demand | int], rule: str) -> None:
    """Whatever comes and goes: answers are valid, found if any exists, and the index is right."""
    fleet = empty_fleet()
    usual = Usual.of([step for step in steps if isinstance(step, Demand)])
    leases: list[list[Slot]] = []
    for step in steps:
        if isinstance(step, int):
            if leases:
                fleet.give(leases.pop(step % len(leases)))
            continue
        links = free_links(fleet)
        slots = place(rule, step, fleet, usual)
        assert (slots is not None) == search(fleet, step, links), explain(step, fleet)
        if slots is None:
            continue
        assert could_fit(step, fleet)
        assert len({(slot.server, slot.ordinal) for slot in slots}) == step.gpus
        rooms = {(room.server, room.ordinal): room for room in fleet.rooms()}
        chosen = tuple(rooms[slot.server, slot.ordinal] for slot in slots)
        assert all(device_fits(room, step) for room in chosen)
        assert valid(chosen, step, links)
        fleet.take(slots)
        leases.append(slots)
        assert fleet.rooms() == recount(leases).rooms()
        assert free_links(fleet) == free_links(recount(leases))
    for room in fleet.rooms():
        assert room.free_bytes >= 0 and 0 <= room.free_milli <= 1000
        assert not (room.exclusive and room.leases > 1)


@settings(max_examples=100, deadline=None)
@given(steps, st.sampled_from(POLICIES), demands)
def test_what_is_cached_does_not_matter(steps: list[Demand | int], rule: str, last: Demand) -> None:
    """A fleet that has seen much answers as one that was built this minute."""
    fleet = empty_fleet()
    leases: list[list[Slot]] = []
    for step in steps:
        if isinstance(step, Demand):
            slots = place(rule, step, fleet)
            if slots is not None:
                fleet.take(slots)
                leases.append(slots)
        elif leases:
            fleet.give(leases.pop(step % len(leases)))
    fresh = recount(leases)
    fresh.version = fleet.version  # `random` draws by it
    assert place(rule, last, fresh) == place(rule, last, fleet)


@settings(max_examples=200, deadline=None)
@given(demands)
def test_what_is_missing_for_ever(demand: Demand) -> None:
    """The empty pool holds a demand exactly if nothing is said to be missing."""
    fleet = empty_fleet()
    found = missing(demand, fleet)
    assert (found is None) == search(fleet, demand, free_links(fleet))
    assert (found is None) == (place("bestfit", demand, fleet) is not None)


@given(demands, st.permutations(sorted(SERVERS)))
def test_the_order_of_joining_does_not_matter(demand: Demand, order: list[str]) -> None:
    rooms = {room: room for room in empty_fleet().rooms()}
    devices = sorted(rooms, key=lambda room: (order.index(room.server), -room.ordinal))
    links = [ServerRoom(server, link_mbps=LINK, free_link_mbps=LINK) for server in order]
    fleet = Fleet(devices, links)
    assert fleet.rooms() == empty_fleet().rooms()
    assert place("bestfit", demand, fleet) == place("bestfit", demand, empty_fleet())
    fleet.remove(order[0])
    assert [room.server for room in fleet.rooms()] == [
        room.server for room in empty_fleet().rooms() if room.server != order[0]
    ]
