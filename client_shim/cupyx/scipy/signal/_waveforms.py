"""Signals to start from."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupy._core._dtype import get_dtype
from cupool.client_shim.cupyx.scipy._declared import Spec, declared, send
from cupool.client_shim.cupyx.scipy.signal._rules import (
    FLOAT,
    coefficients,
    described,
    on_device,
    result_of,
)

__all__ = [
    "chirp",
    "gausspulse",
    "max_len_seq",
    "sawtooth",
    "square",
    "sweep_poly",
    "unit_impulse",
]
ndarray = core.ndarray
_operation = declared("scipy.signal")
_METHODS = "linear lin li quadratic quad q logarithmic log lo hyperbolic hyp".split()


@_operation
def chirp(
    t: Any,
    f0: Any,
    t1: Any,
    f1: Any,
    method: str = "linear",
    phi: Any = 0,
    vertex_zero: bool = True,
) -> Any:
    """Return a cosine whose frequency changes from `f0` to `f1` at `t1`.

    Raises:
        ValueError: an unknown method, frequencies that do not fit it.
    """
    if method not in _METHODS:
        raise ValueError(
            "method must be 'linear', 'quadratic', 'logarithmic', or 'hyperbolic', "
            f"but a value of {method!r} was given."
        )
    if on_device(f0, t1, f1, phi):
        return 1
    if method[0] == "l" and method[1] == "o" and f0 * f1 <= 0.0:
        raise ValueError(
            "For a logarithmic chirp, f0 and f1 must be nonzero and have the same sign."
        )
    if method[0] == "h" and (f0 == 0 or f1 == 0):
        raise ValueError("For a hyperbolic chirp, f0 and f1 must be nonzero.")
    given = described(t)
    return Spec(given.shape, FLOAT if given.dtype.kind in "iu" else given.dtype)


def _check_sequence(nbits: int, state: Any, length: Any, taps: Any) -> None:
    if taps is None and not 2 <= nbits <= 32:
        raise ValueError("nbits must be between 2 and 32 if taps is None")
    if taps is not None:
        chosen = np.asarray(taps)
        if not chosen.size or np.any(chosen < 0) or np.any(chosen > nbits):
            raise ValueError(
                "taps must be non-empty with values between zero and nbits (inclusive)"
            )
    if length is not None and int(length) < 0:
        raise ValueError("length must be greater than or equal to 0")
    if state is not None and not np.any(np.asarray(state)):
        raise ValueError("state must not be all zeros")


@_operation
def max_len_seq(nbits: int, state: Any = None, length: Any = None, taps: Any = None) -> Any:
    """Return a pseudo-random sequence of bits and its state.

    Args:
        state: `nbits` bits to begin with; all set by default.
        length: of the sequence; the longest without repetition by default.

    Raises:
        ValueError: a state, taps or a length that do not fit.
    """
    if state is not None and coefficients(state).shape != (nbits,):
        raise ValueError("state must be a 1-D array of size nbits")
    if on_device(state, taps):
        return 2
    _check_sequence(nbits, state, length, taps)
    bits = np.dtype(np.int8)
    return [Spec((2**nbits - 1 if length is None else int(length),), bits), Spec((nbits,), bits)]


def _wave(t: Any, shape: Any) -> Spec:
    return Spec(np.broadcast_shapes(described(t).shape, described(shape).shape), FLOAT)


@_operation
def sawtooth(t: Any, width: Any = 1.0) -> Any:
    """Return a wave that rises for `width` of its period and falls."""
    return _wave(t, width)


@_operation
def square(t: Any, duty: Any = 0.5) -> Any:
    """Return a wave that is 1 for `duty` of its period, and -1."""
    return _wave(t, duty)


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
    if fc < 0 or bw <= 0 or bwr >= 0:
        raise ValueError(f"fc must be >= 0, bw > 0 and bwr < 0; they are {fc}, {bw} and {bwr}")
    if not isinstance(t, str):
        given = {"t": t, "fc": fc, "bw": bw, "bwr": bwr, "tpr": tpr}
        given |= {"retquad": bool(retquad), "retenv": bool(retenv)}
        specs = [described(t)] * (1 + bool(retquad) + bool(retenv))
        return send("scipy.signal.gausspulse", given, specs)
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


def sweep_poly(t: Any, poly: Any, phi: float = 0) -> Any:
    """Return a cosine whose frequency is a polynomial in time; `phi` is in degrees."""
    poly = getattr(poly, "coeffs", poly)
    given = described(t)
    result = Spec(given.shape, result_of(given.dtype, FLOAT))
    return send("scipy.signal.sweep_poly", {"t": t, "poly": poly, "phi": phi}, result)
