"""The rules by which a place is chosen among those that fit, by name.

A policy ranks servers (lowest first, then by tie, then by name) and the devices of one server.
`dotproduct`, `clustering` and `packing` are the baselines of the FGD paper (see
`fragmentation.py`), with its normalisation: a server of 128 cores and 8 devices is full scale.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from cupool.pool_server.broker.placement import fragmentation as frag
from cupool.pool_server.broker.placement.fleet import Bools, Fleet, Ints, Rows
from cupool.pool_server.broker.placement.types import WHOLE_MILLI, Demand

_FULL_CPU_MILLI = 128_000
_FULL_GPU_MILLI = 8_000
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class View:
    """Some rows of the fleet as one demand sees them; `fits` is [rows, columns]."""

    fleet: Fleet
    demand: Demand
    rows: Rows
    fits: Bools
    counts: Ints

    def left(self) -> Ints:
        """Return [rows, columns] what is left of each device, of that which the demand uses."""
        fleet, demand, rows = self.fleet, self.demand, self.rows
        if demand.whole:
            return fleet.total_bytes[rows]
        if not demand.share_milli:
            return fleet.free_bytes[rows]
        if not demand.memory_bytes:
            return fleet.free_milli[rows]
        largest = max(int(fleet.total_bytes.max(initial=1)), 1)
        share = fleet.free_bytes[rows].astype(np.float64) / largest * WHOLE_MILLI
        left: Ints = fleet.free_milli[rows] + share.astype(np.int64)
        return left

    def idle_milli(self) -> Ints:
        """Return, for each row, the compute of its devices that nobody holds."""
        total: Ints = self.idle().sum(axis=1, dtype=np.int64)
        return total

    def idle(self) -> Ints:
        open_ = (self.fleet.kind[self.rows] > 0) & ~self.fleet.exclusive[self.rows]
        return np.where(open_, self.fleet.free_milli[self.rows], 0)

    def least(self, values: Ints) -> Ints:
        """Return, for each row, the least value among the devices that fit."""
        lowest: Ints = np.where(self.fits, values, _NEVER).min(axis=1, initial=_NEVER)
        return lowest


Rank: TypeAlias = Callable[[View, frag.Usual], tuple[Ints, Ints]]
Prefer: TypeAlias = Callable[[View, frag.Usual], Ints]


@dataclass(frozen=True)
class Policy:
    """How to choose.

    Attributes:
        rank: for each row two numbers, the lower the better; the second breaks ties.
        prefer: [rows, columns], the lower the better; ties by ordinal.
        historic: what requests usually ask for matters.
        shuffle: ties are broken by a number that `seed` and the fleet's history determine.
    """

    name: str
    rank: Rank
    prefer: Prefer
    historic: bool = False
    shuffle: bool = False
    seed: int = 0


def _zeros(view: View) -> Ints:
    return np.zeros(len(view.fits), np.int64)


def _best_fit_score(view: View) -> Ints:
    cpu = (view.fleet.free_cpu_milli[view.rows] - view.demand.cpu_milli) / _FULL_CPU_MILLI
    gpu = (view.idle_milli() - view.demand.gpus * view.demand.milli) / _FULL_GPU_MILLI
    score: Ints = (100.0 * (1.0 - 0.5 * cpu - 0.5 * gpu)).astype(np.int64)
    return score


def _best_fit(view: View, usual: frag.Usual) -> tuple[Ints, Ints]:
    """Least left: of the device; of the server, for gangs and jobs that use its processors."""
    if view.demand.cpu_milli:
        return -_best_fit_score(view), _zeros(view)
    if view.demand.gpus > 1:
        return view.counts, _zeros(view)
    return view.least(view.left()), _zeros(view)


def _left(view: View, usual: frag.Usual) -> Ints:
    return view.left()


def _fgd_bands(view: View, usual: frag.Usual) -> Ints:
    """Return [rows, columns] the score of each device for a share of one device."""
    fleet, demand, bands = view.fleet, view.demand, np.full(view.fits.shape, -1, np.int64)
    able = view.fits.any(axis=1)
    rows = np.arange(len(fleet.names))[view.rows][able]
    state = frag.State.of(fleet, rows)
    size = np.full(state.idle.shape, demand.memory_bytes, np.int64)
    if not demand.memory_bytes:
        size = fleet.total_bytes[rows] * demand.share_milli // WHOLE_MILLI
    suited, fits = frag.suitable(fleet, usual)[rows], view.fits[able]
    row, column, gain = frag.gain_of_share(usual, suited, state, demand, size, fits)
    bands[np.flatnonzero(able)[row], column] = frag.band(gain, usual)
    return bands


def _fgd_gang_bands(view: View, usual: frag.Usual) -> Ints:
    """Return, for each row, the score of placing the whole demand on it, first devices first."""
    demand, bands = view.demand, np.full(len(view.fits), -1, np.int64)
    able = view.counts >= demand.gpus if demand.gpus else view.fleet.ready(demand, view.rows)
    rows, fits = np.arange(len(view.fleet.names))[view.rows][able], view.fits[able]
    state = frag.State.of(view.fleet, rows)
    suited = frag.suitable(view.fleet, usual)[rows]
    chosen = fits & (np.cumsum(fits, axis=1) <= demand.gpus)
    then = frag.State(
        state.idle - chosen * demand.milli,
        state.free_bytes - chosen * demand.memory_bytes,
        state.empty & ~chosen,
        state.cpu_milli - demand.cpu_milli,
    )
    gain = frag.fragmentation(usual, suited, state) - frag.fragmentation(usual, suited, then)
    bands[able] = frag.band(gain, usual)
    return bands


def _fgd(view: View, usual: frag.Usual) -> tuple[Ints, Ints]:
    if not usual.demands:
        return _best_fit(view, usual)
    if not view.demand.gpus:
        tie = -_best_fit_score(view)
    elif view.demand.cpu_milli:
        tie = _zeros(view)  # by name, as in the paper
    else:
        tie = view.idle_milli()
    if view.demand.gpus == 1 and not view.demand.whole:
        return -_fgd_bands(view, usual).max(axis=1, initial=-1), tie
    return -_fgd_gang_bands(view, usual), tie


def _fgd_prefer(view: View, usual: frag.Usual) -> Ints:
    if not usual.demands or view.demand.whole or view.demand.gpus != 1:
        return view.left()
    packed = np.argsort(np.argsort(view.left(), axis=1, kind="stable"), axis=1)
    order: Ints = -_fgd_bands(view, usual) * view.fits.shape[1] + packed
    return order


def _spread(view: View, usual: frag.Usual) -> tuple[Ints, Ints]:
    """Most left: the freest device, then the server with the most idle compute."""
    fewest = view.least(_spread_prefer(view, usual))
    return fewest, -view.idle_milli()


def _spread_prefer(view: View, usual: frag.Usual) -> Ints:
    return np.where(view.fits, -view.left(), 0)


def _random(view: View, usual: frag.Usual) -> tuple[Ints, Ints]:
    return _zeros(view), _zeros(view)


def _random_prefer(view: View, usual: frag.Usual) -> Ints:
    return np.zeros(view.fits.shape, np.int64)


def _dot_product(view: View, usual: frag.Usual) -> tuple[Ints, Ints]:
    cpu = view.fleet.free_cpu_milli[view.rows] / _FULL_CPU_MILLI
    cpu = cpu * (view.demand.cpu_milli / _FULL_CPU_MILLI)
    gpu = view.idle_milli() / _FULL_GPU_MILLI
    gpu = gpu * (view.demand.gpus * view.demand.milli / _FULL_GPU_MILLI)
    return -(100.0 * (1.0 - (cpu + gpu) / 2)).astype(np.int64), _zeros(view)


def _clustering(view: View, usual: frag.Usual) -> tuple[Ints, Ints]:
    """Where requests of the same size are already, alone if possible; then the fullest."""
    if not view.demand.gpus:
        return _zeros(view), _zeros(view)
    fleet, rows = view.fleet, view.rows
    sizes = np.where(fleet.exclusive[rows], fleet.gang[rows], 0)
    shared = ((fleet.leases[rows] > 0) & ~fleet.exclusive[rows]).any(axis=1)
    known = [shared.astype(np.int64)]
    known += [(sizes == size).any(axis=1).astype(np.int64) for size in range(1, 9)]
    kinds = np.stack(known, axis=1)
    own = kinds[:, min(view.demand.gpus, 8) if view.demand.whole else 0] > 0
    several = kinds.sum(axis=1)
    base = np.select([own & (several == 1), own, several == 0], [75, 50, 25], 0)
    fullness = 25 * (_FULL_GPU_MILLI - view.idle_milli()) // _FULL_GPU_MILLI
    return -(base + fullness), _zeros(view)


def _packing(view: View, usual: frag.Usual) -> tuple[Ints, Ints]:
    """Shared devices first, then idle ones of servers in use, then idle servers."""
    if not view.demand.gpus:
        return _zeros(view), _zeros(view)
    present = view.fleet.kind[view.rows] > 0
    idle = (present & (view.fleet.leases[view.rows] == 0)).sum(axis=1)
    if view.demand.whole:
        used = np.full(len(idle), max(50 - view.demand.gpus, 33), np.int64)
    else:
        tightest = view.least(view.idle())
        used = np.where(tightest >= WHOLE_MILLI, 49, np.maximum(100 - tightest // 100, 50))
    return -np.where(idle == present.sum(axis=1), np.maximum(33 - idle, idle), used), _zeros(view)


_POLICIES = {
    policy.name: policy
    for policy in (
        Policy("bestfit", _best_fit, _left),
        Policy("fgd", _fgd, _fgd_prefer, historic=True),
        Policy("spread", _spread, _spread_prefer),
        Policy("random", _random, _random_prefer, shuffle=True),
        Policy("dotproduct", _dot_product, _left),
        Policy("clustering", _clustering, _left),
        Policy("packing", _packing, _left),
    )
}
POLICIES = tuple(_POLICIES)
"""Names of all policies; the first is the default."""


def policy(name: str, seed: int = 0) -> Policy:
    """Find a policy by name; `seed` is for `random`.

    Raises:
        ValueError: there is none of that name.
    """
    found = _POLICIES.get(name)
    if found is None:
        raise ValueError(f"no placement policy is named {name!r}; there are {', '.join(POLICIES)}")
    return replace(found, seed=seed) if seed else found
