"""Where suites lie and run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import platformdirs

ROOT = Path(__file__).resolve().parents[2]
EXPECTED = ROOT / "tests" / "conformance_expected"
_PIP_TIMEOUT_S = 1200


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


def pip(python: str | Path, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
    """Run pip within bounds.

    Raises:
        SystemExit: it failed or took longer than 20 minutes; says what to do.
    """
    command = [str(python), "-m", "pip", *arguments, "--quiet", "--timeout", "30"]
    try:
        code = subprocess.run(command, env=dict(environment), timeout=_PIP_TIMEOUT_S).returncode
        problem = f"ended with {code}" if code else ""
    except subprocess.TimeoutExpired:
        problem = f"was not done after {_PIP_TIMEOUT_S} s"
    if problem:
        wanted = " ".join(arguments)
        sys.exit(
            f"pip {problem}: pip {wanted}\nThe suites come from the package index: check the "
            f"network and PIP_INDEX_URL, then try again. What was fetched is in {cache()}."
        )
