"""Where CuPy differs from SciPy in the chapter `proto.operations.signal`.

CuPy's filter states hold the inputs and outputs before, SciPy's hold sums of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cupool.pool_server.devices.mock.calls import adapter, named
from cupool.proto.operations.signal import OPERATIONS

NpArray = np.ndarray[Any, Any]


def _scipy(name: str) -> Callable[..., Any]:
    function: Callable[..., Any] | None = None

    def run(*args: Any, **kwargs: Any) -> Any:
        # SciPy is imported when it is first needed: it takes longer than all else.
        nonlocal function
        if function is None:
            function = named(f"scipy.signal.{name}")
        return function(*args, **kwargs)

    return run


# The precisions in which SciPy computes are often not CuPy's. Adapters below replace these.
for _row in OPERATIONS:
    if _row.numpy.startswith("scipy.signal.") and ".windows." not in _row.numpy:
        adapter(_row.name, casts=True)(_scipy(_row.numpy.removeprefix("scipy.signal.")))


def _state(b: NpArray, a: NpArray, before: NpArray) -> NpArray:
    """Turn CuPy's state, along the last axis, into SciPy's for a filter with a[0] = 1."""
    taps, poles = b.size - 1, a.size - 1
    order = max(taps, poles)
    x, y = before[..., :taps], before[..., before.shape[-1] - poles :]
    state = np.zeros((*before.shape[:-1], order), np.result_type(before, b, a, np.float64))
    for m in range(order):
        for k in range(m + 1, taps + 1):
            state[..., m] += b[k] * x[..., taps - (k - m)]
        for k in range(m + 1, poles + 1):
            state[..., m] -= a[k] * y[..., poles - (k - m)]
    return state


def _with_state(b: NpArray, a: NpArray, x: NpArray, before: NpArray) -> tuple[NpArray, NpArray]:
    """Filter the last axis from a state, and return the output and CuPy's state after it."""
    b, a = b / a[0], a / a[0]
    taps, poles = b.size - 1, a.size - 1
    lfilter = named("scipy.signal.lfilter")
    lines = np.broadcast_to(before, (*x.shape[:-1], before.shape[-1]))
    if max(taps, poles):
        y, _ = lfilter(b, a, x, axis=-1, zi=_state(b, a, lines))
    else:
        y = lfilter(b, a, x, axis=-1)
    inputs = np.concatenate((lines[..., :taps], x), axis=-1)
    outputs = np.concatenate((lines[..., lines.shape[-1] - poles :], y), axis=-1)
    after = (inputs[..., inputs.shape[-1] - taps :], outputs[..., outputs.shape[-1] - poles :])
    return y, np.concatenate(after, axis=-1)


@adapter("scipy.signal.lfilter", casts=True)
def lfilter(b: NpArray, a: NpArray, x: NpArray, axis: int = -1, zi: Any = None) -> Any:
    """With a state, outputs continue from the inputs and outputs before."""
    if zi is None:
        return named("scipy.signal.lfilter")(b, a, x, axis)
    zi = np.atleast_1d(zi)
    moved = np.moveaxis(zi, axis, -1) if zi.ndim > 1 else zi
    y, after = _with_state(b, a, np.moveaxis(x, axis, -1), moved)
    if zi.ndim == 1 and after.ndim > 1:
        after = after.reshape(-1, zi.size)[0]
    return np.moveaxis(y, -1, axis), np.moveaxis(after, -1, axis) if after.ndim > 1 else after


@adapter("scipy.signal.lfilter_zi")
def lfilter_zi(b: NpArray, a: NpArray) -> NpArray:
    """Ones went in; the filter's gain for constants came out."""
    poles = a.size - 1
    gain = b.sum() / a.sum()
    zi = np.concatenate((np.ones(b.size - 1), np.full(poles, np.nan_to_num(gain, nan=0.0))))
    return zi.astype(np.float64)


@adapter("scipy.signal.sosfilt", casts=True)
def sosfilt(sos: NpArray, x: NpArray, axis: int = -1, zi: Any = None) -> Any:
    """Sections one after the other, each from the inputs and outputs before."""
    if zi is None:
        return named("scipy.signal.sosfilt")(sos, x, axis)
    y = np.moveaxis(x, axis, -1)
    rows = np.moveaxis(zi, axis if axis < 0 else axis + 1, -1)
    after = []
    for section, before in zip(sos, rows, strict=True):
        y, state = _with_state(section[:3], section[3:], y, before)
        after.append(state)
    states = np.moveaxis(np.stack(after), -1, axis if axis < 0 else axis + 1)
    return np.moveaxis(y, -1, axis), states.reshape(zi.shape)


@adapter("scipy.signal.sosfilt_zi", casts=True)
def sosfilt_zi(sos: NpArray) -> NpArray:
    """A constant goes in; each section's gain makes the next one's constant."""
    zi = np.empty((sos.shape[0], 4))
    level = 1.0
    for row, section in zip(zi, sos, strict=True):
        row[:2] = level
        level *= section[:3].sum() / section[3:].sum()
        row[2:] = level
    return zi


@adapter("scipy.signal.find_peaks")
def find_peaks(x: NpArray, **kwargs: Any) -> list[NpArray]:
    """Peaks, then their properties in SciPy's order."""
    peaks, properties = named("scipy.signal.find_peaks")(x, **kwargs)
    return [peaks, *properties.values()]


@adapter("scipy.signal.sepfir2d", wants_outs=True)
def sepfir2d(input: NpArray, hrow: NpArray, hcol: NpArray, outs: Sequence[Any] = ()) -> Any:
    """SciPy's takes no names, and arrays of one dtype only."""
    parts = [part.astype(outs[0].dtype) for part in (input, hrow, hcol)]
    return named("scipy.signal.sepfir2d")(*parts)


def _or_nothing(name: str) -> Callable[..., Any]:
    function = _scipy(name)

    def run(in1: NpArray, in2: NpArray, **options: Any) -> Any:
        return in1.ravel()[:0] if 0 in (in1.size, in2.size) else function(in1, in2, **options)

    return run


for _name in ("convolve", "correlate"):
    adapter(f"scipy.signal.{_name}", casts=True)(_or_nothing(_name))


@adapter("scipy.signal.qmf", casts=True)
def qmf(hk: Any) -> Any:
    """The reversed filter with every other sign changed, beginning with plus."""
    taps = np.atleast_1d(hk)
    return taps[::-1] * np.where(np.arange(taps.size) % 2, -1, 1)


@adapter("scipy.signal.ricker")
def ricker(points: int, a: float) -> Any:
    """The second derivative of a Gaussian, negated and normalized."""
    t = np.arange(int(points)) - (points - 1.0) / 2
    square = (t / a) ** 2
    return 2 / (np.sqrt(3 * a) * np.pi**0.25) * (1 - square) * np.exp(-square / 2)


@adapter("scipy.signal.morlet")
def morlet(M: int, w: float = 5.0, s: float = 1.0, complete: bool = True) -> Any:
    """A complex wave in a Gaussian envelope from -2 pi s to 2 pi s."""
    x = np.linspace(-s * 2 * np.pi, s * 2 * np.pi, M)
    wave = np.exp(1j * w * x)
    if complete:
        wave -= np.exp(-0.5 * w**2)
    return wave * np.exp(-0.5 * x**2) * np.pi**-0.25


@adapter("scipy.signal.morlet2")
def morlet2(M: int, s: float, w: float = 5) -> Any:
    """A complex wave in a Gaussian envelope of width s."""
    x = (np.arange(int(M)) - (M - 1.0) / 2) / s
    return np.exp(1j * w * x) * np.exp(-0.5 * x**2) * np.pi**-0.25 * np.sqrt(1 / s)


@adapter("scipy.signal.place_poles")
def place_poles(A: NpArray, **kwargs: Any) -> list[Any]:
    """The details of the answer in a fixed order."""
    found = named("scipy.signal.place_poles")(A, **kwargs)
    names = ("gain_matrix", "computed_poles", "requested_poles", "X", "rtol", "nb_iter")
    return [getattr(found, name) for name in names]


# ------------------------------------------------------------------- cupyx.signal


@adapter("signal.real_cepstrum", casts=True)
def real_cepstrum(x: NpArray, n: Any = None, axis: int = -1) -> Any:
    """The inverse transform of the logarithm of the magnitudes."""
    spectrum = np.log(np.abs(np.fft.fft(x, n, axis)))
    return np.fft.ifft(spectrum, n, axis).real


@adapter("signal.complex_cepstrum", casts=True)
def complex_cepstrum(x: NpArray, n: Any = None, axis: int = -1) -> list[Any]:
    """The phase is unwrapped, and made zero at half of the rate."""
    spectrum = np.fft.fft(x, n, axis)
    phase = np.unwrap(np.angle(spectrum))
    center = int(0.5 * (spectrum.size + 1))
    delay = np.round(phase.ravel()[center] / np.pi)
    line = np.pi * delay * np.arange(spectrum.size).reshape(spectrum.shape) / center
    logarithm = np.log(np.abs(spectrum)) + 1j * (phase - line)
    cepstrum = np.fft.ifft(logarithm, n, axis).real
    return [cepstrum, np.full(spectrum.shape, delay, phase.dtype)]


@adapter("signal.inverse_complex_cepstrum", casts=True)
def inverse_complex_cepstrum(ceps: NpArray, ndelay: Any) -> Any:
    """Undoes `complex_cepstrum`."""
    logarithm = np.fft.fft(ceps)
    center = 0.5 * (logarithm.size + 1)
    index = np.arange(logarithm.size).reshape(logarithm.shape)
    phase = logarithm.imag + np.pi * np.asarray(ndelay).astype(np.int32) * index / center
    return np.fft.ifft(np.exp(logarithm.real + 1j * phase)).real


@adapter("signal.minimum_phase", casts=True)
def minimum_phase(x: NpArray, n: Any = None) -> Any:
    """The cepstrum folded onto its first half."""
    count = len(x) if n is None else n
    cepstrum = real_cepstrum(x, count)
    odd = count % 2
    bend = (count + odd) // 2
    weights = np.zeros(count)
    weights[0] = 1
    weights[1:bend] = 2
    if bend < count:
        weights[bend] = 1 - odd
    return np.fft.ifft(np.exp(np.fft.fft(weights * cepstrum))).real


def _volterra(in1: NpArray, in2: NpArray) -> Any:
    """Weight the products of reversed windows, of the lengths of `in2`."""
    count = in1.shape[0] - max(in2.shape) + 1
    windows = [np.lib.stride_tricks.sliding_window_view(in1, n)[:count, ::-1] for n in in2.shape]
    letters = "abc"[: in2.ndim]
    terms = ",".join(f"n{letter}" for letter in letters)
    return np.einsum(f"{letters},{terms}->n", in2, *windows)


@adapter("signal.convolve1d2o", "signal.convolve1d3o", casts=True)
def convolve_high_order(
    in1: NpArray, in2: NpArray, mode: str = "valid", method: str = "direct"
) -> Any:
    """Direct sums, as mode and method are checked already."""
    return _volterra(in1, in2)


@adapter("signal.firfilter_zi", casts=True)
def firfilter_zi(b: NpArray) -> Any:
    """Sums of the taps that are still to come."""
    return np.cumsum(b[:0:-1])[::-1]


@adapter("signal.firfilter2", casts=True)
def firfilter2(b: NpArray, x: NpArray, **options: Any) -> Any:
    """SciPy's, with a denominator of one."""
    return named("scipy.signal.filtfilt")(b, np.ones(1), x, **options)


@adapter("signal.freq_shift", casts=True)
def freq_shift(x: NpArray, freq: float, fs: float) -> Any:
    """A rotating phase for each sample."""
    index = np.arange(x.size).reshape(x.shape)
    return x * np.exp(-2j * np.pi * freq / fs * index)


@adapter("signal.channelize_poly", casts=True)
def channelize_poly(x: NpArray, h: NpArray, n_chans: int) -> Any:
    """Each channel filters every `n_chans`-th sample; a transform takes channels apart."""
    dtype = np.promote_types(x.dtype, h.dtype)
    taps, count = len(h) // n_chans, len(x) // n_chans
    filters = np.conj(h[: taps * n_chans].astype(dtype).reshape(taps, n_chans))
    rows = np.conj(x[: count * n_chans].astype(dtype).reshape(count, n_chans)[:, ::-1])
    single = dtype.char in "fF"
    sums = np.zeros((count, n_chans), np.complex64 if single else np.complex128)
    for tap in range(taps):
        sums[tap:] += filters[tap] * rows[: count - tap]
    return np.conj(np.fft.fft(sums)).T.astype(sums.dtype)


@adapter("signal.ca_cfar")
def ca_cfar(
    array: NpArray, guard_cells: Any, reference_cells: Any, pfa: float = 1e-3
) -> list[NpArray]:
    """Means of the outer box without the inner one, by SciPy's uniform filters."""
    guards, references = np.atleast_1d(guard_cells), np.atleast_1d(reference_cells)
    outer, inner = 2 * (guards + references) + 1, 2 * guards + 1
    if array.ndim == 1:
        count = 2 * references[0]
    else:
        count = 2 * references[0] * outer[1] + 2 * inner[0] * references[1]
    boxes = named("scipy.ndimage.uniform_filter")
    values = array.astype(np.float64)
    total = boxes(values, list(outer)) * outer.prod() - boxes(values, list(inner)) * inner.prod()
    inside = tuple(
        slice(g + r, n - g - r) for g, r, n in zip(guards, references, array.shape, strict=True)
    )
    threshold = np.zeros(array.shape, np.float32)
    alpha = count * (pfa ** (-1.0 / count) - 1)
    threshold[inside] = (total * (alpha / count))[inside]
    return [threshold, array - threshold > 0]


@adapter("signal.mvdr", casts=True)
def mvdr(x: NpArray, sv: NpArray, calc_cov: bool = True) -> Any:
    """The inverse covariance times the phases, with gain one in their direction."""
    covariance = np.cov(x, dtype=x.dtype) if calc_cov else x
    weights = np.linalg.inv(covariance).dot(sv)
    return weights / sv.conj().dot(weights)
