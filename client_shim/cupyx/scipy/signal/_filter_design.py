"""Frequency responses of filters."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core._dtype import complex_of, real_of
from cupool.client_shim.cupyx.scipy._declared import Spec, declared, send
from cupool.client_shim.cupyx.scipy.fft import next_fast_len
from cupool.client_shim.cupyx.scipy.signal._rules import (
    COMPLEX,
    FLOAT,
    coefficients,
    described,
    frequencies,
    on_device,
    result_of,
    whole_number,
)

__all__ = [
    "findfreqs",
    "freqs",
    "freqs_zpk",
    "freqz",
    "freqz_sos",
    "freqz_zpk",
    "gammatone",
    "group_delay",
    "sosfreqz",
]
_operation = declared("scipy.signal")
_WHOLE_TURN = 2 * np.pi


@_operation
def findfreqs(num: Any, den: Any, N: Any, kind: str = "ba") -> Any:
    """Return `N` frequencies at which a response is interesting.

    Raises:
        ValueError: another kind than "ba" and "zp".
    """
    if kind not in ("ba", "zp"):
        raise ValueError("input must be one of {'ba', 'zp'}")
    count = whole_number(N)
    return 1 if count is None or _single(num, den) else Spec((count,), FLOAT)


def _single(*given: Any) -> bool:
    """Return whether frequencies between roots have single precision, unless there are no roots."""
    return all(real_of(described(v).dtype).char == "f" for v in given)


def _found(first: Any, second: Any, count: Any) -> Spec | None:
    """Predict frequencies that are given, or found between the roots of two polynomials."""
    w = frequencies(count, 200)
    counted = count is None or whole_number(count) is not None
    return None if counted and _single(first, second) else w


def _transform_of(b: Spec, a: Spec, count: int) -> bool:
    """Return whether CuPy takes the response of so many frequencies by one transform."""
    few = a.shape == (1,) and count >= b.shape[0] and int(next_fast_len(count)) == count
    return few and (len(b.shape) == 1 or b.shape[-1] == 1)


def _response(b: Any, a: Any, worN: Any, whole: bool, fs: Any) -> Any:
    """Predict frequencies and the response of a digital filter; 2 if that cannot be done."""
    w = frequencies(worN, 512, scaled=True)
    if w is None or on_device(fs) or np.ndim(fs):
        return 2
    w = Spec(w.shape, real_of(w.dtype))
    b, a = coefficients(b), coefficients(a)
    count = 512 if worN is None else whole_number(worN)
    if count is not None and count < 0:
        raise ValueError(f"worN must be nonnegative, got {count}")
    if count is not None and _transform_of(b, a, count):
        return [w, Spec((*b.shape[1:-1], count), complex_of(b.dtype))]
    turned = complex_of(w.dtype)
    shape = np.broadcast_shapes(b.shape[1:], w.shape, a.shape[1:])
    return [w, Spec(shape, result_of(turned, b.dtype, a.dtype))]


def _plotted(name: str, given: dict[str, Any], specs: Any, plot: Callable[..., Any] | None) -> Any:
    w, h = send(f"scipy.signal.{name}", given, specs)
    if plot is not None:
        plot(w, h)
    return w, h


def freqz(
    b: Any,
    a: Any = 1,
    worN: Any = 512,
    whole: bool = False,
    plot: Callable[..., Any] | None = None,
    fs: float = _WHOLE_TURN,
    include_nyquist: bool = False,
) -> Any:
    """Return frequencies and the response of a digital filter.

    Args:
        worN: how many frequencies, or which.
        plot: called with both.

    Raises:
        ValueError: a negative number of frequencies.
    """
    given = {"b": b, "a": a, "worN": worN, "whole": whole, "fs": fs}
    given["include_nyquist"] = include_nyquist
    return _plotted("freqz", given, _response(b, a, worN, whole, fs), plot)


def freqs(b: Any, a: Any, worN: Any = 200, plot: Callable[..., Any] | None = None) -> Any:
    """Return frequencies and the response of an analogue filter; see `freqz`."""
    w = _found(b, a, worN)
    specs: Any = 2
    if w is not None:
        turned = result_of(np.result_type(w.dtype, 1j), described(b).dtype, described(a).dtype)
        specs = [w, Spec(w.shape, turned)]
    return _plotted("freqs", {"b": b, "a": a, "worN": worN}, specs, plot)


def _of_roots(z: Any, p: Any, k: Any, w: Spec | None, turned: Any) -> Any:
    """Predict the response of zeros, poles and gain; `turned` is the dtype of the points."""
    z, p = coefficients(z), coefficients(p)
    if w is None or len(z.shape) > 1 or len(p.shape) > 1:
        return 2
    gain = described(k).dtype if on_device(k) or isinstance(k, np.ndarray) else k
    return [w, Spec(w.shape, result_of(gain, turned, z.dtype, p.dtype))]


@_operation
def freqs_zpk(z: Any, p: Any, k: Any, worN: Any = 200) -> Any:
    """Return frequencies and the response of an analogue filter; zeros, poles and gain.

    Raises:
        ValueError: more than one gain.
    """
    gain = described(k)
    if gain.shape not in ((), (1,)):
        raise ValueError("k must be a single scalar gain")
    w = _found(z, p, worN)
    if w is None or gain.shape:
        return 2
    return _of_roots(z, p, gain.dtype, w, np.result_type(w.dtype, 1j))


@_operation
def freqz_zpk(
    z: Any, p: Any, k: Any, worN: Any = 512, whole: bool = False, fs: Any = _WHOLE_TURN
) -> Any:
    """Return frequencies and the response of a filter; zeros, poles and gain."""
    if on_device(fs) or np.ndim(fs) or np.ndim(k):
        return 2
    w = frequencies(worN, 512, scaled=True)
    return _of_roots(z, p, k, w, COMPLEX if w is None else complex_of(w.dtype))


def _check_sections(sos: Any) -> Spec:
    """Return shape and dtype of second-order sections.

    Raises:
        ValueError: not six numbers each, none.
    """
    found = described(sos)
    shape = found.shape if len(found.shape) > 1 else (1, *(found.shape or (1,)))
    if len(shape) != 2:
        raise ValueError("sos array must be 2D")
    if shape[1] != 6:
        raise ValueError("sos array must be shape (n_sections, 6)")
    if not shape[0]:
        raise ValueError("Cannot compute frequencies with no sections")
    return Spec(shape, found.dtype)


@_operation
def freqz_sos(sos: Any, worN: Any = 512, whole: bool = False, fs: Any = _WHOLE_TURN) -> Any:
    """Return frequencies and the response of second-order sections.

    Raises:
        ValueError: sections that are not of six numbers.
    """
    parts = _check_sections(sos)
    three = np.broadcast_to(np.empty((), parts.dtype), 3)
    return _response(three, three, worN, whole, fs)


def sosfreqz(sos: Any, worN: Any = 512, whole: bool = False, fs: float = _WHOLE_TURN) -> Any:
    """Return frequencies and the response of second-order sections; see `freqz_sos`."""
    return freqz_sos(sos, worN, whole, fs)


@_operation
def group_delay(system: Any, w: Any = 512, whole: bool = False, fs: Any = _WHOLE_TURN) -> Any:
    """Return frequencies and by how much a filter delays each.

    Args:
        system: numerator and denominator.
    """
    points = frequencies(w, 512, scaled=True)
    if points is None or on_device(fs) or np.ndim(fs):
        return 2
    return [points, Spec(points.shape, FLOAT)]


@_operation
def gammatone(freq: Any, ftype: str, order: Any = None, numtaps: Any = None, fs: Any = None) -> Any:
    """Design a gammatone filter, a model of hearing.

    Raises:
        ValueError: a frequency beyond half of `fs`, another kind than "fir" and "iir", an order
            that is not in 1 to 24.
    """
    if on_device(freq, fs):
        return 2
    freq, fs = float(freq), float(2 if fs is None else fs)
    if not 0 < freq < fs / 2:
        raise ValueError(
            f"The frequency must be between 0 and {fs / 2} (nyquist), but given {freq}."
        )
    if ftype.lower() not in ("fir", "iir"):
        raise ValueError("ftype must be either fir or iir.")
    if ftype.lower() == "iir":
        for name, value in (("order", order), ("numtaps", numtaps)):
            if value is not None:
                warnings.warn(f"{name} is not used for IIR gammatone filter.", stacklevel=3)
        return [Spec((5,), FLOAT), Spec((9,), FLOAT)]
    if order is not None and not 0 < order <= 24:
        raise ValueError("Invalid order: order must be > 0 and <= 24.")
    count = max(int(fs * 0.015), 15) if numtaps is None else numtaps
    return [Spec((count,), FLOAT), Spec((1,), FLOAT)]
