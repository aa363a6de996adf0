"""The broker's tables: servers, leases, sessions, and what became of those that ended.

Keeps the tables consistent with each other; knows nothing of requests, links or time limits.
A lease lives as long as one of its sessions; its devices are its own until then.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping

from cupool.pool_server.broker import changes as c
from cupool.pool_server.broker.books import Books
from cupool.pool_server.broker.model import (
    NEVER,
    Fate,
    Lease,
    Limits,
    Placement,
    Report,
    Server,
    Session,
    Terms,
    Wish,
)
from cupool.transport.channel import LOCAL_CARRIERS

_NAME_CHARS = 200
_WHY_CHARS = 300


class Ledger:
    """Tables of one pool.

    Args:
        books: what an earlier broker left.
    """

    def __init__(self, limits: Limits, books: Books | None = None) -> None:
        self._limits = limits
        self.books = books or Books()
        self.servers: dict[str, Server] = {}
        self.sessions: dict[str, Session] = {}
        self.jobs: dict[str, str] = {}
        self._fates: OrderedDict[str, Fate] = OrderedDict()
        for lease in self.books.leases.values():
            if lease.job_id and not lease.closing:
                self.jobs.setdefault(lease.job_id, lease.lease_id)

    @property
    def leases(self) -> Mapping[str, Lease]:
        return self.books.leases

    # ------------------------------------------------------------ leases and sessions

    def new_lease(
        self,
        lease_id: str,
        wish: Wish,
        terms: Terms,
        placements: Iterable[Placement],
        now: float,
    ) -> Lease:
        """Write down a grant of devices to a job."""
        table = dict(enumerate(placements))
        ends_at = now + wish.max_time_s if wish.max_time_s else NEVER
        return self._grant(
            c.LeaseGranted(
                lease_id,
                wish.job_id,
                wish.job_token_hash,
                wish.client,
                now,
                len(table),
                terms,
                table,
                c.known(ends_at),
            )
        )

    def _grant(self, change: c.LeaseGranted) -> Lease:
        self.books.apply(change)
        if change.job_id:
            self.jobs.setdefault(change.job_id, change.lease_id)
        return self.books.leases[change.lease_id]

    def lease_of_job(self, job_id: str) -> Lease | None:
        return self.leases.get(self.jobs.get(job_id, "")) if job_id else None

    def close_lease(self, lease: Lease, why: str) -> None:
        """Nobody may join any more; the lease ends with its last session."""
        if not lease.closing and lease.lease_id in self.leases:
            self.books.apply(c.LeaseClosing(lease.lease_id))
        if self.jobs.get(lease.job_id) == lease.lease_id:
            del self.jobs[lease.job_id]
        self.settle(lease, why)

    def add_session(self, session: Session) -> None:
        self.sessions[session.session_id] = session
        self.leases[session.lease_id].sessions.add(session.session_id)
        self.servers[session.placement.server].sessions.add(session.session_id)

    def adopt(self, report: Report, now: float) -> Session | None:
        """Take over a session that a server says it runs, with its lease and job.

        Returns:
            None if its device does not have the room, its lease has other devices, or it cannot
            be what it says.
        """
        names = (report.session_id, report.lease_id)
        if not all(0 < len(name) <= _NAME_CHARS for name in (*names, report.job_id or "none")):
            return None
        lease = self.leases.get(report.lease_id)
        held = lease.placements.get(report.index) if lease is not None else None
        if held is None and not self._fits(report.placement):
            return None
        if held is not None and held != report.placement:
            return None
        if lease is None:
            lease = self._grant(
                c.LeaseGranted(
                    report.lease_id,
                    report.job_id,
                    report.job_token_hash,
                    report.client,
                    now,
                    max(report.size, report.index + 1),
                    report.terms,
                    {report.index: report.placement},
                    c.known(now + report.ends_in_s if report.ends_in_s else NEVER),
                    adopted=True,
                )
            )
        elif held is None:
            if report.index >= lease.size:
                return None
            self.books.apply(c.PlacementAdded(lease.lease_id, report.index, report.placement))
        session = Session(
            report.session_id,
            report.lease_id,
            report.index,
            report.placement,
            client=report.client,
            opened=True,
        )
        self.add_session(session)
        self.update(report)
        return session

    def _fits(self, placement: Placement) -> bool:
        server = self.servers[placement.server]
        device = server.devices.get(placement.ordinal)
        if device is None or placement.memory_bytes < 0 or placement.bandwidth_mbps < 0:
            return False
        if not 0 <= placement.milli <= 1000:
            return False
        taken = self.books.taken.get((placement.server, placement.ordinal))
        if taken is None:
            return placement.memory_bytes <= device.memory_bytes
        return not (
            placement.whole
            or taken.whole
            or taken.memory_bytes + placement.memory_bytes > device.memory_bytes
            or taken.milli + placement.milli > 1000
        )

    def update(self, report: Report) -> None:
        """Take over the figures of a report; one of an unknown session says nothing."""
        session = self.sessions.get(report.session_id)
        if session is not None:
            session.connected = report.connected
            session.memory_used_bytes = report.memory_used_bytes
            session.operations = report.operations
            session.device_time_s = report.device_time_s
            session.worker_pid = report.worker_pid

    def end_session(self, session_id: str, fate: Fate) -> Session | None:
        """Strike out a session and remember its fate; its lease ends with the last one."""
        self._remember(session_id, fate)
        session = self.sessions.pop(session_id, None)
        if session is None:
            return None
        server = self.servers.get(session.placement.server)
        if server is not None:
            server.sessions.discard(session_id)
        lease = self.leases[session.lease_id]
        lease.sessions.discard(session_id)
        self.settle(lease, fate.message or fate.state)
        return session

    def lose_server(self, server: Server, message: str) -> list[Session]:
        """End every session of a server; leases lose the devices that they had there."""
        sessions = [self.sessions[session_id] for session_id in sorted(server.sessions)]
        for session in sessions:
            self.lose_device(session.lease_id, session.index)
            self.end_session(session.session_id, Fate("server_lost", message, server.name))
        for ordinal in server.devices:
            for lease_id in list(self.books.on_device.get((server.name, ordinal), ())):
                lease = self.leases[lease_id]
                for index, placement in list(lease.placements.items()):
                    if (placement.server, placement.ordinal) == (server.name, ordinal):
                        self.lose_device(lease_id, index)
        return sessions

    def lose_device(self, lease_id: str, index: int) -> None:
        """A lease has one device less; it is no error if it had not."""
        lease = self.leases.get(lease_id)
        if lease is not None and index in lease.placements:
            self.books.apply(c.PlacementLost(lease_id, index))
            if lease.terms.hold and not lease.placements:
                self.settle(lease, "its servers were lost")

    def settle(self, lease: Lease, why: str) -> None:
        """End a lease that has no session any more, unless it is held and has devices."""
        if lease.terms.hold and lease.placements and not lease.closing:
            return
        if not lease.sessions and lease.lease_id in self.leases:
            self.books.apply(c.LeaseEnded(lease.lease_id, why[:_WHY_CHARS]))
            if self.jobs.get(lease.job_id) == lease.lease_id:
                del self.jobs[lease.job_id]

    # ------------------------------------------------------------ what became of it

    def _remember(self, session_id: str, fate: Fate) -> None:
        known = self._fates.get(session_id)
        if known is None or known.state == "unknown":
            self._fates[session_id] = fate
        while len(self._fates) > self._limits.history:
            self._fates.popitem(last=False)

    def fate(self, session_id: str) -> Fate | None:
        return self._fates.get(session_id)

    def forget_fate(self, session_id: str) -> None:
        self._fates.pop(session_id, None)


def carriers_to(server: Server, wish: Wish) -> tuple[str, ...]:
    """Return the client's carriers that reach a server: local sockets only on one machine."""
    if wish.host and wish.host == server.host:
        return wish.carriers
    return tuple(carrier for carrier in wish.carriers if carrier not in LOCAL_CARRIERS)
