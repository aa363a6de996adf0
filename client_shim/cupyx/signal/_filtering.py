"""Filters of finite length, channels, shifts of frequency."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core._dtype import complex_of
from cupool.client_shim.cupy._creation.from_data import asarray
from cupool.client_shim.cupyx.scipy._declared import Spec, send
from cupool.client_shim.cupyx.scipy.signal._filtering import check_padding
from cupool.client_shim.cupyx.scipy.signal._rules import COMPLEX, FLOAT, result_of

__all__ = ["channelize_poly", "firfilter", "firfilter2", "firfilter_zi", "freq_shift"]


def firfilter(b: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Filter an axis; with inputs before, `zi`, also return those after."""
    from cupool.client_shim import cupy
    from cupool.client_shim.cupyx.scipy.signal import lfilter

    return lfilter(b, cupy.ones((1,)), x, axis, zi)


def firfilter_zi(b: Any) -> Any:
    """Return the state, as SciPy has it, in which a constant 1 goes in."""
    dtype = np.promote_types(np.float32, b.dtype)
    return send("signal.firfilter_zi", {"b": b}, Spec((max(len(b) - 1, 0),), dtype))


def firfilter2(
    b: Any,
    x: Any,
    axis: int = -1,
    padtype: Any = "odd",
    padlen: Any = None,
    method: str = "pad",
    irlen: Any = None,
) -> Any:
    """Filter forwards and backwards; see `cupyx.scipy.signal.filtfilt`.

    Raises:
        ValueError: an unknown method or padding, a signal that is not longer than its padding.
        NotImplementedError: the method "gust".
    """
    from cupool.client_shim import cupy

    if method not in ("pad", "gust"):
        raise ValueError("method must be 'pad' or 'gust'.")
    if method == "gust":
        raise NotImplementedError("gust method not supported yet")
    b, x = cupy.atleast_1d(b), asarray(x)
    check_padding(padtype, padlen, x.shape[axis], len(b))
    given = {"b": b, "x": x, "axis": axis, "padtype": padtype, "padlen": padlen}
    return send("signal.firfilter2", given, Spec(x.shape, result_of(x.dtype, b.dtype, FLOAT)))


def freq_shift(x: Any, freq: float, fs: float) -> Any:
    """Shift a signal's frequencies down by `freq` at the rate `fs`; the result is complex."""
    x = asarray(x)
    return send("signal.freq_shift", {"x": x, "freq": freq, "fs": fs}, Spec(x.shape, COMPLEX))


def channelize_poly(x: Any, h: Any, n_chans: int) -> Any:
    """Split a signal into channels by a polyphase filter.

    Returns:
        complex, one row for each channel.

    Raises:
        NotImplementedError: more than 32 taps for each channel, other than floating types.
    """
    dtype = np.promote_types(x.dtype, h.dtype)
    if len(h) // n_chans > 32:
        raise NotImplementedError("more than 32 taps for each channel are not supported")
    if dtype.char not in "fdFD":
        raise NotImplementedError(f"channels of {dtype} are not supported")
    channels = Spec((n_chans, len(x) // n_chans), complex_of(dtype), "F")
    return send("signal.channelize_poly", {"x": x, "h": h, "n_chans": n_chans}, channels)
