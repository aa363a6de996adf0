"""What is asked of the pool and what is left of it, in the terms in which placement decides.

Sizes are bytes (nothing is lost by rounding), compute is in thousandths of a device (*milli*),
bandwidth in Mbit/s. Everything here is frozen: a policy cannot change what it looks at.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

WHOLE_MILLI = 1000
UNLIMITED = 1 << 60
"""More than any server has: the amount of something that nobody counts."""


class Near(enum.IntEnum):
    """How far from each other the devices of a gang may be; nearer is always preferred."""

    SERVER = 0
    RACK = 1
    ZONE = 2
    POOL = 3


@dataclass(frozen=True, slots=True)
class Demand:
    """What one request asks for. Equal demands share cached work: keep names of users out of it.

    Without `memory_bytes` and `share_milli` each device is wanted whole, alone.
    """

    gpus: int = 1
    memory_bytes: int = 0
    """Of each device. Whole devices: the least that each must have."""
    share_milli: int = 0
    """Compute of each device that is promised, 0 = none is; 1000 = whole devices."""
    near: Near = Near.POOL
    spread: bool = False
    """Each device on a server of its own (replicas that must not fail together)."""
    bandwidth_mbps: int = 0
    """Of the server's network, for each device."""
    models: tuple[str, ...] = ()
    """Any of these device models; none = any model."""
    min_compute_capability: tuple[int, int] = (0, 0)
    zone: str = ""
    racks: tuple[str, ...] = ()
    servers: frozenset[str] | None = None
    """Only these servers (the only ones that the client can reach), None = any."""
    partition: str = ""
    """Devices set aside under this name; "" = devices that are not set aside."""
    tolerations: frozenset[str] = frozenset()
    """Taints that the request puts up with."""
    cpu_milli: int = 0
    """Of the server's processors in all, if the job runs on the server itself."""
    host_memory_bytes: int = 0

    @property
    def whole(self) -> bool:
        """Whether it wants devices for itself alone."""
        return self.share_milli >= WHOLE_MILLI or not (self.memory_bytes or self.share_milli)

    @property
    def milli(self) -> int:
        """Compute that it takes of each device."""
        return WHOLE_MILLI if self.whole else self.share_milli


@dataclass(frozen=True, slots=True)
class DeviceRoom:
    """One device and what is left of it."""

    server: str
    ordinal: int
    memory_bytes: int
    free_bytes: int
    free_milli: int = WHOLE_MILLI
    leases: int = 0
    exclusive: bool = False
    """Somebody has it alone."""
    gang: int = 0
    """How many devices the lease has that has it alone."""
    model: str = ""
    compute_capability: tuple[int, int] = (0, 0)
    zone: str = ""
    rack: str = ""
    partition: str = ""
    taints: frozenset[str] = frozenset()
    healthy: bool = True
    cost: float = 1.0
    """Price of the model relative to others: who names no model gets the cheapest that fits."""


@dataclass(frozen=True, slots=True)
class ServerRoom:
    """What the devices of a server share, and what is left of it.

    A server that does not say what its network carries has none to promise.
    """

    server: str
    up: bool = True
    """It takes new sessions. One that does not still counts for what the pool could do."""
    link_mbps: int = 0
    free_link_mbps: int = 0
    cpu_milli: int = UNLIMITED
    free_cpu_milli: int = UNLIMITED
    host_memory_bytes: int = UNLIMITED
    free_host_memory_bytes: int = UNLIMITED


@dataclass(frozen=True, slots=True, order=True)
class Slot:
    """One device of an answer: what is taken of it."""

    server: str
    ordinal: int
    memory_bytes: int
    milli: int
    whole: bool
    bandwidth_mbps: int = 0


@dataclass(frozen=True, slots=True)
class Missing:
    """The first condition that leaves too few devices, and what comes nearest to it.

    Attributes:
        condition: "count", "reach", "model", "compute capability", "memory", "zone", "rack",
            "partition", "taint", "health", "bandwidth", "host" or "nearness".
        wanted: what was asked for, in words.
        nearest: the best that exists, in words; "" if nothing does.
        devices: how many devices meet this condition and those before it.
        server, ordinal: where the nearest is.
    """

    condition: str
    wanted: str
    nearest: str = ""
    devices: int = 0
    server: str = ""
    ordinal: int = -1


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a demand has to wait (or never fits): how many devices each condition leaves.

    Attributes:
        remaining: (condition, devices that meet it and all before it), in order of testing.
        sentence: the same for people.
    """

    devices: int
    remaining: tuple[tuple[str, int], ...] = field(default=())
    sentence: str = ""
