"""Kernels of `cupyx.jit` on the mock GPU: what they compute."""

from __future__ import annotations

import cupy
import numpy as np
import pytest
from cupyx import jit

from tests.cupy import kernel_packages

kernel_packages.needed()
pytestmark = pytest.mark.filterwarnings("ignore:cupyx.jit.rawkernel is experimental:FutureWarning")


def test_one_kernel_for_every_type_and_layout() -> None:
    @jit.rawkernel()
    def scale(x, y, factor):
        i, j = jit.grid(2)
        if i < x.shape[0] and j < x.shape[1]:
            y[i, j] = x[i, j] * factor

    for dtype in ("i4", "f2", "f4", "f8", "c8"):
        host = np.arange(12).reshape(3, 4).astype(dtype)
        for x in (
            cupy.asarray(host),
            cupy.asarray(host, order="F"),
            cupy.asarray(host[::-1])[::-1],
        ):
            y = cupy.zeros_like(x, order="C")
            scale((2, 1), (2, 4), (x, y, x.dtype.type(3)))
            assert y.get().tolist() == (host * 3).tolist()
    assert len(scale.cached_codes) == 10, "five dtypes, dense and strided; the rest was there"
    with pytest.warns(UserWarning, match="cached_codes"):
        assert "__global__ void scale" in scale.cached_code


def test_loops_branches_and_variables() -> None:
    @jit.rawkernel()
    def collatz(x, steps):
        i = jit.grid(1)
        if i >= len(x):
            return
        n = x[i]
        count = 0
        while n != 1:
            if n % 2 == 0:
                n //= 2
                count += 1
                continue
            n = 3 * n + 1
            count += 1
            if count > 1000:
                break
        steps[i] = count

    x = cupy.arange(1, 11)
    steps = cupy.zeros(10, dtype=np.int32)
    collatz[2, 8](x, steps)
    assert steps.get().tolist() == [0, 1, 7, 2, 5, 8, 16, 3, 19, 6]


def test_blocks_share_memory_and_wait() -> None:
    @jit.rawkernel()
    def reverse(x, y):
        fixed = jit.shared_memory(np.float32, 32)
        given = jit.shared_memory(np.int64, None)
        i = jit.threadIdx.x
        fixed[i] = x[jit.grid(1)]
        given[i] = 31 - i
        jit.syncthreads()
        y[jit.grid(1)] = fixed[given[i]]

    x = cupy.arange(96, dtype=np.float32)
    y = cupy.zeros_like(x)
    reverse((3,), (32,), (x, y), shared_mem=32 * 8)
    assert y.get().tolist() == x.get().reshape(3, 32)[:, ::-1].ravel().tolist()


def test_atomics_shuffles_and_lanes() -> None:
    @jit.rawkernel()
    def total(x, out, lanes):
        value = x[jit.grid(1)]
        for step in range(5):
            value += jit.shfl_xor_sync(0xFFFFFFFF, value, 1 << step)
        lanes[jit.threadIdx.x] = jit.laneid()
        if jit.threadIdx.x % jit.warpsize == 0:
            jit.atomic_add(out, 0, value)

    out, lanes = cupy.zeros(1, dtype=np.int32), cupy.zeros(64, dtype=np.uint32)
    total[2, 64](cupy.arange(128, dtype=np.int32), out, lanes)
    assert out.get().tolist() == [127 * 64]
    assert lanes.get().tolist() == [*range(32), *range(32)]


def test_device_functions_and_tuples() -> None:
    @jit.rawkernel(device=True)
    def divide(x, y):
        return x // y, x % y

    @jit.rawkernel()
    def kernel(x, y):
        i = jit.threadIdx.x
        pair = divide(x[i], 4)
        low, high = pair[1], pair[0]
        y[i, 0], y[i, 1] = high, low

    x = cupy.arange(-8, 8)
    y = cupy.zeros((16, 2), dtype=np.int64)
    kernel[1, 16](x, y)
    quotient, rest = np.divmod(x.get(), 4)
    assert y.get().tolist() == np.stack([quotient, rest], axis=1).tolist()


def test_reductions_of_warps_and_blocks() -> None:
    @jit.rawkernel()
    def reduce(x, out):
        Warp = jit.cub.WarpReduce[np.int64]
        Block = jit.cub.BlockReduce[np.int64, 96]
        warps = jit.shared_memory(Warp.TempStorage, 3)
        block = jit.shared_memory(Block.TempStorage, 1)
        value = x[jit.threadIdx.x]
        low = Warp(warps[jit.threadIdx.x // 32]).Reduce(value, jit.cub.Min())
        total = Block(block[0]).Sum(value)
        if jit.laneid() == 0:
            out[jit.threadIdx.x // 32] = low
        if jit.threadIdx.x == 0:
            out[3] = total

    x = np.random.default_rng(0).permutation(96)
    out = cupy.zeros(4, dtype=np.int64)
    reduce[1, 96](cupy.asarray(x), out)
    assert out.get().tolist() == [*x.reshape(3, 32).min(axis=1), x.sum()]


@pytest.mark.parametrize("order", ["C", "F"])
def test_each_thread_may_sort_and_search(order) -> None:
    @jit.rawkernel()
    def sort(x, keys, where):
        i = jit.threadIdx.x
        jit.thrust.stable_sort_by_key(jit.thrust.seq, keys[i].begin(), keys[i].end(), x[i].begin())
        where[i] = jit.thrust.lower_bound(jit.thrust.seq, keys[i].begin(), keys[i].end(), 3) - (
            keys[i].begin()
        )

    keys = np.random.default_rng(0).integers(0, 6, (4, 70))
    values = np.tile(np.arange(70), (4, 1))
    k, v = cupy.asarray(keys, order=order), cupy.asarray(values, order=order)
    where = cupy.zeros(4, dtype=np.int64)
    sort[1, 4](v, k, where)
    assert k.get().tolist() == np.sort(keys, axis=1).tolist()
    assert v.get().tolist() == np.argsort(keys, axis=1, kind="stable").tolist()
    assert where.get().tolist() == (keys < 3).sum(axis=1).tolist()


def test_arguments_and_modes() -> None:
    with pytest.raises(ValueError, match="mode"):
        jit.rawkernel(mode="fortran")(lambda: None)

    @jit.rawkernel(mode="numpy")
    def kernel(x, value):
        x[0] = value / 3

    x = cupy.zeros(1)
    kernel[1, 1](x, 1)
    assert x.get()[0] == 1 / 3, "in double precision, as NumPy divides"
    with pytest.raises(TypeError, match="is not supported for RawKernel"):
        kernel[1, 1](x, "text")
    with pytest.raises(TypeError, match="takes 2 positional arguments"):
        kernel[1, 1](x)
