"""`cupyx` itself: pinned arrays, forbidden waits, the profiler, information."""

from __future__ import annotations

import cupy as cp
import cupyx
import cupyx.optimizing
import cupyx.profiler
import cupyx.time
import numpy as np
import pytest

from cupool.errors import OperationNotSupported
from cupool.proto.operations.api import listing


def test_pinned_arrays_are_arrays_of_the_host() -> None:
    a = cp.zeros((3, 4), "f", order="F")
    assert cupyx.empty_pinned((2, 3), "i").shape == (2, 3)
    assert cupyx.zeros_pinned(4, order="F").tolist() == [0] * 4
    like = cupyx.zeros_like_pinned(a)
    assert type(like) is np.ndarray
    assert like.flags.f_contiguous
    assert like.dtype == np.float32
    assert cupyx.empty_like_pinned(a, "d", "C", shape=(5,)).shape == (5,)
    assert cupyx.empty_like_pinned(a, order="A").flags.f_contiguous
    a.get(out=like)
    with pytest.raises(TypeError, match="subok"):
        cupyx.empty_like_pinned(a, subok=True)
    with pytest.raises(ValueError, match="order"):
        cupyx.empty_like_pinned(a, order="X")


def test_waits_can_be_forbidden() -> None:
    a = cp.array([2, 3])
    with cupyx.allow_synchronize(False):
        b = a + 1
        for wait in (a.get, lambda: bool(a[0]), lambda: cp.nonzero(a)):
            with pytest.raises(cupyx.DeviceSynchronized):
                wait()
        with cupyx.allow_synchronize(True):
            assert b.get().tolist() == [3, 4]
        with pytest.raises(cupyx.DeviceSynchronized):
            b.get()
    assert b.get().tolist() == [3, 4]


def test_benchmark() -> None:
    calls = []

    def work(x, *, times):
        calls.append(times)
        return x * times

    result = cupyx.profiler.benchmark(work, (cp.ones(3),), {"times": 2}, 4, n_warmup=2)
    assert calls == [2] * 6
    assert result.cpu_times.shape == (4,)
    assert result.gpu_times.shape == (1, 4)
    assert str(result).startswith("work                :    CPU:")
    assert "GPU-0:" in str(result)
    with pytest.warns(UserWarning, match="benchmark"):
        assert cupyx.time.repeat(lambda: None, n_repeat=1, n_warmup=0).cpu_times.size == 1
    for wrong in ({"args": [1]}, {"n_repeat": 1.5}, {"kwargs": []}, {"devices": 0}):
        with pytest.raises(ValueError, match="should be"):
            cupyx.profiler.benchmark(work, **wrong)
    short = cupyx.profiler.benchmark(lambda: None, n_repeat=1000, n_warmup=0, max_duration=0)
    assert short.cpu_times.shape == (1,)


def test_ranges_and_profiles() -> None:
    @cupyx.profiler.time_range(color_id=1)
    def work():
        return 7

    with cupyx.profiler.profile(), cupyx.profiler.time_range("part", sync=True):
        assert work() == 7
    with pytest.raises(ValueError, match="color_id"):
        cupyx.profiler.time_range("x", 1, 2)
    with pytest.raises(ValueError, match="message"), cupyx.profiler.time_range():
        pass


def test_optimize_changes_nothing() -> None:
    with cupyx.optimizing.optimize(key="k", timeout=1):
        assert cp.arange(4).sum().item() == 6
    with pytest.raises(TypeError, match="speed"), cupyx.optimizing.optimize(speed=1):
        pass


def test_information() -> None:
    info = cupyx.get_runtime_info()
    assert info.cupy_version == cp.__version__
    assert "Device 0 Name" in str(info)


def test_the_rest_is_there_and_refuses() -> None:
    assert all(hasattr(cupyx, name) for name in listing().members("cupyx"))
    assert not hasattr(cupyx, "nothing")
    with pytest.raises(OperationNotSupported):
        cp.cuda.thrust.sort()


def test_array_module() -> None:
    import scipy

    assert cupyx.scipy.get_array_module(1, cp.ones(2)) is cupyx.scipy
    assert cupyx.scipy.get_array_module(np.ones(2)) is scipy
    with pytest.raises(AttributeError):
        cupyx.scipy.nothing  # noqa: B018
