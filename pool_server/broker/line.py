"""The line of requests: who is served next, whose sessions are being opened, who goes back.

The first in line that its quota allows is served as soon as it fits. Meanwhile devices are held
for it (`reserve.py`), later ones are served where that does not delay it, and leases that are
less urgent may be asked to leave (`preempt.py`). A request of a job that already has a lease gets
further sessions on it at once. Part of `state.py`'s machine, with no events of its own.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable

from cupool.pool_server.broker import changes as c
from cupool.pool_server.broker import words
from cupool.pool_server.broker.decisions import (
    CloseSession,
    Decision,
    Notify,
    OpenSession,
    TellQueued,
    TellRefusal,
)
from cupool.pool_server.broker.fit import Fit
from cupool.pool_server.broker.ledger import Ledger, carriers_to
from cupool.pool_server.broker.model import (
    NEVER,
    Fate,
    Lease,
    Limits,
    Placement,
    Request,
    ServerState,
    Session,
    Wish,
)
from cupool.pool_server.broker.placement.types import Demand
from cupool.pool_server.broker.places import Places
from cupool.pool_server.broker.preempt import Victims
from cupool.pool_server.broker.queue import Queue
from cupool.pool_server.broker.reserve import Reservation, leaves_room, reserve
from cupool.pool_server.broker.tenants import Tenants
from cupool.pool_server.broker.timers import Timers

_MOST_RETRIES = 3
_LOOK_S = 1.0
"""How often it is looked whether the first in line can be served sooner on other devices."""
_SHORT_LINE = 64
"""In a line of up to so many everybody is told each change of place at once."""


class Line:
    """Requests in their order, and those on their way to a grant.

    Args:
        now: the time of the broker's start.
        settled_at: until then servers may still be coming back, so nothing is impossible.
        fresh: makes a new secret identifier of so many random bytes.
    """

    def __init__(
        self,
        ledger: Ledger,
        tenants: Tenants,
        limits: Limits,
        timers: Timers,
        now: float,
        settled_at: float,
        fresh: Callable[[int], str],
    ) -> None:
        self.ledger = ledger
        self.tenants = tenants
        self.limits = limits
        self.settled_at = settled_at
        self.fit = Fit(ledger, tenants, limits.policy)
        self.queue = Queue(tenants, limits.aging_s)
        self.places = Places(ledger.books, tenants, limits, now)
        self.opening: dict[int, Request] = {}
        self.reservation: Reservation | None = None
        self._noticed: dict[int, set[str]] = {}
        self._timers = timers
        self._fresh = fresh
        self._told_all_at = -NEVER
        self._looked_at = -NEVER

    @property
    def waiting(self) -> list[Request]:
        """Those in line, in the order of arrival."""
        return list(self.queue)

    def server_changed(self, name: str, now: float) -> None:
        """A server came, went, or takes (no) new leases."""
        self.fit.server_changed(name, now)
        self._looked_at = -NEVER

    # ------------------------------------------------------------ who is next

    def pump(self, now: float) -> list[Decision]:
        """Serve the line as far as it goes, and tell those who wait where they stand."""
        self.fit.refresh(now)
        decisions: list[Decision] = []
        for job_id in self.queue.jobs:
            decisions += self._join_all(job_id, now)
        failed: set[Demand] = set()
        while self._serve_next(now, failed, decisions):
            self.fit.refresh(now)
        return decisions + self.positions(now)

    def _serve_next(self, now: float, failed: set[Demand], decisions: list[Decision]) -> bool:
        """Serve or refuse the first request that can be; False if there is none."""
        first: Request | None = None
        tried = 0
        skipped: set[tuple[int, str]] = set()
        for request in self.queue.in_order(now, skipped):
            wish = request.wish
            if self.places.overtakes(request, now):
                request.blocked = "those who waited before the broker's restart may come back"
                return False
            if self.ledger.lease_of_job(wish.job_id) is not None:
                request.blocked = "its job's lease is incomplete: a server is away"
                continue
            request.blocked = self.tenants.over_limit(wish)
            if request.blocked:
                skipped.add((wish.priority, wish.tenant))
                continue
            demand, placements = self._find(wish, failed)
            if placements is not None and first is not None and self._hold(first, now):
                placements = self._beside(wish, demand, placements, now)
            if placements is not None:
                self._grant(request, demand, placements, now, decisions)
                return True
            if self._never(request, now):
                refusal = self.refusal(request, now)
                self._drop(request, decisions, refusal.message)
                decisions.append(refusal)
                return True
            if first is None:
                first = request
                self._make_room(request, demand, now, decisions)
                continue
            tried += 1
            if tried >= self.limits.backfill:
                break
        return False

    def _find(self, wish: Wish, failed: set[Demand]) -> tuple[Demand, list[Placement] | None]:
        """Return what is asked for and where there is room for it; see `Wish.overcommit`."""
        demand = self.fit.demand(wish)
        placements = None if demand in failed else self.fit.place(wish, demand)
        if placements is None:
            failed.add(demand)
            if wish.overcommit:
                queued = self.fit.demand(wish, overcommit=True)
                placements = None if queued in failed else self.fit.place(wish, queued)
                if placements is not None:
                    return queued, placements
                failed.add(queued)
        return demand, placements

    def _beside(
        self, wish: Wish, demand: Demand, placements: list[Placement], now: float
    ) -> list[Placement] | None:
        """Return where a request can be served without delaying the first in line, if anywhere."""
        held = self.reservation
        assert held is not None
        if leaves_room(held, wish, placements, self.ledger, now):
            return placements
        with self.fit.without(held.devices):
            return self.fit.place(wish, demand)

    def _never(self, request: Request, now: float) -> bool:
        """Whether no server, were it empty, could serve a request; looked up once for a fleet."""
        if now < self.settled_at or request.checked == self.fit.fleet.layout:
            return False
        request.checked = self.fit.fleet.layout
        return self.fit.never(request.wish) is not None

    def _hold(self, request: Request, now: float) -> bool:
        """Hold devices for the first in line; False if no server can have them at present.

        Done once somebody behind it could be served: until then there is nothing to hold.
        """
        held, fleet = self.reservation, self.fit.fleet
        if held is not None and held.request_id != request.request_id:
            held = None
        same = held is not None and held.layout == fleet.layout
        if same and now - self._looked_at < _LOOK_S:
            return True
        found = reserve(request, self.fit.demand(request.wish), self.ledger, self.fit, now)
        self._looked_at = now
        if held is not None and found is not None:
            found.made = held.made  # who was let in since then does not go by itself
            usable = same and all(fleet.up[fleet.row_of[server]] for server, _ in held.devices)
            if usable and (found.at, found.missing) >= (held.at, held.missing):
                return True
        self.reservation = found
        if found is None:
            request.blocked = "servers that could serve it take nothing new at the moment"
        return found is not None

    # ------------------------------------------------------------ taking back

    def _make_room(self, request: Request, demand: Demand, now: float, out: list[Decision]) -> None:
        """Ask leases to leave for the first in line, if that serves it sooner than waiting."""
        at = now + self.limits.grace_s
        if request.request_id in self._noticed or request.deadline < at:
            return
        if now - request.sought < _LOOK_S or not self._somebody_may_go(request.wish):
            return
        request.sought = now
        if not self._hold(request, now) or self.reservation is None or self.reservation.at <= at:
            return
        wish = request.wish
        found = Victims(wish, demand, self.ledger, self.fit, self.tenants, now).choose()
        if found is None:
            return
        leases, devices = found
        self._noticed[request.request_id] = {lease.lease_id for lease in leases}
        for lease in leases:
            reason = words.preempted(lease, wish, self.tenants)
            self.notice(lease, "preempted", reason, at, now, out, request.request_id)
        layout, made = self.fit.fleet.layout, self.ledger.books.revision
        self.reservation = Reservation(
            request.request_id, demand, frozenset(devices), at, made, layout, len(leases)
        )

    def _somebody_may_go(self, wish: Wish) -> bool:
        """Whether there are leases that the request might displace; a quick look."""
        ranks = self.ledger.books.ranks
        if any(count and rank < wish.priority for rank, count in ranks.items()):
            return True
        return self.tenants.has_claim(wish) and self.tenants.anybody_borrows()

    def notice(
        self,
        lease: Lease,
        reason: str,
        message: str,
        at: float,
        now: float,
        out: list[Decision],
        request_id: int = 0,
    ) -> None:
        """Tell the scripts of a lease that it ends at a time, and end it then."""
        change = c.LeaseNoticed(lease.lease_id, reason, request_id, c.known(at))
        self.ledger.books.apply(change)
        self._timers.set(at, "lease", lease.lease_id)
        out += self.tell(lease, reason, message, at - now)

    def tell(self, lease: Lease, reason: str, message: str, within_s: float) -> list[Decision]:
        """Pass a notice on to every session of a lease."""
        out: list[Decision] = []
        for session_id in sorted(lease.sessions):
            session = self.ledger.sessions[session_id]
            link = self.ledger.servers[session.placement.server].link
            if link:
                out.append(Notify(link, session_id, reason, message, within_s))
        return out

    def _withdraw(self, request_id: int, out: list[Decision]) -> None:
        """A request is served or gone: who was asked to leave for it and has not may stay."""
        for lease_id in sorted(self._noticed.pop(request_id, ())):
            lease = self.ledger.leases.get(lease_id)
            if lease is None or lease.notice_for != request_id or lease.closing:
                continue
            self.ledger.books.apply(c.LeaseNoticed(lease_id, ""))
            out += self.tell(lease, "withdrawn", "your GPU is yours again", 0.0)

    # ------------------------------------------------------------ granting

    def _grant(
        self,
        request: Request,
        demand: Demand,
        placements: list[Placement],
        now: float,
        out: list[Decision],
    ) -> None:
        wish = request.wish
        terms = self.fit.terms(wish, demand)
        lease = self.ledger.new_lease(self._fresh(8), wish, terms, placements, now)
        if lease.ends_at != NEVER:
            warn_s = min(self.limits.warn_s, wish.max_time_s / 10)
            self._timers.set(lease.ends_at - warn_s, "lease", lease.lease_id)
            self._timers.set(lease.ends_at, "lease", lease.lease_id)
        out += self._open(request, lease, now)
        self._withdraw(request.request_id, out)
        out += self._join_all(wish.job_id, now)

    def _join_all(self, job_id: str, now: float) -> list[Decision]:
        """Open further sessions, on the lease that a job holds, for its other processes."""
        lease = self.ledger.lease_of_job(job_id)
        decisions: list[Decision] = []
        for request in self.queue.of_job(job_id) if lease is not None else ():
            assert lease is not None
            if not same_secret(lease, request.wish):
                self._drop(request, decisions, words.WRONG_TOKEN)
                decisions.append(TellRefusal(request.request_id, "denied", words.WRONG_TOKEN))
                continue
            servers = [self.ledger.servers.get(p.server) for p in lease.placements.values()]
            ready = all(s is not None and s.state is ServerState.UP for s in servers)
            if lease.complete and ready:
                request.joined = True
                decisions += self._open(request, lease, now)
        return decisions

    def _open(self, request: Request, lease: Lease, now: float) -> list[Decision]:
        self.queue.remove(request)
        request.lease_id, request.sessions = lease.lease_id, []
        request.open_deadline = now + self.limits.open_s
        self._timers.set(request.open_deadline, "opening", request.request_id)
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
                    lease.ends_at - now if lease.ends_at != NEVER else 0.0,
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
        self.queue.add(request)
        self.places.record(request)
        self._timers.set(request.deadline, "request", request.request_id)
        return decisions

    # ------------------------------------------------------------ ending

    def leave(self, request: Request, why: str) -> list[Decision]:
        """Take a request out of the line, for good."""
        decisions: list[Decision] = []
        self._drop(request, decisions, why)
        return decisions

    def _drop(self, request: Request, out: list[Decision], why: str) -> None:
        self.queue.remove(request)
        self.places.strike(request, why)
        if self.reservation is not None and self.reservation.request_id == request.request_id:
            self.reservation = None
        self._withdraw(request.request_id, out)

    def abandon(self, request: Request, reason: str) -> list[Decision]:
        """Close the sessions that were being opened for a request; end its lease if it is new."""
        decisions: list[Decision] = []
        self.places.strike(request, reason)
        lease = self.ledger.leases.get(request.lease_id)
        for session_id in request.sessions:
            decisions += self.close(session_id, Fate("released", reason))
        if lease is not None and not request.joined:
            self.ledger.close_lease(lease, reason)
        return decisions

    def close(self, session_id: str, fate: Fate) -> list[Decision]:
        """Tell the server to end a session; it stays in the books until the server has."""
        session = self.ledger.sessions.get(session_id)
        if session is None:
            return []
        session.request_id = 0
        session.verdict = fate
        server = self.ledger.servers[session.placement.server]
        if server.link:
            reason = fate.message if fate.state == "released" else fate.state
            return [CloseSession(server.link, session_id, reason)]
        self.ledger.end_session(session_id, fate)
        return []

    # ------------------------------------------------------------ telling

    def positions(self, now: float) -> list[Decision]:
        """Tell those in line whose place or reason has changed; in a long line not at once."""
        length = len(self.queue)
        if not length:
            return []
        if length > _SHORT_LINE and now - self._told_all_at < self.limits.retell_s:
            return []
        self._told_all_at = now
        decisions: list[Decision] = []
        busy: dict[str, str] = {}
        self.fit.refresh(now)
        for position, request in enumerate(self.queue.in_order(now), 1):
            before, reason_before, _ = request.told
            tenant = request.wish.tenant
            if tenant not in busy:
                partition = self.fit.partition_of(request.wish)
                busy[tenant] = words.busy(self.ledger, self.fit, partition)
            reason = request.blocked or busy[tenant]
            far = position > _SHORT_LINE and before and 0.9 * before < position <= before
            if (before != position and not far) or (reason != reason_before and not far):
                request.told = (position, reason, now)
                decisions.append(TellQueued(request.request_id, position, length, reason))
        return decisions

    def refusal(self, request: Request, now: float) -> TellRefusal:
        missing = self.fit.never(request.wish)
        reason, message, remedy = words.refusal(self.ledger, self.fit, request, now, missing)
        return TellRefusal(request.request_id, reason, message, remedy)


def same_secret(lease: Lease, wish: Wish) -> bool:
    return hmac.compare_digest(lease.job_token_hash.encode(), wish.job_token_hash.encode())
