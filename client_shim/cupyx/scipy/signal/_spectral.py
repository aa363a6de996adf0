"""Spectra."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupy._core._dtype import real_of
from cupool.client_shim.cupy._creation.from_data import asarray
from cupool.client_shim.cupyx.scipy._declared import Spec, declared, send
from cupool.client_shim.cupyx.scipy.signal._rules import (
    BOOL,
    FLOAT,
    described,
    on_device,
    view_of,
)
from cupool.client_shim.cupyx.scipy.signal._segments import cross_spectrum
from cupool.client_shim.cupyx.scipy.signal._spectral_impl import (
    averaged,
    segmented,
    triage_segments,
)
from cupool.client_shim.cupyx.scipy.signal.windows import check_window
from cupool.client_shim.shadow import make

__all__ = [
    "check_COLA",
    "check_NOLA",
    "coherence",
    "csd",
    "istft",
    "lombscargle",
    "periodogram",
    "spectrogram",
    "stft",
    "vectorstrength",
    "welch",
]
ndarray = core.ndarray
_operation = declared("scipy.signal")


def _check_overlap(window: Any, nperseg: Any, noverlap: Any) -> None:
    count = int(nperseg)
    if count < 1:
        raise ValueError("nperseg must be a positive integer")
    if noverlap >= count:
        raise ValueError("noverlap must be less than nperseg.")
    _check_weights(window, count)


def _check_weights(window: Any, count: int) -> None:
    if isinstance(window, (str, tuple)):
        check_window(window)
        return
    shape = described(window).shape
    if len(shape) != 1:
        raise ValueError("window must be 1-D")
    if shape[0] != count:
        raise ValueError(f"window must have length of {count}")


@_operation
def check_COLA(window: Any, nperseg: Any, noverlap: Any, tol: float = 1e-10) -> Any:
    """Return whether windows that overlap add up to a constant.

    Raises:
        ValueError: lengths that do not fit.
    """
    _check_overlap(window, nperseg, noverlap)
    return Spec((), BOOL)


@_operation
def check_NOLA(window: Any, nperseg: Any, noverlap: Any, tol: float = 1e-10) -> Any:
    """Return whether windows that overlap leave no gap; see `check_COLA`."""
    _check_overlap(window, nperseg, noverlap)
    if noverlap < 0:
        raise ValueError("noverlap must be a nonnegative integer")
    return Spec((), BOOL)


def _transformed(
    shape: list[int], window: Any, nperseg: Any, noverlap: Any, nfft: Any, onesided: bool
) -> tuple[int, int]:
    """Return how many samples a short-time transform gives back, and the segments' length.

    Args:
        shape: how many frequencies and segments.
    """
    usual = 2 * (shape[0] - 1) if onesided else shape[0]
    count = usual if nperseg is None else int(nperseg)
    if count < 1:
        raise ValueError("nperseg must be a positive integer")
    if nfft is not None and nfft < count:
        raise ValueError("nfft must be greater than or equal to nperseg.")
    overlap = count // 2 if noverlap is None else int(noverlap)
    if overlap >= count:
        raise ValueError("noverlap must be less than nperseg.")
    _check_weights(window, count)
    return count + (shape[1] - 1) * (count - overlap), count


@_operation
def istft(
    Zxx: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: Any = None,
    noverlap: Any = None,
    nfft: Any = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
    scaling: str = "spectrum",
) -> Any:
    """Return times and the signal of a short-time Fourier transform.

    Raises:
        ValueError: lengths and axes that do not fit.
    """
    given = described(Zxx)
    ndim, dtype = len(given.shape), np.result_type(given.dtype, np.complex64)
    if ndim < 2:
        raise ValueError("Input stft must be at least 2d!")
    if freq_axis == time_axis:
        raise ValueError("Must specify differing time and frequency axes!")
    if scaling not in ("spectrum", "psd"):
        raise ValueError(f"Parameter scaling={scaling!r} not in ['spectrum', 'psd']!")
    freq, time = (axis + ndim if axis < 0 else axis for axis in (freq_axis, time_axis))
    shape = [given.shape[freq], given.shape[time]]
    length, count = _transformed(shape, window, nperseg, noverlap, nfft, input_onesided)
    if boundary:
        length = len(range(length)[count // 2 : -(count // 2)])
    outer = [n for axis, n in enumerate(given.shape) if axis not in (freq, time)]
    signal = make((*outer, length), real_of(dtype) if input_onesided else dtype)
    if signal.ndim > 1 and time != ndim - 1:
        signal = np.rollaxis(signal, -1, time - 1 if freq < time else time)
    return [Spec(signal.shape[:1], FLOAT), view_of(signal)]


@_operation
def lombscargle(
    x: Any, y: Any, freqs: Any, precenter: bool = False, normalize: bool = False
) -> Any:
    """Return the periodogram of samples at any times.

    Raises:
        ValueError: not as many times as samples.
    """
    times, samples, points = (described(v).shape for v in (x, y, freqs))
    assert len(times) == len(samples) == len(points) == 1
    if times != samples:
        raise ValueError("Input arrays do not have the same size.")
    return Spec(points, FLOAT)


@_operation
def periodogram(
    x: Any,
    fs: Any = 1.0,
    window: Any = "boxcar",
    nfft: Any = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
) -> Any:
    """Return frequencies and the power spectral density.

    Raises:
        ValueError: lengths that do not fit, a name that does not exist.
    """
    given = described(x)
    if 0 in given.shape:
        return [Spec(given.shape, FLOAT)] * 2
    if on_device(fs):
        return 2
    length = given.shape[axis]
    if nfft is not None and nfft < length:
        shape = list(given.shape)
        shape[axis], length = nfft, nfft
        given, nfft = Spec(tuple(shape), given.dtype), None
    window = "boxcar" if window is None else window
    options: dict[str, Any] = {"window": window, "nperseg": length, "noverlap": 0, "nfft": nfft}
    options |= {"detrend": detrend, "return_onesided": return_onesided}
    return averaged(segmented(given, None, **options, scaling=scaling, axis=axis), "mean")


_MODES = ["psd", "complex", "magnitude", "angle", "phase"]


@_operation
def spectrogram(
    x: Any,
    fs: Any = 1.0,
    window: Any = ("tukey", 0.25),
    nperseg: Any = None,
    noverlap: Any = None,
    nfft: Any = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    mode: str = "psd",
) -> Any:
    """Return frequencies, times and the power at each.

    Args:
        mode: "psd", "complex", "magnitude", "angle" or "phase".

    Raises:
        ValueError: lengths that do not fit, a name that does not exist.
    """
    if mode not in _MODES:
        raise ValueError(f"unknown value for mode {mode}, must be one of {_MODES}")
    if on_device(fs):
        return 3
    given = described(x)
    count = triage_segments(window, nperseg, given.shape[axis])
    options: dict[str, Any] = {"window": window, "nperseg": count, "nfft": nfft}
    options |= {"noverlap": count // 8 if noverlap is None else noverlap, "detrend": detrend}
    options |= {"return_onesided": return_onesided, "scaling": scaling, "axis": axis}
    found = segmented(given, None, **options, power=mode == "psd")
    result = view_of(found.result)
    if mode not in ("psd", "complex"):
        result = Spec(result.shape, real_of(result.dtype))
    return [found.frequencies, found.times, result]


@_operation
def stft(
    x: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: Any = 256,
    noverlap: Any = None,
    nfft: Any = None,
    detrend: Any = False,
    return_onesided: bool = True,
    boundary: Any = "zeros",
    padded: bool = True,
    axis: int = -1,
    scaling: str = "spectrum",
) -> Any:
    """Return frequencies, times and the short-time Fourier transform.

    Raises:
        ValueError: lengths that do not fit, a name that does not exist.
    """
    if scaling not in ("spectrum", "psd"):
        raise ValueError(f"Parameter scaling={scaling!r} not in ['spectrum', 'psd']!")
    if on_device(fs):
        return 3
    options: dict[str, Any] = {"window": window, "nperseg": nperseg, "noverlap": noverlap}
    options |= {"nfft": nfft, "detrend": detrend, "return_onesided": return_onesided}
    options |= {"scaling": "spectrum", "axis": axis, "boundary": boundary, "padded": padded}
    found = segmented(described(x), None, **options, power=False)
    return [found.frequencies, found.times, view_of(found.result)]


@_operation
def vectorstrength(events: Any, period: Any) -> Any:
    """Return how well events keep to a period, and their phase.

    Args:
        period: one, or several on one axis.

    Raises:
        ValueError: more than one axis, a period that is not positive.
    """
    times, periods = described(events), described(period)
    for name, spec in (("events", times), ("period", periods)):
        if len(spec.shape) > 1:
            raise ValueError(f"{name} cannot have dimensions more than 1")
    if on_device(period):
        return 2
    if np.any(np.asarray(period) <= 0):
        raise ValueError("periods must be positive")
    return [Spec(periods.shape, FLOAT)] * 2


def _options(
    fs: Any,
    window: Any,
    nperseg: Any,
    noverlap: Any,
    nfft: Any,
    detrend: Any,
    return_onesided: bool,
    scaling: str,
    axis: int,
) -> dict[str, Any]:
    options = {"fs": fs, "window": window, "nperseg": nperseg, "noverlap": noverlap}
    options |= {"nfft": nfft, "detrend": detrend, "return_onesided": return_onesided}
    return {**options, "scaling": scaling, "axis": axis}


def _densities(x: Any, y: Any, options: dict[str, Any], average: str) -> Any:
    """Predict frequencies and a density; 2 if that cannot be done."""
    if on_device(options["fs"]):
        return 2
    rest = {key: value for key, value in options.items() if key != "fs"}
    same = y is x and isinstance(x, ndarray)
    return averaged(segmented(described(x), None if same else described(y), **rest), average)


def coherence(
    x: Any,
    y: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: Any = None,
    noverlap: Any = None,
    nfft: Any = None,
    detrend: Any = "constant",
    axis: int = -1,
) -> Any:
    """Return frequencies and how coherent two signals are at each; see `csd`."""
    options = _options(fs, window, nperseg, noverlap, nfft, detrend, True, "density", axis)
    specs = _densities(x, y, options, "mean")
    if isinstance(specs, list):
        specs[1] = Spec(specs[1].shape, real_of(specs[1].dtype))
    given = {key: options[key] for key in options if key not in ("return_onesided", "scaling")}
    return send("scipy.signal.coherence", {"x": x, "y": y, **given}, specs)


def csd(
    x: Any,
    y: Any,
    fs: float = 1.0,
    window: Any = "hann",
    nperseg: Any = None,
    noverlap: Any = None,
    nfft: Any = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> Any:
    """Return frequencies and the cross spectral density by Welch's method.

    Args:
        detrend: "constant", "linear", False, or a function of the script for the segments.

    Raises:
        ValueError: lengths that do not fit, a name that does not exist.
    """
    options = _options(fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis)
    if callable(detrend):
        frequencies, density = cross_spectrum(x, y, **options, average=average)
        return frequencies, density.real if y is x else density
    specs = _densities(x, y, options, average)
    return send("scipy.signal.csd", {"x": x, "y": y, **options, "average": average}, specs)


def welch(
    x: Any,
    fs: float = 1.0,
    window: Any = "hann",
    nperseg: Any = None,
    noverlap: Any = None,
    nfft: Any = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> Any:
    """Return frequencies and the power spectral density by Welch's method; see `csd`."""
    options = _options(fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis)
    if callable(detrend):
        frequencies, power = cross_spectrum(x, x, **options, average=average)
        return frequencies, power.real
    x = x if isinstance(x, ndarray) else asarray(x)
    specs = _densities(x, x, options, average)
    return send("scipy.signal.welch", {"x": x, **options, "average": average}, specs)
