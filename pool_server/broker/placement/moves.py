"""Make room for a demand that fits nowhere, by moving a few leases out of its way.

Pure: the fleet is as it was when `make_room` returns. Carrying a plan out (snapshot, restore,
redirect) is somebody else's work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cupool.pool_server.broker.placement.choose import decide, place
from cupool.pool_server.broker.placement.fleet import Fleet
from cupool.pool_server.broker.placement.fragmentation import Usual
from cupool.pool_server.broker.placement.policies import Policy
from cupool.pool_server.broker.placement.types import Demand, Slot

_MOST_SERVERS_TRIED = 16
_NOTHING_USUAL = Usual()


@dataclass(frozen=True, slots=True)
class Held:
    """A lease that may be moved: what was asked for, and what it has."""

    demand: Demand
    slots: tuple[Slot, ...]


@dataclass(frozen=True, slots=True)
class Move:
    """All devices of a lease go from these slots to those."""

    lease: str
    before: tuple[Slot, ...]
    after: tuple[Slot, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """First the moves, in this order; then the demand gets `slots`."""

    moves: tuple[Move, ...]
    slots: tuple[Slot, ...]

    @property
    def moved(self) -> int:
        """How many devices' sessions move."""
        return sum(len(move.before) for move in self.moves)


def make_room(
    rule: Policy,
    demand: Demand,
    fleet: Fleet,
    held: Mapping[str, Held],
    most: int = 6,
    usual: Usual = _NOTHING_USUAL,
) -> Plan | None:
    """Find at most `most` sessions whose moving lets the demand fit on one server.

    Args:
        held: the leases that may be moved, by id. Others stay where they are.

    Returns:
        The first plan that works, trying to move little compute first; None if none does.
    """
    if most < 1 or demand.gpus < 1 or (demand.spread and demand.gpus > 1):
        return None
    if int(fleet.free_milli[fleet.up].sum()) < demand.gpus * demand.milli:
        return None
    on_server: dict[str, list[str]] = {}
    for lease, holding in held.items():
        for server in {slot.server for slot in holding.slots}:
            on_server.setdefault(server, []).append(lease)
    candidates: list[tuple[int, int, list[str]]] = []
    for row in _candidates(demand, fleet):
        leases = on_server.get(fleet.names[row], [])
        victims = _victims(demand, fleet, row, {lease: held[lease] for lease in leases})
        if victims is None:
            continue
        if sum(len(held[lease].slots) for lease in victims) <= most:
            candidates.append((_weight(victims, held), row, victims))
    for _, row, victims in sorted(candidates)[:_MOST_SERVERS_TRIED]:
        plan = _tried(rule, demand, fleet, row, {v: held[v] for v in victims}, usual)
        if plan is not None:
            return plan
    return None


def _candidates(demand: Demand, fleet: Fleet) -> list[int]:
    """Return rows of servers that could hold the demand if they were emptier."""
    allowed = fleet.allowed(demand).sum(axis=1, dtype=np.int64)
    if demand.bandwidth_mbps:
        allowed = np.minimum(allowed, fleet.link_mbps // demand.bandwidth_mbps)
    able = (allowed >= demand.gpus) & fleet.ready(demand)
    return [int(row) for row in np.flatnonzero(able)]


def _victims(demand: Demand, fleet: Fleet, row: int, held: Mapping[str, Held]) -> list[str] | None:
    """Choose leases of one server that must go, the lightest first; None if others bar it."""
    fits = fleet.fits(demand, np.array([row]))[0]
    allowed = fleet.allowed(demand)[row]
    costs: list[tuple[int, int, list[str]]] = []
    for column in np.flatnonzero(allowed).tolist():
        if fits[column]:
            costs.append((0, column, []))
            continue
        going = _off_device(demand, fleet, row, column, held)
        if going is not None:
            costs.append((_weight(going, held), column, going))
    if len(costs) < demand.gpus:
        return None
    victims: list[str] = []
    for _, _, going in sorted(costs)[: demand.gpus]:
        victims += [lease for lease in going if lease not in victims]
    return victims


def _weight(leases: Sequence[str], held: Mapping[str, Held]) -> int:
    """Return the compute that would have to find another place: less is easier."""
    return sum(slot.milli for lease in leases for slot in held[lease].slots)


def _off_device(
    demand: Demand, fleet: Fleet, row: int, column: int, held: Mapping[str, Held]
) -> list[str] | None:
    """Choose leases to take off one device: all for a whole one, else the smallest that do."""
    where = fleet.names[row], int(fleet.ordinal[row, column])
    here = sorted(
        (slot.milli, slot.memory_bytes, lease)
        for lease, holding in held.items()
        for slot in holding.slots
        if (slot.server, slot.ordinal) == where
    )
    if demand.whole:
        return [lease for _, _, lease in here] if len(here) == fleet.leases[row, column] else None
    milli, size = int(fleet.free_milli[row, column]), int(fleet.free_bytes[row, column])
    wanted = fleet.slot(demand, row, column)
    going: list[str] = []
    for freed_milli, freed_bytes, lease in here:
        milli, size = milli + freed_milli, size + freed_bytes
        going.append(lease)
        if milli >= wanted.milli and size >= wanted.memory_bytes:
            return going
    return None


def _tried(
    rule: Policy,
    demand: Demand,
    fleet: Fleet,
    row: int,
    victims: Mapping[str, Held],
    usual: Usual,
) -> Plan | None:
    """Play a plan through on the fleet, and undo it."""
    done: list[Sequence[Slot]] = []
    moves: list[Move] = []
    try:
        for holding in victims.values():
            fleet.give(holding.slots)
        choice = decide(rule, _only(demand, fleet, row), fleet, usual)
        if choice is None:
            return None
        slots = [
            fleet.slot(demand, there, column) for there, columns in choice for column in columns
        ]
        fleet.take(slots)
        done.append(slots)
        for lease, holding in sorted(victims.items(), key=_largest_first):
            found = place(rule, holding.demand, fleet, usual)
            if found is None:
                return None
            fleet.take(found)
            done.append(found)
            moves.append(Move(lease, holding.slots, tuple(found)))
        return Plan(tuple(moves), tuple(slots))
    finally:
        for taken in reversed(done):
            fleet.give(taken)
        for holding in victims.values():
            fleet.take(holding.slots)


def _only(demand: Demand, fleet: Fleet, row: int) -> Demand:
    return replace(demand, servers=frozenset({fleet.names[row]}))


def _largest_first(item: tuple[str, Held]) -> tuple[int, str]:
    lease, holding = item
    return -holding.demand.gpus * holding.demand.milli, lease
