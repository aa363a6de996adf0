"""Blocks and threads that wait for each other: cooperative launches, locks, producers."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.unit.ptx_harness import Bench, closing, needs_nvrtc

from cupool.pool_server.devices.errors import CUDADriverError
from cupool.pool_server.devices.ptx.launching import MAX_RESIDENT_THREADS

pytestmark = needs_nvrtc

GRID_SYNC = """#include <cooperative_groups.h>
    namespace cg = cooperative_groups;
    extern "C" __global__ void k(int* x, int* valid, int rounds) {
        extern __shared__ int own[];
        cg::grid_group g = cg::this_grid();
        int i = g.thread_rank(), n = g.size();
        if (!threadIdx.x) { valid[blockIdx.x] = g.is_valid(); own[0] = 1000 * blockIdx.x; }
        for (int r = 0; r < rounds; r++) {
            int other = x[(i + blockDim.x) % n];
            g.sync();
            x[i] = other + 1;
            g.sync();
        }
        if (!threadIdx.x) valid[blockIdx.x] += own[0];
    }"""


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    yield from closing(Bench)


@pytest.mark.parametrize(("grid", "block"), [(1, 32), (7, 33), (40, 64), (16, 1024)])
def test_the_blocks_of_a_grid_wait_for_each_other(bench, grid, block):
    x = np.arange(grid * block, dtype=np.int32)
    valid = np.zeros(grid, np.int32)
    bench.run(GRID_SYNC, grid, block, x, valid, 3, shared_bytes=64, cooperative=True)
    want = np.roll(np.arange(grid * block), -3 * block) + 3
    assert x.tolist() == want.tolist()
    assert valid.tolist() == [1 + 1000 * i for i in range(grid)]


def test_a_grid_of_three_dimensions_waits(bench):
    x, valid = np.arange(64, dtype=np.int32), np.zeros(8, np.int32)
    source = GRID_SYNC.replace("blockIdx.x", "(blockIdx.x + 2 * (blockIdx.y + 2 * blockIdx.z))")
    bench.run(source, (2, 2, 2), (2, 2, 2), x, valid, 1, shared_bytes=64, cooperative=True)
    assert sorted(x.tolist()) == list(range(1, 65))


def test_a_grid_that_was_not_launched_so_is_not_valid(bench):
    x, valid = np.zeros(64, np.int32), np.ones(2, np.int32)
    bench.run(GRID_SYNC, 2, 32, x, valid, 0, shared_bytes=64)
    assert valid.tolist() == [0, 1000]


def test_too_large_a_cooperative_launch_is_refused_and_leaves_no_trace(bench):
    x, valid = np.zeros(1 << 15, np.int32), np.zeros(1 << 10, np.int32)
    with pytest.raises(CUDADriverError, match=f"{MAX_RESIDENT_THREADS:,}") as caught:
        bench.run(GRID_SYNC, 17, 1024, x, valid, 1, shared_bytes=64, cooperative=True)
    assert caught.value.status == 720
    bench.run(GRID_SYNC, 2, 16, x, valid, 0, shared_bytes=64, cooperative=True)
    assert valid[:2].tolist() == [1, 1001]


def test_a_cooperative_launch_needs_no_barrier(bench):
    out = np.zeros(1000, np.int32)
    source = 'extern "C" __global__ void k(int* x) { x[blockIdx.x * 100 + threadIdx.x] = 3; }'
    bench.run(source, 10, 100, out, cooperative=True)
    assert (out == 3).all()


@pytest.mark.parametrize("wait", ["while (!*(volatile int*)(f + i + 1));", "while (!atomicAdd(f + i + 1, 0));",
                                  "while (atomicCAS(f + i + 1, 1, 1) != 1) __nanosleep(100);"])  # fmt: skip
@pytest.mark.parametrize(("grid", "block"), [(1, 100), (50, 1), (9, 11)])
def test_a_thread_may_wait_for_a_later_one(bench, wait, grid, block):
    source = f"""extern "C" __global__ void k(int* f, int* order, int* count) {{
        int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
        if (i < n - 1) {{ {wait} }}
        order[i] = atomicAdd(count, 1); __threadfence(); atomicExch(f + i, 1); }}"""
    n = grid * block
    flags, order, count = np.zeros(n, np.int32), np.zeros(n, np.int32), np.zeros(1, np.int32)
    bench.run(source, grid, block, flags, order, count)
    assert order.tolist() == list(range(n))[::-1]


def test_a_thread_may_wait_for_later_rows_of_its_block(bench):
    source = """extern "C" __global__ void k(int* f, int* seen) {
        int i = threadIdx.x + 3 * (threadIdx.y + 4 * threadIdx.z);
        if (i < 23) while (!atomicOr(f + i + 1, 0));
        seen[i] += 1; atomicExch(f + i, 1); }"""
    flags, seen = np.zeros(24, np.int32), np.zeros(24, np.int32)
    bench.run(source, 1, (3, 4, 2), flags, seen)
    assert seen.tolist() == flags.tolist() == [1] * 24


def test_shared_memory_stays_with_blocks_whose_threads_were_overtaken(bench):
    source = """extern "C" __global__ void k(int* f, int* out) {
        __shared__ int own[64];
        int i = threadIdx.x;
        own[i] = 100 * blockIdx.x + i;
        if (i < 15) while (!atomicOr(f + 16 * blockIdx.x + i + 1, 0));
        out[16 * blockIdx.x + i] = own[i] + own[15];
        atomicExch(f + 16 * blockIdx.x + i, 1); }"""
    flags, out = np.zeros(64, np.int32), np.zeros(64, np.int32)
    bench.run(source, 4, 16, flags, out)
    assert out.tolist() == [200 * b + i + 15 for b in range(4) for i in range(16)]


def test_blocks_of_fibers_that_poll_keep_their_shared_memory(bench):
    source = """extern "C" __global__ void k(volatile int* f, int* out) {
        __shared__ int own[32];
        int b = blockIdx.x, i = threadIdx.x;
        own[i] = b * 32 + i;
        __syncthreads();
        if (!i && b < gridDim.x - 1) while (!f[b + 1]);
        __syncthreads();
        out[b * 32 + i] = own[31 - i];
        __syncthreads();
        if (!i) f[b] = 1; }"""
    flags, out = np.zeros(60, np.int32), np.zeros(60 * 32, np.int32)
    bench.run(source, 60, 32, flags, out)
    assert out.reshape(60, 32)[:, ::-1].ravel().tolist() == list(range(60 * 32))


def test_a_lock_that_every_thread_takes(bench):
    source = """extern "C" __global__ void k(int* lock, int* total) {
        for (bool done = false; !done;)
            if (atomicCAS(lock, 0, 1) == 0) {
                *(volatile int*)total += 1; __threadfence(); atomicExch(lock, 0); done = true;
            } }"""
    lock, total = np.zeros(1, np.int32), np.zeros(1, np.int32)
    bench.run(source, 20, 256, lock, total)
    assert total[0] == 20 * 256


def test_waiting_for_nobody_ends():
    bench = Bench(timeout_s=0.2)
    source = 'extern "C" __global__ void k(int* f) { while (!atomicAdd(f, 0)); }'
    with pytest.raises(Exception, match="did not end within"):
        bench.run(source, 3, 64, np.zeros(1, np.int32))
    bench.engine.close()


def test_the_memory_of_many_stacks_is_given_back(bench):
    def resident_bytes() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    x, valid = np.arange(1 << 14, dtype=np.int32), np.zeros(16, np.int32)
    bench.run(GRID_SYNC, 1, 1024, x, valid, 1, shared_bytes=64, cooperative=True)
    before = resident_bytes()
    bench.run(GRID_SYNC, 16, 1024, x, valid, 1, shared_bytes=64, cooperative=True)
    assert resident_bytes() - before < 32 << 20  # two pages for each of 15,360 stacks are 120 MiB
