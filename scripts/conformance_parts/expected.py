"""Files of expected failures and of skips: lines `test  # reason`, where * stands for any text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

_SEPARATOR = "  # "
FAILURES = ("failed", "error", "crashed")
OWN_FAULT = "the suite's own fault: "
"""How a reason begins if the test fails with CuPy itself, or with any other CuPy."""


@dataclass(frozen=True)
class Line:
    """One line: which tests, and why."""

    pattern: str
    reason: str

    def matches(self, test: str) -> bool:
        parts = map(re.escape, self.pattern.split("*"))
        return re.fullmatch(".*".join(parts), test, re.DOTALL) is not None


def read(path: Path) -> list[Line]:
    """Read a file; it need not exist.

    Raises:
        ValueError: a line without a reason.
    """
    lines: list[Line] = []
    if not path.is_file():
        return lines
    for number, text in enumerate(path.read_text().splitlines(), 1):
        if not text.strip() or text.startswith("#"):
            continue
        pattern, separator, reason = text.rpartition(_SEPARATOR)
        if not separator or not reason.strip():
            raise ValueError(f"{path}:{number}: no reason")
        lines.append(Line(pattern.strip(), reason.strip()))
    return lines


def write(path: Path, title: str, lines: Iterable[Line]) -> None:
    """Write a file, grouped by reason."""
    groups: dict[str, list[str]] = {}
    for line in lines:
        groups.setdefault(line.reason, []).append(line.pattern)
    text = [f"# {title}"]
    for reason in sorted(groups):
        text.append("")
        text += [f"{pattern}{_SEPARATOR}{reason}" for pattern in sorted(groups[reason])]
    path.write_text("\n".join(text) + "\n")


@dataclass
class Verdict:
    """What a run says about the expected failures.

    Attributes:
        expected: failed tests and why.
        unexpected: failed tests that no line expects.
        stale: lines with what is wrong: a test of theirs passes, or none is left.
    """

    expected: dict[str, str] = field(default_factory=dict)
    unexpected: list[str] = field(default_factory=list)
    stale: dict[Line, str] = field(default_factory=dict)


def compare(outcomes: Mapping[str, str], lines: Iterable[Line], units: Iterable[str]) -> Verdict:
    """Compare outcomes with the lines.

    Args:
        outcomes: of every test that was run.
        lines: the expected failures.
        units: what was run as a whole; lines for other places are not judged.
    """
    verdict = Verdict()
    failed = [test for test, outcome in outcomes.items() if outcome in FAILURES]
    passed = [test for test, outcome in outcomes.items() if outcome == "passed"]
    lines, units = list(lines), tuple(units)
    reasons = {line.pattern: line.reason for line in lines}
    globs = [line for line in lines if "*" in line.pattern]
    for test in failed:
        reason = reasons.get(test) or next((g.reason for g in globs if g.matches(test)), None)
        if reason is None:
            verdict.unexpected.append(test)
        else:
            verdict.expected[test] = reason
    for line in lines:
        if not line.pattern.startswith(units):
            continue
        one = outcomes.get(line.pattern)
        if "*" not in line.pattern:
            if one not in FAILURES:
                verdict.stale[line] = f"{one}" if one else "there is no such test"
        elif passes := next((test for test in passed if line.matches(test)), None):
            verdict.stale[line] = f"{passes} passes"
        elif not any(line.matches(test) for test in failed):
            verdict.stale[line] = "no test that fails is left"
    return verdict


def updated(lines: Iterable[Line], verdict: Verdict, new: Iterable[str], reason: str) -> list[Line]:
    """Return the lines without stale ones, and with new failures for a reason."""
    kept = [line for line in lines if line not in verdict.stale]
    return kept + [Line(test, reason) for test in new]
