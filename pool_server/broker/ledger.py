"""The broker's books: servers, leases, sessions, and what became of those that ended.

Keeps the tables consistent with each other; knows nothing of requests, links or time limits.
A lease lives as long as one of its sessions; its devices are its own until then.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from cupool.pool_server.broker.model import (
    Fate,
    Lease,
    Limits,
    Placement,
    Report,
    Server,
    ServerState,
    Session,
    Wish,
)
from cupool.pool_server.broker.policy import Room
from cupool.transport.channel import LOCAL_CARRIERS

_NOW = (ServerState.UP,)
_EVER = tuple(ServerState)


class Ledger:
    """Tables of one pool."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.servers: dict[str, Server] = {}
        self.leases: dict[str, Lease] = {}
        self.sessions: dict[str, Session] = {}
        self.jobs: dict[str, str] = {}
        self._fates: OrderedDict[str, Fate] = OrderedDict()

    # ------------------------------------------------------------ room

    def rooms(self, wish: Wish, *, ever: bool = False) -> list[Room]:
        """Return the devices that the client can reach, with what is left of each.

        Args:
            ever: count servers that are away at the moment, too.
        """
        held: dict[tuple[str, int], list[Placement]] = {}
        for lease in self.leases.values():
            for placement in lease.placements.values():
                held.setdefault((placement.server, placement.ordinal), []).append(placement)
        states = _EVER if ever else _NOW
        return [
            self._room(server, ordinal, held.get((server.name, ordinal), ()))
            for server in self.servers.values()
            if server.state in states and carriers_to(server, wish)
            for ordinal in server.devices
        ]

    def _room(self, server: Server, ordinal: int, held: Iterable[Placement]) -> Room:
        placements = list(held)
        total = server.devices[ordinal].memory_bytes
        free = total - sum(placement.memory_bytes for placement in placements)
        exclusive = any(placement.whole for placement in placements)
        return Room(server.name, ordinal, total, free, len(placements), exclusive)

    # ------------------------------------------------------------ leases and sessions

    def new_lease(
        self, lease_id: str, wish: Wish, placements: Iterable[Placement], now: float
    ) -> Lease:
        """Write down a grant of devices to a job."""
        table = dict(enumerate(placements))
        lease = Lease(
            lease_id, wish.job_id, wish.job_token_hash, wish.client, now, len(table), False, table
        )
        self._keep(lease)
        return lease

    def _keep(self, lease: Lease) -> None:
        self.leases[lease.lease_id] = lease
        if lease.job_id:
            self.jobs.setdefault(lease.job_id, lease.lease_id)

    def lease_of_job(self, job_id: str) -> Lease | None:
        return self.leases.get(self.jobs.get(job_id, "")) if job_id else None

    def close_lease(self, lease: Lease) -> None:
        """Nobody may join any more; the lease ends with its last session."""
        lease.closing = True
        if self.jobs.get(lease.job_id) == lease.lease_id:
            del self.jobs[lease.job_id]
        self._settle(lease)

    def add_session(self, session: Session) -> None:
        self.sessions[session.session_id] = session
        self.leases[session.lease_id].sessions.add(session.session_id)
        self.servers[session.placement.server].sessions.add(session.session_id)

    def adopt(self, report: Report, now: float) -> Session:
        """Take over a session that a server says it runs, with its lease and job."""
        lease = self.leases.get(report.lease_id)
        if lease is None:
            lease = Lease(
                report.lease_id,
                report.job_id,
                report.job_token_hash,
                report.client,
                now,
                max(report.size, report.index + 1),
            )
            self._keep(lease)
        lease.placements.setdefault(report.index, report.placement)
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

    def update(self, report: Report) -> None:
        """Take over the figures of a report; one of an unknown session says nothing."""
        session = self.sessions.get(report.session_id)
        if session is not None:
            session.connected = report.connected
            session.memory_used_bytes = report.memory_used_bytes
            session.operations = report.operations
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
        self._settle(lease)
        return session

    def lose_server(self, server: Server, message: str) -> list[Session]:
        """End every session of a server; leases lose the devices that they had there."""
        sessions = [self.sessions[session_id] for session_id in sorted(server.sessions)]
        for session in sessions:
            self.leases[session.lease_id].placements.pop(session.index, None)
            self.end_session(session.session_id, Fate("server_lost", message, server.name))
        for lease in list(self.leases.values()):
            for index, placement in list(lease.placements.items()):
                if placement.server == server.name:
                    del lease.placements[index]
        return sessions

    def _settle(self, lease: Lease) -> None:
        if not lease.sessions:
            self.leases.pop(lease.lease_id, None)
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
