"""The line of requests: who is next, whose sessions are being opened, who goes back.

A request is served when it is the first and fits; one of a job that already has a lease gets
further sessions on it at once. Part of `state.py`'s machine, with no events of its own.
"""

from __future__ import annotations

import bisect
import hmac
from collections.abc import Callable

from cupool.pool_server.broker import words
from cupool.pool_server.broker.ledger import Ledger, carriers_to
from cupool.pool_server.broker.model import (
    CloseSession,
    Decision,
    Fate,
    Lease,
    Limits,
    OpenSession,
    Request,
    ServerState,
    Session,
    TellQueued,
    TellRefusal,
    Wish,
)
from cupool.pool_server.broker.policy import could_fit, place

_MOST_RETRIES = 3


class Line:
    """Requests in their order, and those on their way to a grant.

    Args:
        settled_at: until then servers may still be coming back, so nothing is impossible.
        fresh: makes a new secret identifier of so many random bytes.
    """

    def __init__(
        self, ledger: Ledger, limits: Limits, settled_at: float, fresh: Callable[[int], str]
    ) -> None:
        self.ledger = ledger
        self.limits = limits
        self.settled_at = settled_at
        self.waiting: list[Request] = []
        self.opening: dict[int, Request] = {}
        self._fresh = fresh

    def pump(self, now: float) -> list[Decision]:
        """Serve the line as far as it goes, and tell those who wait where they stand."""
        decisions = self._join_all(now)
        while self.waiting:
            request = self.waiting[0]
            wish = request.wish
            if self.ledger.lease_of_job(wish.job_id) is not None:
                break  # its lease is incomplete: servers may be coming back
            placements = place(wish, self.ledger.rooms(wish))
            if placements is not None:
                lease = self.ledger.new_lease(self._fresh(8), wish, placements, now)
                decisions += self._open(request, lease, now)
                if wish.job_id:
                    decisions += self._join_all(now)
            elif now >= self.settled_at and not self._could_fit(wish):
                self.waiting.pop(0)
                decisions.append(self.refusal(request, now))
            else:
                break
        return decisions + self._positions()

    def _join_all(self, now: float) -> list[Decision]:
        """Serve, from anywhere in the line, those whose job has a lease."""
        decisions: list[Decision] = []
        for request in list(self.waiting):
            if request.wish.job_id in self.ledger.jobs:
                decisions += self._join(request, now)
        return decisions

    def _could_fit(self, wish: Wish) -> bool:
        return could_fit(wish, self.ledger.rooms(wish, ever=True))

    def _join(self, request: Request, now: float) -> list[Decision]:
        """Open further sessions on the lease that the request's job already holds."""
        lease = self.ledger.lease_of_job(request.wish.job_id)
        if lease is None:
            return []
        if not same_secret(lease, request.wish):
            self.waiting.remove(request)
            return [TellRefusal(request.request_id, "denied", words.WRONG_TOKEN)]
        servers = [self.ledger.servers.get(p.server) for p in lease.placements.values()]
        ready = all(s is not None and s.state is ServerState.UP for s in servers)
        if not lease.complete or not ready:
            return []
        request.joined = True
        return self._open(request, lease, now)

    def _open(self, request: Request, lease: Lease, now: float) -> list[Decision]:
        self.waiting.remove(request)
        request.lease_id, request.sessions = lease.lease_id, []
        request.open_deadline = now + self.limits.open_s
        self.opening[request.request_id] = request
        decisions: list[Decision] = []
        for index, placement in sorted(lease.placements.items()):
            server = self.ledger.servers[placement.server]
            session = Session(
                self._fresh(8),
                lease.lease_id,
                index,
                placement,
                client=request.wish.client,
                token=self._fresh(24),
                request_id=request.request_id,
            )
            self.ledger.add_session(session)
            request.sessions.append(session.session_id)
            decisions.append(
                OpenSession(
                    server.link,
                    session.session_id,
                    lease,
                    index,
                    session.token,
                    session.client,
                    carriers_to(server, request.wish),
                    self.limits.connect_within_s,
                )
            )
        return decisions

    def requeue(self, request: Request) -> list[Decision]:
        """A server was lost while it opened the request's sessions: back to its place in line."""
        self.opening.pop(request.request_id, None)
        decisions = self.abandon(request, "another server of the lease was lost")
        request.retried += 1
        if request.retried > _MOST_RETRIES:
            text = f"servers were lost {request.retried} times while they opened the session"
            refusal = TellRefusal(request.request_id, "failed", text, words.SEE_LOG)
            return [*decisions, refusal]
        request.lease_id, request.sessions, request.joined = "", [], False
        bisect.insort(self.waiting, request, key=lambda each: each.request_id)
        return decisions

    def abandon(self, request: Request, reason: str) -> list[Decision]:
        """Close the sessions that were being opened for a request; end its lease if it is new."""
        decisions: list[Decision] = []
        lease = self.ledger.leases.get(request.lease_id)
        for session_id in request.sessions:
            decisions += self.close(session_id, reason)
        if lease is not None and not request.joined:
            self.ledger.close_lease(lease)
        return decisions

    def close(self, session_id: str, reason: str) -> list[Decision]:
        """Tell the server to end a session; it stays in the books until the server has."""
        session = self.ledger.sessions.get(session_id)
        if session is None:
            return []
        session.request_id = 0
        server = self.ledger.servers[session.placement.server]
        if server.link:
            return [CloseSession(server.link, session_id, reason)]
        self.ledger.end_session(session_id, Fate("released", reason, server.name))
        return []

    def _positions(self) -> list[Decision]:
        if not self.waiting:
            return []
        decisions: list[Decision] = []
        length = len(self.waiting)
        reason = words.busy(self.ledger)
        for position, request in enumerate(self.waiting, 1):
            if request.told[0] != position or request.told[2] != reason:
                request.told = (position, length, reason)
                decisions.append(TellQueued(request.request_id, position, length, reason))
        return decisions

    def refusal(self, request: Request, now: float) -> TellRefusal:
        reason, message, remedy = words.refusal(
            self.ledger, request, now, could_fit=self._could_fit(request.wish)
        )
        return TellRefusal(request.request_id, reason, message, remedy)


def same_secret(lease: Lease, wish: Wish) -> bool:
    return hmac.compare_digest(lease.job_token_hash.encode(), wish.job_token_hash.encode())
