"""What takes more than one operation, or a function of the script: responses, orders, wavelets."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupy._core._dtype import get_dtype
from cupool.client_shim.cupyx.scipy._declared import send
from cupool.client_shim.cupyx.scipy.signal._systems import count_of

__all__ = [
    "butter",
    "buttord",
    "cheb1ord",
    "cheb2ord",
    "cwt",
    "decimate",
    "ellipord",
    "firwin",
    "firwin2",
    "freqs",
    "freqz",
    "gausspulse",
    "kaiser_atten",
    "kaiser_beta",
    "kaiserord",
    "resample",
    "sosfreqz",
    "sweep_poly",
    "unit_impulse",
]
ndarray = core.ndarray


def freqz(
    b: Any,
    a: Any = 1,
    worN: Any = 512,
    whole: bool = False,
    plot: Callable[..., Any] | None = None,
    fs: float = 2 * np.pi,
    include_nyquist: bool = False,
) -> Any:
    """Return frequencies and the response of a digital filter.

    Args:
        worN: how many frequencies, or which.
        plot: called with both.
    """
    given = {"b": b, "a": a, "worN": worN, "whole": whole, "fs": fs}
    given["include_nyquist"] = include_nyquist
    w, h = send("scipy.signal.freqz", given, 2)
    if plot is not None:
        plot(w, h)
    return w, h


def freqs(b: Any, a: Any, worN: Any = 200, plot: Callable[..., Any] | None = None) -> Any:
    """Return frequencies and the response of an analogue filter; see `freqz`."""
    w, h = send("scipy.signal.freqs", {"b": b, "a": a, "worN": worN}, 2)
    if plot is not None:
        plot(w, h)
    return w, h


def sosfreqz(sos: Any, worN: Any = 512, whole: bool = False, fs: float = 2 * np.pi) -> Any:
    """Return frequencies and the response of second-order sections."""
    given = {"sos": sos, "worN": worN, "whole": whole, "fs": fs}
    return send("scipy.signal.freqz_sos", given, 2)


def _order(name: str, wp: Any, ws: Any, gpass: Any, gstop: Any, analog: Any, fs: Any) -> Any:
    given = {"wp": wp, "ws": ws, "gpass": gpass, "gstop": gstop, "analog": analog, "fs": fs}
    order, frequency = send(f"scipy.signal.{name}", given, 2)
    count = int(order)
    if count == 0:
        message = "Order is zero: the pass band and the stop band ask for no filter"
        warnings.warn(message, RuntimeWarning, stacklevel=3)
    return count, frequency


def buttord(wp: Any, ws: Any, gpass: Any, gstop: Any, analog: bool = False, fs: Any = None) -> Any:
    """Return the lowest order of a Butterworth filter, and its natural frequencies.

    Args:
        wp, ws: edges of what is to pass and to stop.
        gpass, gstop: the most loss and the least attenuation there, in dB.
    """
    return _order("buttord", wp, ws, gpass, gstop, analog, fs)


def cheb1ord(wp: Any, ws: Any, gpass: Any, gstop: Any, analog: bool = False, fs: Any = None) -> Any:
    """Return the lowest order of a filter with ripple in the pass band; see `buttord`."""
    return _order("cheb1ord", wp, ws, gpass, gstop, analog, fs)


def cheb2ord(wp: Any, ws: Any, gpass: Any, gstop: Any, analog: bool = False, fs: Any = None) -> Any:
    """Return the lowest order of a filter with ripple in the stop band; see `buttord`."""
    return _order("cheb2ord", wp, ws, gpass, gstop, analog, fs)


def ellipord(wp: Any, ws: Any, gpass: Any, gstop: Any, analog: bool = False, fs: Any = None) -> Any:
    """Return the lowest order of an elliptic filter; see `buttord`."""
    return _order("ellipord", wp, ws, gpass, gstop, analog, fs)


_FLOAT_GAIN = frozenset("low lowpass lp l band bandpass pass bp".split())


def butter(
    N: int, Wn: Any, btype: str = "low", analog: bool = False, output: str = "ba", fs: Any = None
) -> Any:
    """Design a Butterworth filter.

    Args:
        Wn: one natural frequency, or both of a band.
        output: "ba", "zpk" or "sos".
    """
    given = {"N": N, "Wn": Wn, "btype": btype, "analog": analog, "output": output, "fs": fs}
    found = send("scipy.signal.butter", given, count_of(output))
    if output == "zpk" and analog and btype.lower() in _FLOAT_GAIN:
        return (*found[:2], float(found[2]))  # a product of numbers that the host knows
    return found


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
    if isinstance(pass_zero, str):
        count = np.size(cutoff) if not isinstance(cutoff, ndarray) else cutoff.size
        if pass_zero not in (*_ONE_EDGE, *_TWO_EDGES):
            raise ValueError(
                f"pass_zero must be True, False or one of {(*_ONE_EDGE, *_TWO_EDGES)}, "
                f"not {pass_zero!r}"
            )
        if pass_zero in _ONE_EDGE and count != 1:
            raise ValueError(f"cutoff must have one element for {pass_zero}, not {count}")
        if pass_zero in _TWO_EDGES and count < 2:
            raise ValueError(f"cutoff must have at least two elements for {pass_zero}")
    else:
        pass_zero = bool(operator.index(pass_zero))
    given = {"numtaps": numtaps, "cutoff": cutoff, "width": width, "window": window}
    given |= {"pass_zero": pass_zero, "scale": scale, "fs": fs}
    return send("scipy.signal.firwin", given, 1)


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
    """
    given = {"numtaps": numtaps, "freq": freq, "gain": gain, "nfreqs": nfreqs, "window": window}
    given |= {"antisymmetric": antisymmetric, "fs": fs if nyq is None else 2 * nyq}
    return send("scipy.signal.firwin2", given, 1)


def gausspulse(
    t: Any,
    fc: float = 1000,
    bw: float = 0.5,
    bwr: float = -6,
    tpr: float = -60,
    retquad: bool = False,
    retenv: bool = False,
) -> Any:
    """Return a cosine in a Gaussian envelope, also its quadrature and the envelope if asked for.

    Args:
        t: times, or "cutoff" for when the envelope falls to `tpr`.

    Raises:
        ValueError: parameters out of range.
    """
    given = {"t": t, "fc": fc, "bw": bw, "bwr": bwr, "tpr": tpr}
    if not isinstance(t, str):
        given |= {"retquad": bool(retquad), "retenv": bool(retenv)}
        return send("scipy.signal.gausspulse", given, 1 + bool(retquad) + bool(retenv))
    if fc < 0 or bw <= 0 or bwr >= 0:
        raise ValueError(f"fc must be >= 0, bw > 0 and bwr < 0; they are {fc}, {bw} and {bwr}")
    if t != "cutoff":
        raise ValueError("If `t` is a string, it must be 'cutoff'")
    if tpr >= 0:
        raise ValueError("Reference level for time cutoff must be < 0 dB")
    width = -((np.pi * fc * bw) ** 2) / (4 * np.log(10 ** (bwr / 20)))
    return np.sqrt(-np.log(10 ** (tpr / 20)) / width)


def unit_impulse(shape: Any, idx: Any = None, dtype: Any = float) -> ndarray:
    """Return zeros with a one at an index, or in the middle for "mid"."""
    from cupool.client_shim.cupy._creation.basic import zeros

    result = zeros(shape, get_dtype(dtype))
    if idx is None:
        place: Any = (0,) * result.ndim
    elif isinstance(idx, str) and idx == "mid":
        place = tuple(n // 2 for n in result.shape)
    else:
        place = (idx,) * result.ndim if not hasattr(idx, "__iter__") else tuple(idx)
    result[place] = 1
    return result


def resample(
    x: Any, num: int, t: Any = None, axis: int = 0, window: Any = None, domain: str = "time"
) -> Any:
    """Resample to `num` samples by way of the spectrum.

    Args:
        t: times of the samples; those of the result are returned too.
        window: of the spectrum: a name, an array, or a function of the script.
        domain: "freq" if `x` is a spectrum.
    """
    if domain not in ("time", "freq"):
        raise ValueError(f"Acceptable domain flags are 'time' or 'freq', not domain={domain}")
    if callable(window):
        from cupool.client_shim.cupy.fft import fftfreq

        window = window(fftfreq(x.shape[axis]))
    elif isinstance(window, ndarray) and window.shape != (x.shape[axis],):
        raise ValueError(
            f"window.shape={window.shape} != ({x.shape[axis]},), i.e., window length"
            " is not equal to number of frequency bins!"
        )
    given = {"x": x, "num": num, "t": t, "axis": axis, "window": window, "domain": domain}
    return send("scipy.signal.resample", given, 1 if t is None else 2)


def cwt(data: Any, wavelet: Callable[..., Any], widths: Any) -> ndarray:
    """Convolve with a wavelet of each width: one row of the result for each.

    Args:
        wavelet: called with a number of points and a width.
    """
    from cupool.client_shim import cupy
    from cupool.client_shim.cupyx.scipy.signal._convolution import convolve

    widths = widths.tolist() if isinstance(widths, ndarray) else list(widths)
    result = cupy.empty((len(widths), data.size), dtype=data.dtype)
    for row, width in enumerate(widths):
        points = min(10 * width, data.size)
        kernel = cupy.conj(wavelet(points, width)[::-1])
        result[row] = convolve(data, kernel, mode="same")
    return result


def sweep_poly(t: Any, poly: Any, phi: float = 0) -> Any:
    """Return a cosine whose frequency is a polynomial in time; `phi` is in degrees."""
    poly = getattr(poly, "coeffs", poly)
    return send("scipy.signal.sweep_poly", {"t": t, "poly": poly, "phi": phi}, 1)


def decimate(
    x: Any, q: int, n: Any = None, ftype: Any = "iir", axis: int = -1, zero_phase: bool = True
) -> Any:
    """Filter, and keep one sample of `q`.

    Args:
        ftype: "iir", "fir", or a discrete system as the filter.
        zero_phase: filter without delay.

    Raises:
        ValueError: another kind of filter.
    """
    given = {"x": x, "q": operator.index(q), "n": n, "ftype": ftype, "axis": axis}
    if isinstance(ftype, str):
        if ftype not in ("iir", "fir"):
            raise ValueError("invalid ftype")
        return send("scipy.signal.decimate", {**given, "zero_phase": zero_phase}, 1)
    from cupool.client_shim.cupyx.scipy.signal import _filtering, _resample

    system = ftype.to_tf()
    b, a = system.num, system.den
    if a.size == 1:
        if zero_phase:
            return _resample.resample_poly(x, 1, q, axis=axis, window=b)
        return send("scipy.signal.upfirdn", {"h": b, "x": x, "up": 1, "down": q, "axis": axis}, 1)
    filtered = (_filtering.filtfilt if zero_phase else _filtering.lfilter)(b, a, x, axis=axis)
    places = [slice(None)] * x.ndim
    places[axis] = slice(None, None, q)
    return filtered[tuple(places)]
