"""What administrators do: cordon, drain, quotas, partitions. Part of the state machine."""

from __future__ import annotations

from dataclasses import dataclass, field

from cupool.pool_server.broker import changes as c
from cupool.pool_server.broker import words
from cupool.pool_server.broker.core import Core
from cupool.pool_server.broker.decisions import Decision
from cupool.pool_server.broker.model import (
    DEFAULT_TENANT,
    NEVER,
    Partition,
    Priority,
    Quota,
)

_MOST_MILLI = 1 << 40


class Refused(Exception):
    """What an administrator asked for cannot be done; says why."""


@dataclass(frozen=True, slots=True)
class Done:
    """What an administrator's request has changed; `decisions` are to be carried out."""

    changed: bool
    message: str
    leases: tuple[str, ...] = ()
    decisions: list[Decision] = field(default_factory=list)


class Administration(Core):
    """The administrators' part of the state machine."""

    # ------------------------------------------------------------ servers

    def cordon(self, server: str, reason: str, now: float) -> Done:
        """No new leases on a server; those that it has go on.

        Raises:
            Refused: there is no such server.
        """
        return self._cordon(server, reason, now, draining=False)

    def _cordon(self, server: str, reason: str, now: float, *, draining: bool) -> Done:
        now = self._at(now)
        if server not in self.ledger.servers:
            names = ", ".join(sorted(self.ledger.servers)) or "none"
            raise Refused(f"there is no server {server!r}; there are: {names}")
        before = self.ledger.books.cordons.get(server)
        if before is not None and (before.reason, before.draining) == (reason, draining):
            return Done(False, f"server {server} is cordoned already", self._leases_on(server))
        self.ledger.books.apply(c.ServerCordoned(server, reason[:500], draining))
        leases = self._leases_on(server)
        text = f"server {server} takes no new leases; it has {len(leases)}"
        return Done(True, text, leases, self._server_changed(server, now))

    def uncordon(self, server: str, now: float) -> Done:
        """A server takes new leases again; notices of a drain are withdrawn."""
        now = self._at(now)
        if server not in self.ledger.books.cordons:
            return Done(False, f"server {server} is not cordoned")
        self.ledger.books.apply(c.ServerUncordoned(server))
        decisions: list[Decision] = []
        for lease_id in self._leases_on(server):
            lease = self.ledger.leases[lease_id]
            if lease.notice == "drain" and not lease.closing:
                self.ledger.books.apply(c.LeaseNoticed(lease_id, ""))
                text = "your GPU's server stays after all"
                decisions += self.line.tell(lease, "withdrawn", text, 0.0)
        decisions += self._server_changed(server, now)
        return Done(True, f"server {server} takes leases again", (), decisions)

    def drain(self, server: str, within_s: float, reason: str, now: float) -> Done:
        """Cordon a server and end its leases, with notice, after a time.

        Args:
            within_s: 0 = let them end by themselves.

        Raises:
            Refused: there is no such server, or no such time.
        """
        if not 0 <= within_s < NEVER:
            raise Refused(f"a server cannot be drained within {within_s:g} s")
        done = self._cordon(server, reason, now, draining=True)
        now = self._at(now)
        decisions = list(done.decisions)
        for lease_id in done.leases if within_s else ():
            lease = self.ledger.leases.get(lease_id)
            if lease is None or lease.closing or lease.notice_ends_at <= now + within_s:
                continue
            text = f"server {server} is being drained by an administrator"
            text += f": {reason}" if reason else ""
            self.line.notice(lease, "drain", text, now + within_s, now, decisions)
        text = f"server {server} takes no new leases; {len(done.leases)} leases "
        text += f"end within {words.duration(within_s)}" if within_s else "end by themselves"
        return Done(True, text, done.leases, decisions)

    def _leases_on(self, server: str) -> tuple[str, ...]:
        found = self.ledger.servers.get(server)
        ordinals = found.devices if found is not None else ()
        held = self.ledger.books.on_device
        return tuple(sorted({each for o in ordinals for each in held.get((server, o), ())}))

    # ------------------------------------------------------------ quotas

    def set_quota(self, quota: Quota, now: float) -> Done:
        """Say what a tenant may use; what it holds already is not taken away.

        Raises:
            Refused: the quota makes no sense, or there are too many.
        """
        now = self._at(now)
        self._check_quota(quota)
        self.ledger.books.apply(c.QuotaSet(quota))
        most = "any amount" if quota.borrow_milli < 0 else f"{quota.borrow_milli / 1000:g}"
        text = f"tenant {quota.tenant} can count on {quota.milli / 1000:g} GPUs, borrows {most}"
        return Done(True, text, (), self.line.pump(now))

    def _check_quota(self, quota: Quota) -> None:
        quotas = self.ledger.books.quotas
        if not quota.tenant or len(quota.tenant) > 200:
            raise Refused("a tenant must have a name of 1 to 200 characters")
        if not 0 <= quota.milli <= _MOST_MILLI or not -1 <= quota.borrow_milli <= _MOST_MILLI:
            raise Refused("a quota must not be negative, nor absurdly large")
        if not 0 <= quota.memory_bytes < 1 << 62 or not 0 < quota.weight <= 1e6:
            raise Refused("memory must not be negative, and a weight must be above 0")
        if quota.max_priority not in set(Priority):
            raise Refused(f"there is no priority {quota.max_priority}")
        if quota.tenant not in quotas and len(quotas) >= self.limits.tenants:
            raise Refused(f"there are {len(quotas)} quotas, the limit")

    def remove_quota(self, tenant: str, now: float) -> Done:
        """A tenant is limited no more, and can count on nothing."""
        if tenant not in self.ledger.books.quotas:
            return Done(False, f"tenant {tenant} has no quota")
        self.ledger.books.apply(c.QuotaRemoved(tenant))
        return Done(True, f"tenant {tenant} has no quota any more", (), self._pump(now))

    # ------------------------------------------------------------ partitions

    def set_partition(self, partition: Partition, now: float) -> Done:
        """Make or change a sub-pool; leases that cross its new borders go on.

        Raises:
            Refused: a name is missing, or a tenant or server is in another partition.
        """
        partitions = self.ledger.books.partitions
        if not partition.name or len(partition.name) > 200:
            raise Refused("a partition must have a name of 1 to 200 characters")
        if partition.name not in partitions and len(partitions) >= self.limits.partitions:
            raise Refused(f"there are {len(partitions)} partitions, the limit")
        if DEFAULT_TENANT in partition.tenants:
            raise Refused(f"tenant {DEFAULT_TENANT!r} is everybody who names none")
        for other in partitions.values():
            both = {*other.tenants} & {*partition.tenants} | _shared(other, partition)
            if other.name != partition.name and both:
                raise Refused(f"{', '.join(sorted(both))} is in partition {other.name} already")
        if partitions.get(partition.name) == partition:
            return Done(False, f"partition {partition.name} is like that already")
        self.ledger.books.apply(c.PartitionSet(partition))
        text = f"partition {partition.name}: {len(partition.tenants)} tenants"
        return Done(True, text, (), self._repartitioned(now))

    def remove_partition(self, name: str, now: float) -> Done:
        """Its servers and tenants belong to the common pool again."""
        if name not in self.ledger.books.partitions:
            return Done(False, f"there is no partition {name!r}")
        self.ledger.books.apply(c.PartitionRemoved(name))
        return Done(True, f"partition {name} is gone", (), self._repartitioned(now))

    def _repartitioned(self, now: float) -> list[Decision]:
        now = self._at(now)
        for server in self.ledger.servers:
            self.line.server_changed(server, now)
        return self.line.pump(now)

    def _pump(self, now: float) -> list[Decision]:
        return self.line.pump(self._at(now))


def _shared(one: Partition, other: Partition) -> set[str]:
    """Return the servers and devices that two partitions would both have."""
    ones, others = set(one.servers), set(other.servers)
    within = {each for each in ones if each.rpartition("/")[0] in others}
    within |= {each for each in others if each.rpartition("/")[0] in ones}
    return ones & others | within
