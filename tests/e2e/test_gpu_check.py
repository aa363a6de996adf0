"""`make gpu-check` without a GPU: it says so; and on a mock pool's GPU in place of a real one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.e2e.pools import WITHIN_S, no_pool
from tests.e2e.running import environment

CHECK = str(Path(__file__).resolve().parents[2] / "scripts" / "gpu_check.py")


def test_it_says_that_there_is_no_gpu(tmp_path: Path) -> None:
    # Where the machine has CuPy and a GPU, an empty CUDA_VISIBLE_DEVICES hides it.
    done = subprocess.run(
        [sys.executable, CHECK],
        cwd=tmp_path,
        env=environment() | {"CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
    )
    assert done.returncode == 3
    assert "there is no GPU to check on" in done.stderr
    assert not list(tmp_path.iterdir())


def test_steps_on_a_mock_gpu(tmp_path: Path) -> None:
    """Its `import cupy` is our shim, so the pool's device "cuda" runs on a second, mock pool."""
    steps = ("--only", "sticky", "--only", "benchmark", "--scale", "0.001")
    with no_pool() as pool:
        command = (sys.executable, CHECK, *steps, "--json", "found.json")
        script = pool.run("--mock", "1", "--", *command, cwd=tmp_path, pool=False)
        out, err = script.communicate(timeout=2 * WITHIN_S)
    assert script.returncode == 0, out + err
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["gpu"].startswith("cupool mock GPU, CuPy ")
    assert [(one["step"], one["outcome"]) for one in found["steps"]] == [
        ("sticky", "passed"),
        ("benchmark", "passed"),
    ]
    assert "cudaErrorIllegalAddress stayed" in out
    rows = found["benchmark"].values()
    assert len(rows) == 10
    assert all(row["cupy_s"] > 0 and row["cupool_s"] > 0 for row in rows)
