"""Spectra."""

from __future__ import annotations

from typing import Any

from cupool.client_shim.cupyx.scipy._declared import declared, send
from cupool.client_shim.cupyx.scipy.signal._segments import cross_spectrum

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
_operation = declared("scipy.signal")


@_operation
def check_COLA(
    window: Any,
    nperseg: Any,
    noverlap: Any,
    tol: Any = 1e-10,
) -> Any:
    """Return whether windows that overlap add up to a constant."""
    return 1


@_operation
def check_NOLA(
    window: Any,
    nperseg: Any,
    noverlap: Any,
    tol: Any = 1e-10,
) -> Any:
    """Return whether windows that overlap leave no gap."""
    return 1


@_operation
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
    """Return frequencies and how coherent two signals are at each."""
    return 2


@_operation
def istft(
    Zxx: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: Any = None,
    noverlap: Any = None,
    nfft: Any = None,
    input_onesided: Any = True,
    boundary: Any = True,
    time_axis: Any = -1,
    freq_axis: Any = -2,
    scaling: Any = "spectrum",
) -> Any:
    """Return times and the signal of a short-time Fourier transform."""
    return 2


@_operation
def lombscargle(
    x: Any,
    y: Any,
    freqs: Any,
    precenter: Any = False,
    normalize: Any = False,
) -> Any:
    """Return the periodogram of samples at any times."""
    return 1


@_operation
def periodogram(
    x: Any,
    fs: Any = 1.0,
    window: Any = "boxcar",
    nfft: Any = None,
    detrend: Any = "constant",
    return_onesided: Any = True,
    scaling: Any = "density",
    axis: int = -1,
) -> Any:
    """Return frequencies and the power spectral density."""
    return 2


@_operation
def spectrogram(
    x: Any,
    fs: Any = 1.0,
    window: Any = ("tukey", 0.25),
    nperseg: Any = None,
    noverlap: Any = None,
    nfft: Any = None,
    detrend: Any = "constant",
    return_onesided: Any = True,
    scaling: Any = "density",
    axis: int = -1,
    mode: Any = "psd",
) -> Any:
    """Return frequencies, times and the power at each."""
    return 3


@_operation
def stft(
    x: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: Any = 256,
    noverlap: Any = None,
    nfft: Any = None,
    detrend: Any = False,
    return_onesided: Any = True,
    boundary: Any = "zeros",
    padded: Any = True,
    axis: int = -1,
    scaling: Any = "spectrum",
) -> Any:
    """Return frequencies, times and the short-time Fourier transform."""
    return 3


@_operation
def vectorstrength(events: Any, period: Any) -> Any:
    """Return how well events keep to a period, and their phase."""
    return 2


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
    """
    options: dict[str, Any] = {"fs": fs, "window": window, "nperseg": nperseg}
    options |= {"noverlap": noverlap, "nfft": nfft, "return_onesided": return_onesided}
    options |= {"scaling": scaling, "axis": axis, "average": average}
    if callable(detrend):
        frequencies, density = cross_spectrum(x, y, detrend, **options)
        return frequencies, density.real if y is x else density
    return send("scipy.signal.csd", {"x": x, "y": y, **options, "detrend": detrend}, 2)


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
    options: dict[str, Any] = {"fs": fs, "window": window, "nperseg": nperseg}
    options |= {"noverlap": noverlap, "nfft": nfft, "return_onesided": return_onesided}
    options |= {"scaling": scaling, "axis": axis, "average": average}
    if callable(detrend):
        frequencies, power = cross_spectrum(x, x, detrend, **options)
        return frequencies, power.real
    return send("scipy.signal.welch", {"x": x, **options, "detrend": detrend}, 2)
