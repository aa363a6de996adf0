"""What the broker knows: devices, servers, leases, sessions, requests; and what it decides.

Sizes are bytes. Times are seconds of the clock that the shell passes in (monotonic).
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class DeviceSpec:
    """A device as its server describes it; `ordinal` is its index there."""

    ordinal: int
    name: str
    kind: str
    memory_bytes: int
    compute_capability: str = ""
    uuid: str = ""


@dataclass(frozen=True, slots=True)
class Placement:
    """One device of a lease: `memory_bytes` of it, or (`whole`) all of it, alone."""

    server: str
    ordinal: int
    memory_bytes: int
    whole: bool


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of the broker's tables, and its timings in seconds."""

    servers: int = 1024
    devices_per_server: int = 64
    sessions_per_server: int = 4096
    waiting: int = 10_000
    gpus_per_request: int = 1024
    history: int = 4096
    heartbeat_s: float = 1.5
    silence_s: float = 5.0
    """A server that said nothing for so long is lost."""
    reconnect_s: float = 3.0
    """How long the sessions of a server whose stream broke are kept for its return."""
    settle_s: float = 4.0
    """After the broker's start: servers may still be coming back, so nothing is impossible yet."""
    remember_lost_s: float = 60.0
    """How long a lost server is listed, and its devices count as "could come back"."""
    open_s: float = 20.0
    """A server that has not opened a session within so long has failed to."""
    connect_within_s: float = 30.0
    """A session that no client has claimed within so long ends."""


class ServerState(enum.StrEnum):
    UP = "up"
    DRAINING = "draining"
    BROKEN = "reconnecting"
    """Its stream broke a moment ago; it may come back with its sessions."""
    LOST = "lost"


@dataclass(slots=True)
class Server:
    """One pool server; `link` is the number of its present stream, 0 if it has none."""

    name: str
    instance: str
    devices: dict[int, DeviceSpec]
    link: int
    heard_at: float
    host: str = ""
    address: str = ""
    version: str = ""
    state: ServerState = ServerState.UP
    broken_at: float = 0.0
    warm_workers: int = 0
    sessions: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Session:
    """One worker's session on one device of a lease."""

    session_id: str
    lease_id: str
    index: int
    placement: Placement
    client: str = ""
    token: str = ""
    urls: tuple[str, ...] = ()
    opened: bool = False
    connected: bool = False
    memory_used_bytes: int = 0
    operations: int = 0
    worker_pid: int = 0
    request_id: int = 0
    """The request that waits for this session to open, 0 if none."""


@dataclass(slots=True)
class Lease:
    """Devices that a job holds; index -> placement, complete once `size` of them are known."""

    lease_id: str
    job_id: str
    job_token_hash: str
    client: str
    since: float
    size: int
    closing: bool = False
    placements: dict[int, Placement] = field(default_factory=dict)
    sessions: set[str] = field(default_factory=set)

    @property
    def complete(self) -> bool:
        """All its devices are known; not so after a server is lost, or a broker is back early."""
        return len(self.placements) == self.size


@dataclass(frozen=True, slots=True)
class Wish:
    """What a client asks for; `memory_bytes` 0 means whole devices, each alone."""

    gpus: int = 1
    memory_bytes: int = 0
    wait_s: float = 0.0
    client: str = ""
    carriers: tuple[str, ...] = ("zmq+tcp",)
    host: str = ""
    job_id: str = ""
    job_token_hash: str = ""


@dataclass(slots=True)
class Request:
    """A client in line, or (with `lease_id`) one whose sessions are being opened."""

    request_id: int
    wish: Wish
    since: float
    deadline: float
    lease_id: str = ""
    joined: bool = False
    sessions: list[str] = field(default_factory=list)
    open_deadline: float = 0.0
    told: tuple[int, int, str] = (0, 0, "")
    retried: int = 0


@dataclass(frozen=True, slots=True)
class Report:
    """A running session as its server describes it."""

    session_id: str
    lease_id: str
    placement: Placement
    index: int = 0
    size: int = 1
    job_id: str = ""
    job_token_hash: str = ""
    client: str = ""
    connected: bool = False
    memory_used_bytes: int = 0
    operations: int = 0
    worker_pid: int = 0


@dataclass(frozen=True, slots=True)
class Registration:
    """What a server says when it joins or comes back; `sessions` are those that it runs."""

    name: str
    instance: str
    devices: tuple[DeviceSpec, ...]
    sessions: tuple[Report, ...] = ()
    host: str = ""
    address: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of a session: a state of `ExplainReply`, and a sentence for its owner."""

    state: str
    message: str
    server: str = ""


# ---------------------------------------------------------------- decisions


@dataclass(frozen=True, slots=True)
class OpenSession:
    """To the server on `link`: open this session."""

    link: int
    session_id: str
    lease: Lease
    index: int
    token: str
    client: str
    carriers: tuple[str, ...]
    connect_within_s: float


@dataclass(frozen=True, slots=True)
class CloseSession:
    """To the server on `link`: end this session."""

    link: int
    session_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class TellQueued:
    """To a waiting client: its place in line (1 = next) and what it waits for."""

    request_id: int
    position: int
    length: int
    reason: str


@dataclass(frozen=True, slots=True)
class GrantedDevice:
    session_id: str
    token: str
    urls: tuple[str, ...]
    placement: Placement
    device: DeviceSpec


@dataclass(frozen=True, slots=True)
class TellGrant:
    """To a waiting client: here are your devices; the request is over."""

    request_id: int
    lease_id: str
    devices: tuple[GrantedDevice, ...]
    joined: bool


@dataclass(frozen=True, slots=True)
class TellRefusal:
    """To a waiting client: no; the request is over."""

    request_id: int
    reason: str
    message: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class DropLink:
    """The stream of this server is dead or was replaced; close it."""

    link: int
    reason: str


Decision: TypeAlias = OpenSession | CloseSession | TellQueued | TellGrant | TellRefusal | DropLink


def human_bytes(size: int) -> str:
    """Write a size for people: 4294967296 -> "4 GiB"."""
    value, unit = float(size), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.4g} {unit}"


def listed(items: Iterable[str], most: int = 5) -> str:
    """Join names for people, at most `most` of them."""
    every = list(items)
    shown = ", ".join(every[:most])
    return shown if len(every) <= most else f"{shown} and {len(every) - most} more"
