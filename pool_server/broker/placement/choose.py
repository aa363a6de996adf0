"""From a policy and a demand to devices: all of them, or none.

A gang goes to one server if one can hold it, else to the fewest servers of one rack, of one zone,
of the pool, as far apart as the demand allows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from cupool.pool_server.broker.placement.fleet import EVERY_ROW, Fleet, Ints, Rows
from cupool.pool_server.broker.placement.fragmentation import Usual
from cupool.pool_server.broker.placement.policies import Policy, View, policy
from cupool.pool_server.broker.placement.types import Demand, Near, Slot

Choice: TypeAlias = list[tuple[int, list[int]]]
"""Rows of servers, each with the columns of its devices."""
_NOTHING_USUAL = Usual()
_MASK64 = (1 << 64) - 1


@dataclass
class Ranking:
    """A policy's opinion of every server for one demand, as of a version of the fleet."""

    version: int
    primary: Ints
    tie: Ints
    counts: Ints
    ready: Ints
    cost: Ints


def place(
    rule: str | Policy, demand: Demand, fleet: Fleet, usual: Usual = _NOTHING_USUAL
) -> list[Slot] | None:
    """Choose `demand.gpus` different devices with room for the demand; changes nothing.

    Args:
        rule: a policy or its name.
        usual: what requests usually ask for; `fgd` without it is `bestfit`.

    Returns:
        One slot for each device, by server and ordinal within the order of choice, or None.
    """
    choice = decide(policy(rule) if isinstance(rule, str) else rule, demand, fleet, usual)
    if choice is None:
        return None
    return [fleet.slot(demand, row, column) for row, columns in choice for column in columns]


def decide(
    rule: Policy, demand: Demand, fleet: Fleet, usual: Usual = _NOTHING_USUAL
) -> Choice | None:
    """Choose rows and columns; like `place`, and also for demands without devices."""
    if not rule.historic:
        usual = _NOTHING_USUAL
    if demand.spread and demand.gpus > 1:
        return _apart(rule, demand, fleet, usual)
    ranking = _ranking(rule, demand, fleet, usual)
    able = np.flatnonzero((ranking.counts >= demand.gpus) & (ranking.ready > 0))
    if len(able):
        row = _best(rule, demand, fleet, ranking, able)
        return [(row, _columns(rule, demand, fleet, usual, row, demand.gpus))]
    if demand.gpus < 2 or demand.near is Near.SERVER:
        return None
    counts = np.where(ranking.ready > 0, ranking.counts, 0)
    shares = _span(demand, fleet, counts)
    if shares is None:
        return None
    return [(row, _columns(rule, demand, fleet, usual, row, many)) for row, many in shares]


# ---------------------------------------------------------------- one server


def _ranking(rule: Policy, demand: Demand, fleet: Fleet, usual: Usual) -> Ranking:
    """Rank all servers; only those that changed since the last time are looked at again."""
    key = (rule, demand, usual)
    known = fleet.recall(key)
    if not isinstance(known, Ranking):
        known = _rank(rule, demand, fleet, usual, EVERY_ROW)
        fleet.remember(key, known)
    elif known.version != fleet.version:
        rows = np.flatnonzero(fleet.changed > known.version)
        new = _rank(rule, demand, fleet, usual, rows)
        for name in ("primary", "tie", "counts", "ready", "cost"):
            getattr(known, name)[rows] = getattr(new, name)
        known.version = fleet.version
    return known


def _rank(rule: Policy, demand: Demand, fleet: Fleet, usual: Usual, rows: Rows) -> Ranking:
    fits = fleet.fits(demand, rows)
    counts = fleet.counts(demand, fits, rows)
    primary, tie = rule.rank(View(fleet, demand, rows, fits, counts), usual)
    cost = np.zeros(len(counts), np.int64)
    if demand.gpus and fleet.priced:
        by_device = np.where(fits, fleet.costs()[fleet.kind[rows]], np.iinfo(np.int64).max)
        nth = min(demand.gpus, by_device.shape[1]) - 1
        cost = np.partition(by_device, nth, axis=1)[:, nth]
    ready = fleet.ready(demand, rows).astype(np.int64)
    return Ranking(fleet.version, primary.copy(), tie.copy(), counts.copy(), ready, cost)


def _best(rule: Policy, demand: Demand, fleet: Fleet, ranking: Ranking, able: Ints) -> int:
    """Choose among rows: cheapest, then by rank, then the least link that does, then by tie."""
    if fleet.priced:
        able = _least(able, ranking.cost)
    gang = demand.gpus > 1 and demand.bandwidth_mbps > 0
    if gang and fleet.linked:
        able = _least(able, -fleet.link_mbps)
    able = _least(able, ranking.primary)
    if fleet.linked and not gang:
        able = _least(able, fleet.free_link_mbps)
    able = _least(able, ranking.tie)
    return int(able[_drawn(rule, fleet, len(able)) if rule.shuffle else 0])


def _least(rows: Ints, values: Ints) -> Ints:
    if len(rows) == 1:
        return rows
    these = values[rows]
    lowest: Ints = rows[these == these.min()]
    return lowest


def _drawn(rule: Policy, fleet: Fleet, many: int, salt: int = 0) -> int:
    """Draw one of so many; the same for the same seed and history (SplitMix64's mixing)."""
    mixed = (fleet.version + 1 + (salt << 40)) * 0x9E3779B97F4A7C15 + rule.seed * 0xD1B54A32D192ED03
    mixed &= _MASK64
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK64
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK64
    return (mixed ^ (mixed >> 31)) % many


def _columns(
    rule: Policy, demand: Demand, fleet: Fleet, usual: Usual, row: int, many: int
) -> list[int]:
    """Choose devices of one server, by the policy's preference; in order of their ordinals."""
    if not many:
        return []
    rows = np.array([row])
    fits = fleet.fits(demand, rows)
    able = np.flatnonzero(fits[0])
    if rule.shuffle and not demand.whole:
        drawn = {int(able[_drawn(rule, fleet, len(able), salt)]) for salt in range(1, many + 1)}
        rest = [int(column) for column in able if column not in drawn]
        return sorted([*drawn, *rest[: many - len(drawn)]])
    prefer = rule.prefer(View(fleet, demand, rows, fits, fleet.counts(demand, fits, rows)), usual)
    order = [prefer[0, able]]
    if fleet.priced:
        order.append(fleet.costs()[fleet.kind[row, able]])
    best = able[np.lexsort(order)[:many]]
    return sorted(int(column) for column in best)


# ---------------------------------------------------------------- several servers


def _apart(rule: Policy, demand: Demand, fleet: Fleet, usual: Usual) -> Choice | None:
    """Choose a server of its own for each device, best ranked first."""
    single = replace(demand, gpus=1, spread=False)
    ranking = _ranking(rule, single, fleet, usual)
    able = np.flatnonzero((ranking.counts >= 1) & (ranking.ready > 0))
    for domain in _domains(demand, fleet, able):
        if len(domain) < demand.gpus:
            continue
        chosen: list[int] = []
        left = domain
        while len(chosen) < demand.gpus:
            row = _best(rule, single, fleet, ranking, left)
            chosen.append(row)
            left = left[left != row]
        return [(row, _columns(rule, single, fleet, usual, row, 1)) for row in chosen]
    return None


def _domains(demand: Demand, fleet: Fleet, rows: Ints) -> list[Ints]:
    """Return sets of rows that are near enough to each other: racks, zones, the pool."""
    if demand.near is Near.POOL:
        return [rows]
    return [
        domain
        for level in (Near.RACK, Near.ZONE)
        if level <= demand.near
        for domain in _grouped(fleet, rows, level)
    ]


def _grouped(fleet: Fleet, rows: Ints, level: Near) -> list[Ints]:
    """Group rows by rack or by zone; a server that names none is near to nobody."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for row in rows.tolist():
        zone, rack = fleet.places[int(fleet.place[row])]
        named = rack if level is Near.RACK else zone
        if named:
            groups.setdefault((zone, rack) if level is Near.RACK else (zone,), []).append(row)
    return [np.array(group, np.int64) for _, group in sorted(groups.items())]


def _span(demand: Demand, fleet: Fleet, counts: Ints) -> list[tuple[int, int]] | None:
    """Divide a gang among servers that are as near to each other as can be."""
    rows = np.flatnonzero(counts)
    if int(counts[rows].sum()) < demand.gpus:
        return None
    levels: list[Callable[[], list[Ints]]] = [
        lambda: _grouped(fleet, rows, Near.RACK) if fleet.racked else [],
        lambda: _grouped(fleet, rows, Near.ZONE) if fleet.racked else [],
        lambda: [rows],
    ]
    for level, domains in zip((Near.RACK, Near.ZONE, Near.POOL), levels, strict=True):
        if level > demand.near:
            break
        found = [
            _fewest(demand.gpus, domain, counts)
            for domain in domains()
            if int(counts[domain].sum()) >= demand.gpus
        ]
        if found:
            return min(found, key=len)
    return None


def _fewest(gpus: int, rows: Ints, counts: Ints) -> list[tuple[int, int]]:
    """Take the fullest use of large servers, and for the rest the server that it fits best."""
    left = {int(row): int(counts[row]) for row in rows}
    chosen: list[tuple[int, int]] = []
    while gpus:
        enough = [row for row, count in left.items() if count >= gpus]
        if enough:
            row = min(enough, key=lambda row: (left[row], row))
        else:
            row = min(left, key=lambda row: (-left[row], row))
        many = min(left.pop(row), gpus)
        chosen.append((row, many))
        gpus -= many
    return chosen
