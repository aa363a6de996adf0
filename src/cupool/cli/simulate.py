"""`cupool simulate`: try a pool and its placement policies on a trace, before you build it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cupool.errors import ConfigurationError


def simulate(
    jobs: Annotated[Path, typer.Argument(help="Trace of jobs.", metavar="JOBS")],
    pool: Annotated[
        str,
        typer.Option(help="The pool: a file, or servers x GPUs each as 16x8.", metavar="POOL"),
    ] = "16x8",
    format_: Annotated[
        str,
        typer.Option("--format", help="Of the files: cupool, openb (Alibaba 2023) or philly."),
    ] = "cupool",
    policy: Annotated[
        list[str] | None, typer.Option(help="Placement policy; may be repeated. All by default.")
    ] = None,
    fill: Annotated[
        bool, typer.Option("--fill", help="Jobs stay for ever: how full can the pool become?")
    ] = False,
    broker: Annotated[
        bool, typer.Option("--broker", help="The whole broker: fair shares, preemption and all.")
    ] = False,
    refuse: Annotated[
        bool, typer.Option("--refuse", help="Jobs that do not fit are refused; they do not wait.")
    ] = False,
    moves: Annotated[
        int, typer.Option(min=0, help="Sessions that may be moved to make room for one request.")
    ] = 0,
    backfill: Annotated[
        int, typer.Option(min=1, help="How many in line may overtake one that does not fit.")
    ] = 64,
    host: Annotated[
        bool, typer.Option("--host", help="With --fill: jobs also need the GPU servers' CPUs.")
    ] = False,
    seed: Annotated[int, typer.Option(help="For the policy random.")] = 1,
    plot: Annotated[
        Path | None, typer.Option(help="Also draw it, to a .png, .svg or .pdf file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Simulate a pool on a trace: allocation, fragmentation, waits and moves, for each policy.

    docs/simulator.md says what a trace looks like.
    """
    from cupool.pool_server.broker.placement import POLICIES
    from cupool.pool_server.broker.simulator import report, workload

    policies = policy or list(POLICIES)
    if not set(policies) <= set(POLICIES):
        raise typer.BadParameter(f"the policies are {', '.join(POLICIES)}")
    if host > fill or (broker and (fill or refuse or moves)):
        raise typer.BadParameter("--host goes with --fill; --broker without --fill and others")
    try:
        machines, trace = _read(workload, jobs, pool, format_)
        setup = report.Setup(machines, trace, fill, host, broker, not refuse, backfill, moves, seed)
        rows = report.compare(setup, policies)
        print(report.as_json(rows)) if as_json else report.show(rows, filling=fill)
        if plot is not None:
            report.plot(rows, plot, filling=fill)
    except (workload.BadTrace, report.NoPlot) as exc:
        more = "see what it takes:   cupool simulate --help"
        raise ConfigurationError(str(exc), remedy=more) from None


def _read(workload: Any, jobs: Path, pool: str, format_: str) -> tuple[Any, Any]:
    """Read pool and jobs; neither is empty."""
    readers = {
        "cupool": workload.read_jobs,
        "openb": workload.read_openb_pods,
        "philly": workload.read_philly,
    }
    if format_ not in readers:
        raise typer.BadParameter(f"--format must be one of {', '.join(readers)}")
    servers, _, gpus = pool.partition("x")
    if servers.isdigit() and gpus.isdigit():
        machines = workload.uniform(int(servers), int(gpus))
    elif format_ == "openb":
        machines = workload.read_openb_nodes(Path(pool))
    else:
        machines = workload.read_pool(Path(pool))
    trace = readers[format_](jobs)
    if not machines or not trace:
        raise workload.BadTrace("no job to simulate" if machines else "a pool without servers")
    return machines, trace
