"""The first in line keeps its turn: devices held for it, and who may use them meanwhile.

Of all devices that would do, those are reserved that have room soonest, as far as the ends of
leases are known; leases without an end count as ending some day. A later request may be served
before ("backfill") if that leaves the reserved devices with enough room at that time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cupool.pool_server.broker.books import DeviceKey
from cupool.pool_server.broker.fit import Fit
from cupool.pool_server.broker.ledger import Ledger
from cupool.pool_server.broker.model import NEVER, Lease, Placement, Request, Wish
from cupool.pool_server.broker.placement.types import Demand


@dataclass(slots=True)
class Reservation:
    """Devices that the first in line will get.

    Attributes:
        at: when they have room at the latest, `NEVER` if nobody knows.
        made: leases with this number or a later one count as staying.
        missing: how many leases must end before.
    """

    request_id: int
    demand: Demand
    devices: frozenset[DeviceKey]
    at: float
    made: int
    layout: int
    missing: int


def reserve(
    request: Request, demand: Demand, ledger: Ledger, fit: Fit, now: float
) -> Reservation | None:
    """Choose devices for a request that has no room now; None if no server can have them now."""
    times: dict[DeviceKey, tuple[float, int]] = {}
    fleet = fit.fleet
    mask = fleet.allowed(demand) & fleet.ready(demand)[:, None]
    fits = fleet.fits(demand)
    for row, column in zip(*np.nonzero(mask), strict=True):
        key = (fleet.names[row], int(fleet.ordinal[row, column]))
        times[key] = (now, 0) if fits[row, column] else _room_at(ledger, fit, key, demand, now)
    devices = _soonest(demand, times)
    if devices is None:
        return None
    at = max(times[key][0] for key in devices)
    missing = sum(times[key][1] for key in devices)
    return Reservation(
        request.request_id,
        demand,
        frozenset(devices),
        at,
        ledger.books.revision,
        fleet.layout,
        missing,
    )


def _soonest(demand: Demand, times: dict[DeviceKey, tuple[float, int]]) -> list[DeviceKey] | None:
    """Return as many devices as are wanted, those with the earliest times."""
    order = sorted(times, key=lambda key: (times[key], key))
    if demand.spread:
        first: dict[str, DeviceKey] = {}
        for key in order:
            first.setdefault(key[0], key)
        order = list(first.values())
    elif demand.near == 0:
        servers: dict[str, list[DeviceKey]] = {}
        for key in order:
            servers.setdefault(key[0], []).append(key)
            if len(servers[key[0]]) == demand.gpus:
                return servers[key[0]]
        return None
    return order[: demand.gpus] if len(order) >= demand.gpus else None


def needs(demand: Demand, total_bytes: int) -> tuple[int, int]:
    """Return memory and compute that a demand takes of a device."""
    if demand.whole:
        return total_bytes, 1000
    return demand.memory_bytes or total_bytes * demand.share_milli // 1000, demand.share_milli


def _room_at(
    ledger: Ledger, fit: Fit, key: DeviceKey, demand: Demand, now: float
) -> tuple[float, int]:
    """Return when a device has room for a demand, and how many leases must end for that."""
    server, ordinal = key
    total = ledger.servers[server].devices[ordinal].memory_bytes
    memory, milli = needs(demand, total)
    held = ledger.books.on_device.get(key, {})
    leases = sorted((ledger.leases[each].over_at, each) for each in held)
    used = sum(held[each].memory_bytes for _, each in leases)
    used_milli = sum(held[each].milli for _, each in leases)
    whole = sum(held[each].whole for _, each in leases)
    for count, (over_at, each) in enumerate(leases, 1):
        used -= held[each].memory_bytes
        used_milli -= held[each].milli
        whole -= held[each].whole
        if demand.whole and count < len(leases):
            continue
        if not whole and used + memory <= total and used_milli + milli <= 1000:
            return max(over_at, now), count
    return NEVER, len(leases) + 1


def leaves_room(
    reservation: Reservation,
    wish: Wish,
    placements: Sequence[Placement],
    ledger: Ledger,
    now: float,
) -> bool:
    """Whether serving somebody else like this does not delay whom the reservation is for."""
    ends_at = now + wish.max_time_s if wish.max_time_s else NEVER
    if ends_at <= reservation.at and reservation.at != NEVER:
        return True
    for placement in placements:
        key = (placement.server, placement.ordinal)
        if key in reservation.devices:
            if placement.whole or not _still_fits(reservation, key, placement, ledger):
                return False
    return True


def _still_fits(reservation: Reservation, key: DeviceKey, more: Placement, ledger: Ledger) -> bool:
    """Whether a reserved device has room at the time of the reservation beside one lease more."""
    server, ordinal = key
    total = ledger.servers[server].devices[ordinal].memory_bytes
    memory, milli = needs(reservation.demand, total)
    if reservation.demand.whole:
        return False
    for lease_id, placement in ledger.books.on_device.get(key, {}).items():
        if _stays(ledger.leases[lease_id], reservation):
            memory += placement.memory_bytes
            milli += placement.milli
    return memory + more.memory_bytes <= total and milli + more.milli <= 1000


def _stays(lease: Lease, reservation: Reservation) -> bool:
    """Whether a lease must be expected to hold its devices when the reservation comes due."""
    if lease.over_at <= reservation.at and lease.over_at != NEVER:
        return False
    return reservation.at != NEVER or lease.number >= reservation.made
