"""Between the broker's own types and the protobuf messages of the control plane."""

from __future__ import annotations

import hashlib
import math

from cupool.pool_server.broker import decisions, model
from cupool.proto.v1 import pool_pb2 as pb

_MIB = 1 << 20
_NAME_CHARS = 200
_MOST_SECONDS = 1e10


def _plain(text: str) -> str:
    """Return what somebody calls himself or a thing of his, fit for terminals and logs."""
    return "".join(c if c.isprintable() else "?" for c in text[:_NAME_CHARS])


def token_hash(token: str) -> str:
    """Return what is kept of a job's token."""
    return hashlib.sha256(token.encode()).hexdigest() if token else ""


def wish(request: pb.AcquireRequest) -> model.Wish:
    """Read a request; memory is granted in whole MiB."""
    return model.Wish(
        gpus=request.gpus,
        memory_bytes=-(-request.memory_bytes // _MIB) * _MIB,
        wait_s=max(0.0, request.wait_s),
        client=_plain(request.client),
        carriers=tuple(request.carriers),
        host=request.host,
        job_id=request.job_id,
        job_token_hash=token_hash(request.job_token),
        share_milli=request.share_milli,
        cap_milli=request.cap_milli,
        models=tuple(request.models),
        min_compute_capability=_least_capability(request.min_compute_capability),
        priority=request.priority,
        tenant=request.tenant or model.DEFAULT_TENANT,
        spread=request.spread,
        bandwidth_mbps=_whole(request.bandwidth_mbps),
        zone=request.zone,
        policy=request.policy,
        max_time_s=request.max_time_s,
        overcommit=request.overcommit,
        tolerations=frozenset(request.tolerations),
        hold=request.hold,
    )


def _least_capability(text: str) -> tuple[int, int]:
    """Read what is asked for; what is none is one that nobody may ask for."""
    found = model.capability(text)
    return (-1, 0) if text and found == (0, 0) else found


def _whole(number: float) -> int:
    """Round up; what is no number is none that anybody may ask for."""
    return math.ceil(number) if math.isfinite(number) else -1


def device_spec(device: pb.Device) -> model.DeviceSpec:
    return model.DeviceSpec(
        device.ordinal,
        _plain(device.name),
        _plain(device.kind),
        device.memory_bytes,
        _plain(device.compute_capability),
        _plain(device.uuid),
        _plain(device.model),
        _plain(device.maker),
        _plain(device.partition),
        _plain(device.unhealthy),
        tuple(_plain(taint) for taint in device.taints),
        device.cost if device.cost > 0 and math.isfinite(device.cost) else 1.0,
    )


def device(spec: model.DeviceSpec) -> pb.Device:
    return pb.Device(
        ordinal=spec.ordinal,
        name=spec.name,
        kind=spec.kind,
        memory_bytes=spec.memory_bytes,
        compute_capability=spec.compute_capability,
        uuid=spec.uuid,
        model=spec.model,
        maker=spec.maker,
        partition=spec.partition,
        unhealthy=spec.unhealthy,
        taints=spec.taints,
        cost=spec.cost,
    )


def terms(found: model.Terms, ends_in_s: float = 0.0) -> pb.LeaseTerms:
    return pb.LeaseTerms(
        tenant=found.tenant,
        priority=found.priority,
        share_milli=found.share_milli,
        cap_milli=found.cap_milli,
        ends_in_s=ends_in_s,
        bandwidth_mbps=found.bandwidth_mbps,
        partition=found.partition,
        overcommit=found.overcommit,
        hold=found.hold,
    )


def _terms(given: pb.LeaseTerms, *, whole: bool) -> model.Terms:
    return model.Terms(
        given.tenant or model.DEFAULT_TENANT,
        min(given.priority, model.Priority.URGENT),
        model.WHOLE_MILLI if whole else given.share_milli,
        given.cap_milli,
        _whole(given.bandwidth_mbps),
        given.partition,
        given.overcommit,
        given.hold,
    )


def report(session: pb.Session, server: str) -> model.Report:
    given = _terms(session.terms, whole=session.whole_device)
    place = model.Placement(
        server,
        session.device_ordinal,
        session.memory_bytes,
        session.whole_device,
        given.share_milli,
        given.bandwidth_mbps,
    )
    return model.Report(
        session.session_id,
        session.lease_id,
        place,
        index=session.lease_index,
        size=max(1, session.lease_size),
        job_id=session.job_id,
        job_token_hash=session.job_token_hash,
        client=_plain(session.client),
        connected=session.connected,
        memory_used_bytes=session.memory_used_bytes,
        operations=session.operations,
        worker_pid=session.worker_pid,
        device_time_s=_seconds(session.device_time_s),
        terms=given,
        ends_in_s=_seconds(session.terms.ends_in_s),
    )


def _seconds(number: float) -> float:
    """Return a time that a server reports; what cannot be one is 0."""
    return number if 0 <= number < _MOST_SECONDS else 0.0


def registration(hello: pb.Register, address: str) -> model.Registration:
    return model.Registration(
        hello.name,
        hello.instance,
        tuple(device_spec(each) for each in hello.devices),
        tuple(report(each, hello.name) for each in hello.sessions),
        hello.host,
        address,
        hello.version,
        _plain(hello.zone),
        _plain(hello.rack),
        _plain(hello.partition),
        sum(_whole(nic.bandwidth_mbps) for nic in hello.nics),
        tuple(_plain(taint) for taint in hello.taints),
    )


def open_command(decision: decisions.OpenSession) -> pb.NodeCommand:
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
            terms=terms(lease.terms, decision.ends_in_s),
        )
    )


def notice_command(decision: decisions.Notify) -> pb.NodeCommand:
    return pb.NodeCommand(
        notice=pb.Notice(
            session_id=decision.session_id,
            reason=decision.reason,
            message=decision.message,
            within_s=decision.within_s,
        )
    )


def request_name(request_id: int) -> str:
    """Name a waiting request for people: "r17"."""
    return f"r{request_id}"


def client_event(
    decision: decisions.TellQueued | decisions.TellGrant | decisions.TellRefusal,
) -> pb.AcquireEvent:
    match decision:
        case decisions.TellQueued():
            return pb.AcquireEvent(
                queued=pb.Queued(
                    position=decision.position,
                    length=decision.length,
                    reason=decision.reason,
                    request=request_name(decision.request_id),
                )
            )
        case decisions.TellRefusal():
            return pb.AcquireEvent(
                refusal=pb.Refusal(
                    reason=decision.reason, message=decision.message, remedy=decision.remedy
                )
            )
        case decisions.TellGrant():
            devices = [_granted(each) for each in decision.devices]
            grant = pb.Grant(
                lease_id=decision.lease_id,
                devices=devices,
                joined=decision.joined,
                terms=terms(decision.terms, decision.ends_in_s),
            )
            return pb.AcquireEvent(grant=grant)


def _granted(granted: decisions.GrantedDevice) -> pb.GrantedDevice:
    return pb.GrantedDevice(
        server=granted.placement.server,
        device=device(granted.device),
        session_id=granted.session_id,
        token=granted.token,
        urls=granted.urls,
        memory_bytes=granted.placement.memory_bytes,
        share_milli=granted.placement.milli,
    )


# ---------------------------------------------------------------- administrators


def quota(given: pb.Quota) -> model.Quota:
    return model.Quota(
        given.tenant,
        given.milli,
        given.memory_bytes,
        given.borrow_milli,
        given.weight or 1.0,
        given.max_priority,
    )


def quota_message(found: model.Quota, used_milli: int, used_memory_bytes: int) -> pb.Quota:
    return pb.Quota(
        tenant=found.tenant,
        milli=found.milli,
        memory_bytes=found.memory_bytes,
        borrow_milli=found.borrow_milli,
        weight=found.weight,
        max_priority=found.max_priority,
        used_milli=used_milli,
        used_memory_bytes=used_memory_bytes,
    )


def partition(given: pb.Partition) -> model.Partition:
    return model.Partition(
        given.name, tuple(sorted(set(given.tenants))), tuple(sorted(set(given.servers)))
    )


def partition_message(found: model.Partition) -> pb.Partition:
    return pb.Partition(name=found.name, tenants=found.tenants, servers=found.servers)
