"""Times of whole processes: `import cupy`, and the embedded pool from nothing to a result."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

from benchmarks.children import ROOT, environment, tail

CUPOOL_RUN = [sys.executable, "-m", "cupool", "run"]

# CLOCK_MONOTONIC is the machine's, so a child's times can be set against ours.
_COLD = """
import json, time
script = time.monotonic()
import cupy as cp
imported = time.monotonic()
a = cp.arange(1000)
granted = time.monotonic()
assert float((a + a).sum()) == 999000
print(json.dumps([script, imported, granted, time.monotonic()]))
"""
_IMPORT = """
import time
start = time.perf_counter()
import {module}
print(time.perf_counter() - start)
"""


def _run(command: list[str], log: Any) -> str:
    done = subprocess.run(
        command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, stderr=log, text=True,
        timeout=60,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{tail(log)}")
    return done.stdout


def import_cupy(log: Any) -> float:
    """Return seconds of `import cupy` in a fresh script; no device is used."""
    return float(_run([*CUPOOL_RUN, "-c", _IMPORT.format(module="cupy")], log))


def import_numpy(log: Any) -> float:
    """Return seconds of `import numpy` in a fresh Python; a part of the former."""
    return float(_run([sys.executable, "-c", _IMPORT.format(module="numpy")], log))


def plain_python(log: Any) -> float:
    """Return seconds of a Python that does nothing."""
    start = time.monotonic()
    _run([sys.executable, "-c", ""], log)
    return time.monotonic() - start


def cold(log: Any) -> dict[str, float]:
    """Return seconds from `cupool run` to the first result, and its parts."""
    start = time.monotonic()
    script, imported, granted, result = json.loads(_run([*CUPOOL_RUN, "-c", _COLD], log))
    end = time.monotonic()
    return {
        "to_result": result - start,
        "launch": script - start,
        "import": imported - script,
        "session": granted - imported,
        "first": result - granted,
        "whole": end - start,
    }


def round_trips(log: Any) -> list[str]:
    """Return the names of the answers that a script waits for until its first result."""
    trips: list[str] = json.loads(_run([*CUPOOL_RUN, "-m", "benchmarks.round_trips"], log))
    return trips
