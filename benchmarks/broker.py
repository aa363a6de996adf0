"""What the broker's placement is worth: published figures reproduced, and our own claims measured.

    python benchmarks/broker.py --traces FOLDER [--full] [--only table,pooling,...]

FOLDER holds `openb/` (Alibaba cluster-trace-gpu-v2023, CSV), `fgd_expected/` (the result tables
of the FGD paper's authors, hkust-adsl/kubernetes-scheduler-simulator) and `philly_derived/`
(philly_sia.csv, from siasosp23/artifacts). An experiment whose data is missing is skipped.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import broker_filling, broker_running
from benchmarks.report import machine


@dataclass(frozen=True)
class Experiment:
    """What to run, how often (by default, with --full), and the folders that it needs."""

    run: Callable[[Path, int], list[dict[str, Any]]]
    repeats: tuple[int, int]
    needs: tuple[str, ...]


EXPERIMENTS = {
    "table": Experiment(broker_filling.table, (2, 10), ("openb", "fgd_expected")),
    "pooling": Experiment(broker_filling.pooling, (3, 10), ("openb",)),
    "ties": Experiment(broker_filling.ties, (3, 10), ("openb",)),
    "speed": Experiment(broker_filling.speed, (1, 3), ("openb",)),
    "departures": Experiment(broker_running.departures, (8, 16), ("openb",)),
    "partitions": Experiment(broker_running.partitions, (2, 3), ("philly_derived",)),
}


@dataclass
class Report:
    """Everything that was measured, with what is needed to measure it again."""

    command: str
    machine: dict[str, Any]
    experiments: dict[str, Any] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)


def run(traces: Path, names: list[str], *, full: bool) -> Report:
    """Run experiments one after the other, printing each table when it is there."""
    report = Report(" ".join(["python", *sys.argv]), machine())
    for name in names:
        experiment = EXPERIMENTS[name]
        absent = [each for each in experiment.needs if not (traces / each).is_dir()]
        if absent:
            report.skipped[name] = f"{traces} has no folder {', '.join(absent)}"
            print(f"{name}: skipped, {report.skipped[name]}", flush=True)
            continue
        repeats = experiment.repeats[full]
        begin = time.monotonic()
        rows = experiment.run(traces, repeats)
        report.experiments[name] = rows
        took = time.monotonic() - begin
        print(f"\n{name} ({repeats} repeat{'s' * (repeats > 1)}, {took:.0f} s)\n")
        print(as_text(rows), flush=True)
    return report


def as_text(rows: list[dict[str, Any]]) -> str:
    """Write rows as a table in Markdown."""
    columns = list(rows[0])
    cells = [[_cell(row.get(column, "")) for column in columns] for row in rows]
    widths = [max(map(len, each)) for each in zip(columns, *cells, strict=True)]
    lines = [
        " | ".join(text.ljust(width) for text, width in zip(line, widths, strict=True))
        for line in (columns, ["-" * width for width in widths], *cells)
    ]
    return "\n".join(f"| {line} |" for line in lines)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.2f}"
    return str(value)


def main() -> int:
    """Parse the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--traces", type=Path, default=Path("../shared/traces"))
    parser.add_argument("--full", action="store_true", help="as many repeats as the paper")
    parser.add_argument("--only", default=",".join(EXPERIMENTS), help="comma-separated names")
    parser.add_argument("--json", type=Path, help="write all figures there, too")
    options = parser.parse_args()
    names = options.only.split(",")
    unknown = [name for name in names if name not in EXPERIMENTS]
    if unknown:
        parser.error(f"no experiment is named {unknown[0]}; there are {', '.join(EXPERIMENTS)}")
    report = run(options.traces, names, full=options.full)
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(report.__dict__, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
