"""How much of what is idle the usual requests could not use: fragmentation.

Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation
Gradient Descent" (USENIX ATC 2023). A server's fragmentation is the idle compute that a request
drawn at random from the usual ones cannot use there: all of it if the server cannot host the
request, else what lies on devices that are too full for it. Counts, not floats, are summed, so
that equal amounts compare equal.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from cupool.pool_server.broker.placement.fleet import EVERY_ROW, Bools, Fleet, Ints, Rows
from cupool.pool_server.broker.placement.types import Demand

_POPULAR = 0.95


@dataclass(frozen=True, eq=False)
class Usual:
    """The usual demands, each with how often it came."""

    demands: tuple[Demand, ...] = ()
    counts: tuple[int, ...] = ()

    @classmethod
    def of(cls, demands: Iterable[Demand]) -> Usual:
        """Take the most frequent demands until they make up 95 % of all."""
        counted = Counter(demands)
        order = sorted(counted.items(), key=lambda item: (-item[1], _order(item[0])))
        chosen: list[tuple[Demand, int]] = []
        covered, enough = 0, _POPULAR * sum(counted.values())
        for demand, count in order:
            if covered >= enough:
                break
            chosen.append((demand, count))
            covered += count
        return cls(tuple(d for d, _ in chosen), tuple(n for _, n in chosen))

    def _each(self, values: Iterable[int]) -> Ints:
        return np.array(list(values), np.int64)

    @cached_property
    def weight(self) -> Ints:
        return self._each(self.counts)

    @cached_property
    def milli(self) -> Ints:
        return self._each(d.milli if d.gpus else 0 for d in self.demands)

    @cached_property
    def memory_bytes(self) -> Ints:
        return self._each(d.memory_bytes for d in self.demands)

    @cached_property
    def gpus(self) -> Ints:
        return self._each(d.gpus for d in self.demands)

    @cached_property
    def whole(self) -> Bools:
        return self._each(d.whole for d in self.demands).astype(np.bool_)

    @cached_property
    def cpu_milli(self) -> Ints:
        return self._each(d.cpu_milli for d in self.demands)


class History:
    """Remembers the demands that came, and from time to time which of them are the usual ones."""

    def __init__(self, every: int = 256, most: int = 4096) -> None:
        self.usual = Usual()
        self._every = every
        self._since = 0
        self._demands: deque[Demand] = deque(maxlen=most)

    def record(self, demand: Demand) -> None:
        self._demands.append(demand)
        self._since += 1
        if self._since >= self._every:
            self._since = 0
            self.usual = Usual.of(self._demands)


def _order(demand: Demand) -> tuple[int, int, int, int, tuple[str, ...]]:
    """Put equally frequent demands in one order, whatever the order of arrival."""
    return -demand.cpu_milli, -demand.milli, -demand.gpus, -demand.memory_bytes, demand.models


@dataclass(frozen=True)
class State:
    """What is left of some servers: `[rows, columns]`, `cpu_milli` `[rows]`.

    `idle` is the compute that somebody could still get, in milli; 0 on a device that is taken.
    """

    idle: Ints
    free_bytes: Ints
    empty: Bools
    cpu_milli: Ints

    @classmethod
    def of(cls, fleet: Fleet, rows: Rows = EVERY_ROW) -> State:
        open_ = (fleet.kind[rows] > 0) & ~fleet.exclusive[rows]
        return cls(
            np.where(open_, fleet.free_milli[rows], 0),
            fleet.free_bytes[rows],
            fleet.leases[rows] == 0,
            fleet.free_cpu_milli[rows],
        )


def suitable(fleet: Fleet, usual: Usual) -> Bools:
    """Return [rows, columns, demands]: would an empty device there do for a usual demand?"""
    key = ("suitable", usual)
    known = fleet.recall(key)
    if known is None:
        known = np.stack([fleet.allowed(demand) for demand in usual.demands], axis=-1)
        fleet.remember(key, known)
    assert isinstance(known, np.ndarray)
    return known


def usable(usual: Usual, suited: Bools, idle: Ints, free_bytes: Ints, empty: Bools) -> Bools:
    """Return [rows, columns, demands]: which devices each usual demand could use now."""
    mask: Bools = suited & (idle[..., None] >= usual.milli)
    mask &= (free_bytes[..., None] >= usual.memory_bytes) & (empty[..., None] | ~usual.whole)
    return mask


def fragmented(usual: Usual, count: Ints, useful: Ints, total: Ints, cpu_milli: Ints) -> Ints:
    """Return the idle milli that usual demands cannot use, times how often each came, summed.

    Args:
        count: [..., demands] devices of a server that the demand could use.
        useful: [..., demands] the idle milli on these.
        total: [...] idle milli of the server.
        cpu_milli: [...] free processors of the server.
    """
    hosted = (count >= usual.gpus) & (cpu_milli[..., None] >= usual.cpu_milli) & (usual.gpus > 0)
    lost: Ints = total[..., None] - np.where(hosted, useful, 0)
    result: Ints = lost @ usual.weight
    return result


def fragmentation(usual: Usual, suited: Bools, state: State) -> Ints:
    """Return, for each row, its fragmentation in milli times requests."""
    mask = usable(usual, suited, state.idle, state.free_bytes, state.empty)
    count = mask.sum(axis=1, dtype=np.int64)
    useful: Ints = np.einsum("rc,rcm->rm", state.idle, mask, dtype=np.int64)
    return fragmented(usual, count, useful, state.idle.sum(axis=1), state.cpu_milli)


def ratio(fleet: Fleet, usual: Usual) -> float:
    """Return the share of the pool's idle compute that is fragmented, 0 to 1."""
    state = State.of(fleet)
    idle = int(state.idle.sum())
    if not idle or not usual.demands:
        return 0.0
    lost = int(fragmentation(usual, suitable(fleet, usual), state).sum())
    return lost / (idle * int(usual.weight.sum()))


def gain_of_share(
    usual: Usual, suited: Bools, state: State, demand: Demand, taken_bytes: Ints
) -> Ints:
    """Return [rows, columns]: how much less is fragmented with the demand's share on that device.

    Only the device that takes the share changes, so each server is summed up once.
    """
    before = usable(usual, suited, state.idle, state.free_bytes, state.empty)
    idle = state.idle - demand.milli
    nobody = np.zeros(state.idle.shape, np.bool_)
    after = usable(usual, suited, idle, state.free_bytes - taken_bytes, nobody)
    count = before.sum(axis=1, dtype=np.int64)
    parts = state.idle[..., None] * before
    useful, total = parts.sum(axis=1), state.idle.sum(axis=1)
    now = fragmented(usual, count, useful, total, state.cpu_milli)
    then = fragmented(
        usual,
        count[:, None, :] - before + after,
        useful[:, None, :] - parts + idle[..., None] * after,
        total[:, None] - demand.milli,
        (state.cpu_milli - demand.cpu_milli)[:, None],
    )
    return now[:, None] - then


def band(gain: Ints, usual: Usual) -> Ints:
    """Return scores 0 to 100 for the fragmentation that a placement removes (in devices).

    In whole numbers on purpose: placements that are about as good are a tie, which packing then
    decides. With finer scores the policy allocates less (see docs/broker-measurements.md).
    """
    devices: npt.NDArray[np.float64] = gain / (1000.0 * float(usual.weight.sum()))
    return (100.0 / (1.0 + np.exp(-devices))).astype(np.int64)
