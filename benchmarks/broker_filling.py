"""Experiments that fill a pool by arrivals alone (see `simulator/filling.py`)."""

from __future__ import annotations

import csv
import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cupool.pool_server.broker.placement import Demand, Policy, Usual, policy
from cupool.pool_server.broker.placement.fleet import Ints
from cupool.pool_server.broker.placement.policies import View
from cupool.pool_server.broker.simulator.filling import Filling, fill, usual_of
from cupool.pool_server.broker.simulator.workload import (
    Job,
    Machine,
    fleet_of,
    read_openb_nodes,
    read_openb_pods,
    renumbered,
    tuned,
    uniform,
    without_host,
)

_RATIO = 1.3
_FIRST_SEED = 42
PUBLISHED = {
    "01-Random": "random",
    "02-DotProd": "dotproduct",
    "03-GpuClustering": "clustering",
    "04-GpuPacking": "packing",
    "05-BestFit": "bestfit",
    "06-FGD": "fgd",
}


def nodes(traces: Path) -> list[Machine]:
    """Read the node list that the paper's runs use: 1,213 nodes, 6,212 GPUs."""
    return read_openb_nodes(traces / "openb" / "openb_node_list_gpu_node.csv")


def pods(traces: Path, name: str) -> list[Job]:
    return read_openb_pods(traces / "openb" / f"openb_pod_list_{name}.csv")


def filled(
    machines: Sequence[Machine],
    jobs: Sequence[Job],
    rule: Policy,
    usual: Usual,
    seed: int,
    *,
    host: bool,
) -> Filling:
    """Fill the pool with the jobs, shuffled and repeated to 130 % of it as in the paper."""
    capacity = 1000 * sum(machine.gpus for machine in machines)
    order = tuned(list(jobs), capacity, _RATIO, seed)
    fleet = fleet_of(renumbered(machines, seed), host=host)
    return fill(fleet, order, rule, usual, fragments_at=(90,))


def published(traces: Path) -> dict[tuple[str, str], float]:
    """Return (trace, policy) -> mean allocation of the authors' runs at 100 % arrived."""
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    path = traces / "fgd_expected" / "analysis_allo_discrete.csv"
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            name = row["workload"].removeprefix("openb_pod_list_")
            found[name, PUBLISHED[row["sc_policy"]]].append(float(row["100"]))
    return {key: statistics.mean(values) for key, values in found.items()}


def table(traces: Path, repeats: int) -> list[dict[str, Any]]:
    """Fill 6,212 GPUs under six policies with 17 traces; ours, and ours - published, at 100 %."""
    theirs, machines = published(traces), nodes(traces)
    names = sorted({name for name, _ in theirs}, key=lambda name: (name != "default", name))
    rows: list[dict[str, Any]] = []
    errors: dict[str, list[float]] = defaultdict(list)
    for name in names:
        jobs = pods(traces, name)
        usual = usual_of(jobs)
        row: dict[str, Any] = {"allocated, %": name}
        for rule in PUBLISHED.values():
            ours = statistics.mean(
                filled(machines, jobs, policy(rule, seed), usual, seed, host=True).at(100)
                for seed in range(_FIRST_SEED, _FIRST_SEED + repeats)
            )
            error = ours - theirs[name, rule]
            errors[rule].append(error)
            row[rule] = f"{ours:.2f} ({error:+.2f})"
        rows.append(row)
        print(row, flush=True)
    every = [error for each in errors.values() for error in each]
    for label, of in (("mean error", statistics.mean), ("mean |error|", _mean_abs)):
        row = {"allocated, %": label}
        row |= {rule: f"{of(each):+.2f}" for rule, each in errors.items()}
        rows.append(row)
        print(f"{label} of all: {of(every):+.2f}", flush=True)
    return rows


def _mean_abs(values: Sequence[float]) -> float:
    return statistics.mean(abs(value) for value in values)


def pooling(traces: Path, repeats: int) -> list[dict[str, Any]]:
    """Fill the default trace with jobs that need their GPU server's CPU and RAM, or do not."""
    machines, jobs = nodes(traces), pods(traces, "default")
    alone = [without_host(job) for job in jobs if job.demand.gpus]
    rows = []
    for label, these, host in (("host-bound", jobs, True), ("pooled", alone, False)):
        usual = usual_of(these)
        for rule in ("random", "bestfit", "fgd"):
            runs = [
                filled(machines, these, policy(rule, seed), usual, seed, host=host)
                for seed in range(_FIRST_SEED, _FIRST_SEED + repeats)
            ]
            rows.append({"jobs are": label, "policy": rule} | _mean_of(runs))
    return rows


def _mean_of(runs: Sequence[Filling]) -> dict[str, float]:
    return {
        "allocated at 100, %": statistics.mean(run.at(100) for run in runs),
        "at 130, %": statistics.mean(run.at(130) for run in runs),
        "fragmented at 90, %": statistics.mean(run.fragmented[90] for run in runs),
    }


def ties(traces: Path, repeats: int) -> list[dict[str, Any]]:
    """Show what decides FGD's lead: how its ties are broken (default trace, host-bound)."""
    machines, jobs = nodes(traces), pods(traces, "default")
    fgd, usual = policy("fgd"), usual_of(jobs)

    def by_name(view: View, usual: Usual) -> tuple[Ints, Ints]:
        primary, tie = fgd.rank(view, usual)
        return primary, np.zeros_like(tie)

    variants = {
        "by name, of CPU-only jobs by best fit (ours)": fgd,
        "by name (the paper's)": replace(fgd, name="fgd-name", rank=by_name),
        "at random": replace(fgd, name="fgd-random", rank=by_name, shuffle=True),
    }
    rows = []
    for label, rule in variants.items():
        runs = [
            filled(machines, jobs, replace(rule, seed=seed), usual, seed, host=True)
            for seed in range(_FIRST_SEED, _FIRST_SEED + repeats)
        ]
        rows.append({"FGD with ties broken": label} | _mean_of(runs))
    return rows


def speed(traces: Path, repeats: int) -> list[dict[str, Any]]:
    """Count decisions a second, and their times, in one process."""
    large, default = nodes(traces), pods(traces, "default")
    small = uniform(128, 8)
    alone = [without_host(job) for job in default if job.demand.gpus]
    free = [replace(job, demand=replace(job.demand, models=())) for job in alone]
    cases: list[tuple[str, Sequence[Machine], list[Job], bool]] = [
        ("1,024 GPUs", small, free, False),
        ("6,212 GPUs", large, alone, False),
        ("6,212 GPUs, host-bound", large, default, True),
    ]
    rows = []
    for label, machines, jobs, host in cases:
        usual = usual_of(jobs)
        for rule in ("bestfit", "fgd", "spread", "random"):
            runs = [
                filled(machines, jobs, policy(rule, seed), usual, seed, host=host)
                for seed in range(_FIRST_SEED, _FIRST_SEED + repeats)
            ]
            rows.append({"pool": label, "policy": rule} | _speed_of(runs))
    rows.append({"pool": "6,212 GPUs, every demand new", "policy": "bestfit"} | _uncached(large))
    return rows


def _speed_of(runs: Sequence[Filling]) -> dict[str, Any]:
    clock = np.concatenate([run.decision_s for run in runs])
    own = np.concatenate([run.decision_cpu_s for run in runs])
    return {
        "decisions/s": len(clock) / float(clock.sum()),
        "p99, ms": 1e3 * float(np.quantile(clock, 0.99)),
        "per CPU second": len(own) / float(own.sum()),
        "CPU p50, ms": 1e3 * float(np.quantile(own, 0.5)),
        "CPU p99, ms": 1e3 * float(np.quantile(own, 0.99)),
        "CPU most, ms": 1e3 * float(own.max()),
    }


def _uncached(machines: Sequence[Machine]) -> dict[str, Any]:
    """Let each request ask for another amount of memory: no ranking is ever used twice."""
    jobs = [
        Job(f"job-{n}", Demand(memory_bytes=(1 << 30) + n, share_milli=100)) for n in range(3000)
    ]
    result = fill(fleet_of(machines), jobs, policy("bestfit"), Usual())
    return _speed_of([result])
