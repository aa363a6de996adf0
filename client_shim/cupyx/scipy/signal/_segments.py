"""Cross spectra whose segments are detrended by a function of the script."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupy._creation.from_data import asarray

__all__ = ["cross_spectrum"]
ndarray = core.ndarray


def _segments(x: Any, length: int, step: int) -> Any:
    """Return overlapping pieces of the last axis, as one more axis."""
    from cupool.client_shim.cupy.lib.stride_tricks import as_strided

    count = (x.shape[-1] - length) // step + 1
    shape = (*x.shape[:-1], count, length)
    strides = (*x.strides[:-1], step * x.strides[-1], x.strides[-1])
    return as_strided(x, shape, strides)


def _window(window: Any, length: int) -> Any:
    from cupool.client_shim.cupyx.scipy.signal.windows import get_window

    if not isinstance(window, ndarray):
        return get_window(window, length)
    if window.shape != (length,):
        raise ValueError("window must be 1-D and have length of nperseg")
    return window


def cross_spectrum(
    x: Any,
    y: Any,
    detrend: Callable[[Any], Any],
    *,
    fs: float,
    window: Any,
    nperseg: Any,
    noverlap: Any,
    nfft: Any,
    return_onesided: bool,
    scaling: str,
    axis: int,
    average: str,
) -> tuple[Any, Any]:
    """Return frequencies and the mean cross spectrum of the segments.

    Raises:
        ValueError: lengths that do not fit, an unknown scaling.
        OperationNotSupported: another average than the mean.
    """
    from cupool.client_shim import cupy

    if average != "mean":
        _unsupported.refuse("a function as `detrend` with average='median'")
    if scaling not in ("density", "spectrum"):
        raise ValueError(f"Unknown scaling: {scaling!r}")
    parts = [cupy.ascontiguousarray(cupy.moveaxis(asarray(a), axis, -1)) for a in (x, y)]
    longest = parts[0].shape[-1]
    length = min(256 if nperseg is None else int(nperseg), longest)
    if isinstance(window, ndarray) and nperseg is None:
        length = window.size
    overlap = length // 2 if noverlap is None else int(noverlap)
    points = length if nfft is None else int(nfft)
    if not 0 < length <= points or overlap >= length:
        raise ValueError("nperseg must be positive, at most nfft, and more than noverlap")
    weights = _window(window, length)
    half = return_onesided and not any(a.dtype.kind == "c" for a in parts)
    transform = cupy.fft.rfft if half else cupy.fft.fft
    spectra = []
    for part in parts:
        pieces = cupy.moveaxis(_segments(part, length, length - overlap), -1, axis)
        pieces = cupy.moveaxis(detrend(pieces), axis, -1)
        spectra.append(transform(pieces * weights, n=points))
    norm = fs * (weights * weights).sum() if scaling == "density" else weights.sum() ** 2
    result = (cupy.conj(spectra[0]) * spectra[1] / norm).mean(axis=-2)
    if half:
        result[..., 1 : None if points % 2 else -1] *= 2
    frequencies = (cupy.fft.rfftfreq if half else cupy.fft.fftfreq)(points, 1 / fs)
    return frequencies, cupy.moveaxis(result, -1, axis)
