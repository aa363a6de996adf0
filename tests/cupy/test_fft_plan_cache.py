"""The cache of cuFFT plans: which transforms make which plan, and which ones are kept."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import cupy as cp
import pytest
from cupy.cuda import cufft
from cupy.fft import config
from cupy.fft._cache import PlanCache

C64, C128, R32, R64 = 41, 105, 42, 106  # cuFFT's codes: C2C and Z2Z, R2C and D2Z
C2R, Z2D = 44, 108


@pytest.fixture
def cache() -> Iterator[PlanCache]:
    found = config.get_plan_cache()
    found.clear()
    yield found
    found.set_size(16)
    found.set_memsize(-1)
    found.clear()


def plans(cache: PlanCache) -> list[tuple[object, ...]]:
    """Return kind, points, type and batch of each plan, in the order of their first use."""
    found = [node.plan for _, node in cache][::-1]
    return [(type(p).__name__, tuple(p.shape), p.fft_type, p.batch) for p in found]


def zeros(*shape: int, dtype: str = "F") -> cp.ndarray:
    return cp.zeros(shape, dtype)


def test_each_transform_makes_the_plans_of_cupys(cache: PlanCache) -> None:
    cp.fft.fft(zeros(4, 10))
    assert plans(cache) == [("Plan1d", (10,), C64, 4)]
    cache.clear()
    cp.fft.fft(zeros(4, 10, dtype="i"), n=7, axis=0)
    assert plans(cache) == [("Plan1d", (7,), C128, 10)]
    cache.clear()
    cp.fft.rfft(zeros(3, 8, dtype="f"))
    cp.fft.irfft(zeros(3, 5))
    assert plans(cache) == [("Plan1d", (8,), R32, 3), ("Plan1d", (8,), C2R, 3)]
    cache.clear()
    cp.fft.fftn(zeros(2, 6, 8))
    cp.fft.fftn(zeros(2, 6, 8), axes=(1, 2))
    cp.fft.rfft2(zeros(6, 8, dtype="d"))
    assert plans(cache) == [
        ("PlanNd", (2, 6, 8), C64, 1),
        ("PlanNd", (6, 8), C64, 2),
        ("PlanNd", (6, 8), R64, 1),
    ]


def test_axes_that_are_no_neighbours_are_transformed_one_by_one(cache: PlanCache) -> None:
    cp.fft.fftn(zeros(2, 6, 8), axes=(0, 2))
    assert plans(cache) == [("Plan1d", (2,), C64, 48), ("Plan1d", (8,), C64, 12)]
    cache.clear()
    cp.fft.rfftn(zeros(2, 6, 8, dtype="d"), axes=(0, 2))  # the last one first, halved
    assert plans(cache) == [("Plan1d", (8,), R64, 12), ("Plan1d", (2,), C128, 30)]
    cache.clear()
    cp.fft.irfftn(zeros(2, 6, 5, dtype="D"), axes=(0, 2))
    assert plans(cache) == [("Plan1d", (2,), C128, 30), ("Plan1d", (8,), Z2D, 12)]


def test_a_plan_is_used_again_and_the_least_recently_used_one_goes(
    cache: PlanCache,
) -> None:
    cache.set_size(2)
    a, b, c = zeros(10), zeros(20), zeros(30)
    cp.fft.fft(a)
    (_, first), *_ = cache
    cp.fft.fft(b)
    cp.fft.ifft(a)  # the same plan does both directions
    assert [node.plan.nx for _, node in cache] == [10, 20]
    cp.fft.fft(c)
    assert [node.plan.nx for _, node in cache] == [30, 10]
    assert cache.get(first.key) is first.plan and cache[first.key] is first.plan
    assert [node.plan.nx for _, node in cache] == [10, 30]
    assert cache.get((20, C64, 1)) is None
    with pytest.raises(KeyError):
        cache[20, C64, 1]
    del cache[first.key]
    assert [node.plan.nx for _, node in cache] == [30]
    cache.set_size(0)
    assert cache.get_curr_size() == cache.get_curr_memsize() == 0
    cp.fft.fft(a)
    assert cache.get_curr_size() == 0
    cache.set_size(-1)
    for n in range(1, 41):
        cp.fft.fft(zeros(n))
    assert cache.get_curr_size() == 40


def test_memory_of_plans_is_counted_and_limited(cache: PlanCache) -> None:
    cp.fft.fft(zeros(64))
    cp.fft.fft(zeros(64, dtype="D"))
    sizes = [node.plan.work_area.mem.size for _, node in cache]
    assert sizes == [1024, 512] and cache.get_curr_memsize() == 1536
    cache.set_memsize(1024)
    assert cache.get_curr_memsize() == 1024
    with pytest.raises(RuntimeError, match="plan memsize is too large for device 0"):
        cp.fft.fft(zeros(65, dtype="D"))
    assert cache.get_curr_size() == 1
    cp.fft.fft(zeros(128))
    assert [node.plan.nx for _, node in cache] == [128]


def test_a_given_plan_uses_no_cache(cache: PlanCache) -> None:
    a = zeros(16)
    from cupyx.scipy.fftpack import fft, get_fft_plan

    plan = get_fft_plan(a)
    with plan:
        cp.fft.fft(a)
    fft(a, plan=plan)
    assert plans(cache) == []


def test_what_is_shown(cache: PlanCache, capsys: pytest.CaptureFixture[str]) -> None:
    cache.set_size(3)
    cp.fft.fft(zeros(16))
    cache.show_info()
    shown = capsys.readouterr().out
    assert "1 / 3 (counts)" in shown and "128 / (unlimited) (bytes)" in shown
    assert "Plan1d (16, 41, 1): 128 bytes" in shown


def test_each_thread_has_caches_of_its_own(
    cache: PlanCache, capsys: pytest.CaptureFixture[str]
) -> None:
    cp.fft.fft(zeros(16))
    found: list[int] = []

    def other() -> None:
        config.show_plan_cache_info()
        found.append(config.get_plan_cache().get_curr_size())

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert found == [0] and cache.get_curr_size() == 1
    assert "uninitialized" in capsys.readouterr().out
    config.show_plan_cache_info()
    assert "uninitialized" not in capsys.readouterr().out


def test_a_cache_may_be_filled_by_hand() -> None:
    own = PlanCache(size=1, memsize=100)
    plan = cufft.Plan1d(4, C64, 1)
    own["mine"] = plan
    own["mine"] = plan
    assert (own.get_curr_size(), own.get_curr_memsize()) == (1, 32)
    assert own["mine"] is plan
