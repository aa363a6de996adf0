"""What came out of a run: rows with ratios and targets, as a table and as JSON."""

from __future__ import annotations

import os
import platform
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import Any, Literal

Verdict = Literal["", "ok", "best only", "missed"]


@dataclass(frozen=True)
class Target:
    """What a row should reach.

    Attributes:
        limit: of the value, or of the ratio to the row beside it.
        of: "value" or "ratio".
        most: whether the limit is the most allowed; else the least.
    """

    limit: float
    of: Literal["value", "ratio"] = "value"
    most: bool = True

    def met(self, found: float) -> bool:
        """Whether a value or ratio is within the limit."""
        return found <= self.limit if self.most else found >= self.limit

    def __str__(self) -> str:
        return f"{'≤' if self.most else '≥'} {self.limit:g}{'x' if self.of == 'ratio' else ''}"


@dataclass
class Row:
    """One line: a measure of one subject.

    Attributes:
        rounds: one value for each round, in `unit`.
        beside: the row of the same rounds that this one is compared with.
    """

    measure: str
    subject: str
    unit: str
    rounds: list[float] = field(default_factory=list)
    beside: Row | None = None
    target: Target | None = None
    note: str = ""

    @property
    def high_is_good(self) -> bool:
        """Whether more is better: rates, not times."""
        return self.unit.endswith("/s")

    @property
    def median(self) -> float:
        """Return the middle of the rounds."""
        return statistics.median(self.rounds)

    @property
    def best(self) -> float:
        """Return the best round: noise of the machine only ever makes it worse."""
        return max(self.rounds) if self.high_is_good else min(self.rounds)

    @property
    def ratio(self) -> float | None:
        """Return the middle of the ratios to the other row, round by round."""
        if self.beside is None:
            return None
        pairs = zip(self.rounds, self.beside.rounds, strict=True)
        return statistics.median([ours / theirs for ours, theirs in pairs])

    @property
    def best_ratio(self) -> float | None:
        """Return the ratio of the best rounds."""
        return None if self.beside is None else self.best / self.beside.best

    @property
    def verdict(self) -> Verdict:
        """Say whether the target was met in the middle, in the best round only, or not."""
        if self.target is None:
            return ""
        by_ratio = self.target.of == "ratio"
        middle = self.ratio if by_ratio else self.median
        best = self.best_ratio if by_ratio else self.best
        if middle is None or best is None:
            raise ValueError(f"{self.measure}: a target for a ratio, and nothing beside")
        if self.target.met(middle):
            return "ok"
        return "best only" if self.target.met(best) else "missed"

    def as_dict(self) -> dict[str, Any]:
        """Return what goes into the JSON."""
        return {
            "measure": self.measure,
            "subject": self.subject,
            "unit": self.unit,
            "median": self.median,
            "best": self.best,
            "rounds": self.rounds,
            "beside": None if self.beside is None else self.beside.subject,
            "ratio": self.ratio,
            "best_ratio": self.best_ratio,
            "target": None if self.target is None else asdict(self.target),
            "verdict": self.verdict,
            "note": self.note,
        }


def machine() -> dict[str, Any]:
    """Describe where the figures are from."""
    packages = ("cupool", "numpy", "pyzmq", "grpcio", "msgspec")
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": platform.platform(),
        "python": sys.version.split()[0],
        "packages": {name: version(name) for name in packages},
        "load_average": os.getloadavg(),
    }


def _cpu_model() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.partition(":")[2].strip() for line in file if "model name" in line]
    except OSError:
        names = []
    return names[0] if names else platform.machine()


def show(rows: Sequence[Row], where: dict[str, Any], rounds: int) -> None:
    """Print the table."""
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if sys.stdout.isatty() else 140)
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("Measure", "Subject"):
        table.add_column(column, no_wrap=True)
    for column in ("Median", "Best", "", "Ratio", "At best"):
        table.add_column(column, justify="left" if not column else "right", no_wrap=True)
    for column in ("To", "Target", ""):
        table.add_column(column, no_wrap=True)
    previous = ""
    for row in rows:
        if row.measure != previous:
            table.add_section()
        beside = "" if row.beside is None else row.beside.subject
        table.add_row(
            "" if row.measure == previous else row.measure,
            row.subject,
            _number(row.median),
            _number(row.best),
            row.unit,
            _times(row.ratio),
            _times(row.best_ratio),
            beside,
            "" if row.target is None else str(row.target),
            _verdict(row),
        )
        previous = row.measure
    console.print(table)
    load = ", ".join(f"{value:.1f}" for value in where["load_average"])
    console.print(
        f"\n{where['cpu']}, {where['cores']} cores, load {load} at the end; Python "
        f"{where['python']}; median and best of {rounds} interleaved rounds, ratios within a round"
    )
    for note in dict.fromkeys(row.note for row in rows if row.note):
        console.print(f"* {note}", highlight=False)


def _verdict(row: Row) -> str:
    colours = {"ok": "green", "best only": "yellow", "missed": "red"}
    return f"[{colours[row.verdict]}]{row.verdict}[/]" if row.verdict else ""


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _times(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.2f}x"
