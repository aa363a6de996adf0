"""Do sessions of one GPU get device time as their shares say, and does alone cost nothing?

    python benchmarks/shares.py            ten seconds each: pairs of shares, a cap, idle peers
    python benchmarks/shares.py --seconds 3 --burners 8

A pool of this run's own with one mock GPU. Device time is the time for which a session holds the
device, as its worker measures it. Busy clients always have work queued: one that waits for its
results leaves the device to others meanwhile, the more so on a machine with much else to do.
`--burners` adds processes that do nothing but use a processor.
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
a = cp.random.random((256, 256))
cp.cuda.Device().synchronize()
print("ready", flush=True)
while True:
    b = a @ a
"""
_IDLE = "import cupy as cp\ncp.zeros(3).get()\nprint('ready', flush=True)\ninput()\n"


@contextlib.contextmanager
def client(url: str, name: str, code: str, *options: str) -> Iterator[subprocess.Popen[str]]:
    """Run code under `cupool run` as long as the block lasts; it says "ready" first."""
    command = [*CUPOOL_RUN, "--pool", url, "--tenant", name, "--memory", "1GiB"]
    command += ["--wait", "1m", *options]  # of the client before, the session ends first
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
        """Return the seconds computed so far, by row."""
        words = self.table.words
        return {
            row: words[row_word(row, DEVICE_TIME)] / 1e9
            for row in range(ROWS)
            if words[row_word(row, DEVICE)]
        }

    def over(self, seconds: float) -> list[tuple[int, float]]:
        """Return each session's promised share, in thousandths, and the part of the time that it
        computes within so many seconds; the least share first."""
        time.sleep(0.5)
        began, before = time.perf_counter(), self.read()
        time.sleep(seconds)
        took, after = time.perf_counter() - began, self.read()
        shares = {row: self.table.words[row_word(row, SHARE)] for row in before}
        return sorted((shares[row], (after[row] - before[row]) / took) for row in before)


def two_shares(seconds: float, small: float) -> float:
    """Return the part of the device time that a share gets beside one of all the rest."""
    with (
        a_pool() as url,
        client(url, "small", BUSY, "--share", f"{small:.3f}"),
        client(url, "large", BUSY, "--share", f"{1 - small:.3f}"),
    ):
        (_, mine), (_, other) = Meter().over(seconds)
    return mine / (mine + other)


def alone(seconds: float, *options: str, idle: str = "") -> float:
    """Return the part of the time that a busy client computes, beside an idle one or none."""
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(a_pool())
        if idle:
            stack.enter_context(client(url, "idle", _IDLE, "--share", idle))
        stack.enter_context(client(url, "busy", BUSY, *options))
        return Meter().over(seconds)[0][1]


def experiments(seconds: float) -> Iterator[tuple[str, float]]:
    """Run one experiment after the other, each with a pool of its own."""
    for small in (0.3, 0.5, 0.1):
        yield f"{small} beside {1 - small:.1f}, of both", two_shares(seconds, small)
    capped = alone(seconds, "--share", "0.2", "--cap", "0.25")
    yield "alone with a cap of 0.25, of the time", capped
    yield "alone with a share of 0.3, of the time", alone(seconds, "--share", "0.3")
    beside = alone(seconds, "--share", "0.3", idle="0.7")
    yield "0.3 beside an idle 0.7, of the time", beside
    yield "alone, nanoseconds for each batch", alone_cost_ns()


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


@contextlib.contextmanager
def burners(many: int) -> Iterator[None]:
    """Keep so many processors busy, or what there is of them."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(many)]
    try:
        yield
    finally:
        for each in running:
            each.kill()
            each.wait()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--burners", type=int, default=0)
    options = parser.parse_args()
    found = {}
    with burners(options.burners):
        for name, value in experiments(options.seconds):
            found[name] = value
            print(f"{name:<45} {value:.4f}", flush=True)
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
