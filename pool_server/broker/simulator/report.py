"""Compare policies on one trace: run each, and show what came of it as a table, JSON or a plot."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from cupool.pool_server.broker.placement import Usual, policy
from cupool.pool_server.broker.simulator.brokered import BrokerRun
from cupool.pool_server.broker.simulator.filling import fill, usual_of
from cupool.pool_server.broker.simulator.running import Outcome, Rules, Run
from cupool.pool_server.broker.simulator.workload import (
    Job,
    Machine,
    fleet_of,
    without_host,
)


class NoPlot(Exception):
    """matplotlib is missing; the message says how to get it."""


@dataclass(frozen=True)
class Row:
    """One policy's result. Allocation and fragmentation are per cent, waits are seconds.

    Attributes:
        utilised: compute in use, mean over time (filling: when the demand is 100 % of the pool).
        allocated: compute in use at most (filling: at the end).
        fragmented: part of the idle compute that the usual jobs could not use.
        preempted: leases that the broker took away; their jobs began anew.
        curve: filling only, per cent arrived -> per cent allocated.
    """

    policy: str
    utilised: float
    allocated: float
    fragmented: float
    jobs: int
    refused: int
    refused_compute: float
    mean_wait_s: float = 0.0
    p95_wait_s: float = 0.0
    moves: int = 0
    preempted: int = 0
    curve: dict[int, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Setup:
    """A pool, its jobs and how it is run.

    Attributes:
        filling: jobs stay for ever.
        host: they run on the GPU servers and need their processors and memory.
        broker: the broker's own state machine runs the pool, fair shares and all.
        waiting, backfill, most_moves: see `running.Rules`.
    """

    machines: Sequence[Machine]
    jobs: Sequence[Job]
    filling: bool = False
    host: bool = False
    broker: bool = False
    waiting: bool = True
    backfill: int = 64
    most_moves: int = 0
    seed: int = 1


def compare(setup: Setup, policies: Sequence[str]) -> list[Row]:
    """Simulate the same under each policy."""
    jobs = setup.jobs
    if not setup.host:
        jobs = [without_host(job) for job in jobs if job.demand.gpus]
    one = _filled if setup.filling else _brokered if setup.broker else _ran
    return [one(setup, jobs, name, usual_of(jobs)) for name in policies]


def _ran(setup: Setup, jobs: Sequence[Job], name: str, usual: Usual) -> Row:
    rules = Rules(
        policy(name, setup.seed),
        usual,
        waiting=setup.waiting,
        backfill=setup.backfill,
        most_moves=setup.most_moves,
        from_s=jobs[0].arrive_s,
        until_s=max(job.arrive_s for job in jobs),
    )
    return _row(name, Run(fleet_of(setup.machines), rules).run(jobs))


def _brokered(setup: Setup, jobs: Sequence[Job], name: str, usual: Usual) -> Row:
    first, last = jobs[0].arrive_s, max(job.arrive_s for job in jobs)
    run = BrokerRun(
        setup.machines, name, usual, backfill=setup.backfill, from_s=first, until_s=last
    )
    outcome = run.run(jobs)
    return replace(_row(name, outcome), preempted=outcome.preempted)


def _row(name: str, outcome: Outcome) -> Row:
    return Row(
        name,
        outcome.allocated,
        outcome.peak,
        outcome.fragmented,
        sum(outcome.arrived.values()),
        sum(outcome.refused.values()),
        100 * outcome.refused_share,
        outcome.mean_wait_s,
        outcome.wait_s(0.95),
        outcome.moves,
    )


def _filled(setup: Setup, jobs: Sequence[Job], name: str, usual: Usual) -> Row:
    fleet = fleet_of(setup.machines, host=setup.host)
    result = fill(fleet, jobs, policy(name, setup.seed), usual, fragments_at=(100,))
    wanted = sum(job.milli for job in jobs)
    idle = 100 - result.at(100)
    return Row(
        name,
        result.at(100),
        result.at(max(result.allocated)),
        100 * result.fragmented.get(100, 0.0) / idle if idle else 0.0,
        len(jobs),
        result.refused,
        100 * result.refused_milli / wanted if wanted else 0.0,
        curve={arrived: round(value, 3) for arrived, value in sorted(result.allocated.items())},
    )


def as_json(rows: Sequence[Row]) -> str:
    return json.dumps([asdict(row) for row in rows], indent=2)


def show(rows: Sequence[Row], *, filling: bool) -> None:
    """Print a table for people; "Refused" is of the compute that was asked for."""
    from rich.console import Console
    from rich.table import Table

    columns = {
        "At 100 %" if filling else "Utilised": [f"{row.utilised:.1f} %" for row in rows],
        "Full" if filling else "Peak": [f"{row.allocated:.1f} %" for row in rows],
        "Fragmented": [f"{row.fragmented:.0f} %" for row in rows],
        "Refused": [f"{row.refused_compute:.1f} %" for row in rows],
    }
    if not filling:
        columns["Wait mean"] = [f"{row.mean_wait_s:,.0f} s" for row in rows]
        columns["p95"] = [f"{row.p95_wait_s:,.0f} s" for row in rows]
    for name, counts in (("Moves", "moves"), ("Preempted", "preempted")):
        if any(getattr(row, counts) for row in rows):
            columns[name] = [str(getattr(row, counts)) for row in rows]
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("Policy", no_wrap=True)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    for number, row in enumerate(rows):
        table.add_row(row.policy, *(cells[number] for cells in columns.values()))
    Console().print(table)


def plot(rows: Sequence[Row], path: Path, *, filling: bool) -> None:
    """Draw the same as a picture; its format is that of the file's name.

    Raises:
        NoPlot: matplotlib is not there, or it cannot write such a file.
    """
    try:
        import matplotlib
    except ImportError:
        raise NoPlot("plots need matplotlib:   pip install 'cupool[plot]'") from None
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 1 if filling else 3, figsize=(6 if filling else 12, 4))
    if filling:
        _draw_curves(axes, rows)
    else:
        names = [row.policy for row in rows]
        _draw_bars(axes[0], names, [row.utilised for row in rows], "utilised, %")
        _draw_bars(axes[1], names, [row.fragmented for row in rows], "idle fragmented, %")
        _draw_bars(axes[2], names, [row.mean_wait_s for row in rows], "mean wait, s")
    figure.tight_layout()
    try:
        figure.savefig(path)
    except (OSError, ValueError) as exc:
        raise NoPlot(f"cannot write {path}: {exc}") from None
    finally:
        plt.close(figure)


def _draw_curves(axes: Any, rows: Sequence[Row]) -> None:
    for row in rows:
        axes.plot(list(row.curve), list(row.curve.values()), label=row.policy)
    axes.set_xlim(0, min(150, max(max(row.curve) for row in rows)))
    axes.set_xlabel("demand that has arrived, % of the pool")
    axes.set_ylabel("allocated, % of the pool")
    axes.legend()


def _draw_bars(axes: Any, names: Sequence[str], values: Sequence[float], label: str) -> None:
    axes.bar(range(len(names)), values)
    axes.set_xticks(range(len(names)), names, rotation=45, ha="right")
    axes.set_ylabel(label)
