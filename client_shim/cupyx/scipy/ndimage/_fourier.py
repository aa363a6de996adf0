"""Filters on spectra."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls, core
from cupool.client_shim.cupyx.scipy._declared import Spec, send
from cupool.client_shim.cupyx.scipy.ndimage import _util

__all__ = ["fourier_ellipsoid", "fourier_gaussian", "fourier_shift", "fourier_uniform"]
ndarray = core.ndarray


def _spectrum(name: str, given: dict[str, Any], output: Any, chars: str) -> ndarray:
    """Check, and send a filter of the input's dtype; another one is cast to afterwards."""
    input, values, _, axis = given.values()
    dtype = input.dtype if input.dtype.char in chars else np.dtype(chars[-1])
    wanted = dtype
    if isinstance(output, ndarray):
        if output.shape != input.shape:
            raise RuntimeError("output shape not correct")
    elif output is not None:
        wanted = np.dtype(output)
        if wanted.char not in chars:
            raise RuntimeError("output type not supported")
    np.lib.array_utils.normalize_axis_index(axis, input.ndim)
    _util.sequence(values, input.ndim, list(given)[1])
    result: ndarray = send(f"scipy.ndimage.{name}", given, Spec(input.shape, dtype))
    if isinstance(output, ndarray):
        calls.call_into("assign", (output, result))
        return output
    return result.astype(wanted, copy=False)  # type: ignore[no-any-return]


def fourier_gaussian(
    input: Any, sigma: Any, n: int = -1, axis: int = -1, output: Any = None
) -> ndarray:
    """Multiply a spectrum by that of a Gaussian.

    Args:
        n: length along `axis` before a real transform; negative for a complex one.

    Raises:
        RuntimeError: an output of another shape or a type that is not floating.
        AxisError: an axis out of range.
    """
    given = {"input": input, "sigma": sigma, "n": n, "axis": axis}
    return _spectrum("fourier_gaussian", given, output, "FDfd")


def fourier_uniform(
    input: Any, size: Any, n: int = -1, axis: int = -1, output: Any = None
) -> ndarray:
    """Multiply a spectrum by that of a box; see `fourier_gaussian`."""
    given = {"input": input, "size": size, "n": n, "axis": axis}
    return _spectrum("fourier_uniform", given, output, "FDfd")


def fourier_shift(
    input: Any, shift: Any, n: int = -1, axis: int = -1, output: Any = None
) -> ndarray:
    """Multiply a spectrum by that of a shift; the result is complex."""
    given = {"input": input, "shift": shift, "n": n, "axis": axis}
    return _spectrum("fourier_shift", given, output, "FD")


def fourier_ellipsoid(
    input: Any, size: Any, n: int = -1, axis: int = -1, output: Any = None
) -> ndarray:
    """Multiply a spectrum by that of an ellipsoid.

    Raises:
        NotImplementedError: more than three axes.
    """
    if input.ndim > 3:
        raise NotImplementedError("Only 1d, 2d and 3d inputs are supported")
    given = {"input": input, "size": size, "n": n, "axis": axis}
    return _spectrum("fourier_ellipsoid", given, output, "FDfd")
