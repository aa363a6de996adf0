"""Do two sessions of one GPU get device time as their shares say, and does alone cost nothing?

    python benchmarks/shares.py            ten seconds each: 0.3 against 0.7, a cap, idle peers
    python benchmarks/shares.py --seconds 3

A pool of this run's own with one mock GPU. Device time is what the workers measure;
clients compute without a pause.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.children import pool
from benchmarks.starts import CUPOOL_RUN
from cupool.pool_server.session.share_table import (
    DEVICE,
    DEVICE_TIME,
    ROWS,
    SHARE,
    ShareTable,
    row_word,
)
from cupool.pool_server.session.turns import Turns

BUSY = """
import sys
import cupy as cp
a = cp.random.random((400, 400))
cp.cuda.Device().synchronize()
print("ready", flush=True)
while True:
    for _ in range(8):
        b = a @ a
    cp.cuda.Device().synchronize()
"""
_IDLE = "import cupy as cp\ncp.zeros(3).get()\nprint('ready', flush=True)\ninput()\n"


@contextlib.contextmanager
def client(url: str, name: str, code: str, *options: str) -> Iterator[subprocess.Popen[str]]:
    """Run code under `cupool run` as long as the block lasts; it says "ready" first."""
    command = [*CUPOOL_RUN, "--pool", url, "--tenant", name, "--memory", "1GiB", *options]
    process = subprocess.Popen(
        [*command, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        if process.stdout.readline() != "ready\n":
            raise RuntimeError(f"client {name} did not begin")
        yield process
    finally:
        process.kill()
        process.communicate()


class Meter:
    """Reads what the workers of this run's server have computed, from their table of shares."""

    def __init__(self) -> None:
        for path in Path("/proc").glob("[0-9]*/fd/*"):
            with contextlib.suppress(OSError):
                mine = (
                    f"benchmarks-shares-{os.getpid()}".encode()
                    in (path.parent.parent / "cmdline").read_bytes()
                )
                if mine and "memfd:cupool-shares" in str(path.readlink()):
                    self.table = ShareTable(os.open(path, os.O_RDWR))
                    return
        raise RuntimeError("the server of this run is not there")

    def read(self) -> dict[int, float]:
        """Return the seconds computed so far, by the session's promised share."""
        words = self.table.words
        return {
            words[row_word(row, SHARE)]: words[row_word(row, DEVICE_TIME)] / 1e9
            for row in range(ROWS)
            if words[row_word(row, DEVICE)]
        }

    def over(self, seconds: float) -> dict[int, float]:
        """Return what each session computes within so many seconds."""
        time.sleep(0.5)
        before = self.read()
        time.sleep(seconds)
        after = self.read()
        return {share: after[share] - before[share] for share in before}


def two_shares(url: str, seconds: float) -> float:
    """Return the part of the device time that a share of 0.3 gets beside one of 0.7."""
    with client(url, "small", BUSY, "--share", "0.3"), client(url, "large", BUSY, "--share", "0.7"):
        used = Meter().over(seconds)
    return used[300] / (used[300] + used[700])


def measure(url: str, seconds: float) -> dict[str, float]:
    """Run every experiment; returns parts of device time, and of wall time where it says so."""
    found = {"0.3 of 0.3 + 0.7": two_shares(url, seconds)}
    with client(url, "capped", BUSY, "--share", "0.2", "--cap", "0.25"):
        found["alone with a cap of 0.25, of the time"] = Meter().over(seconds)[200] / seconds
    with client(url, "alone", BUSY, "--share", "0.3"):
        found["alone with a share of 0.3, of the time"] = Meter().over(seconds)[300] / seconds
    with client(url, "idle", _IDLE, "--share", "0.7"), client(url, "busy", BUSY, "--share", "0.3"):
        found["0.3 beside an idle 0.7, of the time"] = Meter().over(seconds)[300] / seconds
    return found


def alone_cost_ns(batches: int = 200_000) -> float:
    """Return what looking at the table costs a session that is alone, for each batch."""
    table = ShareTable()
    turns = Turns(table, table.open(0, "lease", 500), 0)
    records = [0] * 128

    def execute(records: Sequence[int], start: int, payloads: object) -> int:
        return len(records)

    def stopped() -> bool:
        return False

    best = [0.0, 0.0]
    for kind, call in enumerate(
        (
            lambda: execute(records, 0, ()),
            lambda: turns.run(execute, records, 0, (), stopped),
        )
    ):
        rounds = []
        for _ in range(5):
            began = time.perf_counter_ns()
            for _ in range(batches // 5):
                call()
            rounds.append((time.perf_counter_ns() - began) / (batches // 5))
        best[kind] = min(rounds)
    table.close()
    return best[1] - best[0]


@contextlib.contextmanager
def a_pool() -> Iterator[str]:
    """Run a pool with one mock GPU whose server can be found among all processes."""
    name = f"benchmarks-shares-{os.getpid()}"
    with tempfile.TemporaryDirectory() as folder, open(Path(folder) / "log", "w") as log:
        with pool(Path(folder), name, log, "--mock", "1", "--grace", "0") as url:
            yield url


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    options = parser.parse_args()
    with a_pool() as url:
        found = measure(url, options.seconds)
    found["alone, nanoseconds for each batch"] = alone_cost_ns()
    for name, value in found.items():
        print(f"{name:<45} {value:.4f}")
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
