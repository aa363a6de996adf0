"""One set of CuPy calls, timed on whatever `import cupy` gives: CuPy itself, or cupool.

    python benchmarks/local_cupy.py                         on this machine's GPU, by CuPy
    cupool run --pool URL benchmarks/local_cupy.py          the same on a pool's GPU

Prints JSON: seconds for each case, the best of several rounds, each ended by a synchronisation.
`scripts/gpu_check.py` runs both and compares.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import cupy as cp
import numpy as np

_AXPY = cp.ElementwiseKernel("T a, T x, T y", "T z", "z = a * x + y", "axpy")
_RAW = """
extern "C" __global__ void scale(float* x, float factor, int n) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) x[i] *= factor;
}
"""


def cases(scale: float) -> dict[str, Callable[[], Any]]:
    """Return what is timed, by name.

    Args:
        scale: of the sizes; 1 keeps a large GPU busy.
    """
    side, count = max(64, int(4096 * scale)), max(4096, int(16_000_000 * scale))
    random = cp.random.default_rng(0)
    matrix = random.random((side, side), dtype=cp.float32)
    x = random.random(count, dtype=cp.float32)
    small = cp.arange(1000.0)
    host = np.random.default_rng(0).random(count)
    raw = cp.RawKernel(_RAW, "scale")
    grid = ((count + 255) // 256,)

    def chain() -> None:
        y = small
        for _ in range(200):
            y = y + small

    return {
        "200 additions of 1000 elements": chain,
        f"matmul {side} x {side}, float32": lambda: matrix @ matrix,
        f"elementwise, {count} float32": lambda: cp.sqrt(x * x + 1),
        f"sum of {count} float32, read": lambda: float(x.sum()),
        f"sort {count} float32": lambda: cp.sort(x),
        f"fft {count} float32": lambda: cp.fft.rfft(x),
        "ElementwiseKernel": lambda: _AXPY(np.float32(2), x, x),
        "RawKernel": lambda: raw(grid, (256,), (x, np.float32(1), np.int32(count))),
        f"upload {host.nbytes >> 10} KiB": lambda: cp.asarray(host),
        f"read {x.nbytes >> 10} KiB": x.get,
    }


def timed(call: Callable[[], Any], rounds: int) -> float:
    """Return the seconds of the quickest round."""
    synchronize = cp.cuda.Device().synchronize
    call()
    synchronize()
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        synchronize()
        best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scale", type=float, default=1.0, help="of the sizes")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    found = {name: timed(call, options.rounds) for name, call in cases(options.scale).items()}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
