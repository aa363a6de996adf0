"""The transforms of `cupyx.scipy.fftpack`."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls, core
from cupool.client_shim.cupy.cuda import cufft
from cupool.client_shim.cupy.fft._config import config
from cupool.client_shim.cupy.fft._fft import (
    _FORWARD,
    _INVERSE,
    _check_array,
    _check_points,
    _default_fft_func,
    _fft,
    _lengths,
    _nd_plan_is_possible,
    _prep_fftn_axes,
    check_plan,
)
from cupool.client_shim.cupy.fft._plans import plan_nd

__all__ = ["fft", "fft2", "fftn", "get_fft_plan", "ifft", "ifft2", "ifftn", "irfft", "rfft"]
ndarray = core.ndarray


def fft(
    x: Any, n: int | None = None, axis: int = -1, overwrite_x: bool = False, plan: Any = None
) -> ndarray:
    """Transform an axis, cut or padded with zeros to `n` points; the result is complex."""
    return _fft(x, (n,), (axis,), None, _FORWARD, plan=plan)


def ifft(
    x: Any, n: int | None = None, axis: int = -1, overwrite_x: bool = False, plan: Any = None
) -> ndarray:
    """Transform an axis back."""
    return _fft(x, (n,), (axis,), None, _INVERSE, plan=plan)


def _several(
    x: Any, shape: Any, axes: Any, overwrite_x: bool, plan: Any, direction: int
) -> ndarray:
    transform = _default_fft_func(x, shape, axes, plan)
    options = {"plan": plan, "overwrite_x": overwrite_x}
    return transform(x, shape, axes, None, direction, **options)  # type: ignore[no-any-return]


def fftn(
    x: Any, shape: Any = None, axes: Any = None, overwrite_x: bool = False, plan: Any = None
) -> ndarray:
    """Transform several axes (all by default), cut or padded to the lengths `shape`.

    Args:
        overwrite_x: the result may be written into `x` and be `x` itself.
    """
    return _several(x, shape, axes, overwrite_x, plan, _FORWARD)


def ifftn(
    x: Any, shape: Any = None, axes: Any = None, overwrite_x: bool = False, plan: Any = None
) -> ndarray:
    """Transform several axes back; see `fftn`."""
    return _several(x, shape, axes, overwrite_x, plan, _INVERSE)


def fft2(
    x: Any, shape: Any = None, axes: Any = (-2, -1), overwrite_x: bool = False, plan: Any = None
) -> ndarray:
    """Transform two axes; see `fftn`."""
    return _several(x, shape, axes, overwrite_x, plan, _FORWARD)


def ifft2(
    x: Any, shape: Any = None, axes: Any = (-2, -1), overwrite_x: bool = False, plan: Any = None
) -> ndarray:
    """Transform two axes back; see `fftn`."""
    return _several(x, shape, axes, overwrite_x, plan, _INVERSE)


def _packed(name: str, x: Any, n: int | None, axis: int, value_type: str) -> ndarray:
    _check_array(x)
    count = x.shape[axis] if n is None else int(n)
    _check_points(count)
    check_plan(x, (count,), (axis,), value_type, None)
    shape = list(x.shape)
    shape[axis] = count
    single = x.dtype.char in "ef"
    dtype = np.dtype(np.float32 if single else np.float64)
    args = (x, count, int(axis))
    return calls.call_one(f"scipy.fftpack.{name}", args, None, tuple(shape), dtype)


def rfft(
    x: Any, n: int | None = None, axis: int = -1, overwrite_x: bool = False, plan: Any = None
) -> ndarray:
    """Transform an axis of real values to `n` real ones: the real and imaginary parts in turn."""
    return _packed("rfft", x, n, axis, "R2C")


def irfft(x: Any, n: int | None = None, axis: int = -1, overwrite_x: bool = False) -> ndarray:
    """Transform back what `rfft` gave."""
    return _packed("irfft", x, n, axis, "C2R")


def get_fft_plan(
    a: Any, shape: Any = None, axes: Any = None, value_type: str = "C2C"
) -> cufft.Plan1d | cufft.PlanNd:
    """Return the plan of a transform, to be passed as `plan=` or used as ``with plan:``.

    It is only compared with the transforms that it is used for: the device keeps plans of its own.

    Args:
        a: what is transformed.
        shape: lengths along the transformed axes, cut or padded.
        axes: up to three, neighbours, with the first or the last; all by default.
        value_type: "C2C", "R2C" or "C2R".

    Raises:
        ValueError: `a` is not contiguous, axes that cannot be transformed at once.
    """
    if not (a.flags.c_contiguous or a.flags.f_contiguous):
        raise ValueError("Input array a must be contiguous")
    shape = (shape,) if isinstance(shape, int) else shape
    axes = (axes,) if isinstance(axes, int) else axes
    if shape is not None and axes is not None and len(shape) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    count = len(axes) if axes is not None else a.ndim if shape is None else len(shape)
    if count > 3:
        raise ValueError("Only up to three axes is supported")
    if axes is None:
        axes = tuple(range(-count, 0))
    if any(not -a.ndim <= x < a.ndim for x in axes):
        raise ValueError(f"The chosen axes {axes} exceed the number of dimensions ({a.ndim})")
    lengths = _lengths(a, shape, axes, value_type)
    fft_type = cufft.fft_type_of(a.dtype, value_type)
    if count == 1:
        cooked = list(a.shape)
        cooked[axes[0]] = 1
        _check_points(lengths[0])
        return cufft.Plan1d(lengths[0], fft_type, prod(cooked), devices=config.devices)
    if value_type != "C2C" and a.flags.f_contiguous:
        raise ValueError("C2R/R2C PlanNd for F-order arrays is not supported")
    _, in_order = _prep_fftn_axes(a.ndim, None, axes, value_type)
    if not _nd_plan_is_possible(in_order, a.ndim):
        raise ValueError(
            "An n-dimensional cuFFT plan could not be created. The axes must be neighbours, one to "
            "three of them, and include the first or the last."
        )
    by_axis = dict(zip((x % a.ndim for x in axes), lengths, strict=True))
    dims = [by_axis[x] for x in in_order]
    for n in dims:
        _check_points(n)
    order = "C" if a.flags.c_contiguous else "F"
    return plan_nd(a.shape, in_order, dims, order, fft_type, value_type)
