"""Programs of the kind that CuPy's user guide teaches: SciPy's backend, plans, cache, callbacks.

https://docs.cupy.dev/en/stable/user_guide/fft.html; several GPUs are in `tests/e2e`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.signal

from tests.cupy import kernel_packages
from tests.cupy.waits import no_waits

import cupy as cp  # isort: skip
import cupyx.scipy.fft as own

config = cp.fft.config


def noise(*shape: int, dtype: str = "F", seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)


def close(found: Any, expected: np.ndarray, tolerance: float = 1e-4) -> None:
    np.testing.assert_allclose(found.get(), expected, rtol=tolerance, atol=tolerance)


@pytest.fixture
def cache() -> Iterator[Any]:
    found = config.get_plan_cache()
    found.clear()
    yield found
    found.set_size(16)
    found.set_memsize(-1)
    found.clear()


# ------------------------------------------------------------------- SciPy's functions


def low_pass(samples: Any, keep: int) -> Any:
    """Remove all but the lowest frequencies; knows nothing of devices."""
    spectrum = scipy.fft.rfft(samples)
    spectrum[..., keep:] = 0
    return scipy.fft.irfft(spectrum, samples.shape[-1])


def test_a_function_written_for_scipy_runs_on_the_device() -> None:
    t = np.arange(256) / 256
    slow, fast = np.sin(2 * np.pi * 3 * t), np.sin(2 * np.pi * 90 * t)
    samples = cp.asarray(slow + fast)
    with scipy.fft.set_backend(own), no_waits():
        smooth = low_pass(samples, 20)
    assert isinstance(smooth, cp.ndarray)
    close(smooth, slow, 1e-12)
    close(smooth, low_pass(samples.get(), 20), 1e-12)


def test_a_backend_for_all_that_follows() -> None:
    host = noise(5, 12)
    scipy.fft.set_global_backend(own)
    try:
        made = scipy.fft.fft2(cp.asarray(host))
        plan = own.get_fft_plan(cp.asarray(host))
        planned = scipy.fft.fft2(cp.asarray(host), plan=plan)
        with scipy.fft.set_backend("scipy"):  # the host's arrays are SciPy's, and need its own
            on_host = scipy.fft.fft2(host)
    finally:
        scipy.fft.set_global_backend("scipy")
    assert isinstance(on_host, np.ndarray)
    for found in (made, planned):
        assert isinstance(found, cp.ndarray)
        close(found, on_host)


# ------------------------------------------------------------------- plans


def test_one_plan_for_many_batches_of_images() -> None:
    images = noise(4, 16, 32)
    a = cp.asarray(images)
    plan = own.get_fft_plan(a, axes=(1, 2), value_type="C2C")
    assert isinstance(plan, cp.cuda.cufft.PlanNd) and plan.batch == 4
    expected = np.fft.fft2(images, axes=(1, 2))
    with no_waits():
        given = own.fft2(a, axes=(1, 2), plan=plan)
        with plan:
            around = [cp.fft.fft2(a * n, axes=(1, 2)) for n in (1, 2, 3)]
            back = cp.fft.ifft2(around[0], axes=(1, 2))
    close(given, expected)
    close(back, images)
    for n, each in enumerate(around, 1):
        close(each, n * expected, 1e-3)
    with pytest.raises(ValueError, match="do not match"):
        own.fft2(a, axes=(0, 1), plan=plan)


def test_a_plan_of_real_numbers_by_its_axis() -> None:
    host = noise(6, 20, dtype="D").real
    a = cp.asarray(host)
    plan = own.get_fft_plan(a, axes=0, value_type="R2C")
    assert (plan.nx, plan.batch) == (6, 20)
    with plan:
        half = cp.fft.rfft(a, axis=0)
    back = own.get_fft_plan(half, shape=6, axes=0, value_type="C2R")
    with back:
        again = cp.fft.irfft(half, 6, axis=0)
    close(half, np.fft.rfft(host, axis=0), 1e-12)
    close(again, host, 1e-12)


def test_half_precision_is_a_plan_of_its_own() -> None:
    points, batch = 64, 3
    host = noise(batch, points)
    pairs = cp.asarray(host).view(np.float32).astype(np.float16)
    out = cp.empty_like(pairs)
    layout = ((points,), 1, points, "E")
    plan = cp.cuda.cufft.XtPlanNd(
        (points,), *layout, *layout, batch, "E", order="C", last_axis=-1, last_size=None
    )
    plan.fft(pairs, out, cp.cuda.cufft.CUFFT_FORWARD)
    exactly = np.fft.fft(pairs.get().astype(np.float32).view(np.complex64))
    found = out.get().astype(np.float32).view(np.complex64)
    np.testing.assert_allclose(found, exactly, atol=2e-3 * np.abs(exactly).max())


# ------------------------------------------------------------------- the cache of plans


def test_a_library_that_makes_plans_by_itself_uses_them_again(cache: Any) -> None:
    signal, kernel = noise(3, 100, dtype="D"), noise(1, 29, dtype="D", seed=1)
    a, b = cp.asarray(signal), cp.asarray(kernel)
    with no_waits():
        for _ in range(5):
            spectrum = cp.fft.fft(a, 128) * cp.fft.fft(b, 128)
            found = cp.fft.ifft(spectrum)
    assert cache.get_curr_size() == 2  # 128 points of 3 rows, and of one
    expected = scipy.signal.fftconvolve(signal, kernel, axes=1)
    close(found, expected, 1e-10)


def test_limits_of_the_cache_change_no_result(cache: Any) -> None:
    arrays = [noise(n, dtype="D") for n in (8, 12, 30, 8, 64, 12)]
    expected = [np.fft.fft(a) for a in arrays]
    for size, memsize, kept in ((16, -1, 4), (2, -1, 2), (-1, 64 * 16, 1), (0, -1, 0)):
        cache.clear()
        cache.set_size(size)
        cache.set_memsize(memsize)
        with no_waits():
            found = [cp.fft.fft(cp.asarray(a)) for a in arrays]
            cache.get_curr_memsize()
        assert cache.get_curr_size() == kept
        for got, wanted in zip(found, expected, strict=True):
            close(got, wanted, 1e-12)


# ------------------------------------------------------------------- callbacks

# Reads a signal through a window, which lies in memory that the caller names.
WINDOWED = """
#include <cufftXt.h>
__device__ cufftComplex windowed(void* in, unsigned long long at, void* caller, void* shared) {
  const float weight = ((const float*)caller)[at % POINTS];
  cufftComplex x = ((const cufftComplex*)in)[at];
  x.x *= weight; x.y *= weight;
  return x;
}
__device__ cufftJITCallbackLoadC d_loadCallbackPtr = windowed;
"""
# Writes the power of each frequency instead of its amplitude.
POWER = """
#include <cufftXt.h>
__device__ void power(void* out, unsigned long long at, cufftComplex x, void* caller, void* s) {
  ((cufftComplex*)out)[at] = make_cuFloatComplex(x.x * x.x + x.y * x.y, 0.0f);
}
__device__ cufftJITCallbackStoreC d_storeCallbackPtr = power;
"""


def test_a_windowed_power_spectrum_is_one_transform(cache: Any) -> None:
    kernel_packages.needed()
    host = noise(3, 48)
    window = np.hanning(48).astype("f")
    a, weights = cp.asarray(host), cp.asarray(window)
    load = WINDOWED.replace("POINTS", "48")
    with config.set_cufft_callbacks(
        cb_load=load, cb_load_data=weights.data, cb_store=POWER, cb_ver="jit"
    ):
        found = cp.fft.fft(a)
    close(found, np.abs(np.fft.fft(host * window)) ** 2 + 0j, 1e-3)
    assert found.dtype == np.complex64


def test_plans_with_callbacks_are_kept_by_their_sources_and_memory(cache: Any) -> None:
    kernel_packages.needed()
    a, images = cp.asarray(noise(3, 48)), cp.asarray(noise(2, 6, 4))
    weights = cp.arange(96, dtype="f")
    load, sizes = WINDOWED.replace("POINTS", "48"), []
    cp.fft.fft(a)
    for data in (weights.data, weights.data, weights[48:].data, weights[48:].data):
        with config.set_cufft_callbacks(cb_load=load, cb_load_data=data, cb_ver="jit"):
            cp.fft.fft(a)
        sizes.append(cache.get_curr_size())
    for axes in ((0, 1, 2), (0, 1, 2), (0, 2)):  # one plan, the same, one for each axis
        with config.set_cufft_callbacks(cb_store=POWER, cb_ver="jit"):
            cp.fft.fftn(images, axes=axes)
        sizes.append(cache.get_curr_size())
    assert sizes == [2, 2, 3, 3, 4, 4, 6]
