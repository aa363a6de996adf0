"""What all parts of the broker's state machine share: tables, line, timers, and the time."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from cupool.pool_server.broker import changes as c
from cupool.pool_server.broker.books import Books
from cupool.pool_server.broker.decisions import Decision
from cupool.pool_server.broker.ledger import Ledger
from cupool.pool_server.broker.line import Line
from cupool.pool_server.broker.model import (
    Fate,
    Limits,
    Request,
    Server,
    ServerState,
    Session,
)
from cupool.pool_server.broker.tenants import Tenants
from cupool.pool_server.broker.timers import Timers


class Core:
    """All that the broker knows.

    Args:
        now: the time of the broker's start.
        settled: the pool is complete already; do not wait for servers to come back.
        fresh: makes a new secret identifier of so many random bytes.
        books: what an earlier broker left; its leases wait for their servers to come back.
        epoch: of this broker; servers take no command of an earlier one. 0 = not fenced.
    """

    def __init__(
        self,
        now: float,
        limits: Limits | None = None,
        *,
        settled: bool = False,
        fresh: Callable[[int], str] = secrets.token_hex,
        books: Books | None = None,
        epoch: int = 0,
    ) -> None:
        self.limits = limits or Limits()
        self.epoch = epoch
        self.ledger = Ledger(self.limits, books)
        self.tenants = Tenants(self.ledger.books)
        self.started = now
        self.timers = Timers()
        settled_at = now if settled else now + self.limits.settle_s
        self.line = Line(
            self.ledger, self.tenants, self.limits, self.timers, now, settled_at, fresh
        )
        self._links: dict[int, str] = {}
        self._now = now
        self._notes: list[tuple[str, dict[str, Any]]] = []
        self._restored = set(self.ledger.leases)
        self.timers.set(settled_at, "line", 0)
        if len(self.line.places.absent):
            self.timers.set(self.line.places.held_until, "line", 0)
        for lease in self.ledger.leases.values():
            self.timers.set(min(lease.over_at, now + 1.0), "lease", lease.lease_id)

    def _at(self, now: float) -> float:
        """Time never goes back, whatever the clock does."""
        self._now = max(self._now, now)
        return self._now

    def take_changes(self) -> list[c.Change]:
        """Return what became durable since the last call, for a store and the audit log."""
        return self.ledger.books.take_changes()

    def take_notes(self) -> list[tuple[str, dict[str, Any]]]:
        """Return what else happened since the last call, for the audit log alone."""
        notes, self._notes = self._notes, []
        return notes

    # ------------------------------------------------------------ helpers

    def _note(self, what: str, server: str, **fields: Any) -> None:
        self._notes.append((what, {"server": server, **fields}))

    def _end(self, session_id: str, fate: Fate) -> None:
        """Strike a session out; if the broker has ended it, the broker's reason is the truth."""
        session = self.ledger.sessions.get(session_id)
        if session is not None and session.verdict is not None:
            fate = session.verdict
        self.ledger.end_session(session_id, fate)

    def _server_changed(self, name: str, now: float) -> list[Decision]:
        self.line.server_changed(name, now)
        return self.line.pump(now)

    def _heard(self, link: int, now: float) -> Server | None:
        name = self._links.get(link)
        if name is None:
            return None
        server = self.ledger.servers[name]
        server.heard_at = now
        return server

    def _session_on(self, link: int, session_id: str, now: float) -> Session | None:
        """Find a session by id, if the server on this link is the one that has it."""
        server = self._heard(link, now)
        session = self.ledger.sessions.get(session_id)
        if server is None or session is None or session.placement.server != server.name:
            return None
        return session

    def _lose(self, server: Server, message: str, now: float) -> list[Decision]:
        decisions: list[Decision] = []
        for request in self._openings_on(server):
            decisions += self.line.requeue(request)
        sessions = self.ledger.lose_server(server, message)
        ended = [each.session_id for each in sessions]
        self._note("server-lost", server.name, why=message, sessions=ended)
        server.link, server.state, server.broken_at = 0, ServerState.LOST, now
        self.timers.set(now + self.limits.remember_lost_s, "server", server.name)
        self.line.server_changed(server.name, now)
        return decisions

    def _openings_on(self, server: Server) -> list[Request]:
        ids = {self.ledger.sessions[each].request_id for each in server.sessions}
        return [self.line.opening[each] for each in sorted(ids) if each in self.line.opening]
