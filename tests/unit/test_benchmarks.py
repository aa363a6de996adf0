"""The benchmark's report, and one smoke run: structure only, never times."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks import broker_load
from benchmarks.overhead import BARE_NAMES, CARRIERS, MOVES
from benchmarks.report import Row, Target, show

ROOT = Path(__file__).resolve().parents[2]


def test_a_ratio_is_taken_round_by_round() -> None:
    # The machine was three times slower in the second round, for both.
    theirs = Row("trip", "theirs", "us", [10, 30, 10])
    ours = Row("trip", "ours", "us", [20, 60, 30], theirs)
    assert ours.ratio == 2
    assert ours.best_ratio == 2
    assert ours.median == 30


def test_a_rate_is_better_when_it_is_higher() -> None:
    assert Row("bulk", "ours", "GB/s", [1, 3, 2]).best == 3
    assert Row("trip", "ours", "us", [1, 3, 2]).best == 1


@pytest.mark.parametrize(
    ("rounds", "verdict"), [([5, 6, 7], "ok"), ([6, 7, 8], "best only"), ([7, 8, 9], "missed")]
)
def test_verdicts_of_a_value(rounds: list[float], verdict: str) -> None:
    assert Row("add", "ours", "us", rounds, target=Target(6)).verdict == verdict


def test_verdict_of_a_ratio_that_must_be_reached() -> None:
    theirs = Row("bulk", "theirs", "GB/s", [4.0, 4.0])
    target = Target(0.7, "ratio", most=False)
    assert Row("bulk", "ours", "GB/s", [3.0, 3.0], theirs, target).verdict == "ok"
    assert Row("bulk", "ours", "GB/s", [2.0, 2.0], theirs, target).verdict == "missed"
    assert str(target) == "≥ 0.7x"


def test_a_target_for_a_ratio_needs_something_beside() -> None:
    with pytest.raises(ValueError, match="nothing beside"):
        _ = Row("add", "ours", "us", [1], target=Target(2, "ratio")).verdict


def test_the_table_shows_every_row(capsys: pytest.CaptureFixture[str]) -> None:
    theirs = Row("trip", "theirs", "us", [10])
    rows = [theirs, Row("trip", "ours", "us", [40], theirs, Target(2.5, "ratio"), note="a note")]
    show(rows, {"cpu": "a CPU", "cores": 2, "load_average": (0, 0, 0), "python": "3"}, 1)
    text = capsys.readouterr().out
    for word in ("theirs", "ours", "4.00x", "≤ 2.5x", "missed", "* a note", "a CPU"):
        assert word in text


def test_a_quick_run_measures_everything(tmp_path: Path) -> None:
    path = tmp_path / "overhead.json"
    command = [sys.executable, "benchmarks/overhead.py", "--quick", "--json", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    result = json.loads(path.read_text(encoding="utf-8"))
    assert result["quick"] is True
    assert {"cpu", "cores", "python", "packages", "load_average"} <= result["machine"].keys()
    rows = {(row["measure"], row["subject"]): row for row in result["rows"]}
    ours = [f"cupool, {name}" for name in CARRIERS]
    for measure in ("awaited (a + b).get()", *MOVES.values()):
        assert {s for m, s in rows if m == measure} >= {*ours, *BARE_NAMES.values(), "NumPy, local"}
    assert all(row["median"] > 0 and row["rounds"] for row in rows.values())
    assert all(row["verdict"] for row in rows.values() if row["target"])
    waits = [row["median"] for (measure, _), row in rows.items() if measure.startswith("waits")]
    assert waits == [1] * len(CARRIERS)
    assert rows["round trips to that result", "embedded pool"]["median"] <= 3


def test_a_smoke_run_of_the_brokers_load() -> None:
    found = asyncio.run(broker_load.run(servers=4, sessions=20, seconds=0.05, burst=5))
    assert len(found) == 7 and all(value >= 0 for value in found.values())


def test_a_smoke_run_of_what_encryption_costs() -> None:
    command = [sys.executable, "benchmarks/encryption.py", "--rounds", "1", "--megabytes", "2"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("zmq+curve") == 3
