"""What is known of a result of `cupyx.scipy.signal` without a wait: shape, dtype, layout.

The table has a call of every function whose results follow from shapes, dtypes and numbers of the
script. A wrong prediction is an error when the result is fetched.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import cupy as cp
import cupyx.scipy.signal as s
import cupyx.signal as extra
import numpy as np
import pytest

from cupool.proto.operations.signal import OPERATIONS
from tests.cupy.waits import waits

BANDS = ((0.3, "low"), (0.3, "high"), ([0.2, 0.5], "band"), ([0.2, 0.5], "bandstop"))
SECTIONS = np.array([[1, 0.5, 0.3, 1, 0.2, 0.1], [1, 0.7, 0.4, 1, 0.1, 0.2]])
KINDS = ("f4", "f8", "c8", "c16", "i2", "i4")
Call = Callable[[], object]


def line(count: int, dtype: str = "f8") -> cp.ndarray:
    return cp.asarray((np.sin(np.arange(count) * 1.7) * 9).astype(dtype))


def box(dtype: str = "f8", *shape: int) -> cp.ndarray:
    shape = shape or (3, 50)
    return line(int(np.prod(shape)), dtype).reshape(shape)


def designs() -> list[Call]:
    calls: list[Call] = []
    families = ((s.butter, ()), (s.cheby1, (1,)), (s.cheby2, (30,)), (s.ellip, (1, 30)))
    for design, ripples in families:
        for order in range(5):
            for wn, band in BANDS:
                for analog in (False, True):
                    for output in ("ba", "zpk", "sos"):
                        args = (order, *ripples, wn, band, analog, output)
                        calls.append(lambda f=design, a=args: f(*a))
    calls += [lambda: s.iirfilter(3, [10, 20], btype="bs", fs=100, output="zpk")]
    calls += [lambda: s.butter(3, cp.asarray(2.0), analog=True)]
    calls += [lambda: s.iircomb(0.25, 10), lambda: s.iirnotch(0.3, 20), lambda: s.iirpeak(6, 3, 60)]
    for order in range(4):
        calls += [lambda n=order: s.buttap(n), lambda n=order: s.cheb1ap(n, 1)]
        calls += [lambda n=order: s.cheb2ap(n, 30), lambda n=order: s.ellipap(n, 1, 30)]
    calls += [lambda: s.firwin(9, 0.3), lambda: s.firwin(9, [0.2, 0.4], pass_zero=False)]
    calls += [lambda: s.firwin2(11, [0, 0.5, 1], [1, 1, 0])]
    calls += [lambda: s.firls(9, [0, 0.3, 0.5, 1], [1, 1, 0, 0])]
    calls += [lambda n=n: s.minimum_phase(cp.asarray(np.hanning(n)[1:-1])) for n in (8, 9)]
    calls += [lambda: s.gammatone(440, "iir", fs=16000), lambda: s.gammatone(0.3, "fir")]
    return [*calls, lambda: s.savgol_coeffs(5, 2), lambda: s.max_len_seq(4, length=20, taps=[3])]


def responses() -> list[Call]:
    calls: list[Call] = []
    for dtype in ("f4", "f8", "c8", "c16", "i4"):
        for points in (None, 5, 16, cp.asarray([0.1, 0.3]), [1, 2], 0.5):
            for whole in (False, True):
                for taps in (1, 4):
                    args = (line(4, dtype), line(taps, dtype) + 1, points, whole)
                    calls.append(lambda a=args: s.freqz(*a))
    b, a = line(3), line(3) + 10
    z, p = cp.asarray([-1.0]), cp.asarray([-2.0, -3.0])
    for points in (None, 7, cp.asarray([0.1, 0.3]), cp.asarray([0.1, 0.2], "f4")):
        calls += [lambda w=points: s.freqs(b, a, w), lambda w=points: s.group_delay((b, a), w)]
        calls += [lambda w=points: s.freqs_zpk(z, p, 2.0, w)]
        calls += [lambda w=points: s.freqz_zpk(z, p, 2.0, w)]
        calls += [lambda w=points: s.freqz_sos(cp.asarray(SECTIONS), w)]
    calls += [lambda: s.freqz(box("f8", 4, 3, 1), 1, 16), lambda: s.findfreqs(b, a, 9)]
    return [*calls, lambda: s.sosfreqz(cp.asarray(SECTIONS), 8, True)]


def conversions() -> list[Call]:
    calls: list[Call] = []
    for dtype in ("f4", "f8", "c8", "c16"):
        for zeros in (line(2, dtype), cp.zeros(0)):
            parts = (zeros, line(3, dtype) + 1, 2.0)
            calls += [lambda a=parts: s.zpk2tf(*a), lambda a=parts: s.bilinear_zpk(*a, 4.0)]
            calls += [lambda a=parts: s.lp2lp_zpk(*a, 2.0), lambda a=parts: s.lp2hp_zpk(*a, 2.0)]
            calls += [lambda a=parts: s.lp2bp_zpk(*a, 2.0), lambda a=parts: s.lp2bs_zpk(*a, 2.0)]
    z, p = (cp.asarray(v) for v in ([1j, -1j, 0.5], [0.3 + 0.2j, 0.3 - 0.2j, 0.1]))
    calls += [lambda: s.zpk2sos(z, p, 2.0), lambda: s.zpk2sos(z, p, 2.0, analog=True)]
    calls += [lambda: s.zpk2sos(z, p, 2.0, "keep_odd")]
    a, b, c, d = box("f8", 3, 3), box("f8", 3, 2), box("f8", 2, 3), box("f8", 2, 2)
    calls += [lambda: s.ss2tf(a, b, c, d, 1), lambda: s.abcd_normalize(a, b, c)]
    calls += [lambda: s.normalize([0.0, 0, 1], [0.0, 2, 1]), lambda: s.normalize([1], [2, 1])]
    edges = (cp.asarray([0.1, 0.6]), cp.asarray([0.2, 0.5]))
    return [*calls, lambda: s.band_stop_obj(0.15, 0, *edges, 1, 40, "butter")]


def spectra() -> list[Call]:
    calls: list[Call] = []
    lengths = ({"nperseg": 15}, {"nperseg": 3, "axis": 0}, {"nperseg": 1, "noverlap": 0})
    several = (
        *lengths,
        {"nperseg": 16, "nfft": 20, "return_onesided": False},
        {"nperseg": 16, "noverlap": 3, "detrend": "linear", "scaling": "spectrum"},
    )
    for dtype in KINDS:
        x, half = box(dtype), {"return_onesided": dtype[0] != "c"}
        for options in several:
            given = {**half, **options}
            calls += [lambda x=x, o=given: s.welch(x, 10.0, **o)]
            calls += [lambda x=x, o=given: s.csd(x, box(), 10.0, **o)]
            calls += [lambda x=x, o=given: s.spectrogram(x, 10.0, **o)]
        for mode in ("complex", "magnitude", "angle", "phase"):
            calls += [lambda x=x, m=mode, o=half: s.spectrogram(x, nperseg=16, mode=m, **o)]
        calls += [lambda x=x, o=half: s.csd(x, x, nperseg=8, **o)]
        calls += [lambda x=x, n=n, o=half: s.periodogram(x, 10.0, nfft=n, **o) for n in (20, 80)]
        calls += [lambda x=x, o=half: s.stft(x, nperseg=16, **o)]
        calls += [lambda x=x, o=half: s.stft(x, nperseg=2, axis=0, **o)]
    calls += [lambda o=o: s.coherence(box("f4"), box("f4") ** 2, **o) for o in lengths]
    calls += [lambda: s.welch(box("f4"), nperseg=16, average="median")]
    for dtype in ("c8", "c16", "f8"):
        for options in ({}, {"boundary": False}, {"time_axis": 0, "freq_axis": 1}, {"nperseg": 17}):
            calls += [lambda d=dtype, o=options: s.istft(box(d, 9, 9), **o)]
    calls += [lambda: s.istft(box("c16", 2, 9, 6, 3), time_axis=2, freq_axis=1)]
    calls += [lambda: s.check_COLA("hann", 10, 5), lambda: s.check_NOLA("hann", 10, 5)]
    calls += [lambda: s.lombscargle(line(9), line(9), line(4) ** 2 + 1)]
    return [*calls, lambda: s.vectorstrength(line(9), [3.0, 4.0])]


def filters() -> list[Call]:
    calls: list[Call] = []
    a, sections = cp.asarray([1.0, 0.2, 0.1]), cp.asarray(SECTIONS)
    for dtype in KINDS:
        x = box(dtype)
        for axis in (0, 1):
            more = {"axis": axis}
            calls += [lambda x=x, o=more: s.lfilter(line(3), a, x, **o)]
            calls += [lambda x=x, o=more: s.sosfilt(sections, x, **o)]
            calls += [lambda x=x, o=more: s.filtfilt(line(3), a, x, padlen=1, **o)]
            calls += [lambda x=x, o=more: s.sosfiltfilt(sections, x, padlen=1, **o)]
            calls += [lambda x=x, o=more: s.detrend(x, **o)]
            calls += [lambda x=x, o=more: s.detrend(x, type="constant", **o)]
            calls += [lambda x=x, o=more: s.resample(x, 7, window="hann", **o)]
            calls += [lambda x=x, o=more: s.resample_poly(x, 3, 2, **o)]
            calls += [lambda x=x, o=more: s.decimate(x, 3, ftype="fir", **o)]
            calls += [lambda x=x, o=more: s.upfirdn(line(3), x, 2, 3, **o)]
            calls += [lambda x=x, o=more: s.czt(x, 7, **o)]
            calls += [lambda x=x, o=more: s.zoom_fft(x, [0.1, 0.4], 5, **o)]
        calls += [lambda x=x: s.sosfiltfilt(sections, x), lambda x=x: s.decimate(x, 3)]
        calls += [lambda d=dtype: s.deconvolve(line(9, d) + 1, line(3) + 1)]
        calls += [lambda x=x: s.sepfir2d(x, line(3), line(5)), lambda x=x: s.wiener(x)]
    for x in (box("f4"), box("i4")):
        calls += [lambda x=x: s.hilbert(x, axis=0), lambda x=x: s.hilbert2(x)]
        calls += [lambda x=x: s.medfilt(x), lambda x=x: s.medfilt2d(x)]
        calls += [lambda x=x: s.savgol_filter(x, 3, 1), lambda x=x: s.symiirorder2(x, 0.5, 0.1)]
        calls += [lambda x=x: s.order_filter(x, cp.ones((3, 3)), 2)]
    calls += [lambda: s.lfilter_zi(line(3), a), lambda: s.sosfilt_zi(sections)]
    for f in (s.convolve, s.correlate, s.convolve2d, s.correlate2d):
        calls += [lambda f=f, m=m: f(box(), box("f4", 2, 3), m) for m in ("full", "same", "valid")]
    for f in (s.fftconvolve, s.oaconvolve):
        for axes in (None, 0, (0, 1)):
            calls += [lambda f=f, a=axes: f(box(), box("f8", 2, 50), axes=a)]
        calls += [lambda f=f: f(box(), cp.zeros((0, 3)))]
    return [*calls, lambda: s.correlation_lags(7, 4), lambda: s.czt_points(5, 0.5, 2.0)]


def waves() -> list[Call]:
    calls: list[Call] = []
    for dtype in ("f4", "f8"):
        t, flat = line(5, dtype), box(dtype, 40, 41)
        calls += [lambda t=t: s.gausspulse(t, 5, retquad=True), lambda t=t: s.gauss_spline(t, 2)]
        calls += [lambda t=t, m=m: s.chirp(t, 1.0, 2.0, 3.0, m) for m in ("linear", "quad", "hyp")]
        calls += [lambda t=t: s.sweep_poly(t, line(3)), lambda t=t: s.sawtooth(t, 0.5)]
        calls += [lambda t=t: s.square(t), lambda t=t: s.cspline1d(t), lambda t=t: s.qspline1d(t)]
        calls += [lambda t=t: s.cspline1d_eval(t, line(4)), lambda t=t: s.qspline1d_eval(t, [1, 2])]
        calls += [lambda x=flat: s.cspline2d(x), lambda x=flat: s.qspline2d(x)]
        calls += [lambda x=flat: s.spline_filter(x), lambda t=t: s.qmf(t)]
    calls += [lambda: s.morlet(9), lambda: s.morlet2(9, 2.0), lambda: s.ricker(9, 2.0)]
    calls += [lambda w=w: s.get_window(w, 8) for w in ("hann", 4.0, ("tukey", 0.5), "parzen")]
    w = s.windows
    plain = "barthann bartlett blackman blackmanharris bohman boxcar cosine exponential flattop"
    plain += " hamming hann lanczos nuttall parzen taylor triang tukey"
    calls += [lambda name=name: getattr(w, name)(8) for name in plain.split()]
    calls += [lambda f=f: f(8, 2.0) for f in (w.kaiser, w.kaiser_bessel_derived, w.gaussian)]
    calls += [lambda: w.chebwin(8, 60), lambda: w.general_cosine(8, [1, 0.5])]
    return [*calls, lambda: w.general_gaussian(8, 1.5, 2), lambda: w.general_hamming(8, 0.6)]


def systems() -> list[Call]:
    calls: list[Call] = []
    ratio = ([1.0, 2.0], [1.0, 3.0, 2.0])
    roots = (cp.asarray([-1.0]), cp.asarray([-2.0, -3.0]), 2.0)
    matrices = tuple(map(cp.asarray, ([[-1.0, 0.5], [0, -2]], [[1.0], [2]], [[1.0, 0]], [[0.0]])))
    times = np.linspace(0, 1, 6).tolist()
    for parts in (ratio, roots, matrices):
        for system in (parts, s.lti(*parts)):
            calls += [lambda v=system: s.lsim(v, cp.ones(6), times), lambda v=system: s.bode(v)]
            calls += [lambda v=system: s.impulse(v, N=7), lambda v=system: s.step(v)]
            calls += [lambda v=system: s.freqresp(v, n=9)]
        for system in ((*parts, 0.3), s.dlti(*parts, dt=0.3)):
            calls += [lambda v=system: s.dlsim(v, cp.ones(6)), lambda v=system: s.dbode(v)]
            calls += [lambda v=system: s.dimpulse(v, n=7), lambda v=system: s.dstep(v, n=13)]
            calls += [lambda v=system: s.dfreqresp(v, w=cp.asarray([0.1, 0.2]))]
    for method in ("zoh", "foh", "bilinear", "euler", "backward_diff"):
        calls += [lambda m=method: s.cont2discrete(matrices, 0.1, m)]
    return calls


def cepstra() -> list[Call]:
    x, taps = line(16, "f4"), line(8, "f4")
    calls: list[Call] = [lambda: extra.real_cepstrum(x), lambda: extra.minimum_phase(x)]
    calls += [lambda: extra.real_cepstrum(box("f8"), axis=0), lambda: extra.complex_cepstrum(x)]
    calls += [lambda: extra.inverse_complex_cepstrum(x, cp.zeros(16, "i4"))]
    calls += [lambda: extra.convolve1d2o(x, box("f4", 3, 3))]
    calls += [lambda: extra.convolve1d3o(x, box("f4", 3, 3, 3))]
    calls += [lambda: extra.firfilter2(line(3), box(), axis=0, padlen=1)]
    calls += [lambda: extra.firfilter_zi(taps), lambda: extra.freq_shift(line(16), 0.1, 2.0)]
    calls += [lambda: extra.channelize_poly(x, taps, 4), lambda: extra.ca_cfar(x, 2, 3)]
    return [*calls, lambda: extra.mvdr(box("f8", 3, 9) + cp.eye(3, 9), line(3))]


GROUPS = (designs, responses, conversions, spectra, filters, waves, systems, cepstra)


def arrays(value: object) -> list[cp.ndarray]:
    if isinstance(value, (tuple, list)):
        return [array for part in value for array in arrays(part)]
    return [value] if isinstance(value, cp.ndarray) else []


@pytest.mark.filterwarnings("ignore:wavelet", "ignore:nperseg", "ignore:Badly conditioned")
@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.__name__)
def test_what_follows_from_shapes_waits_for_nothing(group: Callable[[], list[Call]]) -> None:
    for call in group():
        where = f"line {call.__code__.co_firstlineno}, {call.__defaults__}"
        with waits() as seen:
            results = arrays(call())
        assert seen == [], where
        assert results, where
        for result in results:
            assert result.get().shape == result.shape, where


@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_half_precision_stays_by_way_of_spectra(name: str) -> None:
    x, taps = line(9, "f2"), line(3, "f2")
    assert getattr(s, name)(x, taps, method="fft").get().dtype == np.float16
    assert s.fftconvolve(x, taps).get().dtype == np.float32


def test_gains_are_numbers_where_cupy_has_numbers() -> None:
    for wn in (2.0, cp.asarray(2.0)):
        assert s.butter(3, wn, analog=True, output="zpk")[2] == 8.0
    assert type(s.butter(2, [1, 4], "band", True, "zpk")[2]) is float
    assert s.cheby1(0, 20, 2.0, analog=True, output="zpk")[2] == 0.1
    assert s.buttap(3)[2] == 1 and s.cheb1ap(0, 20)[2] == 0.1


def test_only_the_sections_are_fetched_to_warn_of_zeros() -> None:
    with waits() as seen:
        s.sos2zpk(cp.asarray(SECTIONS))
    assert seen == ["fetch"]


def test_every_operation_with_a_rule_of_its_own_is_called() -> None:
    called = set(re.findall(r"\w+", Path(__file__).read_text()))
    ruled = {row.name.rpartition(".")[2] for row in OPERATIONS if row.rule == "own"}
    assert ruled - called == set()
