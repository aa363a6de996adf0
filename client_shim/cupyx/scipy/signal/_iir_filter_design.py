"""Design of recursive filters: the order, the prototype, the coefficients."""

from __future__ import annotations

from typing import Any

from cupool.client_shim.cupyx.scipy._declared import declared
from cupool.client_shim.cupyx.scipy.signal._systems import count_of

__all__ = [
    "band_stop_obj",
    "buttap",
    "cheb1ap",
    "cheb2ap",
    "cheby1",
    "cheby2",
    "ellip",
    "ellipap",
    "gammatone",
    "iircomb",
    "iirdesign",
    "iirfilter",
    "iirnotch",
    "iirpeak",
]
_operation = declared("scipy.signal")


@_operation
def cheby1(
    N: Any,
    rp: Any,
    Wn: Any,
    btype: Any = "low",
    analog: Any = False,
    output: Any = "ba",
    fs: Any = None,
) -> Any:
    """Design a Chebyshev filter with ripple in its pass band."""
    return count_of(output)


@_operation
def cheby2(
    N: Any,
    rs: Any,
    Wn: Any,
    btype: Any = "low",
    analog: Any = False,
    output: Any = "ba",
    fs: Any = None,
) -> Any:
    """Design a Chebyshev filter with ripple in its stop band."""
    return count_of(output)


@_operation
def ellip(
    N: Any,
    rp: Any,
    rs: Any,
    Wn: Any,
    btype: Any = "low",
    analog: Any = False,
    output: Any = "ba",
    fs: Any = None,
) -> Any:
    """Design an elliptic filter."""
    return count_of(output)


@_operation
def iirdesign(
    wp: Any,
    ws: Any,
    gpass: Any,
    gstop: Any,
    analog: Any = False,
    ftype: Any = "ellip",
    output: Any = "ba",
    fs: Any = None,
) -> Any:
    """Design a filter by what it must pass and stop."""
    return count_of(output)


@_operation
def iirfilter(
    N: Any,
    Wn: Any,
    rp: Any = None,
    rs: Any = None,
    btype: Any = "band",
    analog: Any = False,
    ftype: Any = "butter",
    output: Any = "ba",
    fs: Any = None,
) -> Any:
    """Design a filter of a given order and family."""
    return count_of(output)


@_operation
def iircomb(
    w0: Any,
    Q: Any,
    ftype: Any = "notch",
    fs: Any = 2.0,
    *,
    pass_zero: Any = False,
) -> Any:
    """Design a comb that notches or peaks at multiples of a frequency."""
    return 2


@_operation
def iirnotch(w0: Any, Q: Any, fs: Any = 2.0) -> Any:
    """Design a filter that stops one frequency."""
    return 2


@_operation
def iirpeak(w0: Any, Q: Any, fs: Any = 2.0) -> Any:
    """Design a filter that passes one frequency."""
    return 2


@_operation
def gammatone(
    freq: Any,
    ftype: Any,
    order: Any = None,
    numtaps: Any = None,
    fs: Any = None,
) -> Any:
    """Design a gammatone filter, a model of hearing."""
    return 2


@_operation
def buttap(N: Any) -> Any:
    """Return zeros, poles and gain of a Butterworth prototype."""
    return 3


@_operation
def cheb1ap(N: Any, rp: Any) -> Any:
    """Return zeros, poles and gain of a prototype with ripple in the pass band."""
    return 3


@_operation
def cheb2ap(N: Any, rs: Any) -> Any:
    """Return zeros, poles and gain of a prototype with ripple in the stop band."""
    return 3


@_operation
def ellipap(N: Any, rp: Any, rs: Any) -> Any:
    """Return zeros, poles and gain of an elliptic prototype."""
    return 3


@_operation
def band_stop_obj(
    wp: Any,
    ind: Any,
    passb: Any,
    stopb: Any,
    gpass: Any,
    gstop: Any,
    type: Any,
) -> Any:
    """Return the order, not rounded, that a band-stop filter needs."""
    return 1
