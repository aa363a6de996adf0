"""docs/coverage.md is current. After a change: `python scripts/conformance.py --coverage`."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts"))

from conformance_parts import coverage  # noqa: E402


def test_the_totals_are_current() -> None:
    counted = coverage.totals(coverage.rows())
    current = {m: tuple(c[state] for state in coverage.STATES) for m, c in counted.items()}
    assert coverage.written_totals() == current, "run scripts/conformance.py --coverage"
