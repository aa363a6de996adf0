"""Runs a suite: one pytest process for each piece, several at a time."""

from __future__ import annotations

import json
import math
import os
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

from conformance_parts import expected
from conformance_parts.places import EXPECTED, ROOT, Place

NOT_RUN = "not run"
_FIRST = ("fft", "math", "core", "random", "linalg", "ndimage", "sparse", "signal")
"""Pieces that take longest start first."""


@dataclass
class Options:
    """How to run.

    Attributes:
        full: all tests, not a sample.
        processes: how many pieces at a time.
        environment: settings for cupool.
        test_timeout_s, unit_timeout_s: bounds for one test and for one piece.
        within_s: after which no test starts; those left out are "not run".
    """

    full: bool
    processes: int
    environment: dict[str, str]
    seed: int = 0
    test_timeout_s: int = 300
    unit_timeout_s: int = 3600
    within_s: float = math.inf


@dataclass
class Results:
    """What came out, over all pieces.

    Attributes:
        outcomes, why: of each test: passed, failed, error, crashed, skipped, xfailed, not run
            (a piece of which nothing was run stands for its tests).
        asked: operations whose results' metadata had to be asked for.
        relaid: operations whose results had to be copied into the promised layout.
        mismatches: results of another shape or dtype than the shim promised, by message.
        seconds: by piece.
        broken: pieces whose process did not finish, and why.
    """

    outcomes: dict[str, str] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    relaid: Counter[str] = field(default_factory=Counter)
    mismatches: Counter[str] = field(default_factory=Counter)
    waits: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)

    def take(self, row: dict[str, Any]) -> None:
        """Add one line of a piece's record."""
        if "counts" in row:
            self.asked.update(row["counts"]["asked"])
            self.relaid.update(row["counts"]["relaid"])
            self.mismatches.update(row["counts"]["mismatches"])
            self.waits += row["counts"]["waits"]
            return
        self.outcomes[row["test"]] = row["outcome"]
        self.why[row["test"]] = row["why"]

    def merge(self, other: Results) -> None:
        """Add what came out of other pieces."""
        for mine, theirs in zip(vars(self).values(), vars(other).values(), strict=True):
            if isinstance(mine, dict):
                mine.update(theirs)  # a Counter adds up
        self.waits += other.waits

    def left_out(self) -> set[str]:
        """Return the pieces in which time ended before all their tests were run."""
        missing = [test for test, outcome in self.outcomes.items() if outcome == NOT_RUN]
        return {unit for unit in self.seconds for test in missing if belongs(test, unit)}

    def as_json(self) -> dict[str, Any]:
        return dict(vars(self))

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Results:
        made = cls(**stored)
        made.asked, made.relaid = Counter(made.asked), Counter(made.relaid)
        made.mismatches = Counter(made.mismatches)
        return made


def run(
    suite: str,
    place: Place,
    units: Sequence[str],
    options: Options,
    say: Callable[[str], None],
) -> Results:
    """Run pieces of a suite and collect what came out."""
    results = Results()
    skips = {line.pattern: line.reason for line in expected.read(_skips(suite))}
    for unit in [unit for unit in units if unit in skips]:
        # pytest collects a file that it is given by name, whatever a plugin wants to ignore.
        results.take({"test": unit, "outcome": "skipped", "why": f"cupool: {skips[unit]}"})
    units = [unit for unit in units if unit not in skips]
    until = monotonic() + options.within_s
    ordered = sorted(units, key=lambda unit: not any(name in unit for name in _FIRST))
    with tempfile.TemporaryDirectory() as scratch:

        def one(numbered: tuple[int, str]) -> None:
            number, unit = numbered
            record = Path(scratch) / f"{number}.jsonl"
            began = monotonic()
            if began >= until:
                results.seconds[unit] = 0.0
                results.take({"test": unit, "outcome": NOT_RUN, "why": "no time was left"})
                return
            problem = _run_unit(suite, place, unit, options, record, until)
            results.seconds[unit] = round(monotonic() - began, 1)
            if problem:
                results.broken[unit] = problem
            if record.is_file():
                for line in record.read_text().splitlines():
                    results.take(json.loads(line))
            say(f"{unit}: {results.seconds[unit]:.0f} s" + (f", {problem}" if problem else ""))

        with ThreadPoolExecutor(options.processes) as pool:
            list(pool.map(one, enumerate(ordered)))
    return results


def _run_unit(
    suite: str, place: Place, unit: str, options: Options, record: Path, until: float
) -> str:
    """Run one piece; return what went wrong with its process, or nothing."""
    scripts = Path(__file__).resolve().parents[1]
    environment = {
        "OPENBLAS_NUM_THREADS": "1",  # its threads would spin beside those of the other pieces
        **os.environ,
        **options.environment,
        **place.environment,
        "PYTHONPATH": f"{scripts}{os.pathsep}{ROOT / 'src'}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "CUPOOL_CONFORMANCE_RESULTS": str(record),
        "CUPOOL_CONFORMANCE_UNTIL": str(until),
        "CUPOOL_CONFORMANCE_SKIPS": str(_skips(suite)),
    }
    environment.pop("CUPY_TEST_RANDOM_SUBSAMPLE", None)
    if not options.full:
        environment["CUPY_TEST_RANDOM_SUBSAMPLE"] = "1"
        environment["_CUPY_TEST_SUBSAMPLE_SEED"] = str(options.seed)
    command = [place.python, "-m", "cupool", "run", "-m", "pytest"]
    command += ["-p", "conformance_parts.plugin"]
    command += ["-p", "no:randomly", "-p", "no:cacheprovider", "-p", "no:xdist"]
    command += ["--import-mode=append", "-q", "--tb=short", *place.options]
    command += [f"--timeout={options.test_timeout_s}", unit]
    log = record.with_suffix(".log")
    with log.open("w") as output:
        try:
            code = subprocess.run(
                command,
                cwd=place.folder,
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=options.unit_timeout_s,
            ).returncode
        except subprocess.TimeoutExpired:
            return f"not finished after {options.unit_timeout_s} s"
    if code in (0, 1, 2, 5):  # passed, failed, files that cannot be read, nothing to run
        return "" if record.is_file() else f"no record: {_last_lines(log)}"
    return f"ended with {code}: {_last_lines(log)}"


def belongs(test: str, unit: str) -> bool:
    """Return whether a test is of a piece, which is a file or a folder."""
    return test == unit or test.startswith((f"{unit}/", f"{unit}::"))


def _skips(suite: str) -> Path:
    return EXPECTED / f"{suite}.skips.txt"


def _last_lines(log: Path) -> str:
    return " | ".join(log.read_text(errors="replace").splitlines()[-4:])[-600:]
