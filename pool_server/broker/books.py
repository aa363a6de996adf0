"""The durable part of the broker's state, and the sums that follow from it.

Changed by `apply` alone; `changes` collects what was applied until somebody takes it away.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cupool.pool_server.broker import changes as c
from cupool.pool_server.broker.model import NEVER, Lease, Partition, Placement, Quota

DeviceKey = tuple[str, int]


@dataclass(slots=True)
class Taken:
    """What leases hold of one device."""

    memory_bytes: int = 0
    milli: int = 0
    leases: int = 0
    whole: int = 0


@dataclass(slots=True)
class Used:
    """What a tenant's leases hold."""

    milli: int = 0
    memory_bytes: int = 0
    leases: int = 0


@dataclass(frozen=True, slots=True)
class Cordon:
    """Why a server gets no new leases."""

    reason: str
    draining: bool


class Books:
    """Leases, places in line, quotas, partitions and cordons.

    Attributes:
        waiting: requests in line, by place.
        taken: by device; devices that nobody holds have no entry.
        bandwidth: by server, in Mbit/s.
        used: by tenant.
        ranks: how many leases there are of each priority.
        on_device: the leases on each device.
        touched: devices whose room has changed since it was cleared.
        revision: grows with each change.
    """

    def __init__(self) -> None:
        self.leases: dict[str, Lease] = {}
        self.waiting: dict[int, c.RequestWaiting] = {}
        self.quotas: dict[str, Quota] = {}
        self.partitions: dict[str, Partition] = {}
        self.cordons: dict[str, Cordon] = {}
        self.taken: dict[DeviceKey, Taken] = {}
        self.bandwidth: dict[str, int] = {}
        self.used: dict[str, Used] = {}
        self.ranks: dict[int, int] = {}
        self.on_device: dict[DeviceKey, dict[str, Placement]] = {}
        self.touched: set[DeviceKey] = set()
        self.changes: list[c.Change] = []
        self.revision = 0

    def apply(self, change: c.Change) -> None:
        """Make a change and write it down.

        Raises:
            KeyError: it does not fit to what the books say.
        """
        match change:
            case c.LeaseGranted():
                self._grant(change)
            case c.PlacementAdded():
                lease = self.leases[change.lease_id]
                lease.placements[change.index] = change.placement
                self._take(lease, change.placement)
            case c.PlacementLost():
                lease = self.leases[change.lease_id]
                self._give_back(lease, lease.placements.pop(change.index))
            case c.LeaseNoticed():
                lease = self.leases[change.lease_id]
                lease.notice, lease.notice_for = change.reason, change.request_id
                lease.notice_ends_at = NEVER if change.ends_at is None else change.ends_at
            case c.LeaseClosing():
                self.leases[change.lease_id].closing = True
            case c.LeaseEnded():
                lease = self.leases.pop(change.lease_id)
                self._rank(lease, -1)
                for placement in lease.placements.values():
                    self._give_back(lease, placement)
            case _:
                self._administer(change)
        self.changes.append(change)
        self.revision += 1

    def _administer(self, change: c.Change) -> None:
        match change:
            case c.QuotaSet():
                self.quotas[change.quota.tenant] = change.quota
            case c.QuotaRemoved():
                del self.quotas[change.tenant]
            case c.PartitionSet():
                self.partitions[change.partition.name] = change.partition
            case c.RequestWaiting():
                self.waiting[change.place] = change
            case c.RequestOver():
                del self.waiting[change.place]
            case c.PartitionRemoved():
                del self.partitions[change.name]
            case c.ServerCordoned():
                self.cordons[change.server] = Cordon(change.reason, change.draining)
            case c.ServerUncordoned():
                del self.cordons[change.server]
            case _:
                raise KeyError(f"not a change: {change!r}")

    def _grant(self, change: c.LeaseGranted) -> None:
        if change.lease_id in self.leases:
            raise KeyError(f"lease {change.lease_id} exists")
        lease = self.leases[change.lease_id] = Lease(
            change.lease_id,
            change.job_id,
            change.job_token_hash,
            change.client,
            change.since,
            change.size,
            change.terms,
            NEVER if change.ends_at is None else change.ends_at,
            number=self.revision,
            placements=dict(change.placements),
        )
        self._rank(lease, 1)
        for placement in lease.placements.values():
            self._take(lease, placement)

    def _rank(self, lease: Lease, more: int) -> None:
        rank = lease.terms.priority
        self.ranks[rank] = self.ranks.get(rank, 0) + more

    def _take(self, lease: Lease, placement: Placement) -> None:
        key = (placement.server, placement.ordinal)
        taken = self.taken.setdefault(key, Taken())
        taken.memory_bytes += placement.memory_bytes
        taken.milli += placement.milli
        taken.leases += 1
        taken.whole += placement.whole
        self.on_device.setdefault(key, {})[lease.lease_id] = placement
        if placement.bandwidth_mbps:
            before = self.bandwidth.get(placement.server, 0)
            self.bandwidth[placement.server] = before + placement.bandwidth_mbps
        used = self.used.setdefault(lease.terms.tenant, Used())
        used.milli += placement.milli
        used.memory_bytes += placement.memory_bytes
        used.leases += 1
        self.touched.add(key)

    def _give_back(self, lease: Lease, placement: Placement) -> None:
        key = (placement.server, placement.ordinal)
        taken = self.taken[key]
        taken.memory_bytes -= placement.memory_bytes
        taken.milli -= placement.milli
        taken.leases -= 1
        taken.whole -= placement.whole
        self.on_device[key].pop(lease.lease_id, None)
        if not taken.leases:
            del self.taken[key], self.on_device[key]
        if placement.bandwidth_mbps:
            self.bandwidth[placement.server] -= placement.bandwidth_mbps
            if not self.bandwidth[placement.server]:
                del self.bandwidth[placement.server]
        used = self.used[lease.terms.tenant]
        used.milli -= placement.milli
        used.memory_bytes -= placement.memory_bytes
        used.leases -= 1
        if not used.leases:
            del self.used[lease.terms.tenant]
        self.touched.add(key)

    def take_changes(self) -> list[c.Change]:
        """Return the changes since the last call."""
        taken, self.changes = self.changes, []
        return taken

    def same_as(self, other: Books) -> bool:
        """Whether the durable parts, and all sums, are equal."""
        kept = ("leases", "waiting", "quotas", "partitions", "cordons")
        names = (*kept, "taken", "bandwidth", "used")
        return all(getattr(self, name) == getattr(other, name) for name in names)


def replay(changes: Iterable[c.Change]) -> Books:
    """Rebuild books from the records of all changes, the oldest first."""
    books = Books()
    for change in changes:
        books.apply(change)
    books.changes.clear()
    return books
