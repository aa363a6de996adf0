"""Between the books and placement: what is left of the pool, as `placement` wants to see it."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator

import numpy as np

from cupool.pool_server.broker.ledger import Ledger, carriers_to
from cupool.pool_server.broker.model import (
    Placement,
    Server,
    ServerState,
    Terms,
    Wish,
    capability,
)
from cupool.pool_server.broker.placement import (
    Demand,
    DeviceRoom,
    Fleet,
    History,
    Missing,
    Near,
    ServerRoom,
    Slot,
    explain,
    missing,
    place,
)
from cupool.pool_server.broker.tenants import Tenants
from cupool.transport.channel import LOCAL_CARRIERS

_MAKERS = frozenset({"NVIDIA", "AMD"})
_NEAR = {"same-server": Near.SERVER, "same-rack": Near.RACK, "same-zone": Near.ZONE}


class Fit:
    """Answers where a request can go, now or ever; kept up to date by what the books changed.

    Args:
        default_policy: of placement, for requests that name none.
    """

    def __init__(self, ledger: Ledger, tenants: Tenants, default_policy: str = "bestfit") -> None:
        self.fleet = Fleet()
        self._ledger = ledger
        self._tenants = tenants
        self._policy = default_policy
        self._history = History()
        self._known: dict[str, Server] = {}

    # ------------------------------------------------------------ keeping up

    def server_changed(self, name: str, now: float) -> None:
        """A server came, went, or takes (no) new leases."""
        server = self._ledger.servers.get(name)
        if server is None or self._known.get(name) is not server:
            self.fleet.remove(name)
            self._known.pop(name, None)
        if server is None:
            return
        self._known[name] = server
        self._update_server(server, now)
        for ordinal in server.devices:
            self._update_device(server, ordinal)

    def refresh(self, now: float) -> None:
        """Take over what leases took and gave back."""
        touched = self._ledger.books.touched
        if not touched:
            return
        for name in {name for name, _ in touched}:
            server = self._ledger.servers.get(name)
            if server is not None:
                self._update_server(server, now)
        for name, ordinal in touched:
            server = self._ledger.servers.get(name)
            if server is not None and ordinal in server.devices:
                self._update_device(server, ordinal)
        touched.clear()

    @contextlib.contextmanager
    def without(self, devices: Iterable[tuple[str, int]]) -> Iterator[None]:
        """Within the block, nothing fits on these devices."""
        keys = [key for key in devices if key[0] in self._known]
        for name, ordinal in keys:
            room = self._room(self._known[name], ordinal)
            self.fleet.update(dataclasses.replace(room, free_bytes=-1, leases=1, exclusive=True))
        try:
            yield
        finally:
            for name, ordinal in keys:
                self._update_device(self._known[name], ordinal)

    def _update_server(self, server: Server, now: float) -> None:
        taken = self._ledger.books.bandwidth.get(server.name, 0)
        up = (
            server.state is ServerState.UP
            and server.name not in self._ledger.books.cordons
            and server.held_until <= now
        )
        room = ServerRoom(
            server.name,
            up,
            link_mbps=server.link_mbps,
            free_link_mbps=max(0, server.link_mbps - taken),
        )
        self.fleet.update_server(room)

    def _update_device(self, server: Server, ordinal: int) -> None:
        self.fleet.update(self._room(server, ordinal))

    def _room(self, server: Server, ordinal: int) -> DeviceRoom:
        spec = server.devices[ordinal]
        taken = self._ledger.books.taken.get((server.name, ordinal))
        held = self._ledger.books.on_device.get((server.name, ordinal), {})
        gang = 0
        if taken is not None and taken.whole:
            gang = max(self._ledger.leases[each].size for each in held)
        return DeviceRoom(
            server.name,
            ordinal,
            spec.memory_bytes,
            spec.memory_bytes - (taken.memory_bytes if taken else 0),
            1000 - (taken.milli if taken else 0),
            taken.leases if taken else 0,
            bool(taken and taken.whole),
            gang,
            spec.model,
            capability(spec.compute_capability),
            server.zone,
            server.rack,
            self._tenants.device_partition(server, ordinal),
            frozenset((*spec.taints, *server.taints)),
            not spec.unhealthy,
            spec.cost,
        )

    # ------------------------------------------------------------ questions

    def partition_of(self, wish: Wish) -> str:
        return self._tenants.partition_of(wish.tenant)

    def counts(self, partition: str) -> tuple[int, int]:
        """Count a partition's devices that are leased, and all of them, on servers that are up."""
        fleet = self.fleet
        of_kind = [kind is not None and kind.partition == partition for kind in fleet.kinds]
        there = np.array(of_kind, np.bool_)[fleet.kind]
        up = (ServerState.UP, ServerState.DRAINING)
        away = [fleet.row_of[name] for name, each in self._known.items() if each.state not in up]
        there[away] = False
        return int((there & (fleet.leases > 0)).sum()), int(there.sum())

    def demand(self, wish: Wish, *, overcommit: bool = False) -> Demand:
        """Say what a request asks for in placement's terms.

        Args:
            overcommit: without the compute: its sessions queue for it.
        """
        share = wish.share_milli
        if overcommit and not wish.whole and wish.memory_bytes:
            share = 0
        return Demand(
            wish.gpus,
            wish.memory_bytes,
            share,
            near=_NEAR.get(wish.spread, Near.POOL),
            spread=wish.spread == "spread",
            bandwidth_mbps=wish.bandwidth_mbps,
            models=self._models(wish),
            min_compute_capability=wish.min_compute_capability,
            zone=wish.zone,
            servers=self._reachable(wish),
            partition=self.partition_of(wish),
            tolerations=wish.tolerations,
        )

    def _models(self, wish: Wish) -> tuple[str, ...]:
        """Return the models that a request names, and those of makers that it names."""
        makers = _MAKERS.intersection(wish.models)
        if not makers:
            return wish.models
        made = {
            device.model
            for server in self._known.values()
            for device in server.devices.values()
            if device.maker in makers and device.model
        }
        return (*wish.models, *sorted(made))

    def _reachable(self, wish: Wish) -> frozenset[str] | None:
        """Return the servers that the client's carriers reach; None = all do."""
        if any(carrier not in LOCAL_CARRIERS for carrier in wish.carriers):
            return None
        servers = self._ledger.servers.values()
        return frozenset(server.name for server in servers if carriers_to(server, wish))

    def place(self, wish: Wish, demand: Demand) -> list[Placement] | None:
        """Find devices for a request now, all or none."""
        slots = place(wish.policy or self._policy, demand, self.fleet, self._history.usual)
        if slots is None:
            return None
        self._history.record(demand)
        return [_placement(slot) for slot in slots]

    def never(self, wish: Wish) -> Missing | None:
        """Say why the pool, if it were empty, could not serve the request; None if it could."""
        return missing(self.demand(wish), self.fleet)

    def explain(self, wish: Wish) -> str:
        """Say how many devices each condition leaves."""
        return explain(self.demand(wish), self.fleet).sentence

    def terms(self, wish: Wish, demand: Demand) -> Terms:
        return Terms(
            wish.tenant,
            wish.priority,
            demand.milli,
            wish.cap_milli,
            wish.bandwidth_mbps,
            demand.partition,
            wish.overcommit,
            wish.hold,
        )


def _placement(slot: Slot) -> Placement:
    return Placement(
        slot.server,
        slot.ordinal,
        slot.memory_bytes,
        slot.whole,
        slot.milli,
        slot.bandwidth_mbps,
    )
