"""How fast does an array go from one session's GPU to another's: directly, or through the client?

    python benchmarks/device_copy.py                64 MB, two mock GPUs of this machine
    python benchmarks/device_copy.py --megabytes 8 --rounds 3

Rounds are interleaved; each copies one way, then the other, and waits for the target device.
Both carriers of the pool are measured: Unix sockets, and TCP as between machines.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.children import pool
from benchmarks.starts import CUPOOL_RUN

CLIENT = """
import json, sys, time
import cupy as cp
size, rounds = int(sys.argv[1]), int(sys.argv[2])
with cp.cuda.Device(0):
    a = cp.arange(size // 8)
    cp.cuda.Device().synchronize()

def direct():
    return cp.asarray(a)

def through_client():
    return cp.asarray(a.get())

found = {"direct": [], "through_client": []}
with cp.cuda.Device(1):
    for _ in range(rounds + 1):
        for way in (direct, through_client):
            start = time.perf_counter()
            b = way()
            cp.cuda.Device().synchronize()
            found[way.__name__].append(time.perf_counter() - start)
            assert int(b[-1]) == size // 8 - 1
            del b
print(json.dumps({way: sorted(seconds[1:]) for way, seconds in found.items()}))
"""


def measured(url: str, carrier: str, size_bytes: int, rounds: int) -> dict[str, list[float]]:
    """Return the seconds of each round, sorted, by way."""
    options = ["--pool", url, "--gpus", "2", "--carrier", carrier]
    command = [*CUPOOL_RUN, *options, "-c", CLIENT, str(size_bytes), str(rounds)]
    found: dict[str, list[float]] = json.loads(subprocess.check_output(command, timeout=300))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--megabytes", type=int, default=64, help="10^6 bytes")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    size_bytes = options.megabytes * 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        log_path = Path(folder) / "log"
        with log_path.open("w") as log, pool(Path(folder), "copies", log, "--mock", "2") as url:
            for carrier in ("unix", "tcp"):
                found = measured(url, carrier, size_bytes, options.rounds)
                for way, seconds in found.items():
                    middle = seconds[len(seconds) // 2]
                    rate = size_bytes / middle / 1e9
                    print(
                        f"{carrier:5} {way:15} median {middle * 1e3:7.1f} ms"
                        f"  quickest {seconds[0] * 1e3:7.1f} ms  {rate:5.2f} GB/s"
                    )


if __name__ == "__main__":
    main()
