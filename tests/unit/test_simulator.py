"""The simulator on cases whose outcome can be worked out by hand; and its reading of traces."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.broker import EXPERIMENTS, as_text, run
from hypothesis import given, settings
from hypothesis import strategies as st

from cupool.cli import main
from cupool.pool_server.broker.placement import Demand, Near, Usual, policy
from cupool.pool_server.broker.simulator import partitions
from cupool.pool_server.broker.simulator.brokered import BrokerRun
from cupool.pool_server.broker.simulator.filling import fill, usual_of
from cupool.pool_server.broker.simulator.running import Rules, Run
from cupool.pool_server.broker.simulator.workload import (
    BadTrace,
    Job,
    fleet_of,
    read_jobs,
    read_openb_nodes,
    read_openb_pods,
    read_philly,
    read_pool,
    tuned,
    uniform,
)

TRACES = Path(__file__).resolve().parents[2] / "benchmarks" / "traces"
BEST = policy("bestfit")


def job(name: str, arrive_s: float, duration_s: float, gpus: int = 1, share: int = 0) -> Job:
    return Job(name, Demand(gpus=gpus, share_milli=share), arrive_s, duration_s)


# ---------------------------------------------------------------- running


def test_a_job_waits_for_the_one_before_it() -> None:
    jobs = [job("a", 0, 10), job("b", 4, 10)]
    outcome = Run(fleet_of(uniform(1, 1)), Rules(BEST, until_s=20)).run(jobs)
    assert outcome.waits_s == [0, 6]
    assert outcome.allocated == pytest.approx(100)
    assert outcome.peak == 100


def test_small_jobs_overtake_one_that_does_not_fit() -> None:
    jobs = [job("a", 0, 10), job("gang", 1, 5, gpus=2), job("small", 2, 3)]
    rules = Rules(BEST, until_s=15)
    assert Run(fleet_of(uniform(1, 2)), rules).run(jobs).waits_s == [0, 0, 9]
    strict = Rules(BEST, backfill=1, until_s=15)
    assert Run(fleet_of(uniform(1, 2)), strict).run(jobs).waits_s == [0, 9, 13]


def test_what_does_not_fit_is_refused_if_nobody_waits() -> None:
    jobs = [job("a", 0, 10), job("b", 5, 10), job("c", 10, 10)]
    outcome = Run(fleet_of(uniform(1, 1)), Rules(BEST, waiting=False, until_s=20)).run(jobs)
    assert (outcome.refused, outcome.arrived) == ({1: 1}, {1: 3})
    assert outcome.refused_share == pytest.approx(1 / 3)
    assert outcome.allocated == pytest.approx(100)


def test_only_the_measured_time_counts() -> None:
    jobs = [job("a", 0, 10), job("b", 30, 10)]
    rules = Rules(BEST, waiting=False, from_s=5, until_s=25)
    outcome = Run(fleet_of(uniform(1, 1)), rules).run(jobs)
    assert outcome.allocated == pytest.approx(25)
    assert not outcome.arrived


def test_moves_let_a_gang_in() -> None:
    gang = Demand(gpus=2, near=Near.SERVER)
    jobs = [
        Job("first", gang, 0, 2),  # has server-0
        job("one", 1, 100, share=700),  # so it goes to server-1
        job("two", 3, 100, share=700),  # goes to server-0
        Job("second", gang, 4, 10),  # finds no empty server
    ]
    for most_moves, refused in ((0, {2: 1}), (1, {})):
        rules = Rules(BEST, waiting=False, most_moves=most_moves)
        outcome = Run(fleet_of(uniform(2, 2)), rules).run(jobs)
        assert (outcome.refused, outcome.moves) == (refused, most_moves)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 50),
            st.integers(0, 30),
            st.sampled_from([(1, 300), (1, 700), (1, 0), (2, 0), (4, 0)]),
        ),
        max_size=30,
    ),
    st.booleans(),
    st.sampled_from((0, 3)),
)
def test_every_job_runs_or_is_refused_and_the_pool_is_empty_again(
    drawn: list[tuple[int, int, tuple[int, int]]], waiting: bool, most_moves: int
) -> None:
    jobs = sorted(
        (
            Job(
                f"j{n}", Demand(gpus=g, share_milli=share, near=Near.SERVER), float(at), float(long)
            )
            for n, (at, long, (g, share)) in enumerate(drawn)
        ),
        key=lambda each: each.arrive_s,
    )
    run = Run(fleet_of(uniform(2, 4)), Rules(BEST, waiting=waiting, most_moves=most_moves))
    empty = run.fleet.rooms()
    outcome = run.run(jobs)
    assert run.fleet.rooms() == empty
    assert len(outcome.waits_s) + sum(outcome.refused.values()) == len(jobs)
    assert all(wait >= 0 for wait in outcome.waits_s)
    assert not run.waiting and not run.held
    assert outcome.most_moves_at_once <= most_moves


# ---------------------------------------------------------------- the broker itself


def test_the_broker_serves_a_line_as_the_plain_rules_do() -> None:
    jobs = [job("a", 0, 10), job("b", 4, 10)]
    outcome = BrokerRun(uniform(1, 1), until_s=20).run(jobs)
    assert outcome.waits_s == [0, 6]
    assert outcome.allocated == pytest.approx(100)


def test_the_broker_takes_devices_away_for_urgent_jobs() -> None:
    low = Job("low", Demand(), 0, 100, priority=0)
    urgent = Job("urgent", Demand(), 10, 20, priority=3)
    run = BrokerRun(uniform(1, 1))
    outcome = run.run([low, urgent])
    grace_s = run.state.limits.grace_s
    assert outcome.preempted == 1
    assert outcome.waits_of[3] == [pytest.approx(grace_s)]
    assert outcome.lost_milli_s == pytest.approx(1000 * (10 + grace_s))
    assert outcome.waits_of[0] == [0, pytest.approx(20)], "it came back and began anew"


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 50),
            st.integers(1, 30),
            st.sampled_from((0, 300)),
            st.sampled_from((0, 1, 3)),
        ),
        max_size=15,
    )
)
def test_the_broker_serves_everybody_in_the_end(drawn: list[tuple[int, int, int, int]]) -> None:
    jobs = [
        Job(f"j{n}", Demand(gpus=1, share_milli=share), float(at), float(long), priority=urgency)
        for n, (at, long, share, urgency) in enumerate(sorted(drawn))
    ]
    run = BrokerRun(uniform(2, 1))
    outcome = run.run(jobs)
    assert len(outcome.waits_s) == len(jobs) + outcome.preempted
    assert not outcome.refused and not run.state.ledger.leases


# ---------------------------------------------------------------- filling


def test_filling_reads_allocation_where_the_demand_passes_each_per_cent() -> None:
    jobs = [job(f"j{n}", 0, 1, gpus=2) for n in range(4)]
    fleet = fleet_of(uniform(2, 3))
    jobs = [Job(each.name, Demand(gpus=2, near=Near.SERVER)) for each in jobs]
    result = fill(fleet, jobs, BEST, Usual())
    assert result.allocated == {33: pytest.approx(100 / 3), 67: pytest.approx(200 / 3)} | {
        100: pytest.approx(200 / 3),
        133: pytest.approx(200 / 3),
    }
    assert (result.placed, result.refused) == (2, 2)
    assert result.at(120) == result.at(100)


def test_a_trace_is_repeated_or_cut_to_a_ratio() -> None:
    jobs = [job(f"j{n}", 0, 1) for n in range(10)]
    assert sum(each.milli for each in tuned(jobs, 10_000, 1.3, seed=1)) == 13_000
    assert sum(each.milli for each in tuned(jobs, 10_000, 0.5, seed=1)) == 5_000
    assert tuned(jobs, 10_000, 1.3, seed=1) != tuned(jobs, 10_000, 1.3, seed=2)


# ---------------------------------------------------------------- partitions


def test_partitions_are_sized_by_demand_and_hold_a_server_each() -> None:
    jobs = [
        Job("a", Demand(), 0, 700, "large"),
        Job("b", Demand(), 0, 200, "middle"),
        Job("c", Demand(), 0, 1, "small"),
    ]
    assert partitions.sizes(jobs, 64) == {"large": 43, "middle": 13, "small": 8}
    whole = partitions.sizes(jobs, 64, whole_servers=True)
    assert whole == {"large": 40, "middle": 16, "small": 8}
    with pytest.raises(ValueError, match="3 tenants"):
        partitions.sizes(jobs, 16)


def test_one_pool_waits_less_than_partitions() -> None:
    jobs = [Job(f"j{n}", Demand(), n // 16, 8.0, "ab"[n // 16 % 2]) for n in range(64)]
    pool = partitions.pooled(jobs, 16, BEST, 1)
    parts = partitions.partitioned(jobs, 16, BEST, 1)
    assert pool.mean_wait_s < parts.mean_wait_s


def test_use_at_a_wait_is_read_off_between_points() -> None:
    curve = [partitions.Shared(50, 0), partitions.Shared(70, 100)]
    assert partitions.at_wait(curve, 50) == 60
    assert partitions.at_wait(curve, 500) == 70
    assert partitions.wait_at(curve, 65) == 75
    assert partitions.wait_at(curve, 90) is None


# ---------------------------------------------------------------- traces


def test_our_own_trace_is_read() -> None:
    jobs, machines = read_jobs(TRACES / "jobs.csv"), read_pool(TRACES / "pool.csv")
    assert len(jobs) == 400 and len(machines) == 12
    assert [each.arrive_s for each in jobs] == sorted(each.arrive_s for each in jobs)
    assert {each.demand.near for each in jobs} == {Near.SERVER, Near.RACK, Near.POOL}
    assert usual_of(jobs).demands
    assert len(fleet_of(machines).rooms()) == 6 * 8 + 6 * 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no column arrive_s, duration_s, gpus .the file is empty"),
        ("arrive_s,gpus\n", "no column duration_s"),
        ("arrive_s,duration_s,gpus\n0,1,1\n0,x,1\n", "line 3"),
        ("arrive_s,duration_s,gpus\n0,1,0\n", "line 2: gpus must be"),
        ("arrive_s,duration_s,gpus,share_milli\n0,1,1,1001\n", "share_milli 0 to 1000"),
        ("arrive_s,duration_s,gpus,near\n0,1,1,galaxy\n", "line 2: 'GALAXY'"),
        ("arrive_s,duration_s,gpus\nnan,1,1\n", "line 2"),
    ],
)
def test_a_bad_trace_is_named_by_its_line(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "jobs.csv"
    file.write_text(text)
    with pytest.raises(BadTrace, match=message):
        read_jobs(file)


def test_public_traces_are_read(tmp_path: Path) -> None:
    nodes, pods, philly = tmp_path / "nodes.csv", tmp_path / "pods.csv", tmp_path / "philly.csv"
    nodes.write_text("sn,cpu_milli,memory_mib,gpu,model\nn0,64000,1024,2,T4\nn1,1,1,0,\n")
    pods.write_text(
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time,"
        "scheduled_time\np1,4000,10,1,460,V100M16|T4,5,30,10\np0,1000,10,0,0,,0,1,\n"
    )
    philly.write_text("timestamp,duration,num_gpus,cluster\n2017-10-09 07:01:55,66.0,4,vc\n")
    (node,) = read_openb_nodes(nodes)
    assert (node.gpus, node.model, node.cpu_milli) == (2, "T4", 64000)
    cpu, share = read_openb_pods(pods)
    assert cpu.demand.gpus == cpu.milli == 0
    assert (share.milli, share.duration_s, share.demand.models) == (460, 20, ("V100M16", "T4"))
    (one,) = read_philly(philly)
    assert (one.demand.gpus, one.duration_s, one.tenant) == (4, 66, "vc")


# ---------------------------------------------------------------- the command


def test_the_command_prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    jobs, pool = str(TRACES / "jobs.csv"), str(TRACES / "pool.csv")
    arguments = ["simulate", jobs, "--pool", pool, "--policy", "bestfit", "--policy", "random"]
    assert main([*arguments, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["policy"] for row in rows] == ["bestfit", "random"]
    assert all(0 < row["utilised"] < row["allocated"] <= 100 for row in rows)
    assert main([*arguments, "--fill"]) == 0
    assert "bestfit" in capsys.readouterr().out


def test_the_command_draws_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="plots are an extra: pip install 'cupool[plot]'")
    jobs = str(TRACES / "jobs.csv")
    for number, more in enumerate((["--fill"], ["--refuse"])):
        file = tmp_path / f"{number}.svg"
        arguments = ["simulate", jobs, "--policy", "bestfit", "--policy", "spread", *more]
        assert main([*arguments, "--plot", str(file)]) == 0
        assert "<svg" in file.read_text()
    assert main([*arguments, "--plot", str(tmp_path / "x.nothing")]) == 2
    assert "x.nothing" in capsys.readouterr().err


def test_the_command_names_what_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "none.csv"]) == 2
    assert "none.csv: No such file" in capsys.readouterr().err
    assert main(["simulate", "none.csv", "--policy", "best"]) == 2
    assert "bestfit" in capsys.readouterr().err


# ---------------------------------------------------------------- the benchmark


def test_experiments_without_their_traces_are_skipped_with_a_reason(tmp_path: Path) -> None:
    report = run(tmp_path, list(EXPERIMENTS), full=False)
    assert set(report.skipped) == set(EXPERIMENTS) and not report.experiments
    assert "has no folder openb, fgd_expected" in report.skipped["table"]


def test_rows_are_written_as_a_table() -> None:
    text = as_text([{"policy": "bestfit", "allocated": 95.0}, {"policy": "fgd"}])
    assert text.splitlines() == [
        "| policy  | allocated |",
        "| ------- | --------- |",
        "| bestfit | 95.00     |",
        "| fgd     |           |",
    ]
