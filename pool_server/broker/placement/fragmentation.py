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
from dataclasses import dataclass, replace
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

    @cached_property
    def total(self) -> int:
        return sum(self.counts)

    @cached_property
    def sorts(self) -> tuple[Demand, ...]:
        """The usual demands for devices, apart from what they ask of the host; each once."""
        return tuple(dict.fromkeys(_of_devices(d) for d in self.demands if d.gpus))

    def _each(self, values: Iterable[int]) -> Ints:
        return np.array(list(values), np.int64)

    @cached_property
    def milli(self) -> Ints:
        return self._each(sort.milli for sort in self.sorts)

    @cached_property
    def memory_bytes(self) -> Ints:
        return self._each(sort.memory_bytes for sort in self.sorts)

    @cached_property
    def gpus(self) -> Ints:
        return self._each(sort.gpus for sort in self.sorts)

    @cached_property
    def whole(self) -> Bools:
        return self._each(sort.whole for sort in self.sorts).astype(np.bool_)

    @cached_property
    def _cpu_levels(self) -> Ints:
        return self._each(sorted({demand.cpu_milli for demand in self.demands}))

    @cached_property
    def _hosted(self) -> Ints:
        """[levels + 1, sorts]: how often demands came that less than a level of processors does."""
        hosted = np.zeros((len(self._cpu_levels) + 1, len(self.sorts)), np.int64)
        for demand, count in zip(self.demands, self.counts, strict=True):
            if demand.gpus:
                level = int(np.searchsorted(self._cpu_levels, demand.cpu_milli))
                hosted[level + 1 :, self.sorts.index(_of_devices(demand))] += count
        return hosted

    def hosted(self, cpu_milli: Ints) -> Ints:
        """Return [..., sorts]: how often demands came that so many processors are enough for."""
        hosted: Ints = self._hosted[np.searchsorted(self._cpu_levels, cpu_milli, side="right")]
        return hosted


def _of_devices(demand: Demand) -> Demand:
    return replace(demand, cpu_milli=0, host_memory_bytes=0)


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
    """Return [rows, columns, sorts]: would an empty device there do for a usual demand?"""
    key = ("suitable", usual)
    known = fleet.recall(key)
    if known is None:
        none: Bools = np.zeros((*fleet.kind.shape, 0), np.bool_)
        known = np.stack([fleet.allowed(s) for s in usual.sorts], axis=-1) if usual.sorts else none
        fleet.remember(key, known)
    assert isinstance(known, np.ndarray)
    return known


def usable(usual: Usual, suited: Bools, idle: Ints, free_bytes: Ints, empty: Bools) -> Bools:
    """Return [rows, columns, sorts]: which devices each sort of usual demand could use now."""
    mask: Bools = suited & (idle[..., None] >= usual.milli)
    mask &= (free_bytes[..., None] >= usual.memory_bytes) & (empty[..., None] | ~usual.whole)
    return mask


def fragmented(usual: Usual, count: Ints, useful: Ints, total: Ints, cpu_milli: Ints) -> Ints:
    """Return the idle milli that usual demands cannot use, times how often each came, summed.

    Args:
        count: [..., sorts] devices of a server that the demands could use.
        useful: [..., sorts] the idle milli on these.
        total: [...] idle milli of the server.
        cpu_milli: [...] free processors of the server.
    """
    used = np.where(count >= usual.gpus, useful, 0) * usual.hosted(cpu_milli)
    lost: Ints = total * usual.total - used.sum(axis=-1)
    return lost


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
    return lost / (idle * usual.total)


def gain_of_share(
    usual: Usual, suited: Bools, state: State, demand: Demand, taken_bytes: Ints, fits: Bools
) -> tuple[Ints, Ints, Ints]:
    """Say how much less is fragmented with the demand's share on each device that it fits.

    Only the device that takes the share changes, so each server is summed up once.

    Returns:
        Rows and columns of those devices, and the gain of each.
    """
    before = usable(usual, suited, state.idle, state.free_bytes, state.empty)
    count = before.sum(axis=1, dtype=np.int64)
    useful: Ints = np.einsum("rc,rcm->rm", state.idle, before, dtype=np.int64)
    total = state.idle.sum(axis=1)
    now = fragmented(usual, count, useful, total, state.cpu_milli)
    rows, columns = np.nonzero(fits)
    was, idle = before[rows, columns], state.idle[rows, columns]
    left, free = idle - demand.milli, (state.free_bytes - taken_bytes)[rows, columns]
    after = usable(usual, suited[rows, columns], left, free, np.zeros(len(rows), np.bool_))
    then = fragmented(
        usual,
        count[rows] - was + after,
        useful[rows] - idle[:, None] * was + left[:, None] * after,
        total[rows] - demand.milli,
        state.cpu_milli[rows] - demand.cpu_milli,
    )
    return rows, columns, now[rows] - then


def band(gain: Ints, usual: Usual) -> Ints:
    """Return scores 0 to 100 for the fragmentation that a placement removes (in devices).

    In whole numbers on purpose: placements that are about as good are a tie, which packing then
    decides. With finer scores the policy allocates less (see docs/broker-measurements.md).
    """
    devices: npt.NDArray[np.float64] = gain / (1000.0 * usual.total)
    return (100.0 / (1.0 + np.exp(-devices))).astype(np.int64)
