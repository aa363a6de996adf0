"""Where a request goes: pure functions from free room to placements.

Shares: best fit on memory, so that large holes stay whole. Whole devices need an empty one.
Gangs: all or nothing, each on a device of its own; one server if one can, else few servers.
Ties are broken by server name and ordinal, so that the same pool gives the same answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cupool.pool_server.broker.model import Placement, Wish


@dataclass(frozen=True, slots=True)
class Room:
    """What is left of one device; `leases` 0 = empty, `exclusive` = somebody has it alone."""

    server: str
    ordinal: int
    memory_bytes: int
    free_bytes: int
    leases: int
    exclusive: bool

    def fits(self, memory_bytes: int) -> bool:
        """Whether a share (or, with 0, the whole device) can be had now."""
        if memory_bytes == 0:
            return self.leases == 0
        return not self.exclusive and self.free_bytes >= memory_bytes

    def placement(self, memory_bytes: int) -> Placement:
        whole = memory_bytes == 0
        size = self.memory_bytes if whole else memory_bytes
        return Placement(self.server, self.ordinal, size, whole)


def place(wish: Wish, rooms: Sequence[Room]) -> list[Placement] | None:
    """Return a placement for each wanted device, all on different devices, or None."""
    fitting = sorted(
        (room for room in rooms if room.fits(wish.memory_bytes)),
        key=lambda room: (room.free_bytes, room.server, room.ordinal),
    )
    if len(fitting) < wish.gpus:
        return None
    if wish.gpus == 1:
        chosen = fitting[:1]
    else:
        chosen = _gang(wish.gpus, fitting)
    return [room.placement(wish.memory_bytes) for room in chosen]


def _gang(gpus: int, fitting: Sequence[Room]) -> list[Room]:
    """Choose devices of as few servers as possible; `fitting` is best first and long enough."""
    servers: dict[str, list[Room]] = {}
    for room in fitting:
        servers.setdefault(room.server, []).append(room)
    chosen: list[Room] = []
    while len(chosen) < gpus:
        missing = gpus - len(chosen)
        enough = [name for name, rooms in servers.items() if len(rooms) >= missing]
        if enough:
            # the server that keeps the fewest free devices besides: large gangs find room later
            name = min(enough, key=lambda name: (len(servers[name]), name))
        else:
            name = min(servers, key=lambda name: (-len(servers[name]), name))
        chosen += sorted(servers.pop(name)[:missing], key=lambda room: room.ordinal)
    return chosen


def could_fit(wish: Wish, rooms: Sequence[Room]) -> bool:
    """Whether the pool, if it were empty, could hold the request."""
    able = sum(1 for room in rooms if room.memory_bytes >= max(wish.memory_bytes, 1))
    return able >= wish.gpus
