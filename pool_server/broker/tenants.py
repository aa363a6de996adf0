"""Who may have how much: quotas, borrowing, fair shares, partitions.

Fair share is by dominant resource: of the fractions of the pool's compute and memory that a
tenant holds, the larger, divided by its weight. The tenant with the least comes first.
"""

from __future__ import annotations

from cupool.pool_server.broker.books import Books, Used
from cupool.pool_server.broker.model import Lease, Quota, Server, Wish, human_bytes

_NOTHING = Used()


class Tenants:
    """Rules about tenants, by what the books say."""

    def __init__(self, books: Books) -> None:
        self._books = books
        self.total_milli = 0
        self.total_memory_bytes = 0

    def count(self, servers: dict[str, Server]) -> None:
        """Take the size of the pool, of which shares are fractions."""
        devices = [device for server in servers.values() for device in server.devices.values()]
        self.total_milli = 1000 * len(devices)
        self.total_memory_bytes = sum(device.memory_bytes for device in devices)

    def used(self, tenant: str) -> Used:
        return self._books.used.get(tenant, _NOTHING)

    def share(self, tenant: str) -> float:
        """Return the tenant's weighted dominant share."""
        used = self.used(tenant)
        quota = self._books.quotas.get(tenant)
        dominant = max(
            used.milli / max(self.total_milli, 1),
            used.memory_bytes / max(self.total_memory_bytes, 1),
        )
        return dominant / (quota.weight if quota is not None else 1.0)

    # ------------------------------------------------------------ quotas

    def over_limit(self, wish: Wish, *, alone: bool = False) -> str:
        """Say why the quota does not allow the request, "" if it does.

        Args:
            alone: as if the tenant held nothing: can it ever be allowed?
        """
        quota = self._books.quotas.get(wish.tenant)
        if quota is None:
            return ""
        used = _NOTHING if alone else self.used(wish.tenant)
        milli = used.milli + wish.gpus * wish.milli
        if quota.borrow_milli >= 0 and milli > quota.milli + quota.borrow_milli:
            most = f"{_gpus(quota.milli)} GPUs"
            if quota.borrow_milli:
                most += f" and {_gpus(quota.borrow_milli)} borrowed"
            has = "" if alone else f", and it holds {_gpus(used.milli)}"
            return f"the quota of tenant {wish.tenant} is {most}{has}"
        memory = used.memory_bytes + wish.gpus * wish.memory_bytes
        if quota.memory_bytes and quota.borrow_milli == 0 and memory > quota.memory_bytes:
            has = "" if alone else f", and it holds {human_bytes(used.memory_bytes)}"
            most = human_bytes(quota.memory_bytes)
            return f"the quota of tenant {wish.tenant} is {most} of GPU memory{has}"
        return ""

    def would_borrow(self, wish: Wish) -> bool:
        """Whether the request would take its tenant beyond what it can count on."""
        quota = self._books.quotas.get(wish.tenant)
        if quota is None:
            return False
        used = self.used(wish.tenant)
        if quota.memory_bytes:
            if used.memory_bytes + wish.gpus * wish.memory_bytes > quota.memory_bytes:
                return True
        return used.milli + wish.gpus * wish.milli > quota.milli

    def has_claim(self, wish: Wish) -> bool:
        """Whether the request is within a quota, so that what others borrowed is taken back."""
        return wish.tenant in self._books.quotas and not self.would_borrow(wish)

    def borrowed_milli(self, tenant: str) -> int:
        """Return how much compute a tenant holds beyond what it can count on."""
        quota = self._books.quotas.get(tenant)
        return 0 if quota is None else max(0, self.used(tenant).milli - quota.milli)

    def anybody_borrows(self) -> bool:
        return any(self.borrowed_milli(tenant) for tenant in self._books.quotas)

    def quota(self, tenant: str) -> Quota | None:
        return self._books.quotas.get(tenant)

    # ------------------------------------------------------------ partitions

    def partition_of(self, tenant: str) -> str:
        """Return the sub-pool that serves a tenant, "" = the common one."""
        for partition in self._books.partitions.values():
            if tenant in partition.tenants:
                return partition.name
        return ""

    def device_partition(self, server: Server, ordinal: int) -> str:
        """Return the sub-pool of a device: as an administrator said, or else its server."""
        for partition in self._books.partitions.values():
            if server.name in partition.servers or f"{server.name}/{ordinal}" in partition.servers:
                return partition.name
        return server.devices[ordinal].partition or server.partition

    def sees(self, tenant: str, lease: Lease) -> bool:
        """Whether a tenant may see a lease: its own, and no others'."""
        return not tenant or lease.terms.tenant == tenant


def _gpus(milli: int) -> str:
    return f"{milli / 1000:g}"
