"""What spectra of segments will be, worked out as CuPy works them out."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from cupool.client_shim import shadow
from cupool.client_shim.cupyx.scipy._declared import Spec
from cupool.client_shim.cupyx.scipy.signal._rules import FLOAT, described, view_of
from cupool.client_shim.cupyx.scipy.signal.windows import check_window

__all__ = ["Segments", "averaged", "segmented", "triage_segments"]
_BOUNDARIES = ("even", "odd", "constant", "zeros", None)


class Segments(NamedTuple):
    """What a spectrum of segments consists of: `result` is a shadow of spectra by time."""

    frequencies: Spec
    times: Spec
    result: shadow.Shadow


def triage_segments(window: Any, nperseg: Any, length: int) -> int:
    """Return the length of the segments.

    Raises:
        ValueError: a window that does not fit, or has no such name.
    """
    if isinstance(window, (str, tuple)):
        check_window(window)
        count = 256 if nperseg is None else int(nperseg)
        if count > length:
            warnings.warn(
                f"nperseg = {count:d} is greater than input length  = {length:d}, "
                f"using nperseg = {length:d}",
                stacklevel=6,
            )
        return min(count, length)
    shape = described(window).shape
    if len(shape) != 1:
        raise ValueError("window must be 1-D")
    if length < shape[0]:
        raise ValueError("window is longer than input signal")
    if nperseg is not None and nperseg != shape[0]:
        raise ValueError("value specified for nperseg is different from length of window")
    return shape[0]


def _lengths(nperseg: int, noverlap: Any, nfft: Any) -> tuple[int, int]:
    """Return how many points a transform has, and by how many samples segments overlap."""
    if nfft is not None and nfft < nperseg:
        raise ValueError("nfft must be greater than or equal to nperseg.")
    overlap = nperseg // 2 if noverlap is None else int(noverlap)
    if overlap >= nperseg:
        raise ValueError("noverlap must be less than nperseg.")
    return nperseg if nfft is None else int(nfft), overlap


def _extended(length: int, nperseg: int, step: int, boundary: Any, padded: bool) -> int:
    """Return the length of a signal with its boundaries and padding."""
    more = nperseg // 2
    if boundary in ("even", "odd") and more > length - 1:
        raise ValueError(
            f"The extension length n ({more}) is too big. "
            f"It must not exceed x.shape[axis]-1, which is {length - 1}."
        )
    if boundary is not None:
        length += 2 * more
    return length + (-(length - nperseg) % step) % nperseg if padded else length


def _check(detrend: Any, scaling: str, boundary: Any) -> None:
    if boundary not in _BOUNDARIES:
        raise ValueError(
            f"Unknown boundary option '{boundary}', must be one of: {list(_BOUNDARIES)}"
        )
    if detrend and not callable(detrend) and detrend not in ("constant", "c", "linear", "l"):
        raise ValueError("Trend type must be 'linear' or 'constant'.")
    if scaling not in ("density", "spectrum"):
        raise ValueError(f"Unknown scaling: {scaling!r}")


def _outer(x: Spec, y: Spec, axis: int) -> tuple[int, ...]:
    """Return the shape of two signals without their axis."""
    parts = [list(spec.shape) for spec in (x, y)]
    for part in parts:
        part.pop(axis)
    try:
        return np.broadcast_shapes(*map(tuple, parts))
    except ValueError:
        raise ValueError("x and y cannot be broadcast together.") from None


def segmented(
    x: Spec,
    y: Spec | None,
    *,
    window: Any,
    nperseg: Any,
    noverlap: Any,
    nfft: Any,
    detrend: Any,
    return_onesided: bool,
    scaling: str,
    axis: int,
    power: bool = True,
    boundary: Any = None,
    padded: bool = False,
) -> Segments:
    """Predict the spectra of the segments of a signal, or of two.

    Args:
        y: None if it is the same array as `x`.
        power: the spectra are multiplied; those of one signal become real.

    Raises:
        ValueError: lengths that do not fit, a name that does not exist.
    """
    _check(detrend, scaling, boundary)
    axis = int(axis)
    outer = _outer(x, x if y is None else y, axis)
    ends = [spec.shape[axis] for spec in (x, x if y is None else y)]
    dtype = np.result_type(x.dtype, x.dtype if y is None else y.dtype, np.complex64)
    if 0 in x.shape or (y is not None and 0 in y.shape):
        shape = x.shape
        if y is not None:
            shape = np.rollaxis(np.empty((*outer, min(ends))), -1, axis).shape
        empty = Spec(shape, FLOAT)
        return Segments(empty, empty, shadow.make(*empty))
    if nperseg is not None and int(nperseg) < 1:
        raise ValueError("nperseg must be a positive integer")
    length = max(ends)
    count = triage_segments(window, nperseg, length)
    points, overlap = _lengths(count, noverlap, nfft)
    step = count - overlap
    length = _extended(length, count, step, boundary, padded)
    half = return_onesided
    if half and "c" in (x.dtype.kind, x.dtype.kind if y is None else y.dtype.kind):
        half = False
        warnings.warn("Input data is complex, switching to return_onesided=False", stacklevel=6)
    pieces = length if count == 1 and not overlap else (length - overlap) // step
    bins = points // 2 + 1 if half else points
    result = shadow.make((*outer, pieces, bins), dtype)
    if power and y is None:
        result = result.real
    result = np.rollaxis(result, -1, axis - 1 if axis < 0 else axis)
    times = max(0, -(-(length - count + 1) // step))
    return Segments(Spec((bins,), FLOAT), Spec((times,), FLOAT), result)


def averaged(found: Segments, average: str) -> list[Spec]:
    """Predict frequencies and the average of spectra over the segments.

    Raises:
        ValueError: another average than "mean" and "median".
    """
    result = found.result
    if result.ndim < 2 or not result.size:
        return [found.frequencies, view_of(result)]
    if result.shape[-1] == 1:
        return [found.frequencies, view_of(result[..., 0])]
    if average not in ("mean", "median"):
        raise ValueError(f'average must be "median" or "mean", got {average}')
    dtype = result.dtype if average == "mean" else np.result_type(result.dtype, FLOAT)
    return [found.frequencies, Spec(result.shape[:-1], dtype)]
