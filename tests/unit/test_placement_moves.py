"""Plans that make room: they fit, in their order, and are as few as asked for."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cupool.pool_server.broker.placement import Demand, DeviceRoom, Fleet, Near, place, policy
from cupool.pool_server.broker.placement.moves import Held, Plan, make_room

GIB = 1 << 30
BEST = policy("bestfit")


def _pool(servers: int, gpus: int) -> Fleet:
    return Fleet(
        DeviceRoom(f"s{server}", ordinal, 16 * GIB, 16 * GIB)
        for server in range(servers)
        for ordinal in range(gpus)
    )


def _lease(fleet: Fleet, held: dict[str, Held], demand: Demand) -> None:
    slots = place(BEST, demand, fleet)
    if slots is not None:
        fleet.take(slots)
        held[f"lease-{len(held)}"] = Held(demand, tuple(slots))


def _on(server: str, **demand: int) -> Demand:
    return Demand(servers=frozenset({server}), **demand)  # type: ignore[arg-type]


def _play(plan: Plan, fleet: Fleet, demand: Demand) -> None:
    """Carry a plan out, step by step, as somebody would who holds both places for a while."""
    for move in plan.moves:
        fleet.take(move.after)
        _check(fleet)
        fleet.give(move.before)
    fleet.take(plan.slots)
    _check(fleet)
    assert len({slot.server for slot in plan.slots}) == 1
    assert len(plan.slots) == demand.gpus


def _check(fleet: Fleet) -> None:
    rooms = fleet.rooms()
    assert all(room.free_milli >= 0 and room.free_bytes >= 0 for room in rooms)
    assert all(room.leases == 1 for room in rooms if room.exclusive)


def _elsewhere(held: dict[str, Held]) -> dict[str, Held]:
    """The same leases, free to go anywhere."""
    return {
        name: Held(Demand(gpus=h.demand.gpus, share_milli=h.demand.share_milli), h.slots)
        for name, h in held.items()
    }


def test_a_lease_in_the_way_may_have_another_moved_for_it() -> None:
    fleet, held = _pool(3, 1), dict[str, Held]()
    _lease(fleet, held, _on("s0", share_milli=600))
    _lease(fleet, held, _on("s1", share_milli=500))
    _lease(fleet, held, _on("s2", share_milli=450))
    _lease(fleet, held, _on("s2", share_milli=100))
    held = _elsewhere(held)
    whole = Demand(near=Near.SERVER)
    before = fleet.rooms()
    assert make_room(BEST, whole, fleet, held, most=1) is None
    plan = make_room(BEST, whole, fleet, held, most=2)
    assert plan is not None and plan.moved == 2
    assert fleet.rooms() == before, "a plan changes nothing"
    _play(plan, fleet, whole)


def test_the_fewest_sessions_move_not_the_lightest() -> None:
    fleet, held = _pool(3, 2), dict[str, Held]()
    for server, shares in (("s0", (100,) * 4), ("s1", (700,))):
        for share in shares:
            _lease(fleet, held, _on(server, share_milli=share))
        _lease(fleet, held, _on(server))
    _lease(fleet, held, _on("s2"))
    plan = make_room(BEST, _on("s0"), fleet, {**held, **_elsewhere(held)}, most=6)
    assert plan is not None and plan.moved == 1, "a whole device, not four shares"


_SIZES = st.sampled_from([1000, 1000, 810, 470, 320, 230, 110])
_DEMANDS = st.one_of(
    st.builds(lambda share: Demand(share_milli=share), _SIZES),
    st.builds(lambda gpus: Demand(gpus=gpus, near=Near.SERVER), st.sampled_from([1, 2, 4])),
)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(_DEMANDS, max_size=40),
    st.sets(st.integers(0, 39)),
    st.sampled_from([Demand(), Demand(share_milli=470), Demand(gpus=2), Demand(gpus=4)]),
    st.integers(1, 6),
)
@pytest.mark.parametrize("rule", ["bestfit", "spread"])
def test_every_plan_can_be_carried_out_in_its_order(
    rule: str, demands: list[Demand], gone: set[int], demand: Demand, most: int
) -> None:
    fleet: Fleet = _pool(4, 4)
    held: dict[str, Held] = {}
    for each in demands:
        _lease(fleet, held, each)
    for number in gone:
        if (left := held.pop(f"lease-{number}", None)) is not None:
            fleet.give(left.slots)
    before = fleet.rooms()
    plan = make_room(policy(rule), demand, fleet, held, most)
    assert fleet.rooms() == before
    if plan is not None:
        assert plan.moved <= most
        assert {move.lease for move in plan.moves} <= held.keys()
        assert len({move.lease for move in plan.moves}) == len(plan.moves)
        _play(plan, fleet, demand)
