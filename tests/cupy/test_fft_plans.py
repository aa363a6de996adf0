"""`plan.fft`: cuFFT plans that are run by themselves, on the memory of two arrays."""

from __future__ import annotations

from math import prod

import cupy as cp
import numpy as np
import pytest
from cupy.cuda import cufft
from cupyx.scipy.fftpack import get_fft_plan

AXES = [(1, 2), (0, 1), (0, 1, 2)]


def numbers(*shape: int, dtype: str = "c16", order: str = "C") -> cp.ndarray:
    rng = np.random.default_rng(0)
    values = rng.normal(size=shape) + 1j * rng.normal(size=shape)
    made = values if np.dtype(dtype).kind == "c" else values.real
    return cp.asarray(made.astype(dtype), order=order)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("axes", AXES)
def test_several_axes_wherever_the_batch_lies(axes: tuple[int, ...], order: str) -> None:
    a = numbers(2, 4, 8, order=order)
    plan = get_fft_plan(a, axes=axes)
    out = plan.get_output_array(a, order=order)
    plan.fft(a, out, cufft.CUFFT_FORWARD)
    np.testing.assert_allclose(out.get(), np.fft.fftn(a.get(), axes=axes))
    plan.fft(out, out, cufft.CUFFT_INVERSE)  # in place, and nothing is divided
    np.testing.assert_allclose(out.get(), a.get() * prod(a.shape[axis] for axis in axes))


@pytest.mark.parametrize("axes", AXES)
def test_real_numbers_there_and_back(axes: tuple[int, ...]) -> None:
    a = numbers(2, 4, 8, dtype="f4")
    plan = get_fft_plan(a, axes=axes, value_type="R2C")
    half = plan.get_output_array(a)
    plan.fft(a, half, cufft.CUFFT_FORWARD)
    assert half.dtype == np.complex64
    np.testing.assert_allclose(half.get(), np.fft.rfftn(a.get(), axes=axes), atol=1e-5)
    lengths = [a.shape[axis] for axis in axes]
    back = get_fft_plan(half, shape=lengths, axes=axes, value_type="C2R")
    whole = back.get_output_array(half)
    back.fft(half, whole, cufft.CUFFT_INVERSE)
    assert (whole.shape, whole.dtype) == (a.shape, a.dtype)
    np.testing.assert_allclose(whole.get(), a.get() * prod(lengths), rtol=1e-4, atol=1e-4)


def test_one_axis_of_a_batch() -> None:
    a = numbers(3, 8, dtype="f8")
    plan = cufft.Plan1d(8, cufft.CUFFT_D2Z, 3)
    out = plan.get_output_array(a)
    plan.fft(a, out, cufft.CUFFT_FORWARD)
    np.testing.assert_allclose(out.get(), np.fft.rfft(a.get()))


def test_half_precision_pairs_of_numbers() -> None:
    a = cp.arange(32, dtype=np.float16).reshape(2, 16)  # two rows of eight complex numbers
    out = cp.empty_like(a)
    layout = ((8,), 1, 8, "E")
    plan = cufft.XtPlanNd((8,), *layout, *layout, 2, "E", order="C", last_axis=-1, last_size=None)
    plan.fft(a, out, cufft.CUFFT_FORWARD)
    expected = np.fft.fft(a.get().astype(np.float32).view(np.complex64))
    np.testing.assert_allclose(out.get().astype("f4").view("c8"), expected, rtol=2e-3, atol=0.1)


def test_plans_that_cannot_be_are_refused() -> None:
    layout = ((6,), 1, 6)
    end = {"order": "C", "last_axis": -1, "last_size": None}
    with pytest.raises(ValueError, match="types mismatch"):
        cufft.XtPlanNd((6,), *layout, "F", *layout, "D", 1, "D", **end)
    with pytest.raises(ValueError, match="types mismatch"):
        cufft.XtPlanNd((6,), *layout, "i", *layout, "F", 1, "F", **end)
    with pytest.raises(ValueError, match="power of 2"):
        cufft.XtPlanNd((6,), *layout, "E", *layout, "E", 1, "E", **end)
    with pytest.raises(ValueError, match="is no type"):
        cufft.Plan1d(8, 7, 1)


def test_memory_that_is_not_the_plans_is_refused() -> None:
    a = numbers(3, 8)
    with pytest.raises(ValueError, match="plan is for complex64"):
        cufft.Plan1d(8, cufft.CUFFT_C2C, 3).fft(a, a, cufft.CUFFT_FORWARD)
    with pytest.raises(ValueError, match="reaches beyond"):
        cufft.Plan1d(8, cufft.CUFFT_Z2Z, 4).fft(a, a, cufft.CUFFT_FORWARD)
    assert cp.abs(a).sum() > 0
