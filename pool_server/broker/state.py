"""The broker as a state machine: events and the time in, decisions out.

No sockets, no clock, no tasks: the shell in `service.py` feeds it and carries out what it
decides. Whatever happens, a device is never granted beyond its memory or compute, and a whole
device has one lease. What must outlive the broker is in `books.py`, changed record by record.

    request -> waiting in line -> sessions being opened -> granted
                    |                    |  server lost: back to its place in line
                    '--> refused <-------'  failed
"""

from __future__ import annotations

from cupool.pool_server.broker import words
from cupool.pool_server.broker.administration import Administration
from cupool.pool_server.broker.admission import Rejected, wish_fault
from cupool.pool_server.broker.decisions import Decision, DropLink, TellRefusal
from cupool.pool_server.broker.line import same_secret
from cupool.pool_server.broker.members import Members
from cupool.pool_server.broker.model import Fate, Request, ServerState, Wish
from cupool.pool_server.broker.timers import Kind

__all__ = ["BrokerState", "Rejected"]

RELEASED = Fate("released", "released")
_LEFT = "the client went away"


class BrokerState(Members, Administration):
    """All that the broker knows, and every rule by which it decides."""

    # ------------------------------------------------------------ clients

    def request(self, request_id: int, wish: Wish, now: float) -> list[Decision]:
        """A client asks for devices; `request_id`s grow."""
        now = self._at(now)
        fault = wish_fault(wish, self.limits, self.tenants, len(self.line.queue))
        if fault is not None:
            return [TellRefusal(request_id, *fault)]
        lease = self.ledger.lease_of_job(wish.job_id)
        if lease is not None and not same_secret(lease, wish):
            return [TellRefusal(request_id, "denied", words.WRONG_TOKEN)]
        deadline = max(now + wish.wait_s, self.line.settled_at)
        request = Request(request_id, wish, now, deadline)
        self.line.places.take(request)
        self.line.queue.add(request)
        decisions = self.line.pump(now)
        if request in self.line.queue and deadline <= now:
            refusal = self.line.refusal(request, now)
            decisions += self.line.leave(request, refusal.message)
            decisions = [d for d in decisions if getattr(d, "request_id", 0) != request_id]
            decisions.append(refusal)
        elif request in self.line.queue:
            self.line.places.record(request)
            self.timers.set(deadline, "request", request_id)
            self.timers.set(now + self.limits.retell_s, "line", 0)
        return decisions

    def leave(self, request_id: int, now: float) -> list[Decision]:
        """A client went away before it had an answer."""
        now = self._at(now)
        decisions: list[Decision] = []
        waiting = self.line.queue.get(request_id)
        if waiting is not None:
            decisions += self.line.leave(waiting, _LEFT)
        opening = self.line.opening.pop(request_id, None)
        if opening is not None:
            decisions += self.line.abandon(opening, _LEFT)
        return decisions + self.line.pump(now)

    def release(self, session_id: str, lease_id: str, fate: Fate = RELEASED) -> list[Decision]:
        """End a session, or a lease with all its sessions; unknown ids are no error."""
        if lease_id:
            lease = self.ledger.leases.get(lease_id)
            if lease is None:
                return []
            sessions = sorted(lease.sessions)
            self.ledger.close_lease(lease, fate.message)
        else:
            sessions = [session_id] if session_id in self.ledger.sessions else []
        decisions: list[Decision] = []
        for number in sorted({self.ledger.sessions[each].request_id for each in sessions}):
            request = self.line.opening.pop(number, None)
            if request is not None:
                text = f"the lease ended while its sessions were being opened: {fate.message}"
                self.line.places.strike(request, text)
                decisions.append(TellRefusal(number, "failed", text, "start the job anew"))
                sessions += [each for each in request.sessions if each not in sessions]
        for each in sessions:
            decisions += self.line.close(each, fate)
        return decisions

    def explain(self, session_id: str, now: float) -> Fate:
        """Say what became of a session, in words for its owner."""
        now = self._at(now)
        session = self.ledger.sessions.get(session_id)
        if session is None:
            return self.ledger.fate(session_id) or Fate("unknown", words.UNKNOWN_SESSION)
        if session.verdict is not None:
            return session.verdict
        server = self.ledger.servers[session.placement.server]
        if server.state is ServerState.BROKEN:
            return Fate("server_lost", words.stream_broke(server, now), server.name)
        return Fate("running", words.running(server, now), server.name)

    # ------------------------------------------------------------ time

    def stood_still(self, now: float) -> None:
        """The broker itself did not run until now: everybody has his time to be heard anew."""
        now = self._at(now)
        for server in self.ledger.servers.values():
            if server.state is not ServerState.LOST:
                server.heard_at = server.broken_at = now
        for request in self.line.opening.values():
            request.open_deadline = now + self.limits.open_s
            self.timers.set(request.open_deadline, "opening", request.request_id)

    def tick(self, now: float) -> list[Decision]:
        """Time has passed: find silent servers, leases that end, requests that waited enough."""
        now = self._at(now)
        decisions: list[Decision] = []
        late: list[Request] = []
        for kind, key in self.timers.due(now):
            decisions += self._due(kind, key, late, now)
        if len(self.line.queue):
            self.timers.set(now + self.limits.retell_s, "line", 0)
        decisions += self.line.pump(now)
        for request in late:
            if request in self.line.queue:
                refusal = self.line.refusal(request, now)
                decisions += self.line.leave(request, refusal.message)
                decisions.append(refusal)
        return decisions + (self.line.pump(now) if late else [])

    def _due(self, kind: Kind, key: str | int, late: list[Request], now: float) -> list[Decision]:
        if kind == "server":
            return self._server_due(str(key), now)
        if kind == "lease":
            return self._lease_due(str(key), now)
        if kind == "request":
            request = self.line.queue.get(int(key))
            if request is not None and request.deadline <= now:
                late.append(request)
        elif kind == "opening":
            request = self.line.opening.get(int(key))
            if request is not None and request.open_deadline <= now:
                del self.line.opening[request.request_id]
                text = f"no worker answered within {self.limits.open_s:g} s"
                refusal = TellRefusal(request.request_id, "failed", text, words.SEE_LOG)
                return [*self.line.abandon(request, "it took too long to open"), refusal]
        elif now >= self.line.settled_at:
            self._forget_restored()
            self._forget_absent(now)
        return []

    def _server_due(self, name: str, now: float) -> list[Decision]:
        limits, server = self.limits, self.ledger.servers.get(name)
        if server is None:
            return []
        decisions: list[Decision] = []
        if server.link:
            due = server.heard_at + limits.silence_s
            if due <= now:
                decisions.append(DropLink(server.link, "it was silent for too long"))
                del self._links[server.link]
                decisions += self._lose(server, words.silent(server, now), now)
            elif 0.0 < server.held_until <= now:
                server.held_until = 0.0
                self.line.server_changed(name, now)
            elif server.held_until:
                due = min(due, server.held_until)
        elif server.state is ServerState.BROKEN:
            due = server.broken_at + limits.reconnect_s
            if due <= now:
                decisions += self._lose(server, words.stream_broke(server, now), now)
        else:
            due = server.broken_at + limits.remember_lost_s
            if due <= now:
                del self.ledger.servers[name]
                self.tenants.count(self.ledger.servers)
                self.line.server_changed(name, now)
        if due > now:
            self.timers.set(due, "server", name)
        return decisions

    def _lease_due(self, lease_id: str, now: float) -> list[Decision]:
        """A lease's time, or its notice, is over, or nearly."""
        lease = self.ledger.leases.get(lease_id)
        if lease is None or lease.closing or lease_id in self._restored:
            return []
        if lease.notice_ends_at <= now:
            state = "drained" if lease.notice == "drain" else lease.notice
            return self.release("", lease_id, Fate(state, words.taken_back(lease)))
        if lease.ends_at <= now:
            return self.release("", lease_id, Fate("expired", words.time_is_up(lease, now)))
        warn_s = min(self.limits.warn_s, (lease.ends_at - lease.since) / 10)
        if not lease.warned and lease.ends_at - warn_s <= now:
            lease.warned = True
            left_s = lease.ends_at - now
            return self.line.tell(lease, "deadline", words.TIME_ENDS, left_s)
        return []

    def _forget_restored(self) -> None:
        """Leases of an earlier broker whose servers have not come back are over."""
        for lease_id in sorted(self._restored):
            lease = self.ledger.leases.get(lease_id)
            if lease is not None and lease.terms.hold and lease.complete:
                self.timers.set(lease.over_at, "lease", lease_id)
            elif lease is not None and not lease.sessions:
                self.ledger.close_lease(lease, "its servers did not come back")
        self._restored.clear()

    def _forget_absent(self, now: float) -> None:
        places = self.line.places
        if len(places.absent) and now >= places.forgotten_at:
            places.forget()
        elif len(places.absent):
            self.timers.set(places.forgotten_at, "line", 0)

    def next_tick(self) -> float | None:
        """Return the time at which `tick` has something to do, None if never."""
        return self.timers.next
