"""Between the broker's own types and the protobuf messages of the control plane."""

from __future__ import annotations

import hashlib

from cupool.pool_server.broker import model
from cupool.proto.v1 import pool_pb2 as pb


def token_hash(token: str) -> str:
    """Return what is kept of a job's token."""
    return hashlib.sha256(token.encode()).hexdigest() if token else ""


def wish(request: pb.AcquireRequest) -> model.Wish:
    return model.Wish(
        gpus=request.gpus,
        memory_bytes=request.memory_bytes,
        wait_s=max(0.0, request.wait_s),
        client=request.client[:200],
        carriers=tuple(request.carriers),
        host=request.host,
        job_id=request.job_id,
        job_token_hash=token_hash(request.job_token),
    )


def device_spec(device: pb.Device) -> model.DeviceSpec:
    return model.DeviceSpec(
        device.ordinal,
        device.name,
        device.kind,
        device.memory_bytes,
        device.compute_capability,
        device.uuid,
    )


def device(spec: model.DeviceSpec) -> pb.Device:
    return pb.Device(
        ordinal=spec.ordinal,
        name=spec.name,
        kind=spec.kind,
        memory_bytes=spec.memory_bytes,
        compute_capability=spec.compute_capability,
        uuid=spec.uuid,
    )


def report(session: pb.Session, server: str) -> model.Report:
    place = model.Placement(
        server, session.device_ordinal, session.memory_bytes, session.whole_device
    )
    return model.Report(
        session.session_id,
        session.lease_id,
        place,
        index=session.lease_index,
        size=max(1, session.lease_size),
        job_id=session.job_id,
        job_token_hash=session.job_token_hash,
        client=session.client,
        connected=session.connected,
        memory_used_bytes=session.memory_used_bytes,
        operations=session.operations,
        worker_pid=session.worker_pid,
    )


def registration(hello: pb.Register, address: str) -> model.Registration:
    return model.Registration(
        hello.name,
        hello.instance,
        tuple(device_spec(each) for each in hello.devices),
        tuple(report(each, hello.name) for each in hello.sessions),
        hello.host,
        address,
        hello.version,
    )


def open_command(decision: model.OpenSession) -> pb.NodeCommand:
    lease = decision.lease
    place = lease.placements[decision.index]
    return pb.NodeCommand(
        open=pb.OpenSession(
            session_id=decision.session_id,
            lease_id=lease.lease_id,
            job_id=lease.job_id,
            token=decision.token,
            device_ordinal=place.ordinal,
            memory_bytes=place.memory_bytes,
            client=decision.client,
            carriers=decision.carriers,
            whole_device=place.whole,
            connect_within_s=decision.connect_within_s,
            job_token_hash=lease.job_token_hash,
            lease_index=decision.index,
            lease_size=lease.size,
        )
    )


def client_event(
    decision: model.TellQueued | model.TellGrant | model.TellRefusal,
) -> pb.AcquireEvent:
    match decision:
        case model.TellQueued():
            return pb.AcquireEvent(
                queued=pb.Queued(
                    position=decision.position, length=decision.length, reason=decision.reason
                )
            )
        case model.TellRefusal():
            return pb.AcquireEvent(
                refusal=pb.Refusal(
                    reason=decision.reason, message=decision.message, remedy=decision.remedy
                )
            )
        case model.TellGrant():
            devices = [_granted(each) for each in decision.devices]
            grant = pb.Grant(lease_id=decision.lease_id, devices=devices, joined=decision.joined)
            return pb.AcquireEvent(grant=grant)


def _granted(granted: model.GrantedDevice) -> pb.GrantedDevice:
    return pb.GrantedDevice(
        server=granted.placement.server,
        device=device(granted.device),
        session_id=granted.session_id,
        token=granted.token,
        urls=granted.urls,
        memory_bytes=granted.placement.memory_bytes,
    )
