"""Wavelets, which SciPy has no longer and CuPy will not have for long."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from numpy.exceptions import VisibleDeprecationWarning

from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupyx.scipy._declared import Spec, declared
from cupool.client_shim.cupyx.scipy.signal._rules import COMPLEX, FLOAT, coefficients

__all__ = ["cwt", "morlet", "morlet2", "qmf", "ricker"]
ndarray = core.ndarray
_operation = declared("scipy.signal")


def _warn() -> None:
    message = "wavelet functions are deprecated in CuPy v14 as in SciPy 1.12, and will be removed"
    warnings.warn(message, VisibleDeprecationWarning, stacklevel=4)


@_operation
def morlet(M: int, w: float = 5.0, s: float = 1.0, complete: bool = True) -> Any:
    """Return a complex Morlet wavelet."""
    _warn()
    return Spec((int(M),), COMPLEX)


@_operation
def morlet2(M: int, s: float, w: float = 5) -> Any:
    """Return a complex Morlet wavelet of a width."""
    _warn()
    return Spec((int(M),), COMPLEX)


@_operation
def qmf(hk: Any) -> Any:
    """Return the high-pass filter that goes with a low-pass one."""
    _warn()
    taps = coefficients(hk)
    return Spec(taps.shape[:1], taps.dtype)


@_operation
def ricker(points: Any, a: float) -> Any:
    """Return a Ricker wavelet."""
    _warn()
    return Spec((int(points),), FLOAT)


def cwt(data: Any, wavelet: Callable[..., Any], widths: Any) -> ndarray:
    """Convolve with a wavelet of each width: one row of the result for each.

    Args:
        wavelet: called with a number of points and a width.
    """
    from cupool.client_shim import cupy
    from cupool.client_shim.cupyx.scipy.signal._convolution import convolve

    _warn()
    widths = [int(n) for n in (widths.tolist() if isinstance(widths, ndarray) else widths)]
    dtype = COMPLEX if cupy.asarray(wavelet(1, 1)).dtype.kind == "c" else FLOAT
    result = cupy.empty((len(widths), len(data)), dtype)
    for row, width in enumerate(widths):
        points = min(10 * width, len(data))
        kernel = cupy.conj(wavelet(points, width)[::-1])
        result[row] = convolve(data, kernel, mode="same")
    return result
