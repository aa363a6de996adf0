"""What a process asks the broker for, and what it was granted."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass, field
from typing import Any

from cupool import addresses
from cupool.config import PRIORITIES, Settings
from cupool.transport.channel import is_private

_CARRIERS = {
    "auto": ("unix", "zmq+tcp"),
    "unix": ("unix",),
    "ipc": ("zmq+ipc",),
    "tcp": ("zmq+tcp",),
    "grpc": ("grpc",),
}


@dataclass(frozen=True)
class GrantedDevice:
    """One device of a lease: which it is, and how to open its session (`urls`, best first).

    Attributes:
        memory_bytes: what was granted of it; CuPy sees this as the device's memory.
        share: of its compute that is promised, 0 to 1; 0 = what others leave.
    """

    server: str
    ordinal: int
    name: str
    kind: str
    session_id: str
    token: str = field(repr=False)
    urls: tuple[str, ...]
    memory_bytes: int
    share: float = 1.0
    model: str = ""
    compute_capability: str = ""


@dataclass(frozen=True)
class Lease:
    """The devices of this process: the script's GPU 0, 1, ... in this order.

    Attributes:
        priority: "low", "normal", "high" or "urgent".
        cap: part of each device's compute that is never exceeded; 0 = none.
        bandwidth_mbps: of its server's network that each device has for itself; 0 = none.
        partition: the sub-pool that it is in, "" = the common one.
    """

    lease_id: str
    devices: tuple[GrantedDevice, ...]
    tenant: str = ""
    priority: str = "normal"
    cap: float = 0.0
    overcommit: bool = False
    bandwidth_mbps: float = 0.0
    partition: str = ""
    _ends_at: float = field(default=0.0, repr=False)

    @property
    def time_left_s(self) -> float | None:
        """Seconds until the lease ends (--max-time); None if it has no such end."""
        return max(0.0, self._ends_at - time.monotonic()) if self._ends_at else None


def request(settings: Settings, pb: Any, *, hold: bool = False) -> Any:
    """Make the AcquireRequest of this process; `hold`: for later processes of its job."""
    carriers = _CARRIERS[settings.carrier]
    if not settings.pool and settings.carrier == "auto":
        carriers = ("unix",)
    return pb.AcquireRequest(
        job_id=os.environ.get("CUPOOL_JOB", ""),
        job_token=os.environ.get("CUPOOL_JOB_TOKEN", ""),
        gpus=settings.gpus or (1 if settings.pool else max(1, settings.mock)),
        memory_bytes=settings.memory,
        wait_s=settings.wait,
        client=_client(),
        carriers=carriers,
        host=addresses.machine(),
        share_milli=settings.share,
        cap_milli=settings.cap,
        models=[model.upper() for model in settings.gpu_model],
        min_compute_capability=settings.min_compute_capability,
        priority=settings.priority,
        tenant=settings.tenant,
        spread=settings.spread,
        bandwidth_mbps=settings.bandwidth,
        zone=settings.zone,
        policy=settings.policy,
        max_time_s=settings.max_time,
        overcommit=settings.overcommit,
        tolerations=settings.tolerate,
        hold=hold,
    )


def _client() -> str:
    """Say for people who asks: user@host:pid and the script."""
    user = os.environ.get("USER") or str(os.getuid())
    script = os.path.basename(sys.argv[0]) if getattr(sys, "argv", None) else ""
    return f"{user}@{os.uname().nodename}:{os.getpid()} {script}".strip()


def granted(grant: Any, settings: Settings) -> Lease:
    """Read a grant of the broker; of its addresses, those that the settings allow."""
    devices = tuple(
        GrantedDevice(
            server=each.server,
            ordinal=each.device.ordinal,
            name=each.device.name,
            kind=each.device.kind,
            session_id=each.session_id,
            token=each.token,
            urls=tuple(u for u in each.urls if settings.encrypt != "on" or is_private(u)),
            memory_bytes=each.memory_bytes,
            share=each.share_milli / 1000,
            model=each.device.model,
            compute_capability=each.device.compute_capability,
        )
        for each in grant.devices
    )
    terms = grant.terms
    level = min(terms.priority, len(PRIORITIES) - 1)
    return Lease(
        grant.lease_id,
        devices,
        terms.tenant,
        PRIORITIES[level],
        terms.cap_milli / 1000,
        terms.overcommit,
        terms.bandwidth_mbps,
        terms.partition,
        time.monotonic() + terms.ends_in_s if terms.ends_in_s else 0.0,
    )
