"""Smoothing by polynomials that are fitted to neighbours."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from cupool.client_shim.cupyx.scipy._declared import Spec, declared

__all__ = ["savgol_coeffs", "savgol_filter"]
_operation = declared("scipy.signal")


def _polyder(p: Any, m: int) -> Any:
    """Return the derivative of an order of polynomials: one in each column, highest power first."""
    from cupool.client_shim import cupy

    if m == 0:
        return p
    count = len(p)
    if count <= m:
        return cupy.zeros_like(p[:1])
    factors = [int(np.prod(range(k - m + 1, k + 1))) for k in range(count - 1, m - 1, -1)]
    shape = (len(factors),) + (1,) * (p.ndim - 1)
    return p[:-m] * cupy.array(factors).reshape(shape)


@_operation
def savgol_coeffs(
    window_length: int,
    polyorder: int,
    deriv: int = 0,
    delta: float = 1.0,
    pos: Any = None,
    use: str = "conv",
) -> Any:
    """Return the coefficients of the filter for one point of its window.

    Args:
        deriv: order of the derivative.
        pos: which point; the middle by default.
        use: "conv" gives them in the order for convolution, "dot" for a product.

    Raises:
        ValueError: a polynomial that the window does not determine, a point outside of it.
    """
    if polyorder >= window_length:
        raise ValueError("polyorder must be less than window_length.")
    if pos is not None and not 0 <= pos < window_length:
        raise ValueError("pos must be nonnegative and less than window_length.")
    if use not in ("conv", "dot"):
        raise ValueError("`use` must be 'conv' or 'dot'")
    return Spec((operator.index(window_length),), np.dtype(np.float64))


@_operation
def savgol_filter(
    x: Any,
    window_length: int,
    polyorder: int,
    deriv: int = 0,
    delta: float = 1.0,
    axis: int = -1,
    mode: str = "interp",
    cval: float = 0.0,
) -> Any:
    """Smooth an axis, or return its derivative; see `savgol_coeffs`.

    Args:
        mode: what is beyond the edges; "interp" evaluates the last polynomial instead.

    Raises:
        ValueError: an unknown mode, a window that is longer than the axis.
    """
    if mode not in ("mirror", "constant", "nearest", "interp", "wrap"):
        raise ValueError("mode must be 'mirror', 'constant', 'nearest', 'wrap' or 'interp'.")
    if polyorder >= window_length:
        raise ValueError("polyorder must be less than window_length.")
    if mode == "interp" and window_length > x.shape[axis]:
        raise ValueError(
            "If mode is 'interp', window_length must be less than or equal to the size of x."
        )
    return Spec(x.shape, x.dtype if x.dtype.char in "fd" else np.dtype(np.float64))
