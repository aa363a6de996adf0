"""From one form of a filter to another, and from one band to another."""

from __future__ import annotations

import warnings
from typing import Any

from cupool.client_shim.cupyx.scipy._declared import declared, send
from cupool.client_shim.cupyx.scipy.signal._pairs import _cplxreal as _cplxreal

__all__ = [
    "BadCoefficients",
    "abcd_normalize",
    "bilinear",
    "bilinear_zpk",
    "invres",
    "invresz",
    "lp2bp",
    "lp2bp_zpk",
    "lp2bs",
    "lp2bs_zpk",
    "lp2hp",
    "lp2hp_zpk",
    "lp2lp",
    "lp2lp_zpk",
    "normalize",
    "residue",
    "residuez",
    "sos2tf",
    "sos2zpk",
    "ss2tf",
    "ss2zpk",
    "tf2sos",
    "tf2ss",
    "tf2zpk",
    "unique_roots",
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


def normalize(b: Any, a: Any) -> Any:
    """Divide by the first coefficient of the denominator, without its leading zeros."""
    num, den = send("scipy.signal.normalize", {"b": b, "a": a}, 2)
    _warn_if_trimmed(b, num.shape[-1])
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
def bilinear_zpk(
    z: Any,
    p: Any,
    k: Any,
    fs: Any,
) -> Any:
    """Turn an analogue filter into a digital one; zeros, poles and gain."""
    return 3


@_operation
def lp2lp(b: Any, a: Any, wo: Any = 1.0) -> Any:
    """Move the corner of a low-pass filter."""
    return 2


@_operation
def lp2hp(b: Any, a: Any, wo: Any = 1.0) -> Any:
    """Turn a low-pass filter into a high-pass one."""
    return 2


@_operation
def lp2bp(
    b: Any,
    a: Any,
    wo: Any = 1.0,
    bw: Any = 1.0,
) -> Any:
    """Turn a low-pass filter into a band-pass one."""
    return 2


@_operation
def lp2bs(
    b: Any,
    a: Any,
    wo: Any = 1.0,
    bw: Any = 1.0,
) -> Any:
    """Turn a low-pass filter into a band-stop one."""
    return 2


@_operation
def lp2hp_zpk(
    z: Any,
    p: Any,
    k: Any,
    wo: Any = 1.0,
) -> Any:
    """Turn a low-pass filter into a high-pass one; zeros, poles and gain."""
    return 3


@_operation
def lp2bs_zpk(
    z: Any,
    p: Any,
    k: Any,
    wo: Any = 1.0,
    bw: Any = 1.0,
) -> Any:
    """Turn a low-pass filter into a band-stop one; zeros, poles and gain."""
    return 3


@_operation
def sos2tf(sos: Any) -> Any:
    """Turn second-order sections into numerator and denominator."""
    return 2


def sos2zpk(sos: Any) -> Any:
    """Turn second-order sections into zeros, poles and gain."""
    found = send("scipy.signal.sos2zpk", {"sos": sos}, 3)
    sections = sos.get()
    if (abs(sections[:, 0]) <= _ZERO * abs(sections[:, 3])).any():
        _warn_badly_conditioned()
    return found


@_operation
def ss2tf(
    A: Any,
    B: Any,
    C: Any,
    D: Any,
    input: Any = 0,
) -> Any:
    """Turn a state space into numerators and denominator."""
    return 2


@_operation
def ss2zpk(
    A: Any,
    B: Any,
    C: Any,
    D: Any,
    input: Any = 0,
) -> Any:
    """Turn a state space into zeros, poles and gain."""
    return 3


@_operation
def tf2sos(
    b: Any,
    a: Any,
    pairing: Any = None,
    *,
    analog: Any = False,
) -> Any:
    """Turn numerator and denominator into second-order sections."""
    return 1


@_operation
def tf2ss(num: Any, den: Any) -> Any:
    """Turn numerator and denominator into a state space."""
    return 4


@_operation
def zpk2sos(
    z: Any,
    p: Any,
    k: Any,
    pairing: Any = None,
    *,
    analog: Any = False,
) -> Any:
    """Turn zeros, poles and gain into second-order sections."""
    return 1


@_operation
def zpk2ss(z: Any, p: Any, k: Any) -> Any:
    """Turn zeros, poles and gain into a state space."""
    return 4


@_operation
def zpk2tf(z: Any, p: Any, k: Any) -> Any:
    """Turn zeros, poles and gain into numerator and denominator."""
    return 2


@_operation
def abcd_normalize(
    A: Any = None,
    B: Any = None,
    C: Any = None,
    D: Any = None,
) -> Any:
    """Complete a state space with zeros, and check that its shapes fit."""
    return 4


@_operation
def residue(
    b: Any,
    a: Any,
    tol: Any = 0.001,
    rtype: Any = "avg",
) -> Any:
    """Return residues, poles and direct terms of a ratio of polynomials."""
    return 3


@_operation
def residuez(
    b: Any,
    a: Any,
    tol: Any = 0.001,
    rtype: Any = "avg",
) -> Any:
    """Return residues, poles and direct terms, in powers of 1/z."""
    return 3


@_operation
def invres(
    r: Any,
    p: Any,
    k: Any,
    tol: Any = 0.001,
    rtype: Any = "avg",
) -> Any:
    """Return numerator and denominator of residues, poles and direct terms."""
    return 2


@_operation
def invresz(
    r: Any,
    p: Any,
    k: Any,
    tol: Any = 0.001,
    rtype: Any = "avg",
) -> Any:
    """Return numerator and denominator, in powers of 1/z."""
    return 2


@_operation
def unique_roots(p: Any, tol: Any = 0.001, rtype: Any = "min") -> Any:
    """Group roots that are close to each other; return them and how many each is."""
    return 2


def _with_gain(name: str, z: Any, p: Any, k: Any, factor: Any, more: dict[str, Any]) -> Any:
    """Send a transform; the gain of a number is a number: k * factor ** (poles - zeros)."""
    found = send(f"scipy.signal.{name}", {"z": z, "p": p, "k": k, **more}, 3)
    if not isinstance(k, (int, float)) or not isinstance(factor, (int, float)):
        return found
    count = [v.size if hasattr(v, "size") else len(v) for v in (z, p)]
    return (*found[:2], float(k * float(factor) ** (count[1] - count[0])))


def lp2lp_zpk(z: Any, p: Any, k: Any, wo: float = 1.0) -> Any:
    """Move the corner of a low-pass filter; zeros, poles and gain."""
    return _with_gain("lp2lp_zpk", z, p, k, wo, {"wo": wo})


def lp2bp_zpk(z: Any, p: Any, k: Any, wo: float = 1.0, bw: float = 1.0) -> Any:
    """Turn a low-pass filter into a band-pass one; zeros, poles and gain."""
    return _with_gain("lp2bp_zpk", z, p, k, bw, {"wo": wo, "bw": bw})
