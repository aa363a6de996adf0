"""Starting scripts under `cupool run` for the end-to-end tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TIMEOUT_S = 60


def environment() -> dict[str, str]:
    """Return this process's environment without settings of cupool."""
    return {k: v for k, v in os.environ.items() if not k.startswith("CUPOOL_")}


def cupool_run(
    arguments: list[str], cwd: Path, *, stdin: str = "", timeout_s: float = TIMEOUT_S
) -> subprocess.CompletedProcess[str]:
    """Run `cupool run ...` as a user would and return what came out."""
    return subprocess.run(
        [sys.executable, "-m", "cupool", "run", *arguments],
        cwd=cwd,
        env=environment(),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=timeout_s,
    )


def start(arguments: list[str], cwd: Path) -> subprocess.Popen[str]:
    """Start `cupool run ...` with pipes; the caller ends it."""
    return subprocess.Popen(
        [sys.executable, "-m", "cupool", "run", *arguments],
        cwd=cwd,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
