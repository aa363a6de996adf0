"""B-splines: coefficients, values, smoothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core._dtype import complex_of
from cupool.client_shim.cupyx.scipy._declared import Spec, declared
from cupool.client_shim.cupyx.scipy.signal._rules import FLOAT, described, result_of

__all__ = [
    "cspline1d",
    "cspline1d_eval",
    "cspline2d",
    "gauss_spline",
    "qspline1d",
    "qspline1d_eval",
    "qspline2d",
    "sepfir2d",
    "spline_filter",
    "symiirorder1",
    "symiirorder2",
]
_operation = declared("scipy.signal")


def _line(signal: Any) -> Any:
    """Predict coefficients of one axis: float64 or complex128."""
    return Spec(signal.shape, result_of(signal.dtype, FLOAT))


def _check_coefficients(cj: Any) -> None:
    if not cj.size:
        raise ValueError("Spline coefficients 'cj' must not be empty.")


@_operation
def cspline1d(signal: Any, lamb: Any = 0.0) -> Any:
    """Return the coefficients of a cubic spline."""
    return _line(signal)


@_operation
def cspline1d_eval(
    cj: Any,
    newx: Any,
    dx: Any = 1.0,
    x0: Any = 0,
) -> Any:
    """Return the values of a cubic spline at points.

    Raises:
        ValueError: no coefficients.
    """
    _check_coefficients(cj)
    return Spec(described(newx).shape, cj.dtype)


@_operation
def cspline2d(signal: Any, lamb: Any = 0.0, precision: Any = -1.0) -> Any:
    """Return the coefficients of a cubic spline of two variables."""
    return Spec(signal.shape, signal.dtype)


@_operation
def gauss_spline(x: Any, n: Any) -> Any:
    """Return the Gaussian that is close to the spline of an order; its dtype is that of `x`."""
    return described(x)


@_operation
def qspline1d(signal: Any, lamb: Any = 0.0) -> Any:
    """Return the coefficients of a quadratic spline.

    Raises:
        ValueError: smoothing.
    """
    if lamb != 0:
        raise ValueError("Smoothing quadratic splines not supported yet.")
    return _line(signal)


@_operation
def qspline1d_eval(
    cj: Any,
    newx: Any,
    dx: Any = 1.0,
    x0: Any = 0,
) -> Any:
    """Return the values of a quadratic spline at points.

    Raises:
        ValueError: no coefficients.
    """
    _check_coefficients(cj)
    points = described(newx)
    return Spec(points.shape, result_of(points.dtype))


@_operation
def qspline2d(signal: Any, lamb: Any = 0.0, precision: Any = -1.0) -> Any:
    """Return the coefficients of a quadratic spline of two variables.

    Raises:
        ValueError: smoothing.
    """
    if lamb > 0:
        raise ValueError("lambda must be negative or zero")
    return Spec(signal.shape, signal.dtype)


@_operation
def sepfir2d(input: Any, hrow: Any, hcol: Any) -> Any:
    """Filter rows and columns with mirrored boundaries.

    Raises:
        ValueError: filters of even length, or of other than one axis.
    """
    if any(taps.ndim != 1 or taps.size % 2 == 0 for taps in (hrow, hcol)):
        raise ValueError("hrow and hcol must be 1 dimensional and odd length")
    if input.dtype.kind == "c":
        return Spec(input.shape, complex_of(input.dtype))
    small = input.dtype.char == "f" or input.dtype.itemsize <= 2
    return Spec(input.shape, np.dtype(np.float32) if small else FLOAT)


@_operation
def spline_filter(Iin: Any, lmbda: Any = 5.0) -> Any:
    """Smooth a picture by a cubic spline.

    Raises:
        TypeError: other than floating and complex numbers.
        ValueError: less than two axes.
    """
    if Iin.dtype.char not in "fdFD":
        raise TypeError("Invalid data type for Iin")
    if Iin.ndim < 2:
        raise ValueError("Iin must have two axes")
    return Spec(Iin.shape, Iin.dtype)


@_operation
def symiirorder1(
    input: Any,
    c0: Any,
    z1: Any,
    precision: Any = -1.0,
) -> Any:
    """Filter forwards and backwards with one pole.

    Raises:
        ValueError: the sum that the first value is did not converge; this is waited for.
    """
    return 1


@_operation
def symiirorder2(
    input: Any,
    r: Any,
    omega: Any,
    precision: Any = -1.0,
) -> Any:
    """Filter forwards and backwards with two poles; the result is float64.

    Raises:
        TypeError: complex numbers.
    """
    if input.dtype.kind == "c":
        raise TypeError("symiirorder2 filters real numbers only")
    return Spec(input.shape, np.dtype(np.float64))
