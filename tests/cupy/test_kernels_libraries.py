"""Kernels that use CUDA's device libraries: CUB as a whole, cooperative groups, cuRAND."""

from __future__ import annotations

import numpy as np
import pytest

from tests.cupy import kernel_packages

import cupy as cp  # isort: skip

kernel_packages.needed()

BLOCK = r"""
#include <cub/cub.cuh>
extern "C" __global__ void everything(
    const int* x, int* total, int* sums, int* sorted, int* counts) {
    typedef cub::BlockReduce<int, 128> Reduce;
    typedef cub::BlockScan<int, 128> Scan;
    typedef cub::BlockRadixSort<int, 128, 2> Sort;
    typedef cub::BlockHistogram<unsigned char, 128, 2, 16> Histogram;
    __shared__ union {
        Reduce::TempStorage reduce; Scan::TempStorage scan; Sort::TempStorage sort;
        Histogram::TempStorage histogram;
    } room;
    int items[2], t = threadIdx.x;
    cub::LoadDirectBlocked(t, x, items);
    int all = Reduce(room.reduce).Sum(items);
    if (t == 0) *total = all;
    __syncthreads();
    int ahead;
    Scan(room.scan).ExclusiveSum(items[0] + items[1], ahead);
    sums[t] = ahead;
    __syncthreads();
    unsigned char low[2] = {(unsigned char)(items[0] & 15), (unsigned char)(items[1] & 15)};
    Histogram(room.histogram).Histogram(low, counts);
    __syncthreads();
    Sort(room.sort).SortDescending(items);
    cub::StoreDirectBlocked(t, sorted, items);
}
"""


def test_cub_as_a_whole_within_a_block() -> None:
    x = np.random.default_rng(3).integers(-1000, 1000, 256).astype(np.int32)
    total, sums, ordered, counts = (cp.zeros(n, cp.int32) for n in (1, 128, 256, 16))
    cp.RawKernel(BLOCK, "everything")((1,), (128,), (cp.asarray(x), total, sums, ordered, counts))
    pairs = x.reshape(128, 2).sum(axis=1)
    assert total.get()[0] == x.sum()
    np.testing.assert_array_equal(sums.get(), np.cumsum(pairs) - pairs)
    np.testing.assert_array_equal(ordered.get(), np.sort(x)[::-1])
    np.testing.assert_array_equal(counts.get(), np.bincount(x & 15, minlength=16))


def test_cub_within_warps() -> None:
    code = r"""
    #include "cub/cub.cuh"
    extern "C" __global__ void warps(const double* x, double* most, double* sums) {
        __shared__ cub::WarpReduce<double>::TempStorage a[2];
        __shared__ cub::WarpScan<double>::TempStorage b[2];
        int w = threadIdx.x / 32;
        double peak = cub::WarpReduce<double>(a[w]).Reduce(x[threadIdx.x], cub::Max());
        if (threadIdx.x % 32 == 0) most[w] = peak;
        cub::WarpScan<double>(b[w]).InclusiveSum(x[threadIdx.x], sums[threadIdx.x]);
    }"""
    x = np.random.default_rng(4).integers(0, 99, 64).astype(float)
    most, sums = cp.zeros(2), cp.zeros(64)
    cp.RawKernel(code, "warps")((1,), (64,), (cp.asarray(x), most, sums))
    np.testing.assert_array_equal(most.get(), x.reshape(2, 32).max(axis=1))
    np.testing.assert_array_equal(sums.get(), x.reshape(2, 32).cumsum(axis=1).ravel())


def test_cooperative_groups_reduce_and_scan() -> None:
    code = r"""
    #include <cooperative_groups.h>
    #include <cooperative_groups/reduce.h>
    #include <cooperative_groups/scan.h>
    namespace cg = cooperative_groups;
    extern "C" __global__ void tiles(const int* x, int* sums, int* scans) {
        auto tile = cg::tiled_partition<8>(cg::this_thread_block());
        int i = threadIdx.x;
        sums[i] = cg::reduce(tile, x[i], cg::plus<int>());
        scans[i] = cg::inclusive_scan(tile, x[i], cg::greater<int>());
    }"""
    x = np.random.default_rng(5).integers(0, 1000, 64).astype(np.int32)
    sums, scans = cp.zeros(64, cp.int32), cp.zeros(64, cp.int32)
    cp.RawKernel(code, "tiles")((1,), (64,), (cp.asarray(x), sums, scans))
    rows = x.reshape(8, 8)
    np.testing.assert_array_equal(sums.get().reshape(8, 8), np.repeat(rows.sum(1)[:, None], 8, 1))
    np.testing.assert_array_equal(scans.get().reshape(8, 8), np.maximum.accumulate(rows, axis=1))


def test_random_numbers_of_curand() -> None:
    pytest.importorskip("nvidia.curand", reason="pip install nvidia-curand-cu12, for its headers")
    code = r"""
    #include <curand_kernel.h>
    extern "C" __global__ void draw(float* uniform, double* normal, unsigned long long seed) {
        curandStatePhilox4_32_10_t state;
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        curand_init(seed, i, 0, &state);
        uniform[i] = curand_uniform(&state);
        normal[i] = curand_normal_double(&state);
    }"""
    uniform, normal = cp.zeros(8192, cp.float32), cp.zeros(8192)
    draw = cp.RawKernel(code, "draw")
    draw((64,), (128,), (uniform, normal, 7))
    first = uniform.get()
    assert 0 < first.min() and first.max() <= 1 and len(np.unique(first)) > 8000
    assert abs(first.mean() - 0.5) < 0.02 and abs(normal.get().mean()) < 0.05
    assert abs(normal.get().std() - 1) < 0.05
    draw((64,), (128,), (uniform, normal, 7))
    np.testing.assert_array_equal(uniform.get(), first)
