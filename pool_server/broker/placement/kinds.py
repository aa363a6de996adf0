"""What about a device never changes while it is in use, and which demands it suits.

A pool of thousands of devices has few distinct kinds: a condition is tested once for each kind,
and looked up for each device.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cupool.pool_server.broker.placement.types import Demand, DeviceRoom


@dataclass(frozen=True, slots=True)
class Kind:
    """The constant part of a `DeviceRoom`."""

    memory_bytes: int
    model: str
    compute_capability: tuple[int, int]
    zone: str
    rack: str
    partition: str
    taints: frozenset[str]
    healthy: bool
    cost: float


def kind_of(room: DeviceRoom) -> Kind:
    return Kind(
        room.memory_bytes,
        room.model,
        room.compute_capability,
        room.zone,
        room.rack,
        room.partition,
        room.taints,
        room.healthy,
        room.cost,
    )


CONDITIONS: dict[str, Callable[[Kind, Demand], bool]] = {
    "health": lambda kind, demand: kind.healthy,
    "partition": lambda kind, demand: kind.partition == demand.partition,
    "taint": lambda kind, demand: kind.taints <= demand.tolerations,
    "zone": lambda kind, demand: not demand.zone or kind.zone == demand.zone,
    "rack": lambda kind, demand: not demand.racks or kind.rack in demand.racks,
    "model": lambda kind, demand: not demand.models or kind.model in demand.models,
    "compute capability": lambda kind, demand: (
        kind.compute_capability >= demand.min_compute_capability
    ),
    "memory": lambda kind, demand: kind.memory_bytes >= max(demand.memory_bytes, 1),
}
"""Name of each condition -> whether a device of that kind meets it, in the order of testing."""


def suits(kind: Kind, demand: Demand) -> bool:
    """Whether an empty device of this kind would do."""
    return all(condition(kind, demand) for condition in CONDITIONS.values())


def static_key(demand: Demand) -> Demand:
    """Return a demand that is equal for all demands which the same kinds and servers suit.

    How much memory a share asks for is no part of it: what is free decides.
    """
    return Demand(
        memory_bytes=demand.memory_bytes if demand.whole else 0,
        models=demand.models,
        min_compute_capability=demand.min_compute_capability,
        zone=demand.zone,
        racks=demand.racks,
        servers=demand.servers,
        partition=demand.partition,
        tolerations=demand.tolerations,
    )
