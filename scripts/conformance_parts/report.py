"""What a run looks like on a terminal."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from conformance_parts import measured
from conformance_parts.expected import FAILURES, Verdict
from conformance_parts.running import Results, belongs
from cupool.proto.operations import TABLE

_COLUMNS = ("passed", "failed", "expected", "skipped", "xfailed", "not run")


def table(units: Sequence[str], results: Results, verdict: Verdict) -> str:
    """Return counts by piece; the share is passed of (passed + failed + expected failures)."""
    rows = {unit: Counter[str]() for unit in sorted(units)}
    for test, outcome in results.outcomes.items():
        unit = next((u for u in rows if belongs(test, u)), None)
        if unit is None:
            unit = "other"
            rows.setdefault(unit, Counter())
        if outcome in FAILURES:
            outcome = "expected" if test in verdict.expected else "failed"
        rows[unit][outcome] += 1
    total: Counter[str] = Counter()
    for row in rows.values():
        total.update(row)
    width = max([len(unit) for unit in rows] + [5])
    lines = [f"{'':{width}}" + "".join(f"{c:>10}" for c in _COLUMNS) + "     share       s"]
    for unit, row in [*rows.items(), ("total", total)]:
        numbers = "".join(f"{row[c]:>10}" for c in _COLUMNS)
        judged = row["passed"] + row["failed"] + row["expected"]
        share = f"{100 * row['passed'] / judged:8.2f} %" if judged else " " * 10
        seconds = sum(results.seconds.values()) if unit == "total" else results.seconds.get(unit, 0)
        lines.append(f"{unit:{width}}{numbers}{share}{seconds:8.0f}")
    if own := measured.count(results, verdict)["own"]:
        judged = total["passed"] + total["failed"] + total["expected"] - own
        told = measured.share(total["passed"], judged)
        lines.append(f"without {own} faults of the suite itself: {told}")
    lines.append(f"prediction mismatches: {results.mismatches.total()}")
    return "\n".join(lines)


def reasons(results: Results, verdict: Verdict, most: int = 12) -> str:
    """Return why tests failed, were expected to, or were skipped, by count."""
    failed = Counter(_kind(results.why.get(test, "")) for test in verdict.unexpected)
    expected = Counter(verdict.expected.values())
    skipped = Counter(
        _kind(results.why[t]) for t, outcome in results.outcomes.items() if outcome == "skipped"
    )
    parts = []
    titled = (("failed", failed), ("expected to fail", expected), ("skipped", skipped))
    for title, counter in titled:
        if counter:
            parts.append(f"\n{title}:")
            parts += [f"  {count:5d}  {why}" for why, count in counter.most_common(most)]
    return "\n".join(parts)


def failures(results: Results, verdict: Verdict) -> str:
    """Return every unexpected failure with its message."""
    return "\n".join(f"{t}\n    {results.why.get(t, '')}" for t in sorted(verdict.unexpected))


def counts(title: str, counter: Counter[str]) -> str:
    """Return operations by how often something happened to them."""
    whole = sum(counter.values())
    head = f"\n{title}: {whole} times, {len(counter)} operations"
    return "\n".join([head, *(f"  {n:6d}  {name}" for name, n in counter.most_common())])


def waits(results: Results) -> str:
    """Return the operations whose metadata was asked for: where data decide, and the others."""
    titles = {True: "values on the device decide", False: "a rule is missing"}
    counters: dict[bool, Counter[str]] = {group: Counter() for group in titles}
    for name, count in results.asked.items():
        row = TABLE.get(name)
        counters[row is not None and row.rule == "data"][name] = count
    head = f"\nmetadata asked for: {sum(results.asked.values())} times (of {results.waits} waits)"
    parts = [counts(f"  {titles[group]}", counter) for group, counter in counters.items()]
    return "\n".join([head, *(part.lstrip("\n") for part in parts)])


def judgement(results: Results, verdict: Verdict, most: int = 40) -> str:
    """Return what is not as expected."""
    lines = [f"not finished: {unit}: {why}" for unit, why in sorted(results.broken.items())]
    lines += [f"prediction mismatch: {n} times: {text}" for text, n in results.mismatches.items()]
    lines += [f"fails, and should not: {test}" for test in sorted(verdict.unexpected)]
    lines += [f"expected to fail: {x.pattern}: {why}" for x, why in verdict.stale.items()]
    if not lines:
        passed = sum(outcome == "passed" for outcome in results.outcomes.values())
        missing = len(results.left_out())
        cut = f", but time ended in {missing} of {len(results.seconds)} pieces"
        return f"\n{passed} passed, the rest as expected" + (cut if missing else "")
    rest = len(lines) - most
    return "\n".join(["", *lines[:most], *([f"and {rest} more"] if rest > 0 else [])])


def _kind(message: str) -> str:
    """Bring messages that differ in numbers and addresses together."""
    return re.sub(r"0x[0-9a-f]+|\d+", "N", message)[:150]
