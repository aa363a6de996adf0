"""Where suites lie and run."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

import platformdirs

ROOT = Path(__file__).resolve().parents[2]
EXPECTED = ROOT / "tests" / "conformance_expected"


@dataclass(frozen=True)
class Place:
    """How one suite's pytest is started.

    Attributes:
        folder: the working directory; pieces and test names are below it.
        python: the interpreter.
        environment: variables of the suite.
        options: more arguments for pytest.
    """

    folder: Path
    python: str = sys.executable
    environment: dict[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()


def cache() -> Path:
    """Return the folder for what is downloaded, in the user's cache."""
    found = Path(platformdirs.user_cache_dir("cupool")) / "conformance"
    found.mkdir(parents=True, exist_ok=True)
    return found
