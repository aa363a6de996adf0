"""Convolution and correlation."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupy._core._dtype import complex_of, to_inexact
from cupool.client_shim.cupyx.scipy._declared import Spec, declared, send
from cupool.client_shim.cupyx.scipy.signal._rules import FLOAT, coefficients

__all__ = [
    "choose_conv_method",
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "correlation_lags",
    "deconvolve",
    "fftconvolve",
    "oaconvolve",
]
ndarray = core.ndarray
_operation = declared("scipy.signal")


def _check(in1: Any, in2: Any, mode: str) -> None:
    if in1.ndim != in2.ndim:
        raise ValueError("in1 and in2 should have the same dimensionality")
    if mode not in ("full", "same", "valid"):
        raise ValueError('acceptable modes are "valid", "same", or "full"')


def _shape(in1: Any, in2: Any, mode: str, axes: Any = None) -> tuple[int, ...]:
    """Return the shape of a convolution along axes; the others broadcast.

    Raises:
        ValueError: for "valid", neither input holds the other.
    """
    a, b = in1.shape, in2.shape
    axes = tuple(range(len(a))) if axes is None else axes
    if mode == "valid" and a:
        smaller = any(a[i] < b[i] for i in axes)
        if smaller and any(a[i] > b[i] for i in axes):
            raise ValueError(
                'For "valid" mode, one must be at least as large as the other in every dimension'
            )
        if smaller:
            a, b = b, a
    lengths = []
    for i, (n, m) in enumerate(zip(a, b, strict=True)):
        if i not in axes:
            lengths.append(n if mode == "same" else max(n, m))
        elif mode == "full":
            lengths.append(n + m - 1)
        else:
            lengths.append(n if mode == "same" else n - m + 1)
    return tuple(lengths)


def _spectral(in1: Any, in2: Any) -> np.dtype[Any]:
    """Return the dtype of a product of spectra: single precision only of single precision."""
    common = np.promote_types(to_inexact(in1.dtype), to_inexact(in2.dtype))
    if common.kind == "c":
        return complex_of(common)
    return np.dtype(np.float32) if common.char in "ef" else np.dtype(np.float64)


def _either(in1: Any, in2: Any, mode: str, method: str) -> Any:
    _check(in1, in2, mode)
    if method not in ("auto", "direct", "fft"):
        raise ValueError('acceptable methods are "auto", "direct", or "fft"')
    if not in1.ndim:
        return Spec((), np.promote_types(in1.dtype, in2.dtype))
    if 0 in (in1.size, in2.size):
        return Spec((0,), in1.dtype)
    shape = _shape(in1, in2, mode)
    common = np.promote_types(in1.dtype, in2.dtype)
    if in1.ndim != 1 and method != "fft":
        if in1.dtype.kind == "b" or in1.dtype.char == "e":
            raise ValueError("unsupported type in SciPy")
    return Spec(shape, common)


@_operation
def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """Convolve two arrays of as many axes.

    Args:
        mode: "full", "same" (as `in1`) or "valid".
        method: "direct", "fft" or "auto".

    Raises:
        ValueError: other numbers of axes, modes or methods; inputs of which none holds the other.
    """
    return _either(in1, in2, mode, method)


@_operation
def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """Correlate two arrays of as many axes; see `convolve`."""
    return _either(in1, in2, mode, method)


def _fast(in1: Any, in2: Any, mode: str, axes: Any) -> Any:
    _check(in1, in2, mode)
    if not in1.ndim:
        return Spec((), np.promote_types(in1.dtype, in2.dtype))
    if 0 in (in1.size, in2.size):
        return Spec((0,), in1.dtype)
    if axes is not None:
        axes = np.lib.array_utils.normalize_axis_tuple(axes, in1.ndim)
        if not axes:
            raise ValueError("when provided, axes cannot be empty")
    used = tuple(range(in1.ndim)) if axes is None else axes
    along = [i for i in used if in1.shape[i] != 1 and in2.shape[i] != 1]
    for i, (n, m) in enumerate(zip(in1.shape, in2.shape, strict=True)):
        if i not in along and n != m and 1 not in (n, m):
            raise ValueError(f"incompatible shapes for in1 and in2: {in1.shape} and {in2.shape}")
    common = np.promote_types(in1.dtype, in2.dtype)
    return Spec(_shape(in1, in2, mode, along), _spectral(in1, in2) if along else common)


@_operation
def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """Convolve by way of spectra, along some axes or all; see `convolve`."""
    return _fast(in1, in2, mode, axes)


@_operation
def oaconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """Convolve blocks by way of spectra and add them up; see `fftconvolve`."""
    return _fast(in1, in2, mode, axes)


def _flat(name: str, in1: Any, in2: Any, mode: str, boundary: str) -> Any:
    if not in1.ndim == in2.ndim == 2:
        raise ValueError(f"{name} inputs must both be 2-D arrays")
    if boundary not in ("fill", "pad", "wrap", "circular", "symm", "symmetric"):
        raise ValueError(
            'Acceptable boundary flags are "fill" (or "pad"), "circular" (or "wrap"), '
            'and "symmetric" (or "symm").'
        )
    _check(in1, in2, mode)
    if in1.dtype.kind == "b" or in1.dtype.char == "e":
        raise ValueError("unsupported type in SciPy")
    if 0 in (in1.size, in2.size):
        return Spec((0,), in1.dtype)
    return Spec(_shape(in1, in2, mode), np.promote_types(in1.dtype, in2.dtype))


@_operation
def convolve2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0
) -> Any:
    """Convolve two pictures, with values beyond the edges.

    Args:
        boundary: "fill" (with `fillvalue`), "wrap" or "symm".

    Raises:
        ValueError: not two axes each, an unknown mode or boundary.
    """
    return _flat("convolve2d", in1, in2, mode, boundary)


@_operation
def correlate2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0
) -> Any:
    """Correlate two pictures, with values beyond the edges; see `convolve2d`."""
    return _flat("correlate2d", in1, in2, mode, boundary)


@_operation
def correlation_lags(in1_len: int, in2_len: int, mode: str = "full") -> Any:
    """Return by how much the inputs are shifted at each element of their correlation."""
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"Mode {mode} is invalid")
    if mode == "full":
        count = in1_len + in2_len - 1
    else:
        count = in1_len if mode == "same" else abs(in1_len - in2_len) + 1
    return Spec((count,), np.dtype(np.int64))


def choose_conv_method(in1: Any, in2: Any, mode: str = "full") -> str:
    """Return "direct" or "fft", whichever takes fewer operations."""
    if in1.ndim != 1 or in2.ndim != 1:
        raise NotImplementedError("Only 1d inputs are supported currently")
    _check(in1, in2, mode)
    if "b" in (in1.dtype.kind, in2.dtype.kind) or min(in1.size, in2.size) < 500:
        return "direct"
    n, m = in1.size, in2.size
    total = n + m - 1
    return "fft" if 20 * total * np.log2(total) < n * m else "direct"


def deconvolve(signal: Any, divisor: Any) -> Any:
    """Return quotient and remainder of the division of a signal by an impulse response.

    Raises:
        ValueError: more than one axis.
    """
    for name, value in (("signal", signal), ("divisor", divisor)):
        if getattr(value, "ndim", 1) > 1:
            raise ValueError(f"{name} must be 1-D.")
    if getattr(divisor, "size", 1) > getattr(signal, "size", 1):
        return [], signal
    num, den = coefficients(signal), coefficients(divisor)
    ratio = to_inexact(np.promote_types(num.dtype, den.dtype))
    quotient = Spec((num.shape[0] - den.shape[0] + 1,), np.promote_types(ratio, FLOAT))
    rest = Spec(num.shape, np.promote_types(quotient.dtype, num.dtype))
    return send("scipy.signal.deconvolve", {"signal": signal, "divisor": divisor}, [quotient, rest])
