"""`cupy.fft`: lengths, axes, norms, dtypes and layouts."""

from __future__ import annotations

import cupy as cp
import cupy.fft.config as fft_config
import numpy as np
import pytest

from tests.cupy.agreement import same
from tests.cupy.waits import waits


def signal(xp, *shape, dtype="f8"):
    rng = np.random.default_rng(len(shape))
    values = rng.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.normal(size=shape)
    return xp.asarray((values * 5).astype(dtype))


@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize("n", [None, 4, 9])
def test_one_axis(n: int | None, norm: str | None) -> None:
    def run(xp):
        a = signal(xp, 3, 6)
        z = signal(xp, 3, 6, dtype="c16")
        names = ("fft", "ifft", "irfft", "hfft")
        results = [getattr(xp.fft, name)(z, n, axis, norm) for name in names for axis in (0, -1)]
        return results + [getattr(xp.fft, name)(a, n, 1, norm) for name in ("rfft", "ihfft")]

    same(run)


@pytest.mark.parametrize(
    ("s", "axes"), [(None, None), ((4, 7), (0, 2)), (None, (1, 2)), ((3, 2), (2, 1)), (None, (1,))]
)
def test_several_axes(s, axes) -> None:
    def run(xp):
        a, z = signal(xp, 3, 4, 6), signal(xp, 3, 4, 6, dtype="c16")
        results = [xp.fft.fftn(z, s, axes), xp.fft.ifftn(z, s, axes, "ortho")]
        return [*results, xp.fft.rfftn(a, s, axes), xp.fft.irfftn(z, s, axes)]

    same(run, rtol=1e-10)
    same(lambda xp: [xp.fft.fft2(signal(xp, 3, 4, 6)), xp.fft.irfft2(signal(xp, 4, 6))])


@pytest.mark.parametrize("dtype", ["?", "i2", "u8", "f2", "f4", "f8", "c8", "c16"])
def test_dtypes_of_results(dtype: str) -> None:
    a = cp.ones((4, 6)).astype(dtype)
    single = dtype in ("f2", "f4", "c8")
    complex_type, real_type = ("c8", "f4") if single else ("c16", "f8")
    assert cp.fft.fft(a).dtype == cp.fft.fftn(a).dtype == complex_type
    assert cp.fft.irfftn(a).dtype == real_type
    assert cp.fft.irfft(a).dtype == ("f2" if dtype == "f2" else real_type)
    if a.dtype.kind != "c":
        assert cp.fft.rfft(a).dtype == cp.fft.rfft2(a).dtype == complex_type
    cp.cuda.Device().synchronize()


def test_layouts_are_those_of_cufft() -> None:
    a = signal(cp, 3, 4, 6, dtype="c16")
    assert cp.fft.fft(a).flags.c_contiguous
    moved = cp.fft.fft(a, axis=0)
    assert moved.swapaxes(0, -1).flags.c_contiguous
    assert cp.fft.fftn(cp.asfortranarray(a)).flags.f_contiguous
    for result, axes in ((moved, (0,)), (cp.fft.fftn(cp.asfortranarray(a)), None)):
        np.testing.assert_allclose(result.get(), np.fft.fftn(a.get(), axes=axes), atol=1e-12)


def test_frequencies_and_shifts() -> None:
    def run(xp):
        a = signal(xp, 4, 5)
        frequencies = [xp.fft.fftfreq(n, d) for n in (5, 6) for d in (1.0, 0.1)]
        shifts = [f(a, axes) for f in (xp.fft.fftshift, xp.fft.ifftshift) for axes in (None, 1)]
        return [*frequencies, xp.fft.rfftfreq(7), *shifts, xp.fft.fftshift(a, (0, 1))]

    same(run)


def test_bad_arguments_are_refused_at_once() -> None:
    a = cp.ones((3, 4))
    with waits() as counted:
        with pytest.raises(TypeError, match=r"cupy\.ndarray"):
            cp.fft.fft(np.ones(3))
        with pytest.raises(ValueError, match="Invalid norm"):
            cp.fft.fft(a, norm="unit")
        with pytest.raises(ValueError, match="data points"):
            cp.fft.fft(a, 0)
        with pytest.raises(ValueError, match="data points"):
            cp.fft.irfft(cp.ones(1))
        with pytest.raises(ValueError, match="different lengths"):
            cp.fft.fftn(a, (3,), (0, 1))
        with pytest.raises(ValueError, match="exceed"):
            cp.fft.fftn(a, axes=(0, 2))
        with pytest.raises(IndexError):
            cp.fft.rfftn(a, axes=())
        with pytest.raises(IndexError):
            cp.fft.fftshift(a, 5)
        assert cp.fft.fftn(a, axes=()) is a
        cp.fft.irfft2(cp.fft.rfft2(a))
    assert counted == []


def test_settings() -> None:
    assert fft_config is cp.fft.config
    old = fft_config.get_plan_cache_size()
    fft_config.set_plan_cache_size(3)
    assert fft_config.get_plan_cache().get_size() == 3
    fft_config.set_plan_cache_size(old)
    fft_config.clear_plan_cache()
    for limit in (fft_config.set_plan_cache_size, fft_config.set_plan_cache_max_memsize):
        with pytest.raises(ValueError, match="a limit is -1"):
            limit(-2)
    with pytest.warns(DeprecationWarning, match="enable_nd_planning"):
        assert fft_config.enable_nd_planning is True
    for gpus, why in ((1, "at least 2"), ([0], "at least 2"), ([1, 1], "once"), ("2", "number")):
        warned = pytest.warns(FutureWarning, match="set_cufft_gpus is experimental")
        with warned, pytest.raises(ValueError, match=why):
            fft_config.set_cufft_gpus(gpus)
