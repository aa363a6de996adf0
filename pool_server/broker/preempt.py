"""Whom to ask to leave for a more urgent request: the fewest leases, and of those the cheapest.

Victims have a lower priority than the request; or they live on what their tenant borrowed, and
the request is within its own tenant's quota. Cost: priority first, then the compute that would
have to be done again.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cupool.pool_server.broker.books import DeviceKey
from cupool.pool_server.broker.fit import Fit
from cupool.pool_server.broker.ledger import Ledger
from cupool.pool_server.broker.model import Lease, Wish
from cupool.pool_server.broker.placement.types import Demand
from cupool.pool_server.broker.reserve import needs
from cupool.pool_server.broker.tenants import Tenants


class Victims:
    """Looks for leases whose end makes room for one request.

    Args:
        now: for the age of leases.
    """

    def __init__(
        self, wish: Wish, demand: Demand, ledger: Ledger, fit: Fit, tenants: Tenants, now: float
    ) -> None:
        self._wish = wish
        self._demand = demand
        self._ledger = ledger
        self._fit = fit
        self._tenants = tenants
        self._now = now
        self._reclaims = tenants.has_claim(wish)

    def choose(self) -> tuple[list[Lease], list[DeviceKey]] | None:
        """Return whom to ask to leave and the devices that it frees; None if that is no help."""
        fleet, demand = self._fit.fleet, self._demand
        mask = fleet.allowed(demand) & fleet.ready(demand)[:, None]
        keys = [
            (fleet.names[row], int(fleet.ordinal[row, column]))
            for row, column in zip(*np.nonzero(mask), strict=True)
        ]
        if demand.near == 0 and demand.gpus > 1:
            groups: dict[str, list[DeviceKey]] = {}
            for key in keys:
                groups.setdefault(key[0], []).append(key)
            found = [self._of(group) for group in groups.values() if len(group) >= demand.gpus]
        else:
            found = [self._of(keys)]
        good = [each for each in found if each is not None]
        return min(good, key=lambda each: self._total(each[0]), default=None)

    def _of(self, keys: list[DeviceKey]) -> tuple[list[Lease], list[DeviceKey]] | None:
        """Take devices one by one, each time that which asks for the least more."""
        chosen: dict[str, Lease] = {}
        devices: list[DeviceKey] = []
        left = dict.fromkeys(keys)
        while len(devices) < self._demand.gpus:
            best: tuple[tuple[float, ...], DeviceKey, list[Lease]] | None = None
            for key in left:
                more = self._for_device(key, chosen)
                if more is not None:
                    rank = self._total(more)
                    if best is None or (rank, key) < (best[0], best[1]):
                        best = (rank, key, more)
            if best is None:
                return None
            _, key, more = best
            chosen.update((lease.lease_id, lease) for lease in more)
            devices.append(key)
            del left[key]
            if self._demand.spread:
                left = {each: None for each in left if each[0] != key[0]}
        return (list(chosen.values()), devices) if chosen else None

    def _for_device(self, key: DeviceKey, chosen: dict[str, Lease]) -> list[Lease] | None:
        """Return which further leases must leave a device, None if they may not be asked."""
        held = self._ledger.books.on_device.get(key, {})
        server, ordinal = key
        total = self._ledger.servers[server].devices[ordinal].memory_bytes
        memory, milli = needs(self._demand, total)
        staying = {each: held[each] for each in held if each not in chosen}

        def fits() -> bool:
            if self._demand.whole or any(each.whole for each in staying.values()):
                return not staying
            used = sum(each.memory_bytes for each in staying.values())
            used_milli = sum(each.milli for each in staying.values())
            return used + memory <= total and used_milli + milli <= 1000

        leases = [self._ledger.leases[each] for each in staying]
        may = sorted((lease for lease in leases if self._may(lease, chosen)), key=self._cost)
        going: list[Lease] = []
        while not fits():
            if not may:
                return None
            lease = may.pop(0)
            going.append(lease)
            del staying[lease.lease_id]
        for lease in sorted(going, key=self._cost, reverse=True):  # the dear ones, if not needed
            staying[lease.lease_id] = held[lease.lease_id]
            if fits():
                going.remove(lease)
            else:
                del staying[lease.lease_id]
        return going

    def _may(self, lease: Lease, chosen: dict[str, Lease]) -> bool:
        if lease.notice and lease.notice != "withdrawn":
            return False  # it is leaving already, for somebody else
        if lease.terms.priority < self._wish.priority:
            return True
        if not self._reclaims or lease.terms.tenant == self._wish.tenant:
            return False
        going = sum(
            _milli(each) for each in chosen.values() if each.terms.tenant == lease.terms.tenant
        )
        return self._tenants.borrowed_milli(lease.terms.tenant) - going > 0

    def _cost(self, lease: Lease) -> tuple[float, ...]:
        borrowed = self._tenants.borrowed_milli(lease.terms.tenant) > 0
        age_s = self._now - lease.since
        return (lease.terms.priority, not borrowed, age_s * _milli(lease), age_s)

    def _total(self, leases: Iterable[Lease]) -> tuple[float, ...]:
        every = list(leases)
        worst = max((each.terms.priority for each in every), default=-1)
        lost = sum((self._now - each.since) * max(_milli(each), 1) for each in every)
        return (len(every), worst, lost)


def _milli(lease: Lease) -> int:
    return sum(placement.milli for placement in lease.placements.values())
