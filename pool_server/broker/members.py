"""Events of pool servers: they join, come and go, and say what became of sessions."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from cupool.pool_server.broker import words
from cupool.pool_server.broker.admission import admit, device_faults
from cupool.pool_server.broker.core import Core
from cupool.pool_server.broker.decisions import (
    CloseSession,
    Decision,
    DropLink,
    GrantedDevice,
    TellGrant,
    TellRefusal,
)
from cupool.pool_server.broker.model import (
    NEVER,
    Fate,
    Lease,
    Registration,
    Report,
    Server,
    ServerState,
    Session,
)


class Members(Core):
    """The servers' part of the state machine."""

    def register(self, link: int, hello: Registration, now: float) -> list[Decision]:
        """A server joins, or comes back with its sessions, on a new stream.

        Raises:
            Rejected: its name is taken, it is too large, or what it says cannot be.
        """
        now = self._at(now)
        decisions: list[Decision] = []
        known = self.ledger.servers.get(hello.name)
        admit(self.ledger.servers, known, hello, self.limits, now)
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
            hello.zone,
            hello.rack,
            hello.partition,
            hello.link_mbps,
            hello.taints,
        )
        what = "server-joined" if known is None else "server-returned"
        self._note(what, server.name, address=server.address, devices=len(server.devices))
        if known is not None:
            server.sessions, server.breaks = known.sessions, known.breaks
            server.held_until = known.held_until
        self.ledger.servers[hello.name] = server
        self._links[link] = hello.name
        self.timers.set(now + self.limits.silence_s, "server", hello.name)
        self.tenants.count(self.ledger.servers)
        if known is not None:
            decisions += self._check_devices(known, server)
        decisions += self._reconcile(server, hello.sessions, now)
        self._end_finished(server)
        return decisions + self._server_changed(server.name, now)

    def _check_devices(self, before: Server, server: Server) -> list[Decision]:
        """A server is back with other devices: leases lose those that are gone or changed."""
        decisions: list[Decision] = []
        for ordinal, was in before.devices.items():
            fault = device_faults(was, server.devices.get(ordinal))
            if not fault:
                continue
            text = f"server {server.name} came back with other devices: GPU {ordinal} {fault}"
            for session_id in sorted(server.sessions):
                session = self.ledger.sessions[session_id]
                if session.placement.ordinal == ordinal:
                    decisions += self._fail_opening(session, text)
                    decisions += self.line.close(session_id, Fate("server_lost", text, server.name))
                    self.ledger.lose_device(session.lease_id, session.index)
            for lease_id, _ in list(
                self.ledger.books.on_device.get((server.name, ordinal), {}).items()
            ):
                lease = self.ledger.leases[lease_id]
                for index, placement in list(lease.placements.items()):
                    if (placement.server, placement.ordinal) == (server.name, ordinal):
                        self.ledger.lose_device(lease_id, index)
        return decisions

    def _fail_opening(self, session: Session, why: str) -> list[Decision]:
        request = self.line.opening.get(session.request_id)
        return [] if request is None else self.line.requeue(request)

    def _reconcile(self, server: Server, reports: Iterable[Report], now: float) -> list[Decision]:
        """Compare a returning server's sessions with ours: theirs is the truth, if it can be."""
        decisions: list[Decision] = []
        running = {report.session_id: report for report in reports}
        for session_id in sorted(server.sessions - running.keys()):
            session = self.ledger.sessions.get(session_id)
            if session is not None and session.request_id in self.line.opening:
                decisions += self.line.requeue(self.line.opening[session.request_id])
            fate = Fate("unknown", words.ended_while_away(server), server.name)  # it may say more
            self._end(session_id, fate)
        for session_id, report in running.items():
            fate_known = self.ledger.fate(session_id)
            known = self.ledger.sessions.get(session_id)
            if known is not None and known.placement.server == server.name:
                self.ledger.update(report)
                continue
            ended = fate_known is not None and fate_known.state not in ("unknown", "server_lost")
            fits = known is None and report.placement.ordinal in server.devices
            if ended or not fits or self.ledger.adopt(report, now) is None:
                decisions.append(CloseSession(server.link, session_id, "released"))
                continue
            self.ledger.forget_fate(session_id)
            self._watch(self.ledger.leases[report.lease_id])
        return decisions

    def _end_finished(self, server: Server) -> None:
        """End leases of an earlier broker whose servers are all back, and run nothing of them.

        Their sessions ended while no broker listened: to wait for them would hold devices that
        nobody has.
        """
        for ordinal in server.devices:
            for lease_id in list(self.ledger.books.on_device.get((server.name, ordinal), ())):
                lease = self.ledger.leases[lease_id]
                if lease_id not in self._restored or lease.sessions or lease.terms.hold:
                    continue
                places = [self.ledger.servers.get(p.server) for p in lease.placements.values()]
                if all(place is not None and place.link for place in places):
                    self._restored.discard(lease_id)
                    self.ledger.close_lease(lease, "it ended while no broker listened")

    def _watch(self, lease: Lease) -> None:
        self._restored.discard(lease.lease_id)
        if lease.over_at != NEVER:
            self.timers.set(lease.over_at, "lease", lease.lease_id)

    def heartbeat(
        self, link: int, reports: Iterable[Report], warm_workers: int, now: float
    ) -> list[Decision]:
        """A server is alive; these are its sessions' figures."""
        server = self._heard(link, self._at(now))
        if server is not None:
            server.warm_workers = warm_workers
            for report in reports:
                if report.session_id in server.sessions:
                    self.ledger.update(report)
        return []

    def health(self, link: int, ordinal: int, unhealthy: str, now: float) -> list[Decision]:
        """A server says that one of its devices is not well, or (`unhealthy` "") is again."""
        now = self._at(now)
        server = self._heard(link, now)
        device = server.devices.get(ordinal) if server is not None else None
        if server is None or device is None or device.unhealthy == unhealthy:
            return []
        server.devices[ordinal] = dataclasses.replace(device, unhealthy=unhealthy[:500])
        self._note("device-health", server.name, device=ordinal, unhealthy=unhealthy[:500])
        return self._server_changed(server.name, now)

    def session_opened(
        self, link: int, session_id: str, urls: tuple[str, ...], worker_pid: int, now: float
    ) -> list[Decision]:
        """A server's worker listens; the request is granted once all of its workers do."""
        now = self._at(now)
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
        lease = self.ledger.leases[request.lease_id]
        left = lease.ends_at - now if lease.ends_at != NEVER else 0.0
        self.line.places.strike(request, "granted")
        number, joined = request.request_id, request.joined
        return [TellGrant(number, lease.lease_id, devices, joined, lease.terms, left)]

    def _granted(self, session: Session) -> GrantedDevice:
        place_ = session.placement
        device = self.ledger.servers[place_.server].devices[place_.ordinal]
        return GrantedDevice(session.session_id, session.token, session.urls, place_, device)

    def session_failed(
        self, link: int, session_id: str, message: str, now: float
    ) -> list[Decision]:
        """A server could not open a session."""
        now = self._at(now)
        session = self._session_on(link, session_id, now)
        if session is None:
            return []
        server = session.placement.server
        self._end(session_id, Fate("worker_died", message, server))
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
        now = self._at(now)
        server = self._heard(link, now)
        if server is None:
            return []
        session = self.ledger.sessions.get(session_id)
        if session is not None and session.placement.server != server.name:
            return []
        if session is not None and session.request_id in self.line.opening:
            return self.session_failed(link, session_id, message or state, now)
        self._end(session_id, Fate(state, message, server.name))
        return self.line.pump(now)

    def draining(self, link: int, now: float) -> list[Decision]:
        """A server takes no new sessions any more."""
        now = self._at(now)
        server = self._heard(link, now)
        if server is None:
            return []
        if server.state is not ServerState.DRAINING:
            self._note("server-draining", server.name)
        server.state = ServerState.DRAINING
        return self._server_changed(server.name, now)

    def link_broken(self, link: int, now: float) -> list[Decision]:
        """A server's stream ended: for a while it may come back with its sessions."""
        now = self._at(now)
        name = self._links.pop(link, None)
        if name is None:
            return []
        server = self.ledger.servers[name]
        left = server.state is ServerState.DRAINING and not server.sessions
        self._note("server-left" if left else "server-away", server.name)
        server.link, server.state, server.broken_at = 0, ServerState.BROKEN, now
        self._count_break(server, now)
        self.timers.set(now + self.limits.reconnect_s, "server", name)
        decisions: list[Decision] = []
        for request in self._openings_on(server):
            decisions += self.line.requeue(request)
        if left:
            self.ledger.lose_server(server, "")
            del self.ledger.servers[name]
            self.tenants.count(self.ledger.servers)
        return decisions + self._server_changed(name, now)

    def _count_break(self, server: Server, now: float) -> None:
        limits = self.limits
        server.breaks = [at for at in server.breaks if now - at < limits.flap_window_s] + [now]
        if len(server.breaks) >= limits.flaps:
            server.held_until = now + limits.flap_hold_s
            self.timers.set(server.held_until, "server", server.name)
