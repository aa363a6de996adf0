"""`--mock-race`: a script that misses an event between two streams shows it; a right one never."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.pools import WITHIN_S, Pool, no_pool

SCRIPT = """
import sys
import cupy as cp

ordered = sys.argv[1] == "ordered"
makes, reads = cp.cuda.Stream(non_blocking=True), cp.cuda.Stream(non_blocking=True)
x = cp.zeros(4)
cp.cuda.Device().synchronize()
seen = []
for step in range(20):
    with makes:
        x += 1
        done = makes.record()
    with reads:
        if ordered:
            reads.wait_event(done)
        seen.append(x * 2)
        read = reads.record()
    makes.wait_event(read)
reads.synchronize()
print([int(one[0]) for one in seen])
"""
RIGHT = str([2 * (step + 1) for step in range(20)]) + "\n"


def said(pool: Pool, folder: Path, kind: str, *flags: str) -> str:
    script = pool.run("--mock", "1", *flags, "script.py", kind, cwd=folder, pool=False)
    out, err = script.communicate(timeout=WITHIN_S)
    assert script.returncode == 0, err
    return out


def test_a_missing_event_shows_and_the_same_seed_shows_the_same(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    with no_pool() as pool:
        assert said(pool, tmp_path, "unordered") == RIGHT  # as most GPUs would, most of the time
        first = said(pool, tmp_path, "unordered", "--mock-race=1")
        assert first != RIGHT
        assert said(pool, tmp_path, "unordered", "--mock-race=1") == first
        assert said(pool, tmp_path, "unordered", "--mock-race=2") != first


def test_the_corrected_script_is_right_for_every_seed(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    with no_pool() as pool:
        for seed in range(1, 5):
            assert said(pool, tmp_path, "ordered", f"--mock-race={seed}") == RIGHT
