"""How fast the mock GPU compiles and runs user kernels, checked and unchecked, beside NumPy.

    python benchmarks/kernels.py [--rounds 7]

Each figure is the best of the rounds, which are interleaved. Needs the extra `mock-kernels`.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from cupool.pool_server.devices.ptx.engine import AllocationTable, Engine, EngineOptions, Function

Array = np.ndarray[Any, Any]
MANY = 4 << 20
SOURCES = {
    "vadd": """extern "C" __global__ void k(const float* a, const float* b, float* c, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) c[i] = a[i] + b[i]; }""",
    "stride": """extern "C" __global__ void k(const float* a, const float* b, float* c, int n) {
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
            c[i] = a[i] + b[i]; }""",
    "matmul": """extern "C" __global__ void k(const float* a, const float* b, float* c, int n) {
        __shared__ float x[16][16], y[16][16];
        int r = blockIdx.y * 16 + threadIdx.y, q = blockIdx.x * 16 + threadIdx.x; float s = 0;
        for (int t = 0; t < n / 16; t++) {
            x[threadIdx.y][threadIdx.x] = a[r * n + t * 16 + threadIdx.x];
            y[threadIdx.y][threadIdx.x] = b[(t * 16 + threadIdx.y) * n + q]; __syncthreads();
            for (int i = 0; i < 16; i++) s += x[threadIdx.y][i] * y[i][threadIdx.x];
            __syncthreads(); }
        c[r * n + q] = s; }""",
    "histogram": """extern "C" __global__ void k(const unsigned char* a, int* h, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) atomicAdd(&h[a[i]], 1); }""",
    "reduce": """extern "C" __global__ void k(const float* a, float* o, int n) {
        __shared__ float w[8]; float s = 0;
        for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) s += a[i];
        for (int d = 16; d; d /= 2) s += __shfl_down_sync(0xffffffffu, s, d);
        if (threadIdx.x % 32 == 0) w[threadIdx.x / 32] = s;
        __syncthreads();
        if (threadIdx.x) return;
        for (int i = 1; i < 8; i++) s += w[i];
        atomicAdd(o, s); }""",
    "empty": 'extern "C" __global__ void k() {}',
}


def pointer(array: Array) -> bytes:
    return int(array.ctypes.data).to_bytes(8, "little")


def number(value: int) -> bytes:
    return value.to_bytes(4, "little")


class Case:
    """A kernel with its arguments, and NumPy's way to the same result."""

    def __init__(
        self,
        name: str,
        grid: tuple[int, ...],
        block: tuple[int, ...],
        arrays: list[Array],
        count: int | None,
        reference: Callable[[], Any],
    ) -> None:
        self.source = SOURCES[name] + f"\n// {time.time_ns()}"
        self.name, self.arrays, self.reference = name, arrays, reference
        self.grid, self.block = three(grid), three(block)
        self.args = [pointer(a) for a in arrays] + ([] if count is None else [number(count)])

    def launch(self, function: Function) -> None:
        function.launch(self.grid, self.block, self.args)


def three(extents: tuple[int, ...]) -> tuple[int, int, int]:
    x, y, z = (*extents, 1, 1)[:3]
    return x, y, z


def cases() -> list[Case]:
    rng = np.random.default_rng(0)
    a, b, c = rng.random(MANY, np.float32), rng.random(MANY, np.float32), np.zeros(MANY, np.float32)
    x, y, z = (rng.random((256, 256), np.float32) for _ in range(3))
    data, bins = rng.integers(0, 256, MANY, np.uint8), np.zeros(256, np.int32)
    total = np.zeros(1, np.float32)
    return [
        Case("vadd", (MANY // 256,), (256,), [a, b, c], MANY, lambda: np.add(a, b, c)),
        Case("stride", (256,), (256,), [a, b, c], MANY, lambda: np.add(a, b, c)),
        Case("matmul", (16, 16), (16, 16), [x, y, z], 256, lambda: np.matmul(x, y, z)),
        Case("histogram", (MANY // 256,), (256,), [data, bins], MANY, lambda: np.bincount(data)),
        Case("reduce", (256,), (256,), [a, total], MANY, lambda: a.sum()),
        Case("empty", (1,), (32,), [], None, lambda: None),
    ]


def timed(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1e3


def measure(case: Case, engines: dict[bool, Engine], rounds: int) -> list[float]:
    """Return milliseconds: NVRTC, loading, both again; checked, unchecked, NumPy."""
    engine = engines[True]
    figures = [timed(partial(engine.compile, case.source))]
    ptx = engine.compile(case.source).ptx
    figures.append(timed(partial(engine.load, ptx)))
    figures.append(timed(lambda: engine.load(engine.compile(case.source).ptx)))
    works: list[Callable[[], Any]] = [
        partial(case.launch, engines[checked].load(ptx).function("k")) for checked in (True, False)
    ]
    works.append(case.reference)
    times = [[timed(work) for work in works] for _ in range(rounds)]
    return figures + [min(column) for column in zip(*times, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    memory: list[Array] = []
    engines = {
        checked: Engine(lambda: AllocationTable.of_arrays(memory), EngineOptions(checked=checked))
        for checked in (True, False)
    }
    start = timed(lambda: engines[True].load(engines[True].compile(SOURCES["empty"]).ptx))
    print(
        f"{os.cpu_count()} cores; ms, best of {rounds}; the first kernel of a process: {start:.0f}"
    )
    columns = ("kernel", "nvrtc", "load", "again", "checked", "unchecked", "NumPy")
    print("".join(f"{column:>11}" for column in columns))
    for case in cases():
        memory[:] = case.arrays
        figures = measure(case, engines, rounds)
        print(f"{case.name:>11}" + "".join(f"{figure:11.3f}" for figure in figures))
    for engine in engines.values():
        engine.close()


if __name__ == "__main__":
    main()
