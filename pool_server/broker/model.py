"""What the broker knows: devices, servers, leases, sessions, requests.

Sizes are bytes, shares of compute thousandths of a device (*milli*), bandwidth Mbit/s. Times are
seconds of the clock that the shell passes in (monotonic).
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass, field

WHOLE_MILLI = 1000
DEFAULT_TENANT = "default"
NEVER = float("inf")


class Priority(enum.IntEnum):
    """How urgent a request is; a waiting request rises by one level each `Limits.aging_s`."""

    LOW = 0
    NORMAL = 1
    HIGH = 2
    URGENT = 3


def priority_name(level: int) -> str:
    return Priority(level).name.lower() if level in set(Priority) else str(level)


@dataclass(frozen=True, slots=True)
class DeviceSpec:
    """A device as its server describes it; `ordinal` is its index there.

    Attributes:
        model: short, as requests name it: "H100".
        partition: "" = the server's.
        unhealthy: why it takes no sessions, "" = it is well.
        taints: only requests that tolerate all of them come here.
        cost: relative to other devices; who names no model gets the cheapest that fits.
    """

    ordinal: int
    name: str
    kind: str
    memory_bytes: int
    compute_capability: str = ""
    uuid: str = ""
    model: str = ""
    maker: str = ""
    partition: str = ""
    unhealthy: str = ""
    taints: tuple[str, ...] = ()
    cost: float = 1.0


@dataclass(frozen=True, slots=True)
class Placement:
    """One device of a lease: a share of its memory and compute, or (`whole`) all of it, alone."""

    server: str
    ordinal: int
    memory_bytes: int
    whole: bool
    milli: int = WHOLE_MILLI
    bandwidth_mbps: int = 0


@dataclass(frozen=True, slots=True)
class Terms:
    """What a lease was granted under.

    Attributes:
        share_milli: compute that is promised of each device, 0 = none is.
        cap_milli: it never uses more than this, 0 = what others leave.
        partition: the sub-pool that it is in.
        overcommit: it queues for devices whose compute is given away.
        hold: it does not end with its last session, only by release or its time.
    """

    tenant: str = DEFAULT_TENANT
    priority: int = Priority.NORMAL
    share_milli: int = WHOLE_MILLI
    cap_milli: int = 0
    bandwidth_mbps: int = 0
    partition: str = ""
    overcommit: bool = False
    hold: bool = False


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of the broker's tables, its timings in seconds, and what it does if nobody says."""

    servers: int = 2048
    devices_per_server: int = 64
    sessions_per_server: int = 4096
    waiting: int = 20_000
    gpus_per_request: int = 1024
    tenants: int = 10_000
    partitions: int = 1024
    history: int = 16_384
    policy: str = "bestfit"
    """How a place is chosen for requests that name no policy."""
    heartbeat_s: float = 1.5
    silence_s: float = 5.0
    """A server that said nothing for so long is lost."""
    late_s: float = 2.0
    """A broker that comes so late to what is due stood still itself (stopped, suspended, swapped
    out), and heard nobody."""
    reconnect_s: float = 3.0
    """How long the sessions of a server whose stream broke are kept for its return."""
    settle_s: float = 4.0
    """After the broker's start: servers may still be coming back, so nothing is impossible yet."""
    return_s: float = 2.0
    """After a restart of the broker, so long the line waits for those who were in it."""
    remember_lost_s: float = 60.0
    """How long a lost server is listed, and its devices count as "could come back"."""
    open_s: float = 20.0
    """A server that has not opened a session within so long has failed to."""
    connect_within_s: float = 30.0
    """A session that no client has claimed within so long ends."""
    aging_s: float = 600.0
    """A request that has waited so long counts as one priority higher, and so on."""
    backfill: int = 64
    """Requests behind the first one that are tried in its stead."""
    grace_s: float = 30.0
    """Notice before a lease is taken away for a more urgent one."""
    warn_s: float = 60.0
    """Notice before a lease's own time is over (at most a tenth of that time)."""
    flaps: int = 3
    flap_window_s: float = 60.0
    flap_hold_s: float = 30.0
    """A server whose stream broke `flaps` times in a window gets nothing new for `flap_hold_s`."""
    retell_s: float = 1.0
    """How often those deep in a long line are told their place."""


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
    zone: str = ""
    rack: str = ""
    partition: str = ""
    link_mbps: int = 0
    taints: tuple[str, ...] = ()
    state: ServerState = ServerState.UP
    broken_at: float = 0.0
    breaks: list[float] = field(default_factory=list)
    held_until: float = 0.0
    """It flaps: nothing new until then."""
    warm_workers: int = 0
    sessions: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of a session: a state of `ExplainReply`, and a sentence for its owner."""

    state: str
    message: str
    server: str = ""


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
    device_time_s: float = 0.0
    worker_pid: int = 0
    request_id: int = 0
    """The request that waits for this session to open, 0 if none."""
    verdict: Fate | None = None
    """Why the broker ends it, once it does."""


@dataclass(slots=True)
class Lease:
    """Devices that a job holds; index -> placement, complete once `size` of them are known.

    Attributes:
        ends_at: when it is taken back at the latest.
        notice: why it is being taken back before that: "preempted", "drain", or "".
        notice_for: the request that gets its devices, 0 if none.
        number: grows from lease to lease.
        warned: its script has been told that the end is near.
    """

    lease_id: str
    job_id: str
    job_token_hash: str
    client: str
    since: float
    size: int
    terms: Terms = Terms()
    ends_at: float = NEVER
    closing: bool = False
    notice: str = ""
    notice_for: int = 0
    notice_ends_at: float = NEVER
    number: int = 0
    placements: dict[int, Placement] = field(default_factory=dict)
    sessions: set[str] = field(default_factory=set, compare=False)
    warned: bool = field(default=False, compare=False)

    @property
    def complete(self) -> bool:
        """All its devices are known; not so after a server is lost, or a broker is back early."""
        return len(self.placements) == self.size

    @property
    def over_at(self) -> float:
        """When its devices are free at the latest, as far as is known."""
        return min(self.ends_at, self.notice_ends_at)


@dataclass(frozen=True, slots=True)
class Wish:
    """What a client asks for; without memory and share: whole devices, each alone.

    Attributes:
        spread: "" any, "same-server", "same-rack", "same-zone", or "spread": each device on a
            server of its own.
        policy: of placement, "" = the pool's.
        max_time_s: the lease ends then; 0 = no limit.
        hold: keep the lease without sessions.
    """

    gpus: int = 1
    memory_bytes: int = 0
    wait_s: float = 0.0
    client: str = ""
    carriers: tuple[str, ...] = ("zmq+tcp",)
    host: str = ""
    job_id: str = ""
    job_token_hash: str = ""
    share_milli: int = 0
    cap_milli: int = 0
    models: tuple[str, ...] = ()
    min_compute_capability: tuple[int, int] = (0, 0)
    priority: int = Priority.NORMAL
    tenant: str = DEFAULT_TENANT
    spread: str = ""
    bandwidth_mbps: int = 0
    zone: str = ""
    policy: str = ""
    max_time_s: float = 0.0
    overcommit: bool = False
    tolerations: frozenset[str] = frozenset()
    hold: bool = False

    @property
    def whole(self) -> bool:
        """Whether it wants devices for itself alone."""
        return self.share_milli >= WHOLE_MILLI or not (self.memory_bytes or self.share_milli)

    @property
    def milli(self) -> int:
        """Compute that it takes of each device."""
        return WHOLE_MILLI if self.whole else self.share_milli


@dataclass(slots=True, eq=False)
class Request:
    """A client in line, or (with `lease_id`) one whose sessions are being opened.

    Attributes:
        place: in the order of arrival; outlives the broker, as `request_id` does not.
        told: place, reason and time of the last news to its client.
        blocked: why it was passed over when it was last looked at ("" = no room).
    """

    request_id: int
    wish: Wish
    since: float
    deadline: float
    place: int = 0
    lease_id: str = ""
    joined: bool = False
    sessions: list[str] = field(default_factory=list)
    open_deadline: float = 0.0
    told: tuple[int, str, float] = (0, "", 0.0)
    retried: int = 0
    blocked: str = ""
    checked: int = -1
    """The layout of the fleet for which it was found possible."""
    sought: float = -NEVER
    """When it was last looked for leases that might leave for it."""


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
    device_time_s: float = 0.0
    terms: Terms = Terms()
    ends_in_s: float = 0.0


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
    zone: str = ""
    rack: str = ""
    partition: str = ""
    link_mbps: int = 0
    taints: tuple[str, ...] = ()

    def partitions(self) -> frozenset[str]:
        """Return the partitions that the server names for its devices, "" where it names none."""
        return frozenset(each.partition or self.partition for each in self.devices)


@dataclass(frozen=True, slots=True)
class Quota:
    """What a tenant may use.

    Attributes:
        milli: compute that it can count on.
        memory_bytes: memory that it can count on; 0 = memory is not counted.
        borrow_milli: how much more it may take while others leave it, -1 = any amount. What is
            borrowed is taken back when somebody within his quota needs it.
        weight: of its fair share.
    """

    tenant: str
    milli: int
    memory_bytes: int = 0
    borrow_milli: int = 0
    weight: float = 1.0
    max_priority: int = Priority.URGENT


@dataclass(frozen=True, slots=True)
class Partition:
    """A sub-pool: its servers (or "server/ordinal") serve its tenants, and nobody else."""

    name: str
    tenants: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()


def capability(text: str) -> tuple[int, int]:
    """Read a compute capability: "9.0" -> (9, 0); what is none, as AMD's "gfx942", is (0, 0)."""
    major, _, minor = text.partition(".")
    if major.isdecimal() and (minor or "0").isdecimal():
        return int(major), int(minor or "0")
    return (0, 0)


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
