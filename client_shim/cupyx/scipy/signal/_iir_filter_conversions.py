"""From one form of a filter to another, from one band to another, and the prototypes of filters.

Whatever drops leading zeros of coefficients has to look at them: its lengths are asked for.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core._dtype import real_of, to_inexact
from cupool.client_shim.cupy._creation.from_data import asarray
from cupool.client_shim.cupyx.scipy._declared import Spec, declared, send
from cupool.client_shim.cupyx.scipy.signal._iir_filter_design import first_gain, prototype
from cupool.client_shim.cupyx.scipy.signal._pairs import _cplxreal as _cplxreal
from cupool.client_shim.cupyx.scipy.signal._rules import (
    COMPLEX,
    FLOAT,
    INT,
    coefficients,
    described,
    on_device,
    result_of,
)

__all__ = [
    "BadCoefficients",
    "band_stop_obj",
    "bilinear",
    "bilinear_zpk",
    "buttap",
    "buttord",
    "cheb1ap",
    "cheb1ord",
    "cheb2ap",
    "cheb2ord",
    "ellipap",
    "ellipord",
    "lp2bp",
    "lp2bp_zpk",
    "lp2bs",
    "lp2bs_zpk",
    "lp2hp",
    "lp2hp_zpk",
    "lp2lp",
    "lp2lp_zpk",
    "normalize",
    "sos2tf",
    "sos2zpk",
    "ss2tf",
    "ss2zpk",
    "tf2sos",
    "tf2ss",
    "tf2zpk",
    "zpk2sos",
    "zpk2ss",
    "zpk2tf",
]
_operation = declared("scipy.signal")
_ZERO = 1e-14  # `normalize` takes what is smaller, beside the denominator, for no coefficient


class BadCoefficients(UserWarning):
    """A numerator begins with zeros: its filter is badly conditioned."""


def _warn_if_trimmed(given: Any, kept: int) -> None:
    """Warn if the device dropped leading zeros, which the results' lengths tell without a wait."""
    if getattr(given, "ndim", 0) == 1 and kept < given.size:
        _warn_badly_conditioned()


def _warn_badly_conditioned() -> None:
    message = "Badly conditioned filter coefficients (numerator): results may be meaningless"
    warnings.warn(message, BadCoefficients, stacklevel=4)


# ------------------------------------------------------------------- coefficients


def _normalized(b: Any, a: Any) -> Any:
    """Predict what is left of coefficients of the script without their leading zeros.

    Raises:
        ValueError: too many axes, a denominator of zeros.
    """
    num, den = np.atleast_2d(np.asarray(b)), np.atleast_1d(np.asarray(a))
    if den.ndim != 1:
        raise ValueError("Denominator polynomial must be rank-1 array.")
    if num.ndim > 2:
        raise ValueError("Numerator polynomial must be rank-1 or rank-2 array.")
    den = np.trim_zeros(den, "f")
    if not den.size:
        raise ValueError("Denominator must have at least on nonzero element.")
    columns = (abs(num / den[0]) > _ZERO).any(axis=0)
    first = min(int(np.argmax(columns)) if columns.any() else columns.size, columns.size - 1)
    dtype = result_of(num.dtype, den.dtype)
    left = (num.shape[1] - first,)
    return [
        Spec(left if num.shape[0] == 1 else (num.shape[0], *left), dtype),
        Spec(den.shape, to_inexact(den.dtype)),
    ]


def normalize(b: Any, a: Any) -> Any:
    """Divide by the first coefficient of the denominator, without its leading zeros.

    Raises:
        ValueError: too many axes, a denominator of zeros.
    """
    given = {"b": asarray(b), "a": asarray(a)}
    num, den = send("scipy.signal.normalize", given, 2 if on_device(b, a) else _normalized(b, a))
    _warn_if_trimmed(given["b"], num.shape[-1])
    return num, den


def tf2zpk(b: Any, a: Any) -> Any:
    """Turn numerator and denominator into zeros, poles and gain."""
    z, p, k = send("scipy.signal.tf2zpk", {"b": b, "a": a}, 3)
    _warn_if_trimmed(b, z.size + 1)
    return z, p, k


@_operation
def bilinear(b: Any, a: Any, fs: Any = 1.0) -> Any:
    """Turn an analogue filter into a digital one by the bilinear transform."""
    return 2


@_operation
def lp2lp(b: Any, a: Any, wo: Any = 1.0) -> Any:
    """Move the corner of a low-pass filter."""
    return 2


@_operation
def lp2hp(b: Any, a: Any, wo: Any = 1.0) -> Any:
    """Turn a low-pass filter into a high-pass one."""
    return 2


@_operation
def lp2bp(b: Any, a: Any, wo: Any = 1.0, bw: Any = 1.0) -> Any:
    """Turn a low-pass filter into a band-pass one."""
    return 2


@_operation
def lp2bs(b: Any, a: Any, wo: Any = 1.0, bw: Any = 1.0) -> Any:
    """Turn a low-pass filter into a band-stop one."""
    return 2


@_operation
def tf2sos(b: Any, a: Any, pairing: Any = None, *, analog: bool = False) -> Any:
    """Turn numerator and denominator into second-order sections."""
    return 1


@_operation
def tf2ss(num: Any, den: Any) -> Any:
    """Turn numerator and denominator into a state space."""
    return 4


@_operation
def sos2tf(sos: Any) -> Any:
    """Turn second-order sections into numerator and denominator, without leading zeros."""
    return 2


def sos2zpk(sos: Any) -> Any:
    """Turn second-order sections into zeros, poles and gain."""
    found = described(sos)
    roots = Spec((2 * found.shape[0],), COMPLEX)
    gain = Spec((), to_inexact(found.dtype))
    results = send("scipy.signal.sos2zpk", {"sos": sos}, [roots, roots, gain])
    sections = sos.get() if on_device(sos) else np.asarray(sos)
    if (abs(sections[:, 0]) <= _ZERO * abs(sections[:, 3])).any():
        _warn_badly_conditioned()
    return results


# ------------------------------------------------------------------- state spaces


@_operation
def ss2tf(A: Any, B: Any, C: Any, D: Any, input: int = 0) -> Any:
    """Turn a state space into numerators and denominator.

    Raises:
        ValueError: shapes that do not fit, an input that the system does not have.
    """
    from cupool.client_shim.cupyx.scipy.signal._lti_conversion import state_space

    a, b, c, d = state_space(*(None if m is None else described(m) for m in (A, B, C, D)))
    if input >= d.shape[1]:
        raise ValueError("System does not have the input specified.")
    common = result_of(a.dtype, b.dtype, c.dtype, d.dtype)
    if not a.shape[0] or common.kind == "c":
        return 2  # the roots of a complex matrix may or may not be pairs
    states = a.shape[0]
    denominator = Spec((states + 1,), to_inexact(a.dtype))
    return [Spec((d.shape[0], states + 1), common), denominator]


@_operation
def ss2zpk(A: Any, B: Any, C: Any, D: Any, input: int = 0) -> Any:
    """Turn a state space into zeros, poles and gain."""
    return 3


@_operation
def zpk2ss(z: Any, p: Any, k: Any) -> Any:
    """Turn zeros, poles and gain into a state space."""
    return 4


# ------------------------------------------------------------------- zeros, poles, gain


@_operation
def zpk2tf(z: Any, p: Any, k: Any) -> Any:
    """Turn zeros, poles and gain into numerator and denominator.

    Raises:
        NotImplementedError: zeros of more than one axis.
    """
    zeros, poles = coefficients(z), coefficients(p)
    if len(zeros.shape) > 1:
        raise NotImplementedError(f"zpk2tf: z.ndim = {len(zeros.shape)}.")
    gain = described(k)
    if len(gain.shape) or len(poles.shape) > 1:
        return 2
    b = Spec((zeros.shape[0] + 1,), COMPLEX if gain.dtype.kind == "c" else FLOAT)
    return [b, Spec((poles.shape[0] + 1,), FLOAT)]


@_operation
def zpk2sos(z: Any, p: Any, k: Any, pairing: Any = None, *, analog: bool = False) -> Any:
    """Turn zeros, poles and gain into second-order sections.

    Raises:
        ValueError: an unknown pairing, more zeros than poles of an analogue filter.
    """
    if pairing is None:
        pairing = "minimal" if analog else "nearest"
    pairings = ["nearest", "keep_odd", "minimal"]
    if pairing not in pairings:
        raise ValueError(f"pairing must be one of {pairings}, not {pairing}")
    if analog and pairing != "minimal":
        raise ValueError('for analog zpk2sos conversion, pairing must be "minimal"')
    if not on_device(k) and np.imag(k) != 0:
        raise ValueError("k must be real")
    zeros, poles = (described(v).shape[0] for v in (z, p))
    if pairing == "minimal" and poles < zeros:
        raise ValueError("for analog zpk2sos conversion, must have len(p)>=len(z)")
    return Spec((max(1, (max(zeros, poles) + 1) // 2), 6), FLOAT)


def _degree(z: Spec, p: Spec) -> int:
    """Return how many poles there are more than zeros.

    Raises:
        ValueError: fewer.
    """
    degree = p.shape[0] - z.shape[0]
    if degree < 0:
        raise ValueError("Improper transfer function. Must have at least as many poles as zeros.")
    return degree


def _gain(k: Any, z: Spec, p: Spec) -> Spec:
    """Predict a gain that is multiplied by products of zeros and poles."""
    ratio = real_of(result_of(z.dtype, p.dtype))
    gain = described(k).dtype if on_device(k) else k
    return Spec((), np.dtype(np.result_type(gain, ratio)))


@_operation
def bilinear_zpk(z: Any, p: Any, k: Any, fs: Any) -> Any:
    """Turn an analogue filter into a digital one; zeros, poles and gain.

    Raises:
        ValueError: more zeros than poles.
    """
    zeros, poles = coefficients(z), coefficients(p)
    _degree(zeros, poles)
    if on_device(fs):
        return 3
    made = Spec(poles.shape, result_of(zeros.dtype, FLOAT))
    return [made, Spec(poles.shape, to_inexact(poles.dtype)), _gain(k, zeros, poles)]


@_operation
def lp2hp_zpk(z: Any, p: Any, k: Any, wo: Any = 1.0) -> Any:
    """Turn a low-pass filter into a high-pass one; zeros, poles and gain.

    Raises:
        ValueError: more zeros than poles.
    """
    zeros, poles = coefficients(z), coefficients(p)
    _degree(zeros, poles)
    made = Spec(poles.shape, result_of(zeros.dtype, FLOAT))
    return [made, Spec(poles.shape, to_inexact(poles.dtype)), _gain(k, zeros, poles)]


@_operation
def lp2bs_zpk(z: Any, p: Any, k: Any, wo: Any = 1.0, bw: Any = 1.0) -> Any:
    """Turn a low-pass filter into a band-stop one; zeros, poles and gain.

    Raises:
        ValueError: more zeros than poles.
    """
    zeros, poles = coefficients(z), coefficients(p)
    _degree(zeros, poles)
    both = Spec((2 * poles.shape[0],), COMPLEX)
    return [both, both, _gain(k, zeros, poles)]


def _scaled(name: str, z: Any, p: Any, k: Any, factor: Any, more: dict[str, Any]) -> Any:
    """Send a transform whose gain is k * factor ** degree: a number, if `k` is one."""
    zeros, poles = coefficients(z), coefficients(p)
    degree = _degree(zeros, poles)
    results = [Spec(v.shape, to_inexact(v.dtype)) for v in (zeros, poles)]
    if name == "lp2bp_zpk":
        counts = (zeros.shape[0] + poles.shape[0], 2 * poles.shape[0])
        results = [Spec((count,), COMPLEX) for count in counts]
    gain = np.dtype(np.result_type(described(k).dtype, 1.0))
    found = send(
        f"scipy.signal.{name}", {"z": z, "p": p, "k": k, **more}, [*results, Spec((), gain)]
    )
    if not isinstance(k, (int, float)) or not isinstance(factor, (int, float)):
        return found
    return (*found[:2], float(k * float(factor) ** degree))


def lp2lp_zpk(z: Any, p: Any, k: Any, wo: Any = 1.0) -> Any:
    """Move the corner of a low-pass filter; zeros, poles and gain.

    Raises:
        ValueError: more zeros than poles.
    """
    return _scaled("lp2lp_zpk", z, p, k, wo, {"wo": wo})


def lp2bp_zpk(z: Any, p: Any, k: Any, wo: Any = 1.0, bw: Any = 1.0) -> Any:
    """Turn a low-pass filter into a band-pass one; zeros, poles and gain.

    Raises:
        ValueError: more zeros than poles.
    """
    return _scaled("lp2bp_zpk", z, p, k, bw, {"wo": wo, "bw": bw})


# ------------------------------------------------------------------- prototypes, orders


def _send_prototype(name: str, given: dict[str, Any], family: str) -> Any:
    z, p = prototype(family, given["N"])
    if name == "ellipap" and given["N"] == 1:
        p = Spec((), FLOAT)
    whole = name == "buttap" or (name == "cheb2ap" and not given["N"])
    gain = Spec((), INT if whole else FLOAT)
    z, p, k = send(f"scipy.signal.{name}", given, [z, p, gain])
    if name == "buttap" or not given["N"]:
        number = first_gain(family, given)
        return z, p, 1 if number == 1 else number
    return z, p, k


def buttap(N: int) -> Any:
    """Return zeros, poles and gain of a Butterworth prototype.

    Raises:
        ValueError: an order that is no whole number, or negative.
    """
    return _send_prototype("buttap", {"N": N}, "butter")


def cheb1ap(N: int, rp: Any) -> Any:
    """Return zeros, poles and gain of a prototype with ripple in the pass band; see `buttap`."""
    return _send_prototype("cheb1ap", {"N": N, "rp": rp}, "cheby1")


def cheb2ap(N: int, rs: Any) -> Any:
    """Return zeros, poles and gain of a prototype with ripple in the stop band; see `buttap`."""
    return _send_prototype("cheb2ap", {"N": N, "rs": rs}, "cheby2")


def ellipap(N: int, rp: Any, rs: Any) -> Any:
    """Return zeros, poles and gain of an elliptic prototype; see `buttap`."""
    return _send_prototype("ellipap", {"N": N, "rp": rp, "rs": rs}, "ellip")


@_operation
def band_stop_obj(
    wp: Any, ind: Any, passb: Any, stopb: Any, gpass: Any, gstop: Any, type: str
) -> Any:
    """Return the order, not rounded, that a band-stop filter needs.

    Raises:
        ValueError: an unknown family.
    """
    if type not in ("butter", "cheby", "ellip"):
        raise ValueError(f"Incorrect type: {type}")
    return Spec((), FLOAT)


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
