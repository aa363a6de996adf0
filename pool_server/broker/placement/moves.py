"""Make room for a demand that fits nowhere, by moving a few leases out of its way.

A server is chosen that can be cleared with few moves; leases that find no place of their own may
in turn have others moved for them. Of the plans that work, the one that leaves idle devices
together is taken.

Pure: the fleet is as it was when `make_room` returns. Carrying a plan out (snapshot, restore,
redirect) is somebody else's work.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from cupool.pool_server.broker.placement.choose import decide
from cupool.pool_server.broker.placement.fleet import Fleet
from cupool.pool_server.broker.placement.fragmentation import Usual
from cupool.pool_server.broker.placement.policies import Policy
from cupool.pool_server.broker.placement.types import Demand, Slot

_WIDTHS = (16, 4)
"""How many servers are tried for the demand, and for a lease that has to make way for it."""
_MOST_CHOICES = 100
"""Sets of devices of one server that are compared; beyond, the cheapest devices are taken."""
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
        The plan after which idle devices are most together, None if none was found.
    """
    if most < 1 or demand.gpus < 1 or (demand.spread and demand.gpus > 1):
        return None
    if int(fleet.free_milli[fleet.up].sum()) < demand.gpus * demand.milli:
        return None
    return _Planner(rule, fleet, held, usual).best(demand, most)


@dataclass(frozen=True, slots=True, order=True)
class _Option:
    """A server, and the leases that must leave it: as few as can be, then as light."""

    moves: int
    milli: int
    row: int
    victims: tuple[str, ...]


class _Planner:
    """Plays plans through on the fleet, and undoes them."""

    def __init__(self, rule: Policy, fleet: Fleet, held: Mapping[str, Held], usual: Usual) -> None:
        self._rule, self._fleet, self._held, self._usual = rule, fleet, held, usual
        self._moves: list[Move] = []
        self._given: list[tuple[Slot, ...]] = []
        self._taken: list[tuple[Slot, ...]] = []
        self._on: dict[tuple[int, int], list[tuple[str, Slot]]] = {}
        self._columns = {
            (int(row), int(fleet.ordinal[row, column])): int(column)
            for row, column in zip(*np.nonzero(fleet.kind), strict=True)
        }
        for lease, holding in held.items():
            for slot in holding.slots:
                row = fleet.row_of[slot.server]
                where = row, self._columns[row, slot.ordinal]
                self._on.setdefault(where, []).append((lease, slot))

    def best(self, demand: Demand, most: int) -> Plan | None:
        found: list[tuple[tuple[int, int], int, Plan]] = []
        for number, option in enumerate(self._options(demand, most)[: _WIDTHS[0]]):
            slots = self._cleared(demand, option, most, 1)
            moves, together = list(self._moves), self._together()
            self._undo(0, 0, 0)
            order = self._in_order(moves) if slots is not None else None
            if slots is not None and order is not None:
                plan = Plan(order, slots)
                found.append(((-together, plan.moved), number, plan))
        return min(found)[2] if found else None

    def _in_order(self, moves: list[Move]) -> tuple[Move, ...] | None:
        """Order moves so that each finds its new place free while it still has the old one."""
        left, done = list(moves), []
        while ready := next((move for move in left if self._free(move.after)), None):
            self._fleet.take(ready.after)
            self._fleet.give(ready.before)
            left.remove(ready)
            done.append(ready)
        for move in reversed(done):
            self._fleet.take(move.before)
            self._fleet.give(move.after)
        return None if left else tuple(done)

    def _free(self, slots: tuple[Slot, ...]) -> bool:
        fleet = self._fleet
        for slot in slots:
            row = fleet.row_of[slot.server]
            column = self._columns[row, slot.ordinal]
            if fleet.exclusive[row, column] or (slot.whole and fleet.leases[row, column]):
                return False
            if fleet.free_milli[row, column] < slot.milli:
                return False
            if fleet.free_bytes[row, column] < slot.memory_bytes:
                return False
        rows = {fleet.row_of[slot.server] for slot in slots}
        width = slots[0].bandwidth_mbps * len(slots)
        return not width or all(fleet.free_link_mbps[row] >= width for row in rows)

    def _together(self) -> int:
        """Return the sum of the squares of the servers' idle devices: large gangs fit then."""
        fleet = self._fleet
        idle = ((fleet.kind > 0) & (fleet.leases == 0)).sum(axis=1, dtype=np.int64)
        return int((idle * idle)[fleet.up].sum())

    # ------------------------------------------------------------ which server

    def _options(self, demand: Demand, most: int) -> list[_Option]:
        """Return the servers that could be cleared for the demand, the easiest first."""
        fleet = self._fleet
        allowed = fleet.allowed(demand)
        counts = allowed.sum(axis=1, dtype=np.int64)
        if demand.bandwidth_mbps:
            counts = np.minimum(counts, fleet.link_mbps // demand.bandwidth_mbps)
        fits = fleet.fits(demand)
        leases = np.where(fits, 0, fleet.leases if demand.whole else 1)
        fewest = np.sort(np.where(allowed, leases, most + 1), axis=1)[:, : demand.gpus].sum(axis=1)
        able = (counts >= demand.gpus) & (fewest <= most) & fleet.ready(demand)
        found = []
        for row in np.flatnonzero(able).tolist():
            columns = np.flatnonzero(allowed[row]).tolist()
            going = [() if fits[row, c] else self._off(demand, row, c) for c in columns]
            able = [each for each in going if each is not None]
            found += [each for each in self._ways(row, able, demand.gpus) if each.moves <= most]
        return sorted(found)

    def _ways(self, row: int, going: list[tuple[str, ...]], gpus: int) -> Iterable[_Option]:
        """Choose so many devices of a server; for gangs, those that the fewest leases leave."""
        if len(going) < gpus:
            return []
        going.sort(key=lambda leases: self._cost(set(leases)))
        choices: Iterator[tuple[tuple[str, ...], ...]] = iter([tuple(going[:gpus])])
        if math.comb(len(going), gpus) <= _MOST_CHOICES:
            choices = itertools.combinations(going, gpus)
        sets = {frozenset(lease for each in choice for lease in each) for choice in choices}
        ways = sorted(_Option(*self._cost(each), row, tuple(sorted(each))) for each in sets)
        return ways if gpus == 1 else ways[:1]

    def _cost(self, leases: set[str] | frozenset[str]) -> tuple[int, int]:
        slots = [slot for lease in leases for slot in self._held[lease].slots]
        return len(slots), sum(slot.milli for slot in slots)

    def _off(self, demand: Demand, row: int, column: int) -> tuple[str, ...] | None:
        """Choose leases to take off one device: all for a whole one, else the fewest that do."""
        fleet = self._fleet
        gone = {move.lease for move in self._moves}
        here = [each for each in self._on.get((row, column), ()) if each[0] not in gone]
        if demand.whole:
            movable = len(here) == fleet.leases[row, column]
            return tuple(lease for lease, _ in here) if movable else None
        wanted = fleet.slot(demand, row, column)
        milli = wanted.milli - int(fleet.free_milli[row, column])
        size = wanted.memory_bytes - int(fleet.free_bytes[row, column])
        for count in range(1, len(here) + 1):
            enough = [
                (sum(slot.milli for _, slot in some), tuple(lease for lease, _ in some))
                for some in itertools.islice(itertools.combinations(here, count), _MOST_CHOICES)
                if sum(slot.milli for _, slot in some) >= milli
                and sum(slot.memory_bytes for _, slot in some) >= size
            ]
            if enough:
                return min(enough)[1]
        return None

    # ------------------------------------------------------------ playing it through

    def _cleared(
        self, demand: Demand, option: _Option, most: int, depth: int
    ) -> tuple[Slot, ...] | None:
        """Move the victims away and give the demand their place; None leaves things undone."""
        fleet = self._fleet
        for lease in option.victims:
            self._give(self._held[lease].slots)
        only = replace(demand, servers=frozenset({fleet.names[option.row]}))
        slots = self._placed(only)
        if slots is None:
            return None
        left = most - option.moves
        for lease in sorted(option.victims, key=self._largest_first):
            before = len(self._moves), self._moved()
            after = self._settled(self._held[lease].demand, left, depth)
            if after is None:
                return None
            left -= self._moved() - before[1]
            self._moves.append(Move(lease, self._held[lease].slots, after))
        return slots

    def _settled(self, demand: Demand, most: int, depth: int) -> tuple[Slot, ...] | None:
        """Find a new place for a lease, if need be by moving others."""
        slots = self._placed(demand)
        if slots is not None or not depth or most < 1:
            return slots
        mark = len(self._moves), len(self._given), len(self._taken)
        for option in self._options(demand, most)[: _WIDTHS[1]]:
            slots = self._cleared(demand, option, most, depth - 1)
            if slots is not None:
                return slots
            self._undo(*mark)
        return None

    def _placed(self, demand: Demand) -> tuple[Slot, ...] | None:
        fleet = self._fleet
        choice = decide(self._rule, demand, fleet, self._usual)
        if choice is None:
            return None
        slots = tuple(fleet.slot(demand, row, c) for row, columns in choice for c in columns)
        fleet.take(slots)
        self._taken.append(slots)
        return slots

    def _give(self, slots: tuple[Slot, ...]) -> None:
        self._fleet.give(slots)
        self._given.append(slots)

    def _moved(self) -> int:
        return sum(len(move.before) for move in self._moves)

    def _undo(self, moves: int, given: int, taken: int) -> None:
        del self._moves[moves:]
        while len(self._taken) > taken:
            self._fleet.give(self._taken.pop())
        while len(self._given) > given:
            self._fleet.take(self._given.pop())

    def _largest_first(self, lease: str) -> tuple[int, str]:
        demand = self._held[lease].demand
        return -demand.gpus * demand.milli, lease
