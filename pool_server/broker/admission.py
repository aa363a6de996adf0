"""What is not let in: requests that make no sense, servers that cannot be what they say."""

from __future__ import annotations

from collections.abc import Mapping

from cupool.config import SPREADS
from cupool.pool_server.broker import words
from cupool.pool_server.broker.model import (
    DeviceSpec,
    Limits,
    Priority,
    Registration,
    Server,
    Wish,
    human_bytes,
    priority_name,
)
from cupool.pool_server.broker.placement import POLICIES
from cupool.pool_server.broker.tenants import Tenants

_MOST_BYTES = 1 << 50
_MOST_TIME_S = 10 * 365 * 86400.0
_NAME_CHARS = 200
_REAL = ("cuda", "rocm")


class Rejected(Exception):
    """A server may not join; `reason` is machine-readable."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


# ---------------------------------------------------------------- requests


def wish_fault(
    wish: Wish, limits: Limits, tenants: Tenants, waiting: int
) -> tuple[str, str, str] | None:
    """Return reason, message and remedy if a request cannot be taken, None if it can."""
    nonsense = _nonsense(wish, limits)
    if nonsense:
        return "invalid", nonsense, "see the options:   cupool run --help"
    quota = tenants.quota(wish.tenant)
    if quota is not None and wish.priority > quota.max_priority:
        most = priority_name(quota.max_priority)
        text = f"tenant {wish.tenant} may ask with priority {most} at most"
        return "quota", text, f"ask for less:   cupool run --priority {most} ..."
    over = tenants.over_limit(wish, alone=True)
    if over:
        asked = f"{wish.gpus * wish.milli / 1000:g} GPUs were asked for"
        return "quota", f"{asked}; {over}", "see the quotas:   cupool quota list"
    if waiting >= limits.waiting:
        return "no_devices", f"{waiting} requests are waiting, the line is full", "try later"
    return None


def _nonsense(wish: Wish, limits: Limits) -> str:
    if not 1 <= wish.gpus <= limits.gpus_per_request:
        return f"{wish.gpus} GPUs were asked for; it must be 1 to {limits.gpus_per_request}"
    if not wish.carriers:
        return "the client speaks no carrier"
    if not 0 <= wish.memory_bytes <= _MOST_BYTES:
        most = human_bytes(_MOST_BYTES)
        return f"{wish.memory_bytes} bytes on each GPU were asked for; it must be 0 to {most}"
    if not 0 <= wish.share_milli <= 1000 or not 0 <= wish.cap_milli <= 1000:
        return "a share or cap of a GPU's compute must be 0.001 to 1"
    if wish.cap_milli and wish.cap_milli < wish.share_milli:
        cap, share = wish.cap_milli / 1000, wish.share_milli / 1000
        return f"a cap of {cap:g} contradicts a share of {share:g}: the cap must not be less"
    if wish.overcommit and (wish.whole or not wish.memory_bytes):
        return "--overcommit needs a --memory, and contradicts whole GPUs"
    if wish.priority not in set(Priority):
        return f"priority {wish.priority} was asked for; it must be 0 (low) to 3 (urgent)"
    if wish.spread not in SPREADS:
        return f"{wish.spread!r} is no way to spread; write {', '.join(SPREADS[1:])}"
    if wish.hold and not (wish.job_id and wish.job_token_hash and wish.max_time_s):
        return "a lease that is held needs a job, its token and --max-time"
    if wish.policy and wish.policy not in POLICIES:
        return f"no placement policy is named {wish.policy!r}; there are {', '.join(POLICIES)}"
    for name, value in (("wait", wish.wait_s), ("max-time", wish.max_time_s)):
        if not 0 <= value <= _MOST_TIME_S:
            return f"--{name} of {value:g} s was asked for; it must be 0 to 10 years"
    if not 0 <= wish.bandwidth_mbps <= 1_000_000_000:
        return f"a bandwidth of {wish.bandwidth_mbps} Mbit/s was asked for"
    if wish.min_compute_capability < (0, 0):
        return "the compute capability that was asked for is none; write 8.0"
    names = (wish.tenant, wish.zone, wish.job_id, wish.host, *wish.models, *wish.tolerations)
    if not wish.tenant or not all(len(name) <= _NAME_CHARS and _plain(name) for name in names):
        return f"a name must have 1 to {_NAME_CHARS} printable characters"
    return ""


def _plain(name: str) -> bool:
    return name.isprintable()  # it goes to terminals and logs


# ---------------------------------------------------------------- servers


def admit(
    servers: Mapping[str, Server],
    known: Server | None,
    hello: Registration,
    limits: Limits,
    now: float,
) -> None:
    """Check a server that wants to join or come back.

    Raises:
        Rejected: it may not.
    """
    if not 0 < len(hello.name) <= _NAME_CHARS or not _plain(hello.name) or not hello.instance:
        raise Rejected("invalid", f"a server's name must have 1 to {_NAME_CHARS} plain characters")
    if len(hello.devices) > limits.devices_per_server:
        raise Rejected("too_large", f"a server may have {limits.devices_per_server} devices")
    if len(hello.sessions) > limits.sessions_per_server:
        raise Rejected("too_large", f"a server may have {limits.sessions_per_server} sessions")
    if known is None and len(servers) >= limits.servers:
        raise Rejected("too_large", f"the pool has {limits.servers} servers, its limit")
    if known is not None and known.link and known.instance != hello.instance:
        if now - known.heard_at < limits.silence_s:
            raise Rejected("name_taken", words.name_taken(known))
    _check_devices(servers, hello, limits)
    if not 0 <= hello.link_mbps <= 1_000_000_000:
        raise Rejected("invalid", f"a network of {hello.link_mbps} Mbit/s")


def _check_devices(servers: Mapping[str, Server], hello: Registration, limits: Limits) -> None:
    seen: set[int] = set()
    for device in hello.devices:
        if device.ordinal in seen:
            raise Rejected("invalid", f"server {hello.name} names GPU {device.ordinal} twice")
        seen.add(device.ordinal)
        if not 0 <= device.ordinal < limits.devices_per_server:
            text = f"GPU {device.ordinal} of server {hello.name}: they count from 0"
            raise Rejected("invalid", text)
        if not 0 < device.memory_bytes <= _MOST_BYTES:
            text = f"GPU {device.ordinal} of server {hello.name} has {device.memory_bytes} bytes"
            raise Rejected("invalid", f"{text} of memory, which cannot be")
    ours = {device.uuid: device for device in hello.devices if _is_real(device)}
    if len(ours) != sum(_is_real(device) for device in hello.devices):
        raise Rejected("invalid", f"server {hello.name} offers one physical GPU twice")
    for other in servers.values() if ours else ():
        if other.name == hello.name or not other.link:
            continue
        for device in other.devices.values():
            if _is_real(device) and device.uuid in ours:
                text = f"GPU {ours[device.uuid].ordinal} of server {hello.name} ({device.uuid}) is "
                raise Rejected("invalid", f"{text}offered already by server {other.name}")


def _is_real(device: DeviceSpec) -> bool:
    return bool(device.uuid) and device.kind in _REAL


def device_faults(was: DeviceSpec, now: DeviceSpec | None) -> str:
    """Say how a device of a returning server differs from what it was, "" if it does not."""
    if now is None:
        return "is not there any more"
    if was.uuid != now.uuid or was.kind != now.kind:
        return "is another one"
    if now.memory_bytes < was.memory_bytes:
        return f"has {human_bytes(now.memory_bytes)} instead of {human_bytes(was.memory_bytes)}"
    return ""
