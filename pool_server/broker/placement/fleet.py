"""The pool as arrays: a row for each server, in order of their names, a column for each device.

Kept up to date change by change, so that a decision looks only at what has changed since the
last decision of its sort. Reading it never changes anything that a caller could see.
"""

from __future__ import annotations

import bisect
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from cupool.pool_server.broker.placement.kinds import Kind, kind_of, static_key, suits
from cupool.pool_server.broker.placement.types import (
    WHOLE_MILLI,
    Demand,
    DeviceRoom,
    ServerRoom,
    Slot,
)

Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Rows: TypeAlias = Ints | slice
EVERY_ROW = slice(None)

_DEVICE_ARRAYS = (
    "kind",
    "ordinal",
    "total_bytes",
    "free_bytes",
    "free_milli",
    "leases",
    "gang",
    "exclusive",
)
_SERVER_ARRAYS = (
    "up",
    "link_mbps",
    "free_link_mbps",
    "cpu_milli",
    "free_cpu_milli",
    "host_bytes",
    "free_host_bytes",
    "place",
    "changed",
)
_MOST_CACHED = 256


class Fleet:
    """All devices of a pool with what is left of each.

    `update_server` and `update` take what is so now; `take` and `give` change it by an answer.
    The arrays are for policies to read: `[rows, columns]`, `kind` 0 where there is no device.
    """

    def __init__(
        self, devices: Iterable[DeviceRoom] = (), servers: Iterable[ServerRoom] = ()
    ) -> None:
        self.names: list[str] = []
        self.row_of: dict[str, int] = {}
        self.kinds: list[Kind | None] = [None]
        self.places: list[tuple[str, str]] = [("", "")]
        self.version = 0
        self.layout = 0
        """Grows when servers, devices or their kinds come and go: rows have another meaning."""
        self.priced = False
        """Kinds differ in cost."""
        self.racked = False
        """Some device says where it stands."""
        self.linked = False
        """Some server says what its network carries."""
        self.cache: OrderedDict[Hashable, object] = OrderedDict()
        self._kind_ids: dict[Kind, int] = {}
        shape = (0, 1)
        self.kind: Ints = np.zeros(shape, np.int64)
        self.ordinal: Ints = np.zeros(shape, np.int64)
        self.total_bytes: Ints = np.zeros(shape, np.int64)
        self.free_bytes: Ints = np.zeros(shape, np.int64)
        self.free_milli: Ints = np.zeros(shape, np.int64)
        self.leases: Ints = np.zeros(shape, np.int64)
        self.gang: Ints = np.zeros(shape, np.int64)
        self.exclusive: Bools = np.zeros(shape, np.bool_)
        self.up: Bools = np.zeros(0, np.bool_)
        self.link_mbps: Ints = np.zeros(0, np.int64)
        self.free_link_mbps: Ints = np.zeros(0, np.int64)
        self.cpu_milli: Ints = np.zeros(0, np.int64)
        self.free_cpu_milli: Ints = np.zeros(0, np.int64)
        self.host_bytes: Ints = np.zeros(0, np.int64)
        self.free_host_bytes: Ints = np.zeros(0, np.int64)
        self.place: Ints = np.zeros(0, np.int64)
        self.changed: Ints = np.zeros(0, np.int64)
        for server in servers:
            self.update_server(server)
        for device in devices:
            self.update(device)

    # ------------------------------------------------------------ what is so now

    def update_server(self, room: ServerRoom) -> None:
        """Take over what a server's devices share; a new name joins the pool."""
        row = self._row(room.server)
        self.up[row] = room.up
        self.link_mbps[row], self.free_link_mbps[row] = room.link_mbps, room.free_link_mbps
        self.linked = self.linked or room.link_mbps > 0
        self.cpu_milli[row], self.free_cpu_milli[row] = room.cpu_milli, room.free_cpu_milli
        self.host_bytes[row] = room.host_memory_bytes
        self.free_host_bytes[row] = room.free_host_memory_bytes
        self._touch(row)

    def update(self, room: DeviceRoom) -> None:
        """Take over what is left of a device; a new one joins its server."""
        row = self._row(room.server)
        column = self._column(row, room.ordinal)
        kind = self._kind(kind_of(room))
        if self.kind[row, column] != kind:
            self.kind[row, column] = kind
            self.total_bytes[row, column] = room.memory_bytes
            self.place[row] = self._place(room.zone, room.rack)
            self._new_layout()
        self.free_bytes[row, column] = room.free_bytes
        self.free_milli[row, column] = room.free_milli
        self.leases[row, column] = room.leases
        self.exclusive[row, column] = room.exclusive
        self.gang[row, column] = room.gang
        self._touch(row)

    def remove(self, server: str) -> None:
        """Forget a server and its devices; an unknown one is no error."""
        row = self.row_of.get(server)
        if row is None:
            return
        del self.names[row]
        for name in (*_DEVICE_ARRAYS, *_SERVER_ARRAYS):
            setattr(self, name, np.delete(getattr(self, name), row, axis=0))
        self._renumber()
        self._new_layout()

    def rooms(self) -> list[DeviceRoom]:
        """Return what is left of every device, by server and ordinal."""
        return [
            self.room(int(row), int(column))
            for row, column in zip(*np.nonzero(self.kind), strict=True)
        ]

    def room(self, row: int, column: int) -> DeviceRoom:
        kind = self.kinds[self.kind[row, column]]
        assert kind is not None, "no device there"
        return DeviceRoom(
            self.names[row],
            int(self.ordinal[row, column]),
            kind.memory_bytes,
            int(self.free_bytes[row, column]),
            int(self.free_milli[row, column]),
            int(self.leases[row, column]),
            bool(self.exclusive[row, column]),
            int(self.gang[row, column]),
            kind.model,
            kind.compute_capability,
            kind.zone,
            kind.rack,
            kind.partition,
            kind.taints,
            kind.healthy,
            kind.cost,
        )

    # ------------------------------------------------------------ answers carried out

    def slot(self, demand: Demand, row: int, column: int) -> Slot:
        """Say what a demand takes of a device."""
        total = int(self.total_bytes[row, column])
        size = total if demand.whole else demand.memory_bytes
        if not size:
            size = total * demand.share_milli // WHOLE_MILLI
        return Slot(
            self.names[row],
            int(self.ordinal[row, column]),
            size,
            demand.milli,
            demand.whole,
            demand.bandwidth_mbps,
        )

    def take(self, slots: Sequence[Slot]) -> None:
        """Lease what an answer names."""
        for slot in slots:
            self._move(slot, 1, len(slots))

    def give(self, slots: Sequence[Slot]) -> None:
        """Take back what `take` leased."""
        for slot in slots:
            self._move(slot, -1, len(slots))

    def _move(self, slot: Slot, sign: int, gang: int) -> None:
        row = self.row_of[slot.server]
        column = self._column(row, slot.ordinal)
        self.free_bytes[row, column] -= sign * slot.memory_bytes
        self.free_milli[row, column] -= sign * slot.milli
        self.leases[row, column] += sign
        self.free_link_mbps[row] -= sign * slot.bandwidth_mbps
        if slot.whole:
            self.exclusive[row, column] = sign > 0
            self.gang[row, column] = gang if sign > 0 else 0
        self._touch(row)

    def take_host(self, server: str, cpu_milli: int, memory_bytes: int) -> None:
        """Use a server's own processors and memory; negative amounts give them back."""
        row = self.row_of[server]
        self.free_cpu_milli[row] -= cpu_milli
        self.free_host_bytes[row] -= memory_bytes
        self._touch(row)

    # ------------------------------------------------------------ questions

    def allowed(self, demand: Demand) -> Bools:
        """Return [rows, columns]: would an empty device there do? Cached; do not write to it.

        Whether it has the memory that a share asks for is for `fits` to say.
        """
        key = static_key(demand)
        known = self.recall(("allowed", key))
        if known is not None:
            assert isinstance(known, np.ndarray)
            return known
        by_kind = np.array([kind is not None and suits(kind, key) for kind in self.kinds])
        mask: Bools = by_kind[self.kind]
        if demand.servers is not None:
            mask &= np.array([name in demand.servers for name in self.names], np.bool_)[:, None]
        self.remember(("allowed", key), mask)
        return mask

    def fits(self, demand: Demand, rows: Rows = EVERY_ROW) -> Bools:
        """Return [rows, columns]: can the demand have that device, or its share, now?"""
        mask: Bools = self.allowed(demand)[rows]
        if demand.whole:
            mask = mask & (self.leases[rows] == 0)
        else:
            need: Ints | int = demand.memory_bytes
            if not demand.memory_bytes:
                need = self.total_bytes[rows] * demand.share_milli // WHOLE_MILLI
            mask = mask & ~self.exclusive[rows] & (self.free_bytes[rows] >= need)
            mask &= self.free_milli[rows] >= demand.share_milli
        return mask & self.ready(demand, rows)[:, None]

    def ready(self, demand: Demand, rows: Rows = EVERY_ROW) -> Bools:
        """Return, for each row, whether the server takes sessions and its host has enough left."""
        server = self.up[rows]
        if demand.cpu_milli or demand.host_memory_bytes:
            server = server & (self.free_cpu_milli[rows] >= demand.cpu_milli)
            server &= self.free_host_bytes[rows] >= demand.host_memory_bytes
        return server

    def counts(self, demand: Demand, fits: Bools, rows: Rows = EVERY_ROW) -> Ints:
        """Return, for each row, how many devices the demand could have of that server."""
        counts: Ints = fits.sum(axis=1, dtype=np.int64)
        if demand.bandwidth_mbps:
            counts = np.minimum(counts, self.free_link_mbps[rows] // demand.bandwidth_mbps)
        return counts

    def costs(self) -> Ints:
        """Return the relative price of each kind of device, in thousandths."""
        prices = [0 if kind is None else round(1000 * kind.cost) for kind in self.kinds]
        return np.array(prices, np.int64)

    # ------------------------------------------------------------ cached work

    def recall(self, key: Hashable) -> object | None:
        """Return what was worked out for this layout, None if nothing (any more)."""
        known = self.cache.get(key)
        if known is not None:
            self.cache.move_to_end(key)
        return known

    def remember(self, key: Hashable, value: object) -> None:
        self.cache[key] = value
        if len(self.cache) > _MOST_CACHED:
            self.cache.popitem(last=False)

    # ------------------------------------------------------------ layout

    def _touch(self, row: int) -> None:
        self.version += 1
        self.changed[row] = self.version

    def _new_layout(self) -> None:
        self.layout += 1
        self.version += 1
        self.cache.clear()

    def _renumber(self) -> None:
        self.row_of = {name: row for row, name in enumerate(self.names)}

    def _row(self, server: str) -> int:
        row = self.row_of.get(server)
        if row is None:
            row = bisect.bisect_left(self.names, server)
            self.names.insert(row, server)
            for name in (*_DEVICE_ARRAYS, *_SERVER_ARRAYS):
                setattr(self, name, np.insert(getattr(self, name), row, 0, axis=0))
            if row == len(self.names) - 1:
                self.row_of[server] = row
            else:
                self._renumber()
            self._new_layout()
            self.update_server(ServerRoom(server))
        return row

    def _column(self, row: int, ordinal: int) -> int:
        """Find a device's column; a new one goes where the order of ordinals puts it."""
        present = int(np.count_nonzero(self.kind[row]))
        column = int(np.searchsorted(self.ordinal[row, :present], ordinal))
        if column < present and self.ordinal[row, column] == ordinal:
            return column
        if present == self.kind.shape[1]:
            for name in _DEVICE_ARRAYS:
                setattr(self, name, np.pad(getattr(self, name), ((0, 0), (0, 1))))
        for name in _DEVICE_ARRAYS:
            array = getattr(self, name)
            array[row, column + 1 : present + 1] = array[row, column:present].copy()
            array[row, column] = 0
        self.ordinal[row, column] = ordinal
        self._new_layout()
        return column

    def _kind(self, kind: Kind) -> int:
        number = self._kind_ids.get(kind)
        if number is None:
            number = self._kind_ids[kind] = len(self.kinds)
            self.kinds.append(kind)
            self.priced = len({each.cost for each in self._kind_ids}) > 1
            self.racked = self.racked or bool(kind.zone or kind.rack)
        return number

    def _place(self, zone: str, rack: str) -> int:
        if (zone, rack) not in self.places:
            self.places.append((zone, rack))
        return self.places.index((zone, rack))
