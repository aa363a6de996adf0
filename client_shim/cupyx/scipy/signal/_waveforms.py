"""Signals to start from."""

from __future__ import annotations

from typing import Any

from cupool.client_shim.cupyx.scipy._declared import declared

__all__ = [
    "chirp",
    "max_len_seq",
    "morlet",
    "morlet2",
    "qmf",
    "ricker",
    "sawtooth",
    "square",
]
_operation = declared("scipy.signal")


@_operation
def chirp(
    t: Any,
    f0: Any,
    t1: Any,
    f1: Any,
    method: Any = "linear",
    phi: Any = 0,
    vertex_zero: Any = True,
) -> Any:
    """Return a cosine whose frequency changes from `f0` to `f1` at `t1`."""
    return 1


@_operation
def max_len_seq(
    nbits: Any,
    state: Any = None,
    length: Any = None,
    taps: Any = None,
) -> Any:
    """Return a pseudo-random sequence of bits and its state."""
    return 2


@_operation
def morlet(
    M: int,
    w: Any = 5.0,
    s: Any = 1.0,
    complete: Any = True,
) -> Any:
    """Return a complex Morlet wavelet."""
    return 1


@_operation
def morlet2(M: int, s: Any, w: Any = 5) -> Any:
    """Return a complex Morlet wavelet of a width."""
    return 1


@_operation
def qmf(hk: Any) -> Any:
    """Return the high-pass filter that goes with a low-pass one."""
    return 1


@_operation
def ricker(points: Any, a: Any) -> Any:
    """Return a Ricker wavelet."""
    return 1


@_operation
def sawtooth(t: Any, width: Any = 1.0) -> Any:
    """Return a wave that rises for `width` of its period and falls."""
    return 1


@_operation
def square(t: Any, duty: Any = 0.5) -> Any:
    """Return a wave that is 1 for `duty` of its period, and -1."""
    return 1
