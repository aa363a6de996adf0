"""What whole runs of the suites measured: one committed row each, which docs/coverage.md shows."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from conformance_parts.expected import FAILURES, OWN_FAULT, Verdict
from conformance_parts.places import EXPECTED
from conformance_parts.running import Results

FILE = EXPECTED / "measured.json"
_COUNTS = ("passed", "failed", "expected", "skipped", "xfailed")


def count(results: Results, verdict: Verdict) -> Counter[str]:
    """Return how many tests passed, failed, failed as expected, were skipped, failed for upstream.

    `own` are those of the expected failures that are faults of the suite itself.
    """
    counts = Counter(results.outcomes.values())
    failed = sum(counts.pop(outcome, 0) for outcome in FAILURES)
    counts["expected"] = len(verdict.expected)
    counts["failed"] = failed - len(verdict.expected)
    counts["own"] = sum(why.startswith(OWN_FAULT) for why in verdict.expected.values())
    return counts


def share(passed: int, judged: int) -> str:
    """Return passed tests in per cent of those that are judged."""
    return f"{100 * passed / judged:.2f} %" if judged else ""


def store(name: str, results: Results, verdict: Verdict) -> None:
    """Write the row of a suite that was run whole."""
    counts = count(results, verdict)
    row: dict[str, Any] = {key: counts[key] for key in (*_COUNTS, "own")}
    row["mismatches"] = results.mismatches.total()
    row["relaid"] = results.relaid.total()
    row["asked"] = dict(results.asked.most_common(10))
    row["process_seconds"] = round(sum(results.seconds.values()))
    rows = _read()
    rows[name] = row
    FILE.write_text(json.dumps(dict(sorted(rows.items())), indent=1) + "\n", encoding="utf-8")


def page() -> list[str]:
    """Return the lines of the table, in Markdown."""
    lines = [
        "| Suite | passed | failed | expected to fail | skipped | share | mismatches |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, row in _read().items():
        judged = row["passed"] + row["failed"] + row["expected"]
        told = share(row["passed"], judged)
        if row["own"]:
            told += f" ({share(row['passed'], judged - row['own'])} without the suite's own faults)"
        cells = [name, row["passed"], row["failed"], row["expected"], row["skipped"], told]
        lines.append("| " + " | ".join(map(str, [*cells, row["mismatches"]])) + " |")
    return lines


def _read() -> dict[str, Any]:
    rows: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8")) if FILE.is_file() else {}
    return rows
