"""Why a demand gets nothing: what the pool lacks for ever, and what it lacks now."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cupool.pool_server.broker.model import human_bytes, listed
from cupool.pool_server.broker.placement.fleet import Bools, Fleet, Ints
from cupool.pool_server.broker.placement.kinds import CONDITIONS, Kind
from cupool.pool_server.broker.placement.types import (
    WHOLE_MILLI,
    Demand,
    Explanation,
    Missing,
    Near,
)


def could_fit(demand: Demand, fleet: Fleet) -> bool:
    """Whether the pool, if it were empty and all its servers up, could hold the demand."""
    return missing(demand, fleet) is None


def missing(demand: Demand, fleet: Fleet) -> Missing | None:
    """Find what the pool lacks for a demand even if it were empty; None if it lacks nothing."""
    able = fleet.kind > 0
    before = able
    for condition, mask in _lasting(demand, fleet):
        before, able = able, able & mask
        devices = int(able.sum())
        if devices < demand.gpus or not devices:
            return _missing(condition, demand, fleet, before, devices)
    counts = able.sum(axis=1, dtype=np.int64)
    if demand.bandwidth_mbps:
        counts = np.minimum(counts, fleet.link_mbps // demand.bandwidth_mbps)
        if int(counts.sum()) < demand.gpus:
            return _missing("bandwidth", demand, fleet, able, int(counts.sum()))
    nearest = _most_together(demand, fleet, counts)
    if nearest >= demand.gpus:
        return None
    wanted = f"{demand.gpus} GPUs " + (
        "on as many servers" if demand.spread else f"in one {demand.near.name.lower()}"
    )
    return Missing("nearness", wanted, f"{nearest} together", nearest)


def _lasting(demand: Demand, fleet: Fleet) -> list[tuple[str, Bools]]:
    """Return conditions that time does not change, each with the devices that meet it."""
    everywhere = np.ones(fleet.kind.shape, np.bool_)
    steps: list[tuple[str, Bools]] = [("count", everywhere)]
    if demand.servers is not None:
        reached = np.array([name in demand.servers for name in fleet.names], np.bool_)
        steps.append(("reach", everywhere & reached[:, None]))
    for name, condition in CONDITIONS.items():
        by_kind = [kind is not None and condition(kind, demand) for kind in fleet.kinds]
        steps.append((name, np.array(by_kind, np.bool_)[fleet.kind]))
    if demand.cpu_milli or demand.host_memory_bytes:
        host = fleet.cpu_milli >= demand.cpu_milli
        host = host & (fleet.host_bytes >= demand.host_memory_bytes)
        steps.append(("host", everywhere & host[:, None]))
    return steps


def _most_together(demand: Demand, fleet: Fleet, counts: Ints) -> int:
    """Count the most devices that are near enough to each other, all else apart."""
    if demand.spread and demand.gpus > 1:
        counts = np.minimum(counts, 1)
    if demand.near is Near.POOL:
        return int(counts.sum())
    if demand.near is Near.SERVER:
        return int(counts.max(initial=0))
    together: dict[object, int] = {}
    for row in np.flatnonzero(counts).tolist():
        zone, rack = fleet.places[int(fleet.place[row])]
        keys: list[object] = [row]
        if rack:
            keys.append((zone, rack))
        if zone and demand.near is Near.ZONE:
            keys.append(zone)
        for key in keys:
            together[key] = together.get(key, 0) + int(counts[row])
    return max(together.values(), default=0)


def _missing(condition: str, demand: Demand, fleet: Fleet, before: Bools, devices: int) -> Missing:
    wanted = {
        "count": f"{demand.gpus} GPUs",
        "reach": f"servers {listed(sorted(demand.servers or ()))}",
        "health": "healthy GPUs",
        "partition": demand.partition,
        "taint": f"no taint but {listed(sorted(demand.tolerations)) or 'none'}",
        "zone": f"zone {demand.zone}",
        "rack": f"rack {listed(demand.racks)}",
        "model": listed(demand.models),
        "compute capability": ".".join(map(str, demand.min_compute_capability)),
        "memory": human_bytes(demand.memory_bytes),
        "host": f"{demand.cpu_milli / 1000:g} cores and {human_bytes(demand.host_memory_bytes)}",
        "bandwidth": f"{demand.bandwidth_mbps} Mbit/s",
    }[condition]
    kinds = {
        int(number): fleet.kinds[int(number)] for number in np.unique(fleet.kind[before]) if number
    }
    present = {number: kind for number, kind in kinds.items() if kind is not None}
    if condition == "bandwidth":
        fastest = int(fleet.link_mbps[before.any(axis=1)].max(initial=0))
        return Missing(condition, wanted, f"{fastest} Mbit/s", devices)
    if condition in ("count", "reach", "host") or not present:
        return Missing(condition, wanted, f"{int(before.sum())} GPUs", devices)
    number, nearest = _nearest(condition, present)
    row, column = np.argwhere(before & (fleet.kind == number))[0]
    where = fleet.names[int(row)], int(fleet.ordinal[row, column])
    return Missing(condition, wanted, nearest, devices, *where)


def _nearest(condition: str, kinds: dict[int, Kind]) -> tuple[int, str]:
    """Return the kind that comes nearest to a condition, and its value in words."""
    if condition == "memory":
        number = max(kinds, key=lambda number: (kinds[number].memory_bytes, -number))
        return number, human_bytes(kinds[number].memory_bytes)
    if condition == "compute capability":
        number = max(kinds, key=lambda number: (kinds[number].compute_capability, -number))
        return number, ".".join(map(str, kinds[number].compute_capability))
    exist = sorted({_worded(condition, kind) for kind in kinds.values()} - {""})
    return min(kinds), listed(exist)


def _worded(condition: str, kind: Kind) -> str:
    return {
        "model": kind.model,
        "zone": kind.zone,
        "rack": kind.rack,
        "partition": "",  # of others nobody is told
        "taint": listed(sorted(kind.taints)),
        "health": "",
    }[condition]


def explain(demand: Demand, fleet: Fleet) -> Explanation:
    """Say what a demand waits for: how many devices are left after each condition, as of now."""
    able = fleet.kind > 0
    steps = [*_lasting(demand, fleet)[1:], *_passing(demand, fleet)]
    remaining: list[tuple[str, int]] = []
    before = total = int(able.sum())
    parts: list[str] = []
    for name, mask in steps:
        able = able & mask
        devices = int(able.sum())
        remaining.append((name, devices))
        if devices < before:
            parts.append(f"{before - devices} by {name}")
        before = devices
    if demand.bandwidth_mbps:
        before = int(
            np.minimum(able.sum(axis=1), fleet.free_link_mbps // demand.bandwidth_mbps).sum()
        )
        remaining.append(("bandwidth", before))
    fits = f"{before} of {total} GPUs would do now, {demand.gpus} wanted"
    if before >= max(demand.gpus, 1):
        near = replace(demand, near=Near.POOL, spread=False)
        if near != demand:
            fits += (
                ", but not near enough to each other"
                if not demand.spread
                else (", but on too few servers")
            )
    why = f" (ruled out: {', '.join(parts)})" if parts else ""
    return Explanation(total, tuple(remaining), fits + why)


def _passing(demand: Demand, fleet: Fleet) -> list[tuple[str, Bools]]:
    """Return conditions that change with use, each with the devices that meet it now."""
    steps = [("server not up", np.broadcast_to(fleet.up[:, None], fleet.kind.shape))]
    if demand.whole:
        steps.append(("leases of others", fleet.leases == 0))
    else:
        steps.append(("exclusive leases", ~fleet.exclusive))
        need: Ints | int = demand.memory_bytes
        if not demand.memory_bytes:
            need = fleet.total_bytes * demand.share_milli // WHOLE_MILLI
        steps.append(("memory in use", fleet.free_bytes >= need))
        if demand.share_milli:
            steps.append(("compute in use", fleet.free_milli >= demand.share_milli))
    ready = fleet.ready(replace(demand, servers=None))
    steps.append(("host in use", np.broadcast_to(ready[:, None], fleet.kind.shape)))
    return steps
