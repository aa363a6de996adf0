"""Design of recursive filters by their order and family.

Numbers of the script make a filter whose lengths follow from its order. With numbers that only the
device has, what `iirfilter` checks must be computed first, and the lengths are asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupyx.scipy._declared import Spec, declared, send
from cupool.client_shim.cupyx.scipy.signal._rules import COMPLEX, FLOAT, on_device

__all__ = [
    "butter",
    "cheby1",
    "cheby2",
    "ellip",
    "iircomb",
    "iirdesign",
    "iirfilter",
    "iirnotch",
    "iirpeak",
]
ndarray = core.ndarray
_operation = declared("scipy.signal")

_BANDS = {
    **dict.fromkeys(("band", "bandpass", "pass", "bp"), "bandpass"),
    **dict.fromkeys(("bs", "bandstop", "bands", "stop"), "bandstop"),
    **dict.fromkeys(("l", "low", "lowpass", "lp"), "lowpass"),
    **dict.fromkeys(("high", "highpass", "h", "hp"), "highpass"),
}
_FAMILIES = {
    **dict.fromkeys(("butter", "butterworth"), "butter"),
    **dict.fromkeys(("cauer", "elliptic", "ellip"), "ellip"),
    **dict.fromkeys(("cheby1", "chebyshev1", "chebyshevi"), "cheby1"),
    **dict.fromkeys(("cheby2", "chebyshev2", "chebyshevii"), "cheby2"),
}
_BESSEL = ("bessel", "bessel_phase", "bessel_delay", "bessel_mag")
_RIPPLES = {"butter": (), "cheby1": ("rp",), "cheby2": ("rs",), "ellip": ("rp", "rs")}
_COUNTS = {"ba": 2, "zpk": 3, "sos": 1}


def prototype(family: str, order: int) -> tuple[Spec, Spec]:
    """Predict zeros and poles of an analogue low-pass filter of a family.

    Raises:
        ValueError: an order that is no whole number, or negative.
    """
    if abs(int(order)) != order:
        raise ValueError("Filter order must be a nonnegative integer")
    order = int(order)
    none = Spec((0,), FLOAT)
    if not order and family != "butter":
        return none, none
    zeros = none
    if family == "cheby2" or (family == "ellip" and order > 1):
        zeros = Spec((order - order % 2,), COMPLEX)
    return zeros, Spec((order,), FLOAT if family == "ellip" and order == 1 else COMPLEX)


def first_gain(family: str, given: Mapping[str, Any]) -> float:
    """Return the gain of a Butterworth prototype, or of one without poles."""
    return 1.0 if family in ("butter", "cheby2") else float(10 ** (-given["rp"] / 20))


def _transformed(z: Spec, p: Spec, band: str, analog: bool) -> tuple[Spec, Spec]:
    """Predict zeros and poles after the moves to a band and to discrete time."""
    degree = p.shape[0] - z.shape[0]
    if band == "highpass":
        z = Spec(p.shape, z.dtype)
    elif band in ("bandpass", "bandstop"):
        more = degree if band == "bandpass" else 2 * degree
        z, p = (Spec((2 * v.shape[0],), COMPLEX) for v in (z, p))
        z = Spec((z.shape[0] + more,), COMPLEX)
    return (z if analog else Spec(p.shape, z.dtype)), p


def _sections(z: int, p: int, analog: bool) -> int:
    return max(1, ((p if analog else max(z, p)) + 1) // 2)


def _check_frequencies(wn: Any, band: str, analog: bool, fs: Any) -> None:
    if not analog and (np.any(wn <= 0) or np.any(wn >= 1)):
        if fs is not None:
            raise ValueError(
                "Digital filter critical frequencies must be 0 < Wn < fs/2 "
                f"(fs={fs} -> fs/2={fs / 2})"
            )
        raise ValueError("Digital filter critical frequencies must be 0 < Wn < 1")
    if band in ("lowpass", "highpass"):
        if wn.size != 1:
            raise ValueError(
                "Must specify a single critical frequency Wn for lowpass or highpass filter"
            )
    elif wn.ndim < 1 or wn.shape[0] < 2:
        raise ValueError(
            "Wn must specify start and stop frequencies for bandpass or bandstop filter"
        )


def _chosen(given: dict[str, Any], family: str) -> tuple[str, str, str]:
    """Return family, band and output of a design by their usual names.

    Raises:
        ValueError: an unknown one, ripples that are missing or negative.
    """
    family, band, output = family.lower(), given["btype"].lower(), given["output"].lower()
    if band not in _BANDS:
        raise ValueError(f"'{band}' is an invalid bandtype for filter.")
    if family in _BESSEL:
        raise NotImplementedError(f"'{family}' not implemented in iirfilter.")
    if family not in _FAMILIES:
        raise ValueError(f"'{family}' is not a valid basic IIR filter.")
    if output not in _COUNTS:
        raise ValueError(f"'{output}' is not a valid output form.")
    family = _FAMILIES[family]
    for name, words in (("rp", "passband ripple (rp)"), ("rs", "stopband attenuation (rs)")):
        ripple = given.get(name)
        if ripple is None and name in _RIPPLES[family]:
            raise ValueError(f"{words} must be provided to design a filter of family {family!r}.")
        if ripple is not None and not on_device(ripple) and ripple < 0:
            raise ValueError(f"{words} must be positive")
    return family, _BANDS[band], output


def _designed(name: str, given: dict[str, Any], ftype: str) -> Any:
    """Check and predict a design, and send it.

    Raises:
        ValueError: what does not fit.
    """
    analog, fs = bool(given["analog"]), given["fs"]
    family, band, output = _chosen(given, ftype)
    if fs is not None and analog:
        raise ValueError("fs cannot be specified for an analog filter")
    gain_is_number = family == "butter" or not given["N"]
    gain_is_number &= output == "zpk" and analog and band in ("lowpass", "bandpass")
    wn = given["Wn"]
    if on_device(*given.values()):
        # One frequency of an analogue filter can be any: nothing is to be checked.
        others = [value for key, value in given.items() if key != "Wn"]
        one = isinstance(wn, ndarray) and wn.size == 1 and not on_device(*others)
        if gain_is_number or not (one and analog and band in ("lowpass", "highpass")):
            found = send(f"scipy.signal.{name}", given, _COUNTS[output])
            return (*found[:2], float(found[2])) if gain_is_number else found
    else:
        wn = np.asarray(wn)
        if wn.size > 1 and not wn[0] < wn[1]:
            raise ValueError("Wn[0] must be less than Wn[1]")
        _check_frequencies(wn if fs is None else 2 * wn / fs, band, analog, fs)
    order = given["N"]
    z, p = _transformed(*prototype(family, order), band, analog)
    (zeros,), (poles,) = z.shape, p.shape
    specs = {
        "ba": [Spec((zeros + 1,), FLOAT), Spec((poles + 1,), FLOAT)],
        "zpk": [z, p, Spec((), FLOAT)],
        "sos": [Spec((_sections(zeros, poles, analog), 6), FLOAT)],
    }[output]
    found = send(f"scipy.signal.{name}", given, specs)
    if not gain_is_number:
        return found
    width = wn.flat[0] if band == "lowpass" else wn[1] - wn[0]
    return (*found[:2], first_gain(family, given) * float(width) ** int(order))


def iirfilter(
    N: Any,
    Wn: Any,
    rp: Any = None,
    rs: Any = None,
    btype: str = "band",
    analog: bool = False,
    ftype: str = "butter",
    output: str = "ba",
    fs: Any = None,
) -> Any:
    """Design a filter of a given order and family.

    Args:
        Wn: one critical frequency, or both of a band.
        rp, rs: most ripple in the pass band and least attenuation in the stop band, in dB.
        output: "ba", "zpk" or "sos".

    Raises:
        ValueError: what does not fit, such as frequencies beyond half of `fs`.
    """
    given = {"N": N, "Wn": Wn, "rp": rp, "rs": rs, "btype": btype, "analog": analog}
    return _designed("iirfilter", {**given, "ftype": ftype, "output": output, "fs": fs}, ftype)


def butter(
    N: Any, Wn: Any, btype: str = "low", analog: bool = False, output: str = "ba", fs: Any = None
) -> Any:
    """Design a Butterworth filter; see `iirfilter`."""
    given = {"N": N, "Wn": Wn, "btype": btype, "analog": analog, "output": output, "fs": fs}
    return _designed("butter", given, "butter")


def cheby1(
    N: Any,
    rp: Any,
    Wn: Any,
    btype: str = "low",
    analog: bool = False,
    output: str = "ba",
    fs: Any = None,
) -> Any:
    """Design a Chebyshev filter with ripple in its pass band; see `iirfilter`."""
    given = {"N": N, "rp": rp, "Wn": Wn, "btype": btype, "analog": analog}
    return _designed("cheby1", {**given, "output": output, "fs": fs}, "cheby1")


def cheby2(
    N: Any,
    rs: Any,
    Wn: Any,
    btype: str = "low",
    analog: bool = False,
    output: str = "ba",
    fs: Any = None,
) -> Any:
    """Design a Chebyshev filter with ripple in its stop band; see `iirfilter`."""
    given = {"N": N, "rs": rs, "Wn": Wn, "btype": btype, "analog": analog}
    return _designed("cheby2", {**given, "output": output, "fs": fs}, "cheby2")


def ellip(
    N: Any,
    rp: Any,
    rs: Any,
    Wn: Any,
    btype: str = "low",
    analog: bool = False,
    output: str = "ba",
    fs: Any = None,
) -> Any:
    """Design an elliptic filter; see `iirfilter`."""
    given = {"N": N, "rp": rp, "rs": rs, "Wn": Wn, "btype": btype, "analog": analog}
    return _designed("ellip", {**given, "output": output, "fs": fs}, "ellip")


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
    """Design a filter by what it must pass and stop; its order is computed, and waited for."""
    return _COUNTS.get(output, 1)


@_operation
def iircomb(
    w0: Any, Q: Any, ftype: str = "notch", fs: Any = 2.0, *, pass_zero: bool = False
) -> Any:
    """Design a comb that notches or peaks at multiples of a frequency.

    Raises:
        ValueError: a frequency that does not divide `fs`, an unknown kind.
    """
    if on_device(w0, Q, fs):
        return 2
    w0, _, fs = float(w0), float(Q), float(fs)
    if not 0 < w0 < fs / 2:
        raise ValueError(f"w0 must be between 0 and {fs / 2} (nyquist), but given {w0}.")
    if ftype.lower() not in ("notch", "peak"):
        raise ValueError("ftype must be either notch or peak.")
    count = round(fs / w0)
    if abs(w0 - fs / count) / fs > 1e-14:
        raise ValueError("fs must be divisible by w0.")
    return [Spec((count + 1,), FLOAT)] * 2


def _one_frequency(w0: Any, Q: Any, fs: Any) -> Any:
    if on_device(w0, Q, fs):
        return 2
    w0, _ = float(w0), float(Q)
    if not 0 <= 2 * w0 / fs <= 1:
        raise ValueError("w0 should be such that 0 < w0 < 1")
    return [Spec((3,), FLOAT)] * 2


@_operation
def iirnotch(w0: Any, Q: Any, fs: Any = 2.0) -> Any:
    """Design a filter that stops one frequency.

    Raises:
        ValueError: a frequency beyond half of `fs`.
    """
    return _one_frequency(w0, Q, fs)


@_operation
def iirpeak(w0: Any, Q: Any, fs: Any = 2.0) -> Any:
    """Design a filter that passes one frequency; see `iirnotch`."""
    return _one_frequency(w0, Q, fs)
