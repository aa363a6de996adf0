"""The broker's books as people see them: the StatusReply of `cupool status` and `cupool queue`.

A tenant sees its own leases and requests, and the servers of its partition; of what others hold
it sees the sums.
"""

from __future__ import annotations

from cupool import __version__
from cupool.pool_server.broker import convert, explain, words
from cupool.pool_server.broker.books import Taken
from cupool.pool_server.broker.model import NEVER, Lease, Request, Server, Session
from cupool.pool_server.broker.state import BrokerState
from cupool.proto.v1 import pool_pb2 as pb

_NOTHING = Taken()
_OTHERS = "others come before it or hold the GPUs"
_MOST_WAITING = 1000
_EXPECTED_FOR = 20
"""For so many of those in line it is worked out when they have room."""


def status(state: BrokerState, broker: str, now: float, tenant: str = "") -> pb.StatusReply:
    """Describe the pool at the time `now`, to a tenant or ("") to an administrator."""
    ledger = state.ledger
    servers = sorted(ledger.servers.values(), key=lambda server: server.name)
    leases = [each for each in ledger.leases.values() if state.tenants.sees(tenant, each)]
    return pb.StatusReply(
        broker=broker,
        version=__version__,
        uptime_s=now - state.started,
        servers=[
            _server(state, each, now, tenant) for each in servers if _sees(state, each, tenant)
        ],
        leases=[_lease(each, now) for each in leases],
        waiting=_waiting(state, now, tenant),
        epoch=state.epoch,
    )


def _sees(state: BrokerState, server: Server, tenant: str) -> bool:
    """Whether a server has a device that serves the tenant."""
    if not tenant:
        return True
    own = state.tenants.partition_of(tenant)
    return any(state.tenants.device_partition(server, each) == own for each in server.devices)


def _waiting(state: BrokerState, now: float, tenant: str) -> list[pb.WaitingStatus]:
    fit = state.line.fit
    fit.refresh(now)
    busy_by_tenant: dict[str, str] = {}
    found: list[pb.WaitingStatus] = []
    for position, request in enumerate(state.line.queue.in_order(now), 1):
        if len(found) >= _MOST_WAITING:
            break
        if tenant in ("", request.wish.tenant):
            expected = -1.0
            if len(found) < _EXPECTED_FOR:
                expected = explain.expected_in_s(state, request, now)
            busy = _OTHERS if tenant else busy_by_tenant.get(request.wish.tenant, "")
            if not busy:
                busy = words.busy(state.ledger, fit, fit.partition_of(request.wish))
                busy_by_tenant[request.wish.tenant] = busy
            found.append(_request(request, position, busy, expected, now))
    return found


def _request(
    request: Request, position: int, busy: str, expected_in_s: float, now: float
) -> pb.WaitingStatus:
    wish = request.wish
    return pb.WaitingStatus(
        client=wish.client,
        position=position,
        gpus=wish.gpus,
        memory_bytes=wish.memory_bytes,
        waited_s=now - request.since,
        reason=request.blocked or busy,
        request=convert.request_name(request.request_id),
        tenant=wish.tenant,
        priority=wish.priority,
        expected_in_s=expected_in_s,
        share_milli=wish.share_milli,
    )


def _lease(lease: Lease, now: float) -> pb.LeaseStatus:
    note = ""
    if lease.notice:
        note = f"{lease.notice}, ends in {words.duration(max(0.0, lease.notice_ends_at - now))}"
    return pb.LeaseStatus(
        lease_id=lease.lease_id,
        job_id=lease.job_id,
        client=lease.client,
        age_s=max(0.0, now - lease.since),  # of an earlier broker's clock
        sessions=len(lease.sessions),
        devices=[f"{p.server}/{p.ordinal}" for _, p in sorted(lease.placements.items())],
        terms=convert.terms(
            lease.terms, max(0.0, lease.ends_at - now) if lease.ends_at != NEVER else 0.0
        ),
        note=note,
    )


def _server(state: BrokerState, server: Server, now: float, tenant: str) -> pb.ServerStatus:
    ledger = state.ledger
    here: dict[int, list[Session]] = {ordinal: [] for ordinal in server.devices}
    for session_id in sorted(server.sessions):
        session = ledger.sessions[session_id]
        here.setdefault(session.placement.ordinal, []).append(session)
    devices = []
    for ordinal, spec in sorted(server.devices.items()):
        if tenant and state.tenants.device_partition(server, ordinal) != state.tenants.partition_of(
            tenant
        ):
            continue
        taken = ledger.books.taken.get((server.name, ordinal), _NOTHING)
        seen = [
            session
            for session in here[ordinal]
            if state.tenants.sees(tenant, ledger.leases[session.lease_id])
        ]
        devices.append(
            pb.DeviceStatus(
                device=convert.device(spec),
                granted_bytes=taken.memory_bytes,
                used_bytes=sum(session.memory_used_bytes for session in here[ordinal]),
                sessions=[_session(state, session) for session in seen],
                granted_milli=taken.milli,
            )
        )
    return pb.ServerStatus(
        name=server.name,
        state=server.state.value,
        heartbeat_age_s=now - server.heard_at,
        devices=devices,
        address=server.address,
        warm_workers=server.warm_workers,
        zone=server.zone,
        rack=server.rack,
        partition=server.partition,
        note=words.server_note(ledger, server, now),
    )


def _session(state: BrokerState, session: Session) -> pb.Session:
    lease = state.ledger.leases[session.lease_id]
    return pb.Session(
        session_id=session.session_id,
        lease_id=session.lease_id,
        device_ordinal=session.placement.ordinal,
        memory_bytes=session.placement.memory_bytes,
        memory_used_bytes=session.memory_used_bytes,
        worker_pid=session.worker_pid,
        client=session.client,
        whole_device=session.placement.whole,
        job_id=lease.job_id,
        connected=session.connected,
        operations=session.operations,
        lease_index=session.index,
        lease_size=lease.size,
        device_time_s=session.device_time_s,
        terms=convert.terms(lease.terms),
    )
