"""Filters along an axis.

States are CuPy's: the inputs before, oldest first, then the outputs before. SciPy's differ.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupy._core._dtype import complex_of, to_inexact
from cupool.client_shim.cupy._functions import warn_complex
from cupool.client_shim.cupyx.scipy._declared import Spec, declared, lines
from cupool.client_shim.cupyx.scipy.ndimage._util import sequence
from cupool.client_shim.cupyx.scipy.signal._rules import described, on_device, transformed, view_of
from cupool.client_shim.shadow import make

__all__ = [
    "detrend",
    "filtfilt",
    "hilbert",
    "hilbert2",
    "lfilter",
    "lfilter_zi",
    "lfiltic",
    "medfilt",
    "medfilt2d",
    "order_filter",
    "sosfilt",
    "sosfilt_zi",
    "sosfiltfilt",
    "wiener",
]
ndarray = core.ndarray
_operation = declared("scipy.signal")
_FLOAT = np.dtype(np.float64)


def _axis(axis: Any, ndim: int) -> int:
    return int(np.lib.array_utils.normalize_axis_index(axis, ndim))


def _filtered(b: Any, a: Any, x: Any) -> np.dtype[Any]:
    """Return the dtype of `lfilter`: that of x * b / a[0], and of `a` if it has more than that."""
    quotient = to_inexact(np.promote_types(b.dtype, a.dtype))
    dtype = np.promote_types(x.dtype, quotient)
    return np.promote_types(dtype, a.dtype) if a.size > 1 else dtype


@_operation
def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Filter with the numerator `b` and the denominator `a`.

    Args:
        zi: the state before: `len(b) - 1` inputs, then `len(a) - 1` outputs.

    Returns:
        the output, and the state after it if `zi` was given.
    """
    _axis(axis, x.ndim)
    result = Spec(x.shape, _filtered(b, a, x))
    if zi is None:
        return result
    return [result, Spec(zi.shape or (1,), result.dtype)]


@lines("b", "a")
@_operation
def lfilter_zi(b: Any, a: Any) -> Any:
    """Return the state of `lfilter` in which a constant 1 goes in."""
    return Spec((b.size + a.size - 2,), _FLOAT)


def lfiltic(b: Any, a: Any, y: Any, x: Any = None) -> Any:
    """Return the state of `lfilter` after outputs `y` and inputs `x`, both latest first."""
    from cupool.client_shim import cupy

    parts = []
    for before, count in ((x, b.size - 1), (y, a.size - 1)):
        if before is not None and count > 0:
            missing = max(count - before.shape[-1], 0)
            padded = cupy.concatenate((before, cupy.zeros(missing)), axis=-1)
            parts.append(padded[:count][::-1])
    if not parts:
        return None if y is None and x is None else cupy.empty(0)
    return cupy.concatenate(parts) if len(parts) > 1 else parts[0]


def _check_sections(sos: Any) -> None:
    if sos.ndim != 2:
        raise ValueError("sos array must be 2D")
    if sos.shape[1] != 6:
        raise ValueError("sos array must be shape (n_sections, 6)")


@_operation
def sosfilt(sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Filter with second-order sections.

    Args:
        zi: of each section two inputs and two outputs before, in the place of the axis.

    Returns:
        the output, and the state after it if `zi` was given.
    """
    _axis(axis, x.ndim)
    result = Spec(x.shape, np.promote_types(x.dtype, sos.dtype))
    return result if zi is None else [result, Spec(zi.shape, result.dtype)]


@_operation
def sosfilt_zi(sos: Any) -> Any:
    """Return the state of `sosfilt` in which a constant 1 goes in."""
    _check_sections(sos)
    dtype = sos.dtype if sos.dtype.kind in "fc" else _FLOAT
    return Spec((sos.shape[0], 4), dtype)


def check_padding(padtype: Any, padlen: Any, length: int, taps: int) -> None:
    """Check how a signal of a length is continued at both ends.

    Raises:
        ValueError: an unknown way, a signal that is not longer than its padding.
    """
    if padtype not in ("even", "odd", "constant", None):
        raise ValueError(
            f"Unknown value '{padtype}' given to padtype.  padtype must be 'even', 'odd', "
            "'constant', or None."
        )
    edge = 0 if padtype is None else taps * 3 if padlen is None else padlen
    if length <= edge:
        raise ValueError(
            f"The length of the input vector x must be greater than padlen, which is {edge}."
        )


@lines("b", "a", "x")
@_operation
def filtfilt(
    b: Any,
    a: Any,
    x: Any,
    axis: int = -1,
    padtype: Any = "odd",
    padlen: Any = None,
    method: str = "pad",
    irlen: Any = None,
) -> Any:
    """Filter forwards and backwards.

    Args:
        method: "pad" continues the signal by `padlen`, "gust" chooses states that agree.

    Raises:
        ValueError: an unknown method or padding, a signal that is not longer than its padding.
    """
    if method not in ("pad", "gust"):
        raise ValueError("method must be 'pad' or 'gust'.")
    if method == "pad":
        check_padding(padtype, padlen, x.shape[axis], max(a.size, b.size))
    elif "c" in (a.dtype.kind, b.dtype.kind) and max(a.size, b.size) > 1:
        warn_complex()  # the states that agree are real
    _axis(axis, x.ndim)
    return Spec(x.shape, _filtered(b, a, x))


@_operation
def sosfiltfilt(sos: Any, x: Any, axis: int = -1, padtype: Any = "odd", padlen: Any = None) -> Any:
    """Filter forwards and backwards with second-order sections; see `filtfilt`.

    By default the padding depends on the coefficients that are zero. If a signal may be too short
    for it, they are looked at, as CuPy does: a wait.
    """
    _check_sections(sos)
    given = described(x)
    if not given.shape:
        raise ValueError("x must be at least 1-D")
    length = given.shape[_axis(axis, len(given.shape))]
    if padlen is not None or padtype not in ("even", "odd", "constant"):
        check_padding(padtype, padlen, length, 0)
    elif length <= 3 * (2 * sos.shape[0] + 1):
        return 1
    return Spec(given.shape, np.promote_types(given.dtype, sos.dtype))


@_operation
def detrend(
    data: Any, axis: int = -1, type: str = "linear", bp: Any = 0, overwrite_data: bool = False
) -> Any:
    """Subtract the mean, or lines between break points.

    Raises:
        ValueError: an unknown trend, break points beyond the end.
    """
    if type not in ("linear", "l", "constant", "c"):
        raise ValueError("Trend type must be 'linear' or 'constant'.")
    given = described(data)
    axis = _axis(axis, len(given.shape))
    if type in ("constant", "c"):
        return Spec(given.shape, to_inexact(given.dtype))
    if on_device(bp):
        return 1
    if np.any(np.asarray(bp) > given.shape[axis]):
        raise ValueError("Breakpoints must be less than length of data along given axis.")
    dtype = given.dtype if given.dtype.char in "fdFD" else _FLOAT
    shape = (given.shape[axis], *given.shape[:axis], *given.shape[axis + 1 :])
    return view_of(np.moveaxis(make(shape, dtype), 0, axis))  # the axis is computed as the first


def _analytic(x: Any) -> np.dtype[Any]:
    if x.dtype.kind == "c":
        raise ValueError("x must be real.")
    return complex_of(x.dtype)


@_operation
def hilbert(x: Any, N: Any = None, axis: int = -1) -> Any:
    """Return the analytic signal of an axis, cut or padded to `N`.

    Raises:
        ValueError: complex input, no points.
    """
    dtype = _analytic(x)
    count = x.shape[axis] if N is None else N
    if count <= 0:
        raise ValueError("N must be positive.")
    shape = list(x.shape)
    shape[axis] = count
    return transformed(tuple(shape), dtype, axis)


@_operation
def hilbert2(x: Any, N: Any = None) -> Any:
    """Return the analytic signal of two axes; see `hilbert`."""
    if x.ndim > 2:
        raise ValueError("x must be 2-D.")
    dtype = _analytic(x)
    if N is None:
        shape = (1, *x.shape)[-2:]
        if 0 in shape:
            raise ValueError("Invalid number of FFT data points (0) specified.")
    elif isinstance(N, int):
        if N <= 0:
            raise ValueError("N must be positive.")
        shape = (N, N)
    else:
        shape = tuple(N)
        if len(shape) != 2 or min(shape) <= 0:
            raise ValueError("When given as a tuple, N must hold exactly two positive integers")
    return Spec(shape, dtype)


def _check_median(a: Any, kernel_size: Any, ndim: int) -> Any:
    if a.dtype.char == "e" or a.dtype.kind == "b":
        raise ValueError(f"{a.dtype.name} type not supported")
    sizes = sequence(3 if kernel_size is None else kernel_size, ndim, "kernel_size", int)
    if any(k % 2 != 1 for k in sizes):
        raise ValueError("Each element of kernel_size should be odd")
    if a.dtype.kind == "c":
        raise ValueError("complex types not supported")
    return sizes


@_operation
def medfilt(volume: Any, kernel_size: Any = None) -> Any:
    """Return the median of the neighbours, zeros beyond the edges.

    Raises:
        ValueError: an even size, bool, float16 or complex values.
    """
    sizes = _check_median(volume, kernel_size, volume.ndim)
    if any(k > n for k, n in zip(sizes, volume.shape, strict=True)):
        warnings.warn("kernel_size exceeds volume extent: zeros are added", stacklevel=3)
    return Spec(volume.shape, volume.dtype)


@_operation
def medfilt2d(input: Any, kernel_size: Any = 3) -> Any:
    """Return the median of the neighbours in a picture; see `medfilt`."""
    if input.ndim != 2:
        raise ValueError("input must be 2d")
    _check_median(input, kernel_size, 2)
    return Spec(input.shape, input.dtype)


@_operation
def order_filter(a: Any, domain: Any, rank: int) -> Any:
    """Return the neighbour of a rank, zeros beyond the edges.

    Raises:
        ValueError: an even length of the neighbours, bool, float16 or complex values.
    """
    if a.dtype.kind in "bc" or a.dtype.char == "e":
        raise ValueError("data type not supported")
    if any(n % 2 != 1 for n in domain.shape):
        raise ValueError("Each dimension of domain argument should have an odd number of elements.")
    return Spec(a.shape, a.dtype)


@_operation
def wiener(im: Any, mysize: Any = None, noise: Any = None) -> Any:
    """Remove noise by the local mean and variance; `noise` is its power."""
    sequence(3 if mysize is None else mysize, im.ndim, "mysize", int)
    return Spec(im.shape, np.dtype(np.complex128) if im.dtype.kind == "c" else _FLOAT)
