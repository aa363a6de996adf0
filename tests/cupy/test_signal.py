"""`cupyx.scipy.signal` against SciPy, and `cupyx.signal` against what it is for."""

from __future__ import annotations

import cupy as cp
import cupyx.scipy.signal as ours
import cupyx.signal as extra
import numpy as np
import pytest
import scipy.signal as theirs

from tests.cupy.agreement import same, to_host
from tests.cupy.waits import no_waits, waits


def sig(xp):
    return theirs if xp is np else ours


def noise(xp, *shape, dtype="f8"):
    rng = np.random.default_rng(sum(shape))
    values = rng.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.normal(size=shape)
    return xp.asarray((values * 9).astype(dtype))


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("dtype", ["f8", "i8", "c16"])
def test_convolutions(mode: str, dtype: str) -> None:
    def run(xp):
        s, a, b = sig(xp), noise(xp, 7, 6, dtype=dtype), noise(xp, 3, 4, dtype=dtype)
        results = [f(a, b, mode) for f in (s.convolve, s.correlate, s.fftconvolve, s.oaconvolve)]
        results += [s.convolve2d(a, b, mode, "symm"), s.correlate2d(a, b, mode, "wrap")]
        return [*results, s.convolve(a[0], b[0], mode, "direct")]

    same(run, rtol=1e-9)
    with no_waits():
        for name in ("convolve", "correlate", "fftconvolve", "convolve2d"):
            getattr(ours, name)(noise(cp, 7, 6, dtype=dtype), noise(cp, 3, 4, dtype=dtype), mode)
    same(lambda xp: sig(xp).correlation_lags(7, 4, mode))


def test_filters() -> None:
    def run(xp):
        s, x = sig(xp), noise(xp, 3, 60)
        b, a = s.butter(3, 0.3)
        sections = s.butter(4, [0.1, 0.5], "band", output="sos")
        results = [s.lfilter(b, a, x), s.lfilter(b, a, x, axis=0), s.lfilter(b, a[:1], x)]
        results += [s.sosfilt(sections, x), s.sosfiltfilt(sections, x), s.filtfilt(b, a, x)]
        results += [s.filtfilt(b, a, x, method="gust"), s.detrend(x), s.detrend(x, 0, "constant")]
        results += [s.hilbert(x), s.hilbert(x, 30, axis=1), s.wiener(x, 3)]
        results += [s.medfilt(x, (3, 5)), s.medfilt2d(x), s.savgol_filter(x, 7, 2)]
        results += [s.order_filter(x, xp.ones((3, 3)), 2), s.resample(x, 20, axis=1)]
        results += [s.resample_poly(x, 3, 2, axis=1), s.decimate(x, 2), s.upfirdn(b, x, 2, 3)]
        return results

    same(run, rtol=1e-7)


@pytest.mark.parametrize(("shape", "axis"), [((30,), -1), ((3, 30), 0), ((2, 3, 30), 1)])
@pytest.mark.parametrize("dtype", ("i1", "f4", "D"))
def test_upfirdn_and_savgol_coeffs_are_predicted(shape, axis, dtype) -> None:
    same(lambda xp: sig(xp).upfirdn([1.0, 2.0, 3.0], noise(xp, *shape, dtype=dtype), 3, 2, axis))
    with no_waits():
        made = ours.upfirdn(noise(cp, 3), noise(cp, *shape, dtype=dtype), 3, 2, axis)
        ours.savgol_coeffs(5, 2, pos=1)
    assert made.shape == theirs.upfirdn(np.ones(3), np.ones(shape), 3, 2, axis).shape
    with pytest.raises(ValueError, match="polyorder"):
        ours.savgol_coeffs(5, 5)


def test_states_continue() -> None:
    x = noise(cp, 2, 40)
    b, a = ours.butter(3, 0.3)
    whole = ours.lfilter(b, a, x).get()
    with no_waits():
        first, state = ours.lfilter(b, a, x[:, :17], zi=cp.zeros((2, 6)))
        second, _ = ours.lfilter(b, a, x[:, 17:], zi=state)
    np.testing.assert_allclose(np.hstack(to_host([first, second])), whole, rtol=1e-10)
    constant, _ = ours.lfilter(b, a, cp.ones(9), zi=ours.lfilter_zi(b, a))
    np.testing.assert_allclose(constant.get(), 1)
    sections = ours.butter(4, 0.3, output="sos")
    whole = ours.sosfilt(sections, x).get()
    first, state = ours.sosfilt(sections, x[:, :17], zi=cp.zeros((2, 2, 4)))
    second, _ = ours.sosfilt(sections, x[:, 17:], zi=state)
    np.testing.assert_allclose(np.hstack(to_host([first, second])), whole, rtol=1e-9)
    constant, _ = ours.sosfilt(sections, cp.ones(9), zi=ours.sosfilt_zi(sections))
    np.testing.assert_allclose(constant.get(), 1)
    past = ours.lfiltic(b, a, cp.asarray([3.0, 2, 1]), cp.asarray([5.0, 4]))
    np.testing.assert_array_equal(past.get(), [0, 4, 5, 1, 2, 3])


def test_design() -> None:
    def run(xp):
        s = sig(xp)
        results = []
        for args in ((4, 0.2), (3, [0.2, 0.5], "bandstop")):
            results += [*s.butter(*args), *s.cheby1(args[0], 1, *args[1:])]
            results += [*s.cheby2(args[0], 30, *args[1:]), *s.ellip(args[0], 1, 30, *args[1:])]
        b, a = results[:2]
        results += [*s.iirnotch(0.3, 20), *s.iircomb(0.25, 10), s.firwin(9, 0.3)]
        results += [s.firwin2(11, [0, 0.5, 1], [1, 1, 0]), s.savgol_coeffs(5, 2)]
        results += [*s.freqz(b, a, 16), *s.freqs(b, a, 9), *s.tf2zpk(b, a)[1:], *s.tf2ss(b, a)]
        results += [*s.bilinear(b, a), *s.lp2hp(b, a), *s.group_delay((b, a), 8)]
        return [*results, *s.residue(b, a)[:2], s.tf2sos(b, a)]

    same(run, rtol=1e-7, check_dtype=False)
    order, edge = ours.buttord(0.2, 0.3, 3, 40)
    assert type(order) is int
    assert (order, float(edge)) == pytest.approx(theirs.buttord(0.2, 0.3, 3, 40))
    assert ours.kaiserord(60, 0.1) == theirs.kaiserord(60, 0.1)


def test_spectra() -> None:
    def run(xp):
        s, x = sig(xp), noise(xp, 2, 100)
        results = [*s.periodogram(x), *s.welch(x, 10.0, nperseg=32), *s.csd(x[0], x[1], nperseg=20)]
        results += [*s.spectrogram(x, nperseg=16), *s.coherence(x[0], x[1], nperseg=20)]
        results += [*s.stft(x, nperseg=16), *s.istft(s.stft(x, nperseg=16)[2], nperseg=16)]
        results += [s.czt(x, 7), s.zoom_fft(x, [0.1, 0.4], 5), s.lombscargle(x[0], x[1], x[0] ** 2)]
        return results

    same(run, rtol=1e-7)
    transform = ours.ZoomFFT(100, 0.5, 20)
    expected = theirs.zoom_fft(noise(np, 100), 0.5, 20)
    np.testing.assert_allclose(transform(noise(cp, 100)).get(), expected, rtol=1e-9)


@pytest.mark.parametrize("size", [0, 1, 7, 8])
def test_windows(size: int) -> None:
    names = "hann hamming blackman boxcar bartlett parzen cosine triang flattop nuttall".split()
    names += ["barthann", "bohman", "blackmanharris", "lanczos", "taylor", "tukey"]

    def run(xp):
        w = sig(xp).windows
        results = [getattr(w, name)(size, sym=s) for name in names[:-2] for s in (True, False)]
        return [*results, w.kaiser(size, 8.0), w.gaussian(size, 2), w.get_window("hann", size or 1)]

    same(run)
    with no_waits():
        ours.windows.hann(5)
    with pytest.raises(ValueError):
        ours.windows.hann(-1)


def test_peaks() -> None:
    def run(xp):
        s, x = sig(xp), noise(xp, 80)
        peaks, properties = s.find_peaks(x, height=0, threshold=0.1, width=1, plateau_size=1)
        results = [peaks, *(properties[name] for name in sorted(properties))]
        results += [s.find_peaks(x, distance=5)[0], *s.peak_prominences(x, peaks)]
        results += [*s.peak_widths(x, peaks), *s.argrelmax(x), *s.argrelmin(x, order=2)]
        return [*results, *s.argrelextrema(noise(xp, 5, 9), xp.greater, axis=1, mode="wrap")]

    same(run, rtol=1e-9)


def test_waves_and_splines() -> None:
    def run(xp):
        s, t = sig(xp), xp.linspace(0, 3, 40)
        results = [s.square(t, 0.3), s.sawtooth(t), s.chirp(t, 1, 2, 5), *s.max_len_seq(4)]
        results += [*s.gausspulse(t, 3, retquad=True), s.unit_impulse((3, 4), "mid")]
        coefficients = s.cspline1d(t**2)
        results += [coefficients, s.cspline1d_eval(coefficients, t), s.qspline1d(t**2)]
        return [*results, s.gauss_spline(t, 3), s.sweep_poly(t, xp.asarray([1.0, 2.0]))]

    same(run, rtol=1e-7, check_dtype=False)
    with pytest.warns(np.exceptions.VisibleDeprecationWarning, match="wavelet"):
        waves = ours.cwt(noise(cp, 30), ours.ricker, [1, 2, 3])
        assert ours.cwt(noise(cp, 30), ours.morlet2, [1]).dtype == np.complex128
        assert ours.morlet(16).dtype == np.complex128
    assert waves.shape == (3, 30)


@pytest.mark.filterwarnings("ignore::scipy.signal.BadCoefficients")
def test_systems() -> None:
    def run(xp):
        s = sig(xp)
        system = s.lti(xp.asarray([1.0, 2]), xp.asarray([1.0, 3, 2]))
        assert isinstance(system, s.TransferFunction)
        assert isinstance(system.to_ss(), s.StateSpace)
        results = [*system.bode(n=9), *system.step(N=12), *system.impulse(N=12)]
        results += [*system.freqresp(n=8), system.poles, system.zeros, system.to_zpk().poles]
        discrete = system.to_discrete(0.1)
        results += [discrete.num, discrete.den, discrete.step(n=6)[1][0], *discrete.bode(n=5)]
        both = system.to_ss() + system.to_ss() * 2.0
        results += [both.A, both.B, both.C, both.D, (-both).D]
        t = xp.linspace(0, 1, 5)
        results += [*s.lsim(system, t, t)[:2], *s.dlsim(discrete, xp.ones(4))]
        return [*results, s.place_poles(both.A, xp.eye(4), xp.asarray([-1.0, -2, -3, -4])).rtol]

    same(run, rtol=1e-6, check_dtype=False)
    with pytest.raises(AttributeError, match="discrete"):
        ours.dstep(ours.lti(cp.ones(1), cp.ones(2)))


def test_errors_are_raised_at_once() -> None:
    x = cp.ones((3, 20))
    with waits() as counted:
        for error, call in (
            (ValueError, lambda: ours.convolve(x, x[0])),
            (ValueError, lambda: ours.convolve(x, x, "most")),
            (ValueError, lambda: ours.fftconvolve(x[:, :9], x[:2], "valid")),
            (ValueError, lambda: ours.hilbert(x.astype(complex))),
            (ValueError, lambda: ours.medfilt(x, 4)),
            (ValueError, lambda: ours.filtfilt(x[0], x[0], x)),
            (ValueError, lambda: ours.detrend(x, type="cubic")),
            (NotImplementedError, lambda: ours.upfirdn(x[0], x, mode="line")),
            (ValueError, lambda: ours.savgol_filter(x, 31, 2)),
            (ValueError, lambda: ours.find_peaks(x)),
            (ValueError, lambda: ours.CZT(0)),
        ):
            with pytest.raises(error):
                call()
    assert counted == []
    with pytest.raises(ValueError):
        ours.butter(3, 2.0)


def test_what_scipy_does_not_have() -> None:
    x = noise(cp, 64)
    host = x.get()
    expected = np.fft.ifft(np.log(abs(np.fft.fft(host)))).real
    np.testing.assert_allclose(extra.real_cepstrum(x).get(), expected, rtol=1e-9, atol=1e-12)
    back = extra.inverse_complex_cepstrum(*extra.complex_cepstrum(x))
    assert back.shape == x.shape
    minimum = extra.minimum_phase(x)
    assert abs(np.fft.fft(minimum.get())) == pytest.approx(abs(np.fft.fft(host)), rel=1e-6)
    pairs = extra.convolve1d2o(x, cp.ones((2, 2))).get()
    np.testing.assert_allclose(pairs, (host[1:] + host[:-1]) ** 2, rtol=1e-9, atol=1e-9)
    shifted = extra.freq_shift(x, 2.0, 64.0).get()
    np.testing.assert_allclose(shifted, host * np.exp(-2j * np.pi * np.arange(64) / 32))
    assert extra.channelize_poly(x, x[:16], 4).shape == (4, 16)
    threshold, above = extra.ca_cfar(x, 1, 3)
    assert float(threshold[10]) == pytest.approx(
        np.r_[host[6:9], host[12:15]].mean() * extra.cfar_alpha(1e-3, 6), rel=1e-5
    )
    assert above.dtype == np.bool_
    with pytest.raises(NotImplementedError):
        extra.convolve1d2o(x, cp.ones((2, 2)), "full")
    filtered = extra.firfilter(cp.ones(3) / 3, x)
    np.testing.assert_allclose(filtered.get(), theirs.lfilter(np.ones(3) / 3, 1, host))
    weights = extra.mvdr(cp.asarray([[1.0, 2, 3], [4, 5, 7]]), cp.asarray([1.0, 2]))
    np.testing.assert_allclose(weights.get(), [-2, 1.5])
    pulses = extra.pulse_doppler(extra.pulse_compression(x.reshape(4, 16), x[:8], True, "hann"))
    assert pulses.shape == (4, 16)


def test_functions_of_the_script_detrend() -> None:
    def run(xp):
        s, x = sig(xp), noise(xp, 2, 90)

        def flat(pieces):
            return pieces - pieces.mean(axis=-1, keepdims=True)

        options = {"nperseg": 20, "detrend": flat, "fs": 4.0}
        results = [*s.welch(x, **options), *s.csd(x[0], x[1], scaling="spectrum", **options)]
        return [*results, *s.welch(x, axis=0, nperseg=2, detrend=lambda p: p)]

    same(run, rtol=1e-9)


def test_leading_zeros_warn() -> None:
    with pytest.warns(ours.BadCoefficients):
        num, _ = ours.normalize(cp.asarray([0.0, 1, 2]), cp.asarray([2.0, 1]))
    np.testing.assert_array_equal(num.get(), [0.5, 1])


def test_filters_take_numbers_as_denominators() -> None:
    x = np.sin(np.arange(30.0))
    got = ours.filtfilt(cp.ones(5) / 5, 1, cp.asarray(x))
    np.testing.assert_allclose(got.get(), theirs.filtfilt(np.ones(5) / 5, 1, x), rtol=1e-10)
