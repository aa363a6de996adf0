"""B-splines: coefficients, values, smoothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupyx.scipy._declared import Spec, declared

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


@_operation
def cspline1d(signal: Any, lamb: Any = 0.0) -> Any:
    """Return the coefficients of a cubic spline."""
    return 1


@_operation
def cspline1d_eval(
    cj: Any,
    newx: Any,
    dx: Any = 1.0,
    x0: Any = 0,
) -> Any:
    """Return the values of a cubic spline at points."""
    return 1


@_operation
def cspline2d(signal: Any, lamb: Any = 0.0, precision: Any = -1.0) -> Any:
    """Return the coefficients of a cubic spline of two variables."""
    return 1


@_operation
def gauss_spline(x: Any, n: Any) -> Any:
    """Return the Gaussian that is close to the spline of an order."""
    return 1


@_operation
def qspline1d(signal: Any, lamb: Any = 0.0) -> Any:
    """Return the coefficients of a quadratic spline."""
    return 1


@_operation
def qspline1d_eval(
    cj: Any,
    newx: Any,
    dx: Any = 1.0,
    x0: Any = 0,
) -> Any:
    """Return the values of a quadratic spline at points."""
    return 1


@_operation
def qspline2d(signal: Any, lamb: Any = 0.0, precision: Any = -1.0) -> Any:
    """Return the coefficients of a quadratic spline of two variables."""
    return 1


@_operation
def sepfir2d(input: Any, hrow: Any, hcol: Any) -> Any:
    """Filter rows and columns with mirrored boundaries."""
    return 1


@_operation
def spline_filter(Iin: Any, lmbda: Any = 5.0) -> Any:
    """Smooth a picture by a cubic spline."""
    return 1


@_operation
def symiirorder1(
    input: Any,
    c0: Any,
    z1: Any,
    precision: Any = -1.0,
) -> Any:
    """Filter forwards and backwards with one pole."""
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
