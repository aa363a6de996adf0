"""Design of filters of finite length.

Frequencies and gains that only the device has are checked there, which is waited for.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from cupool.client_shim.cupyx.scipy._declared import Spec, declared, send
from cupool.client_shim.cupyx.scipy.signal._rules import FLOAT, coefficients, on_device
from cupool.client_shim.cupyx.scipy.signal.windows import check_window

__all__ = [
    "firls",
    "firwin",
    "firwin2",
    "kaiser_atten",
    "kaiser_beta",
    "kaiserord",
    "minimum_phase",
]
_operation = declared("scipy.signal")


def kaiser_atten(numtaps: int, width: float) -> float:
    """Return the attenuation, in dB, of a Kaiser filter with a transition of `width`."""
    return 2.285 * (numtaps - 1) * np.pi * width + 7.95


def kaiser_beta(a: float) -> float:
    """Return the Kaiser window's parameter for an attenuation of `a` dB."""
    if a > 50:
        return 0.1102 * (a - 8.7)
    return 0.5842 * (a - 21) ** 0.4 + 0.07886 * (a - 21) if a > 21 else 0.0


def kaiserord(ripple: float, width: float) -> tuple[int, float]:
    """Return the length of a Kaiser filter and the window's parameter.

    Raises:
        ValueError: a ripple of less than 8 dB.
    """
    level = abs(ripple)
    if level < 8:
        raise ValueError("a ripple of less than 8 dB is too small for the Kaiser formula")
    length = (level - 7.95) / 2.285 / (np.pi * width) + 1
    return int(np.ceil(length)), kaiser_beta(level)


_ONE_EDGE, _TWO_EDGES = ("lowpass", "highpass"), ("bandpass", "bandstop")


def _passes_zero(pass_zero: Any, count: int) -> bool:
    """Return whether frequency 0 passes, by its name or as it is said."""
    if not isinstance(pass_zero, str):
        return bool(operator.index(pass_zero))
    if pass_zero not in (*_ONE_EDGE, *_TWO_EDGES):
        raise ValueError(
            f"pass_zero must be True, False or one of {(*_ONE_EDGE, *_TWO_EDGES)}, "
            f"not {pass_zero!r}"
        )
    if pass_zero in _ONE_EDGE and count != 1:
        raise ValueError(f"cutoff must have one element for {pass_zero}, not {count}")
    if pass_zero in _TWO_EDGES and count < 2:
        raise ValueError(f"cutoff must have at least two elements for {pass_zero}")
    return pass_zero in ("bandstop", "lowpass")


def _check_cutoff(cutoff: Any, fs: Any) -> None:
    if cutoff.ndim > 1:
        raise ValueError("The cutoff argument must be at most one-dimensional.")
    if not cutoff.size:
        raise ValueError("At least one cutoff frequency must be given.")
    if cutoff.min() <= 0 or cutoff.max() >= 0.5 * fs:
        raise ValueError(
            "Invalid cutoff frequency: frequencies must be greater than 0 and less than nyq."
        )
    if np.any(np.diff(cutoff) <= 0):
        raise ValueError("Invalid cutoff frequencies: the frequencies must be strictly increasing.")


def firwin(
    numtaps: int,
    cutoff: Any,
    width: Any = None,
    window: Any = "hamming",
    pass_zero: Any = True,
    scale: bool = True,
    fs: Any = 2,
) -> Any:
    """Design a filter by a window.

    Args:
        pass_zero: whether frequency 0 passes; or "lowpass", "highpass", "bandpass", "bandstop".

    Raises:
        ValueError: what does not fit, such as frequencies beyond half of `fs`.
    """
    asks = on_device(cutoff, fs, width, window)
    if not asks:
        _check_cutoff(np.atleast_1d(np.asarray(cutoff)), fs)
        check_window(window)
    count = math.prod(coefficients(cutoff).shape)
    zero = _passes_zero(pass_zero, count)
    if (bool(count & 1) ^ zero) and numtaps % 2 == 0:
        raise ValueError(
            "A filter with an even number of coefficients must have zero response at the "
            "Nyquist rate."
        )
    given = {"numtaps": numtaps, "cutoff": cutoff, "width": width, "window": window}
    given |= {"pass_zero": zero, "scale": scale, "fs": fs}
    return send("scipy.signal.firwin", given, 1 if asks else Spec((numtaps,), FLOAT))


def _check_gains(freq: Any, gain: Any, fs: float) -> None:
    """Check frequencies of the script, and how often each occurs."""
    nyquist = 0.5 * fs
    if freq[0] != 0 or freq[-1] != nyquist:
        raise ValueError("freq must start with 0 and end with fs/2.")
    steps = np.diff(freq)
    if (steps < 0).any():
        raise ValueError("The values in freq must be nondecreasing.")
    if (steps[:-1] + steps[1:] == 0).any():
        raise ValueError("A value in freq must not occur more than twice.")
    if freq[1] == 0:
        raise ValueError("Value 0 must not be repeated in freq")
    if freq[-2] == nyquist:
        raise ValueError("Value fs/2 must not be repeated in freq")
    apart = float(np.finfo(float).eps) * nyquist
    twice = np.flatnonzero(steps == 0)
    moved = freq.astype(float)
    moved[twice] -= apart
    moved[twice + 1] += apart
    if twice.size and (np.diff(moved) <= 0).any():
        raise ValueError(
            "freq cannot contain numbers that are too close (within eps * (fs/2): "
            f"{apart}) to a repeated value"
        )


def _check_type(gain: Any, numtaps: int, antisymmetric: bool) -> None:
    """Check the gains at both ends that a filter of this symmetry and length can have."""
    odd = bool(numtaps % 2)
    if not antisymmetric and not odd and gain[-1] != 0:
        raise ValueError("A Type II filter must have zero gain at the Nyquist frequency.")
    if antisymmetric and odd and (gain[0] != 0 or gain[-1] != 0):
        raise ValueError("A Type III filter must have zero gain at zero and Nyquist frequencies.")
    if antisymmetric and not odd and gain[0] != 0:
        raise ValueError("A Type IV filter must have zero gain at zero frequency.")


def firwin2(
    numtaps: int,
    freq: Any,
    gain: Any,
    nfreqs: Any = None,
    window: Any = "hamming",
    nyq: Any = None,
    antisymmetric: bool = False,
    fs: Any = 2.0,
) -> Any:
    """Design a filter with given gains at frequencies.

    Args:
        nyq: half of `fs`; the old way to say it.

    Raises:
        ValueError: what does not fit, such as frequencies that decrease.
    """
    fs = fs if nyq is None else 2 * nyq
    if len(freq) != len(gain):
        raise ValueError("freq and gain must be of same length.")
    if nfreqs is not None and numtaps >= nfreqs:
        raise ValueError(
            f"ntaps must be less than nfreqs, but firwin2 was called with ntaps={numtaps} and "
            f"nfreqs={nfreqs}"
        )
    asks = on_device(freq, gain, fs, window)
    if not asks:
        _check_gains(np.asarray(freq), np.asarray(gain), fs)
        _check_type(np.asarray(gain), numtaps, antisymmetric)
        if window is not None:
            check_window(window)
    given = {"numtaps": numtaps, "freq": freq, "gain": gain, "nfreqs": nfreqs, "window": window}
    given |= {"antisymmetric": antisymmetric, "fs": fs}
    return send("scipy.signal.firwin2", given, 1 if asks else Spec((numtaps,), FLOAT))


@_operation
def firls(numtaps: int, bands: Any, desired: Any, weight: Any = None, fs: Any = 2) -> Any:
    """Design a filter by least squares.

    Args:
        bands, desired: frequencies in pairs, and the gain at each.
        weight: of each pair.

    Raises:
        ValueError: what does not fit, such as frequencies beyond half of `fs`.
    """
    count = int(numtaps)
    if count % 2 == 0 or count < 1:
        raise ValueError("numtaps must be odd and >= 1")
    if on_device(bands, desired, weight, fs):
        return 1
    if fs <= 0:
        raise ValueError(f"nyq must be positive, got {0.5 * fs} <= 0.")
    edges, gains = np.asarray(bands).ravel() / (0.5 * fs), np.asarray(desired).ravel()
    if edges.size % 2:
        raise ValueError("bands must contain frequency pairs.")
    if (edges < 0).any() or (edges > 1).any():
        raise ValueError("bands must be between 0 and 1 relative to Nyquist")
    if edges.size != gains.size:
        raise ValueError(
            f"desired must have one entry per frequency, got {gains.size} gains for {edges.size} "
            "frequencies."
        )
    if weight is not None and np.size(weight) != edges.size // 2:
        raise ValueError(
            f"weight must be the same size as the number of band pairs ({edges.size // 2})."
        )
    return Spec((count,), FLOAT)


@_operation
def minimum_phase(h: Any, method: str = "homomorphic", n_fft: Any = None, half: bool = True) -> Any:
    """Return the filter of minimum phase that goes with one of linear phase.

    Raises:
        ValueError: complex numbers, fewer than three of them, an unknown method, a transform that
            is too short.
    """
    if h.dtype.kind == "c":
        raise ValueError("Complex filters not supported")
    if h.ndim != 1 or h.size <= 2:
        raise ValueError("h must be 1-D and at least 2 samples long")
    if method not in ("homomorphic", "hilbert"):
        raise ValueError(f'method must be "homomorphic" or "hilbert", got {method!r}')
    if n_fft is not None and int(n_fft) < h.size:
        raise ValueError(f"n_fft must be at least len(h)=={h.size}")
    count = h.size // 2 + h.size % 2 if half else h.size
    single = method == "homomorphic" and h.dtype.char in "ef"
    return Spec((count,), np.dtype(np.float32) if single else FLOAT)
