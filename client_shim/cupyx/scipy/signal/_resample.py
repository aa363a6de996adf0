"""Other sampling rates."""

from __future__ import annotations

import operator
from math import gcd
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupy._core._dtype import to_inexact
from cupool.client_shim.cupy._creation.from_data import asarray
from cupool.client_shim.cupyx.scipy._declared import Spec, declared, send
from cupool.client_shim.cupyx.scipy.signal import _filtering, _upfirdn
from cupool.client_shim.cupyx.scipy.signal._rules import FLOAT, described, transformed, whole_number
from cupool.client_shim.cupyx.scipy.signal.windows import check_window

__all__ = ["decimate", "resample", "resample_poly"]
ndarray = core.ndarray
_operation = declared("scipy.signal")
_SINGLE = np.dtype(np.float32)


def _with_length(shape: tuple[int, ...], axis: int, length: int) -> tuple[int, ...]:
    lengths = list(shape)
    lengths[axis] = length
    return tuple(lengths)


def resample(
    x: Any, num: int, t: Any = None, axis: int = 0, window: Any = None, domain: str = "time"
) -> Any:
    """Resample to `num` samples by way of the spectrum.

    Args:
        t: times of the samples; those of the result are returned too.
        window: of the spectrum: a name, an array, or a function of the script.
        domain: "freq" if `x` is a spectrum.

    Raises:
        ValueError: an unknown domain or window, a window of another length than the axis.
    """
    if domain not in ("time", "freq"):
        raise ValueError(f"Acceptable domain flags are 'time' or 'freq', not domain={domain}")
    given = described(x)
    if callable(window):
        from cupool.client_shim.cupy.fft import fftfreq

        window = window(fftfreq(given.shape[axis]))
    elif isinstance(window, ndarray):
        if window.shape != (given.shape[axis],):
            raise ValueError(
                f"window.shape={window.shape} != ({given.shape[axis]},), i.e., window length"
                " is not equal to number of frequency bins!"
            )
    elif window is not None:
        check_window(window)
    count = whole_number(num)
    specs: Any = 1 if t is None else 2
    if count is not None:
        dtype = to_inexact(given.dtype)
        result = transformed(
            _with_length(given.shape, axis, count), _SINGLE if dtype.char == "e" else dtype, axis
        )
        specs = [result] if t is None else [result, Spec((count,), FLOAT)]
    arguments = {"x": x, "num": num, "t": t, "axis": axis, "window": window, "domain": domain}
    return send("scipy.signal.resample", arguments, specs)


@_operation
def resample_poly(
    x: Any,
    up: Any,
    down: Any,
    axis: int = 0,
    window: Any = ("kaiser", 5.0),
    padtype: str = "constant",
    cval: Any = None,
) -> Any:
    """Resample by a ratio, with a filter.

    Args:
        window: names a window, or holds the filter's coefficients.

    Raises:
        ValueError: rates below 1, an unknown window, another padding than by zeros.
    """
    if padtype != "constant" or cval is not None:
        raise ValueError("padtype and cval arguments are not supported by upfirdn")
    up, down = int(up), int(down)
    if up < 1 or down < 1:
        raise ValueError("up and down must be >= 1")
    given = described(x)
    up, down = up // gcd(up, down), down // gcd(up, down)
    if up == down == 1:
        return given
    taps = FLOAT
    if isinstance(window, (list, ndarray)):
        held = described(window)
        if len(held.shape) > 1:
            raise ValueError("window must be 1-D")
        taps = held.dtype
    else:
        check_window(window)
    count = -(-given.shape[axis] * up // down)
    dtype = np.result_type(taps, given.dtype, _SINGLE)
    return Spec(_with_length(given.shape, axis, count), dtype)


def _decimated(x: Spec, q: int, n: Any, ftype: str, axis: int, zero_phase: bool) -> Any:
    """Predict; 1 if a signal may be too short for its padding, which the filter decides."""
    order = 8 if n is None else n
    length = x.shape[axis]
    sections = (order + 1) // 2
    if ftype == "iir" and (q < 1 or (zero_phase and length <= 3 * (2 * sections + 1))):
        return 1
    exact = x.dtype.kind in "fc" and x.dtype.char != "e"
    return Spec(_with_length(x.shape, axis, -(-length // q)), x.dtype if exact else FLOAT)


def decimate(
    x: Any, q: int, n: Any = None, ftype: Any = "iir", axis: int = -1, zero_phase: bool = True
) -> Any:
    """Filter, and keep one sample of `q`.

    Args:
        n: order of the filter, or its length without one.
        ftype: "iir", "fir", or a discrete system as the filter.
        zero_phase: filter without delay.

    Raises:
        ValueError: another kind of filter.
        TypeError: other numbers than whole ones.
    """
    q, n = operator.index(q), None if n is None else operator.index(n)
    given = {"x": x, "q": q, "n": n, "ftype": ftype, "axis": axis}
    if isinstance(ftype, str):
        if ftype not in ("iir", "fir"):
            raise ValueError("invalid ftype")
        specs = _decimated(described(x), q, n, ftype, axis, zero_phase)
        return send("scipy.signal.decimate", {**given, "zero_phase": zero_phase}, specs)
    x = asarray(x)
    system = ftype.to_tf()
    b, a = system.num, system.den
    places: list[Any] = [slice(None)] * x.ndim
    if a.size == 1:
        if zero_phase:
            return resample_poly(x, 1, q, axis=axis, window=b)
        filtered = _upfirdn.upfirdn(b, x, 1, q, axis)
        places[axis] = slice(-(-x.shape[axis] // q))
    else:
        filtered = (_filtering.filtfilt if zero_phase else _filtering.lfilter)(b, a, x, axis=axis)
        places[axis] = slice(None, None, q)
    return filtered[tuple(places)]
