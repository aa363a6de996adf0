"""`cupyx.scipy.fft` and `fftpack` against SciPy; plans; the backend of `scipy.fft`."""

from __future__ import annotations

import cupy as cp
import cupyx.scipy.fft as own
import cupyx.scipy.fftpack as packed
import numpy as np
import pytest
import scipy.fft
import scipy.fftpack

from tests.cupy.agreement import same
from tests.cupy.waits import no_waits


def signal(xp, *shape, dtype="d"):
    rng = np.random.default_rng(len(shape))
    values = rng.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.normal(size=shape)
    return xp.asarray(values.astype(dtype))


def fft_of(xp):
    return own if xp is cp else scipy.fft


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
def test_transforms(norm: str | None) -> None:
    def run(xp):
        fft = fft_of(xp)
        a, z = signal(xp, 4, 6), signal(xp, 4, 6, dtype="D")
        made = [getattr(fft, n)(z, 5, 0, norm) for n in ("fft", "ifft", "irfft", "hfft")]
        made += [getattr(fft, n)(a, 7, 1, norm) for n in ("rfft", "ihfft")]
        made += [getattr(fft, n)(z, norm=norm) for n in ("fftn", "ifft2", "irfftn", "irfft2")]
        made += [getattr(fft, n)(z, (4, 4), (0, 1), norm) for n in ("fft2", "ifftn", "hfftn")]
        made += [getattr(fft, n)(a, norm=norm) for n in ("rfftn", "rfft2", "ihfftn", "ihfft2")]
        return [*made, fft.hfft2(z, norm=norm), fft.fftn(z, 3, 1, norm)]

    with no_waits():
        run(cp)
    same(run, rtol=1e-11)


@pytest.mark.parametrize("kind", [2, 3])
@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
def test_real_transforms(kind: int, norm: str | None) -> None:
    def run(xp):
        fft = fft_of(xp)
        a, z = signal(xp, 3, 5), signal(xp, 3, 5, dtype="D")
        ones = ("dct", "dst", "idct", "idst")
        made = [getattr(fft, n)(a, kind, 6, 1, norm) for n in ones]
        made += [getattr(fft, n)(z, kind, None, 0, norm) for n in ones]
        made += [getattr(fft, f"{n}n")(a, kind, (2, 6), (0, 1), norm) for n in ones]
        return made + [getattr(fft, f"{n}n")(a, kind, norm=norm) for n in ones]

    with no_waits():
        run(cp)
    same(run, rtol=1e-11)


def test_dtypes_of_real_transforms() -> None:
    for char, made in (("e", "f"), ("f", "f"), ("F", "F"), ("i", "d"), ("d", "d")):
        assert own.dct(cp.ones(4, char)).dtype == made
        assert own.dctn(cp.ones((4, 4), char)).dtype == made
    cp.cuda.Device().synchronize()


@pytest.mark.parametrize("bias", [0.0, 0.3])
def test_hankel_transforms(bias: float) -> None:
    def run(xp):
        fft, a = fft_of(xp), xp.abs(signal(xp, 2, 16))
        return [f(a, 0.1, 0.5, 0.2, bias) for f in (fft.fht, fft.ifht)]

    with no_waits():
        run(cp)
    same(run, rtol=1e-9)


def test_singular_hankel_transforms_warn() -> None:
    a = cp.ones(8)
    with pytest.warns(UserWarning, match="singular transform"):
        own.fht(a, 0.1, -0.5, bias=-0.5)
    with pytest.warns(UserWarning, match="singular inverse transform"):
        own.ifht(a, 0.1, -0.5, bias=0.5)


def test_bad_arguments_are_refused_at_once() -> None:
    a = cp.ones((3, 4))
    with no_waits():
        with pytest.raises(NotImplementedError, match="DCT-II"):
            own.dct(a, 1)
        with pytest.raises(ValueError, match="invalid DST type"):
            own.dst(a, 7)
        with pytest.raises(ValueError, match="Invalid norm"):
            own.dct(a, norm="unit")
        with pytest.raises(np.exceptions.AxisError):
            own.dct(a, axis=2)
        with pytest.raises(ValueError, match="unique"):
            own.dctn(a, axes=(0, 0))
        with pytest.raises(ValueError, match="data points"):
            own.idctn(a, s=(0, 1))
        with pytest.raises(NotImplementedError, match="plan"):
            own.hfft(a, plan=object())


def test_lengths_that_are_fast() -> None:
    good = sorted(
        {
            2**a * 3**b * 5**c * 7**d
            for a in range(9)
            for b in range(6)
            for c in range(4)
            for d in range(4)
        }
    )
    for target in range(1, 400):
        assert own.next_fast_len(target) == next(n for n in good if n >= target)
    assert own.next_fast_len(0) == 0


def test_fftpack() -> None:
    def run(xp):
        pack = packed if xp is cp else scipy.fftpack
        a, z = signal(xp, 4, 6), signal(xp, 4, 6, dtype="D")
        made = [pack.fft(z, 5), pack.ifft(z, axis=0), pack.fftn(z), pack.ifftn(z, (3, 4))]
        made += [pack.fft2(z), pack.ifft2(z)]
        made += [f(a, n, axis) for f in (pack.rfft, pack.irfft) for n in (5, 6) for axis in (0, 1)]
        return [*made, pack.rfft(a.astype("f")), pack.irfft(a.astype("i"))]

    with no_waits():
        run(cp)
    same(run, rtol=1e-6)


def test_backend_of_scipy() -> None:
    a = signal(cp, 3, 8)
    with scipy.fft.set_backend(own):
        made = [scipy.fft.rfft(a), scipy.fft.dctn(a), scipy.fft.fht(a, 0.1, 0.5)]
    host = a.get()
    expected = [scipy.fft.rfft(host), scipy.fft.dctn(host), scipy.fft.fht(host, 0.1, 0.5)]
    for got, wanted in zip(made, expected, strict=True):
        assert isinstance(got, cp.ndarray)
        np.testing.assert_allclose(got.get(), wanted, rtol=1e-10, atol=1e-12)
    with scipy.fft.set_backend(own, coerce=True):
        assert isinstance(scipy.fft.fft(host), cp.ndarray)


def test_plans_are_checked() -> None:
    z = signal(cp, 4, 6, dtype="D")
    one, several = own.get_fft_plan(z, axes=1), own.get_fft_plan(z)
    assert isinstance(one, cp.cuda.cufft.Plan1d)
    assert isinstance(several, cp.cuda.cufft.PlanNd)
    with no_waits():
        planned = [own.fft(z, plan=one), own.fftn(z, plan=several)]
        with several as current:
            assert cp.cuda.cufft.get_current_plan() is current
            planned.append(cp.fft.fftn(z))
        assert cp.cuda.cufft.get_current_plan() is None
        with pytest.raises(ValueError, match="size does not match"):
            own.fft(z, axis=0, plan=one)
        with pytest.raises(ValueError, match="dtype mismatch"):
            own.fft(z.astype("F"), plan=one)
        with pytest.raises(ValueError, match="PlanNd"):
            own.fftn(z, plan=one)
        with one, pytest.raises(RuntimeError, match="either as"):
            own.fft(z, plan=one)
        with pytest.raises(ValueError, match="neighbours"):
            own.get_fft_plan(cp.ones((2, 3, 4), "D"), axes=(0, 2))
    expected = [np.fft.fft(z.get()), np.fft.fft2(z.get()), np.fft.fft2(z.get())]
    for got, wanted in zip(planned, expected, strict=True):
        np.testing.assert_allclose(got.get(), wanted)


def test_overwriting() -> None:
    z = signal(cp, 4, 6, dtype="D")
    expected = np.fft.fft2(z.get())
    assert packed.fftn(z, overwrite_x=True) is z
    np.testing.assert_allclose(z.get(), expected)
