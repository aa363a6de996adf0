"""The broker as a state machine: events and the time in, decisions out.

No sockets, no clock, no tasks: the shell in `service.py` feeds it and carries out what it
decides. Whatever happens, a device is never granted beyond its memory, a whole device has one
lease, and requests are served in the order in which they came (a job that already has a lease
gets further sessions on it at once).

    request -> waiting in line -> sessions being opened -> granted
                    |                    |  server lost: back to its place in line
                    '--> refused <-------'  failed
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable

from cupool.pool_server.broker import words
from cupool.pool_server.broker.ledger import Ledger
from cupool.pool_server.broker.line import Line, same_secret
from cupool.pool_server.broker.model import (
    CloseSession,
    Decision,
    DropLink,
    Fate,
    GrantedDevice,
    Limits,
    Registration,
    Report,
    Request,
    Server,
    ServerState,
    Session,
    TellGrant,
    TellRefusal,
    Wish,
)


class Rejected(Exception):
    """A server may not join; `reason` is machine-readable."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class BrokerState:
    """All that the broker knows, and every rule by which it decides.

    Args:
        now: the time of the broker's start.
        settled: the pool is complete already; do not wait for servers to come back.
        fresh: makes a new secret identifier of so many random bytes.
    """

    def __init__(
        self,
        now: float,
        limits: Limits | None = None,
        *,
        settled: bool = False,
        fresh: Callable[[int], str] = secrets.token_hex,
    ) -> None:
        self.limits = limits or Limits()
        self.ledger = Ledger(self.limits)
        self.started = now
        settled_at = now if settled else now + self.limits.settle_s
        self.line = Line(self.ledger, self.limits, settled_at, fresh)
        self._links: dict[int, str] = {}

    # ------------------------------------------------------------ clients

    def request(self, request_id: int, wish: Wish, now: float) -> list[Decision]:
        """A client asks for devices; `request_id`s grow."""
        fault = self._fault(wish)
        if fault:
            return [TellRefusal(request_id, *fault)]
        lease = self.ledger.lease_of_job(wish.job_id)
        if lease is not None and not same_secret(lease, wish):
            return [TellRefusal(request_id, "denied", words.WRONG_TOKEN)]
        deadline = max(now + wish.wait_s, self.line.settled_at)
        request = Request(request_id, wish, now, deadline)
        self.line.waiting.append(request)
        decisions = self.line.pump(now)
        if request in self.line.waiting and deadline <= now:
            self.line.waiting.remove(request)
            decisions = [d for d in decisions if getattr(d, "request_id", 0) != request_id]
            decisions.append(self.line.refusal(request, now))
        return decisions

    def _fault(self, wish: Wish) -> tuple[str, str] | None:
        if not 1 <= wish.gpus <= self.limits.gpus_per_request:
            most = self.limits.gpus_per_request
            return "invalid", f"{wish.gpus} GPUs were asked for; it must be 1 to {most}"
        if not wish.carriers:
            return "invalid", "the client speaks no carrier"
        if len(self.line.waiting) >= self.limits.waiting:
            return "no_devices", f"{len(self.line.waiting)} requests are waiting, the line is full"
        return None

    def leave(self, request_id: int, now: float) -> list[Decision]:
        """A client went away before it had an answer."""
        self.line.waiting = [r for r in self.line.waiting if r.request_id != request_id]
        request = self.line.opening.pop(request_id, None)
        decisions = [] if request is None else self.line.abandon(request, "the client went away")
        return decisions + self.line.pump(now)

    def release(self, session_id: str, lease_id: str) -> list[Decision]:
        """End a session, or a lease with all its sessions; unknown ids are no error."""
        if lease_id:
            lease = self.ledger.leases.get(lease_id)
            if lease is None:
                return []
            sessions = sorted(lease.sessions)
            self.ledger.close_lease(lease)
        else:
            sessions = [session_id] if session_id in self.ledger.sessions else []
        return [d for each in sessions for d in self.line.close(each, "released")]

    def explain(self, session_id: str, now: float) -> Fate:
        """Say what became of a session, in words for its owner."""
        session = self.ledger.sessions.get(session_id)
        if session is None:
            return self.ledger.fate(session_id) or Fate("unknown", words.UNKNOWN_SESSION)
        server = self.ledger.servers[session.placement.server]
        if server.state is ServerState.BROKEN:
            return Fate("server_lost", words.stream_broke(server, now), server.name)
        return Fate("running", words.running(server, now), server.name)

    # ------------------------------------------------------------ servers

    def register(self, link: int, hello: Registration, now: float) -> list[Decision]:
        """A server joins, or comes back with its sessions, on a new stream.

        Raises:
            Rejected: its name is taken, or it is too large.
        """
        decisions: list[Decision] = []
        known = self.ledger.servers.get(hello.name)
        self._admit(known, hello, now)
        if known is not None and known.instance != hello.instance:
            decisions += self._lose(known, words.restarted(known), now)
            known = None
        elif known is not None and known.link:
            decisions.append(DropLink(known.link, "the server connected again"))
            del self._links[known.link]
        server = Server(
            hello.name,
            hello.instance,
            {device.ordinal: device for device in hello.devices},
            link,
            now,
            hello.host,
            hello.address,
            hello.version,
        )
        if known is not None:
            server.sessions = known.sessions
        self.ledger.servers[hello.name] = server
        self._links[link] = hello.name
        decisions += self._reconcile(server, hello.sessions, now)
        return decisions + self.line.pump(now)

    def _admit(self, known: Server | None, hello: Registration, now: float) -> None:
        limits = self.limits
        if not hello.name or not hello.instance:
            raise Rejected("invalid", "a server must have a name")
        if len(hello.devices) > limits.devices_per_server:
            raise Rejected("too_large", f"a server may have {limits.devices_per_server} devices")
        if len(hello.sessions) > limits.sessions_per_server:
            raise Rejected("too_large", f"a server may have {limits.sessions_per_server} sessions")
        if known is None and len(self.ledger.servers) >= limits.servers:
            raise Rejected("too_large", f"the pool has {limits.servers} servers, its limit")
        if known is not None and known.link and known.instance != hello.instance:
            if now - known.heard_at < limits.silence_s:
                raise Rejected("name_taken", words.name_taken(known))

    def _reconcile(self, server: Server, reports: Iterable[Report], now: float) -> list[Decision]:
        """Compare a returning server's sessions with ours: theirs is the truth."""
        decisions: list[Decision] = []
        running = {report.session_id: report for report in reports}
        for session_id in sorted(server.sessions - running.keys()):
            session = self.ledger.sessions.get(session_id)
            if session is not None and session.request_id in self.line.opening:
                decisions += self.line.requeue(self.line.opening[session.request_id])
            fate = Fate("unknown", words.ended_while_away(server), server.name)  # it may say more
            self.ledger.end_session(session_id, fate)
        for session_id, report in running.items():
            fate_known = self.ledger.fate(session_id)
            if session_id in self.ledger.sessions:
                self.ledger.update(report)
            elif fate_known is not None and fate_known.state == "released":
                decisions.append(CloseSession(server.link, session_id, "released"))
            elif report.placement.ordinal in server.devices:
                self.ledger.forget_fate(session_id)
                self.ledger.adopt(report, now)
            else:
                decisions.append(CloseSession(server.link, session_id, "released"))
        return decisions

    def heartbeat(
        self, link: int, reports: Iterable[Report], warm_workers: int, now: float
    ) -> list[Decision]:
        """A server is alive; these are its sessions' figures."""
        server = self._heard(link, now)
        if server is not None:
            server.warm_workers = warm_workers
            for report in reports:
                if report.session_id in server.sessions:
                    self.ledger.update(report)
        return []

    def session_opened(
        self, link: int, session_id: str, urls: tuple[str, ...], worker_pid: int, now: float
    ) -> list[Decision]:
        """A server's worker listens; the request is granted once all of its workers do."""
        session = self._session_on(link, session_id, now)
        if session is None:
            return []
        session.opened, session.urls, session.worker_pid = True, urls, worker_pid
        request = self.line.opening.get(session.request_id)
        if request is None:
            return []
        sessions = [self.ledger.sessions[each] for each in request.sessions]
        if not all(each.opened for each in sessions):
            return []
        del self.line.opening[request.request_id]
        for each in sessions:
            each.request_id = 0
        devices = tuple(self._granted(each) for each in sessions)
        return [TellGrant(request.request_id, request.lease_id, devices, request.joined)]

    def _granted(self, session: Session) -> GrantedDevice:
        place_ = session.placement
        device = self.ledger.servers[place_.server].devices[place_.ordinal]
        return GrantedDevice(session.session_id, session.token, session.urls, place_, device)

    def session_failed(
        self, link: int, session_id: str, message: str, now: float
    ) -> list[Decision]:
        """A server could not open a session."""
        session = self._session_on(link, session_id, now)
        if session is None:
            return []
        server = session.placement.server
        self.ledger.end_session(session_id, Fate("worker_died", message, server))
        request = self.line.opening.pop(session.request_id, None)
        decisions: list[Decision] = []
        if request is not None:
            decisions = self.line.abandon(request, "another session of the lease failed")
            text = f"server {server} could not open a session: {message}"
            decisions.append(TellRefusal(request.request_id, "failed", text, words.SEE_LOG))
        return decisions + self.line.pump(now)

    def session_ended(
        self, link: int, session_id: str, state: str, message: str, now: float
    ) -> list[Decision]:
        """A session is over; its lease ends with the last one."""
        server = self._heard(link, now)
        if server is None:
            return []
        session = self.ledger.sessions.get(session_id)
        if session is not None and session.placement.server != server.name:
            return []
        if session is not None and session.request_id in self.line.opening:
            return self.session_failed(link, session_id, message or state, now)
        self.ledger.end_session(session_id, Fate(state, message, server.name))
        return self.line.pump(now)

    def draining(self, link: int, now: float) -> list[Decision]:
        """A server takes no new sessions any more."""
        server = self._heard(link, now)
        if server is not None:
            server.state = ServerState.DRAINING
        return self.line.pump(now)

    def link_broken(self, link: int, now: float) -> list[Decision]:
        """A server's stream ended: for a while it may come back with its sessions."""
        name = self._links.pop(link, None)
        if name is None:
            return []
        server = self.ledger.servers[name]
        left = server.state is ServerState.DRAINING and not server.sessions
        server.link, server.state, server.broken_at = 0, ServerState.BROKEN, now
        decisions: list[Decision] = []
        for request in self._openings_on(server):
            decisions += self.line.requeue(request)
        if left:
            self.ledger.lose_server(server, "")
            del self.ledger.servers[name]
        return decisions + self.line.pump(now)

    def _openings_on(self, server: Server) -> list[Request]:
        ids = {self.ledger.sessions[each].request_id for each in server.sessions}
        return [self.line.opening[each] for each in sorted(ids) if each in self.line.opening]

    # ------------------------------------------------------------ time

    def tick(self, now: float) -> list[Decision]:
        """Time has passed: find silent servers and requests that waited long enough."""
        limits = self.limits
        decisions: list[Decision] = []
        for server in list(self.ledger.servers.values()):
            if server.link and now - server.heard_at >= limits.silence_s:
                decisions.append(DropLink(server.link, "it was silent for too long"))
                del self._links[server.link]
                decisions += self._lose(server, words.silent(server, now), now)
            elif server.state is ServerState.BROKEN:
                if now - server.broken_at >= limits.reconnect_s:
                    decisions += self._lose(server, words.stream_broke(server, now), now)
            elif server.state is ServerState.LOST:
                if now - server.broken_at >= limits.remember_lost_s:
                    del self.ledger.servers[server.name]
        for request in [r for r in self.line.opening.values() if r.open_deadline <= now]:
            del self.line.opening[request.request_id]
            decisions += self.line.abandon(request, "it took too long to open")
            text = f"no worker answered within {limits.open_s:g} s"
            decisions.append(TellRefusal(request.request_id, "failed", text, words.SEE_LOG))
        decisions += self.line.pump(now)
        late = [request for request in self.line.waiting if request.deadline <= now]
        for request in late:
            self.line.waiting.remove(request)
            decisions.append(self.line.refusal(request, now))
        return decisions + (self.line.pump(now) if late else [])

    def next_tick(self) -> float | None:
        """Return the time at which `tick` has something to do, None if never."""
        limits = self.limits
        times = [request.deadline for request in self.line.waiting]
        times += [request.open_deadline for request in self.line.opening.values()]
        for server in self.ledger.servers.values():
            if server.link:
                times.append(server.heard_at + limits.silence_s)
            elif server.state is ServerState.BROKEN:
                times.append(server.broken_at + limits.reconnect_s)
            else:
                times.append(server.broken_at + limits.remember_lost_s)
        return min(times, default=None)

    # ------------------------------------------------------------ helpers

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
        self.ledger.lose_server(server, message)
        server.link, server.state, server.broken_at = 0, ServerState.LOST, now
        return decisions
