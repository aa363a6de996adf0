"""Experiments in which jobs come and go (see `simulator/running.py`)."""

from __future__ import annotations

import bisect
import heapq
import random
import statistics
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.broker_filling import pods
from cupool.pool_server.broker.placement import Near, Usual, policy
from cupool.pool_server.broker.placement.types import WHOLE_MILLI
from cupool.pool_server.broker.simulator import partitions as parts
from cupool.pool_server.broker.simulator.filling import usual_of
from cupool.pool_server.broker.simulator.running import Rules, Run
from cupool.pool_server.broker.simulator.workload import (
    Job,
    fleet_of,
    read_philly,
    uniform,
    without_host,
)

_DAY_S = 86400.0

# ---------------------------------------------------------------- departures

_SERVERS, _GPUS = 16, 8
_ARRIVALS = 12_000
_WARM_UP = 0.2


def offered(
    mix: Sequence[Job], durations: Sequence[float], load: float, count: int, seed: int
) -> list[Job]:
    """Draw Poisson arrivals that ask for exactly `load` x the pool's compute in the time that is
    counted: neither what runs before it nor what would run after it is load."""
    draw = random.Random(seed)
    at, jobs = 0.0, []
    for number in range(count):
        at += draw.expovariate(1)
        jobs.append(Job(f"job-{number}", draw.choice(mix).demand, at, draw.choice(list(durations))))

    def asked(scale: float) -> float:
        begin, end = _WARM_UP * at * scale, at * scale
        area = sum(
            job.milli * max(0.0, min(start + job.duration_s, end) - max(start, begin))
            for job in jobs
            for start in (job.arrive_s * scale,)
        )
        return area / (end - begin) / (1000 * _SERVERS * _GPUS)

    low = high = 1.0
    while asked(high) > load:
        low, high = high, 2 * high
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if asked(middle) > load else (low, middle)
    return [replace(job, arrive_s=job.arrive_s * high) for job in jobs]


def departures(traces: Path, repeats: int) -> list[dict[str, Any]]:
    """Refuse what does not fit: multigpu30's mix on 16 servers of 8, at loads about 1 and 0.85."""
    mix = [without_host(job) for job in pods(traces, "multigpu30") if job.demand.gpus]
    known = [job.duration_s for job in pods(traces, "default") if job.demand.gpus]
    durations = [min(each, _DAY_S) for each in known if 0 < each < float("inf")]
    rows = []
    for load in (1.0125, 1.0, 0.85):
        runs = [offered(mix, durations, load, _ARRIVALS, seed + 1) for seed in range(repeats)]
        for label, rule, moves, near in (
            ("random", "random", 0, Near.SERVER),
            ("spread", "spread", 0, Near.SERVER),
            ("bestfit", "bestfit", 0, Near.SERVER),
            ("bestfit, <= 2 moves", "bestfit", 2, Near.SERVER),
            ("bestfit, <= 6 moves", "bestfit", 6, Near.SERVER),
            ("bestfit, gangs may span servers", "bestfit", 0, Near.POOL),
            ("both", "bestfit", 6, Near.POOL),
            ("fgd", "fgd", 0, Near.SERVER),
            ("fgd, <= 6 moves", "fgd", 6, Near.SERVER),
        ):
            each = [_departing(jobs, rule, moves, near, seed) for seed, jobs in enumerate(runs, 1)]
            spread = statistics.stdev(run["allocated, %"] for run in each) if repeats > 1 else 0.0
            rows.append({"load": load, "rule": label} | _means(each) | {"spread": spread})
        bound = statistics.mean(_unfragmented(jobs) for jobs in runs)
        rows.append({"load": load, "rule": "(no fragmentation at all)", "allocated, %": bound})
        bound = statistics.mean(_repacked(jobs) for jobs in runs)
        rows.append({"load": load, "rule": "(all repacked at any time)", "allocated, %": bound})
    return rows


def _departing(
    jobs: Sequence[Job], rule: str, moves: int, near: Near, seed: int
) -> dict[str, float]:
    near_jobs = [replace(job, demand=replace(job.demand, near=near)) for job in jobs]
    end = jobs[-1].arrive_s
    rules = Rules(
        policy(rule, seed),
        usual_of(near_jobs) if rule == "fgd" else Usual(),
        waiting=False,
        most_moves=moves,
        from_s=_WARM_UP * end,
        until_s=end,
    )
    outcome = Run(fleet_of(uniform(_SERVERS, _GPUS)), rules).run(near_jobs)
    assert outcome.most_moves_at_once <= moves
    return {
        "allocated, %": outcome.allocated,
        "refused compute, %": 100 * outcome.refused_share,
        "refused 8-GPU, %": 100 * outcome.refused[8] / max(outcome.arrived[8], 1),
        "moves per 1,000": 1000 * outcome.moves / sum(outcome.arrived.values()),
    }


def _unfragmented(jobs: Sequence[Job]) -> float:
    """Return the allocation if any free compute would do for anybody: nothing can do better."""
    end = jobs[-1].arrive_s
    begin, capacity = _WARM_UP * end, 1000 * _SERVERS * _GPUS
    used = now = area = 0.0
    ends: list[tuple[float, int]] = []

    def advance(to_s: float) -> None:
        nonlocal now, area
        area += used * max(0.0, to_s - max(now, begin))
        now = to_s

    for job in jobs:
        while ends and ends[0][0] <= job.arrive_s:
            at, milli = heapq.heappop(ends)
            advance(at)
            used -= milli
        advance(job.arrive_s)
        if used + job.milli <= capacity:
            used += job.milli
            heapq.heappush(ends, (now + job.duration_s, job.milli))
    return 100 * area / ((end - begin) * capacity)


def _repacked(jobs: Sequence[Job]) -> float:
    """Return the allocation if everything could be moved at each arrival, as often as helps.

    Shares are packed anew by best fit decreasing; whole devices need no place of their own.
    """
    end = jobs[-1].arrive_s
    begin, capacity = _WARM_UP * end, 1000 * _SERVERS * _GPUS
    used = now = area = whole = 0.0
    ends: list[tuple[float, str, Job]] = []
    shares: list[int] = []

    def advance(to_s: float) -> None:
        nonlocal now, area
        area += used * max(0.0, to_s - max(now, begin))
        now = to_s

    for job in jobs:
        while ends and ends[0][0] <= job.arrive_s:
            at, _, gone = heapq.heappop(ends)
            advance(at)
            used -= gone.milli
            if gone.demand.whole:
                whole -= gone.demand.gpus
            else:
                shares.remove(gone.milli)
        advance(job.arrive_s)
        more = [] if job.demand.whole else [job.milli]
        gpus = job.demand.gpus if job.demand.whole else 0
        if whole + gpus + _devices_of(shares + more) <= _SERVERS * _GPUS:
            used, whole, shares = used + job.milli, whole + gpus, shares + more
            heapq.heappush(ends, (now + job.duration_s, job.name, job))
    return 100 * area / ((end - begin) * capacity)


def _devices_of(shares: Sequence[int]) -> int:
    """Return how many devices shares need, packed by best fit decreasing."""
    left: list[int] = []
    devices = 0
    for milli in sorted(shares, reverse=True):
        place = bisect.bisect_left(left, milli)
        fresh = place == len(left)
        room = WHOLE_MILLI if fresh else left.pop(place)
        devices += fresh
        bisect.insort(left, room - milli)
    return devices


def _means(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.mean(row[name] for row in rows) for name in rows[0]}


# ---------------------------------------------------------------- one pool or partitions

_WEEKS = 3
_MOST_S = 4 * _DAY_S
_LOADS = (0.45, 0.55, 0.65, 0.75, 0.85, 0.95)
_FEW_LOADS = (0.65, 0.75, 0.85)
_AT_LOAD = 0.85
_AT_USE = 78.0


def partitions(traces: Path, repeats: int) -> list[dict[str, Any]]:
    """Compare one pool with static partitions of it: Philly's jobs up to 8 GPUs, three weeks.

    Per size: a curve over load, then the use at the wait that the pool has at load 0.85, and
    at the wait that it has where 78 % of it are used.
    """
    jobs = read_philly(traces / "philly_derived" / "philly_sia.csv")
    rows: list[dict[str, Any]] = []
    for gpus in (32, 64, 128):
        rows += _one_size(jobs, gpus, repeats, _LOADS)
    rows += _one_size(jobs, 1024, 1, _LOADS if repeats > 2 else _FEW_LOADS)
    return rows


def _ways(jobs: Sequence[Job], gpus: int, seed: int) -> dict[str, tuple[list[Job], bool]]:
    """Return name -> jobs with their tenants, and whether tenants own whole servers."""
    ways = {"4 tenants, by demand": (parts.tenants(jobs, 4), False)}
    if gpus > 64:
        ways["8 tenants, by demand"] = (parts.split(jobs, 8, seed), False)
        ways["9 tenants, whole servers"] = (parts.tenants(jobs, 9), True)
    else:
        ways["4 tenants, whole servers"] = (parts.tenants(jobs, 4), True)
    return ways


def _one_size(
    jobs: Sequence[Job], gpus: int, repeats: int, loads: Sequence[float]
) -> list[dict[str, Any]]:
    rule = policy("bestfit")
    curves: dict[str, list[parts.Shared]] = {}
    rows: list[dict[str, Any]] = []
    for load in loads:
        found: dict[str, list[parts.Shared]] = {}
        for seed in range(1, repeats + 1):
            drawn = parts.folded(jobs, gpus, load, _WEEKS, seed, _MOST_S)
            found.setdefault("pool", []).append(parts.pooled(drawn, gpus, rule, _WEEKS))
            for name, (owned, whole) in _ways(drawn, gpus, seed).items():
                one = parts.partitioned(owned, gpus, rule, _WEEKS, whole_servers=whole)
                found.setdefault(name, []).append(one)
        row: dict[str, Any] = {"GPUs": gpus, "load": load, "partitions": "", "used / wait": ""}
        for name, each in found.items():
            used = statistics.mean(one.allocated for one in each)
            wait = statistics.mean(one.mean_wait_s for one in each)
            curves.setdefault(name, []).append(parts.Shared(used, wait))
            rows.append(row | {"partitions": name, "used / wait": f"{used:.1f} % / {wait:,.0f} s"})
    pool = curves.pop("pool")
    at = [(f"load {_AT_LOAD}", pool[loads.index(_AT_LOAD)])]
    wait_s = parts.wait_at(pool, _AT_USE)
    if wait_s is not None:
        at.append((f"{_AT_USE:g} % used", parts.Shared(_AT_USE, wait_s)))
    for label, point in at:
        rows += [
            {"GPUs": gpus, "load": f"equal wait, {point.mean_wait_s:,.0f} s (pool at {label})"}
            | {"partitions": name, "used / wait": _compared(curve, point)}
            for name, curve in curves.items()
        ]
    for row in rows[-len(at) * len(curves) :]:
        print(row, flush=True)
    return rows


def _compared(curve: Sequence[parts.Shared], pool: parts.Shared) -> str:
    """Say what partitions use at the wait that the pool has."""
    used = parts.at_wait(curve, pool.mean_wait_s)
    less = 100 * (1 - (100 - pool.allocated) / (100 - used))
    below = pool.mean_wait_s < min(point.mean_wait_s for point in curve)
    text = f"{'under ' * below}{used:.1f} % against the pool's {pool.allocated:.1f} %, "
    return text + f"idle {-less:+.0f} %{' or better' * below}"
