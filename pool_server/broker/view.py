"""The broker's books as people see them: the StatusReply of `cupool status`."""

from __future__ import annotations

from cupool import __version__
from cupool.pool_server.broker import convert, words
from cupool.pool_server.broker.model import Server, Session
from cupool.pool_server.broker.state import BrokerState
from cupool.proto.v1 import pool_pb2 as pb


def status(state: BrokerState, broker: str, now: float) -> pb.StatusReply:
    """Describe the pool at the time `now`."""
    ledger = state.ledger
    servers = sorted(ledger.servers.values(), key=lambda server: server.name)
    return pb.StatusReply(
        broker=broker,
        version=__version__,
        uptime_s=now - state.started,
        servers=[_server(state, server, now) for server in servers],
        leases=[
            pb.LeaseStatus(
                lease_id=lease.lease_id,
                job_id=lease.job_id,
                client=lease.client,
                age_s=now - lease.since,
                sessions=len(lease.sessions),
                devices=[f"{p.server}/{p.ordinal}" for _, p in sorted(lease.placements.items())],
            )
            for lease in ledger.leases.values()
        ],
        waiting=[
            pb.WaitingStatus(
                client=request.wish.client,
                position=position,
                gpus=request.wish.gpus,
                memory_bytes=request.wish.memory_bytes,
                waited_s=now - request.since,
                reason=words.busy(ledger),
            )
            for position, request in enumerate(state.line.waiting[:100], 1)
        ],
    )


def _server(state: BrokerState, server: Server, now: float) -> pb.ServerStatus:
    ledger = state.ledger
    granted = {ordinal: 0 for ordinal in server.devices}
    for lease in ledger.leases.values():
        for placement in lease.placements.values():
            if placement.server == server.name and placement.ordinal in granted:
                granted[placement.ordinal] += placement.memory_bytes
    sessions = [ledger.sessions[each] for each in sorted(server.sessions)]
    devices = []
    for ordinal, spec in sorted(server.devices.items()):
        here = [session for session in sessions if session.placement.ordinal == ordinal]
        devices.append(
            pb.DeviceStatus(
                device=convert.device(spec),
                granted_bytes=granted[ordinal],
                used_bytes=sum(session.memory_used_bytes for session in here),
                sessions=[_session(state, session) for session in here],
            )
        )
    return pb.ServerStatus(
        name=server.name,
        state=server.state.value,
        heartbeat_age_s=now - server.heard_at,
        devices=devices,
        address=server.address,
        warm_workers=server.warm_workers,
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
    )
