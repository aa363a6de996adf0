"""Radar: compression of pulses, Doppler shifts, detection, beams."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupyx.scipy._declared import Spec, send
from cupool.client_shim.cupyx.scipy.signal._rules import result_of

__all__ = ["ca_cfar", "cfar_alpha", "mvdr", "pulse_compression", "pulse_doppler"]


def _prepared(x: Any, normalize: bool, window: Any) -> Any:
    """Multiply by a window in the frequency domain, and divide by the norm."""
    from cupool.client_shim import cupy
    from cupool.client_shim.cupyx.scipy.signal import windows

    if window is not None:
        length = x.shape[-1]
        if callable(window):
            window = window(cupy.fft.fftfreq(length).astype(x.dtype))
        elif isinstance(window, core.ndarray):
            if window.shape != (length,):
                raise ValueError("window must have the same length as data")
        else:
            window = windows.get_window(window, length, False).astype(x.dtype)
        x = x * window
    return x / cupy.linalg.norm(x) if normalize else x


def pulse_compression(
    x: Any, template: Any, normalize: bool = False, window: Any = None, nfft: Any = None
) -> Any:
    """Correlate each pulse that came back with the one that was sent.

    Args:
        x: one row for each pulse.
        window: a name, an array or a function of the script.
    """
    from cupool.client_shim import cupy

    _, samples = x.shape
    count = samples if nfft is None else nfft
    sent = _prepared(template, normalize, window)
    spectrum = cupy.fft.fft(x, count) * cupy.fft.fft(sent, count).conj()
    result = cupy.fft.ifft(spectrum, count)
    return result if "c" in (x.dtype.kind, template.dtype.kind) else result.real


def pulse_doppler(x: Any, window: Any = None, nfft: Any = None) -> Any:
    """Transform across pulses: the result has a row for each speed."""
    from cupool.client_shim import cupy

    pulses, _ = x.shape
    return cupy.fft.fft(_prepared(x.T, False, window), pulses if nfft is None else nfft).T


def cfar_alpha(pfa: Any, N: int) -> Any:
    """Return the factor for a rate of false alarms and `N` cells of reference."""
    return N * (pfa ** (-1.0 / N) - 1)


def ca_cfar(array: Any, guard_cells: Any, reference_cells: Any, pfa: float = 1e-3) -> Any:
    """Return the threshold of each cell by the mean of those around it, and which are above.

    Raises:
        TypeError: more than two axes, cells for other axes.
        ValueError: an array that is too small.
    """
    if array.ndim > 2:
        raise TypeError("Only 1D and 2D arrays are currently supported.")
    if array.ndim == 1:
        pairs = [(guard_cells, reference_cells)]
    else:
        if len(guard_cells) != 2 or len(reference_cells) != 2:
            raise TypeError("Guard and reference cells must be two dimensional.")
        pairs = list(zip(guard_cells, reference_cells, strict=True))
    for length, (guard, reference) in zip(array.shape, pairs, strict=True):
        if length <= 2 * guard + 2 * reference:
            raise ValueError("Array too small for given parameters")
    given = {"array": array, "guard_cells": guard_cells, "reference_cells": reference_cells}
    specs = [Spec(array.shape, np.dtype(np.float32)), Spec(array.shape, np.dtype(np.bool_))]
    return send("signal.ca_cfar", {**given, "pfa": pfa}, specs)


def mvdr(x: Any, sv: Any, calc_cov: bool = True) -> Any:
    """Return weights of sensors that let one direction pass and the least of all others.

    Args:
        x: one row for each sensor, or their covariance if not `calc_cov`.
        sv: the direction's phases at the sensors.

    Raises:
        ValueError: more sensors than samples, phases of another length.
    """
    if x.shape[0] > x.shape[1]:
        raise ValueError("there are more sensors than samples: is the matrix to be transposed?")
    if x.shape[0] != sv.shape[0]:
        raise ValueError("Steering Vector and input data do not align")
    weights = Spec(sv.shape, result_of(x.dtype, sv.dtype))
    return send("signal.mvdr", {"x": x, "sv": sv, "calc_cov": calc_cov}, weights)
