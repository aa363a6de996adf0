"""The model of CuPy's memory pool."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cupool.pool_server.devices.errors import OutOfMemoryError
from cupool.pool_server.devices.mock.memory import MemoryPool


def test_sizes_are_rounded_to_512() -> None:
    pool = MemoryPool(1 << 20)
    blocks = [pool.allocate(size) for size in (1, 512, 513)]
    assert pool.used_bytes == 512 + 512 + 1024
    for block in blocks:
        pool.release(block)
    assert (pool.used_bytes, pool.held_bytes, pool.free_blocks) == (0, 2048, 3)


def test_empty_arrays_take_nothing() -> None:
    pool = MemoryPool(0)
    assert pool.allocate(0) is None
    pool.release(None)
    assert pool.total_bytes == 0


def test_best_fit_splits_and_joins() -> None:
    pool = MemoryPool(1 << 20)
    large, small = pool.allocate(4096), pool.allocate(2048)
    pool.release(large)
    pool.release(small)
    first, second = pool.allocate(1024), pool.allocate(1024)
    assert pool.total_bytes == 4096 + 2048  # both came out of the smaller block
    pool.release_blocks()
    assert pool.total_bytes == 2048
    pool.release(first)
    pool.release_blocks()
    assert pool.total_bytes == 2048  # a part of it is in use
    pool.release(second)
    assert pool.free_blocks == 1
    pool.release_blocks()
    assert pool.total_bytes == 0


def test_free_blocks_are_given_back_before_it_fails() -> None:
    pool = MemoryPool(4096)
    pool.release(pool.allocate(3072))
    assert pool.allocate(4096) is not None
    with pytest.raises(OutOfMemoryError) as caught:
        pool.allocate(1)
    assert str(caught.value) == (
        "Out of memory allocating 512 bytes (allocated so far: 4,096 bytes)."
    )


def test_limit() -> None:
    pool = MemoryPool(1 << 20)
    pool.limit_bytes = 2048
    pool.allocate(1024)
    with pytest.raises(MemoryError) as caught:
        pool.allocate(1500)
    assert str(caught.value) == (
        "Out of memory allocating 1,536 bytes "
        "(allocated so far: 1,024 bytes, limit set to: 2,048 bytes)."
    )
    pool.limit_bytes = 0
    pool.allocate(1500)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1 << 30), st.lists(st.integers(0, 9000), max_size=60))
def test_nothing_is_lost(seed: int, sizes: list[int]) -> None:
    """Whatever the order, freeing everything joins everything, and sums are right all along."""
    pool = MemoryPool(1 << 16)
    order = random.Random(seed)
    alive = []
    for size in sizes:
        try:
            alive.append(pool.allocate(size))
        except OutOfMemoryError:
            assert pool.total_bytes + size > pool.capacity_bytes - 511
        if alive and order.random() < 0.4:
            pool.release(alive.pop(order.randrange(len(alive))))
        assert pool.used_bytes == sum(block.size_bytes for block in alive if block)
        assert pool.used_bytes <= pool.total_bytes <= pool.capacity_bytes
    for block in alive:
        pool.release(block)
    pool.release_blocks()
    assert (pool.used_bytes, pool.total_bytes, pool.free_blocks) == (0, 0, 0)
