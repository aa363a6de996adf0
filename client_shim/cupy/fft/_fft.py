"""The transforms of `cupy.fft`: each call is one record of an n-dimensional transform.

Value types, as cuFFT names them: C2C complex to complex, R2C real to half of a complex spectrum,
C2R back. `_fft` and `_fftn` differ, as in CuPy, in their checks and in the layout of the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from cupool.client_shim import shadow as _shadow
from cupool.client_shim.cupy._core import calls, core
from cupool.client_shim.cupy._core._dtype import complex_of, real_of
from cupool.client_shim.cupy._creation.from_data import asarray
from cupool.client_shim.cupy.cuda import cufft
from cupool.client_shim.cupy.fft import _plans, _several
from cupool.client_shim.cupy.fft._callback import get_current_callback_manager
from cupool.client_shim.cupy.fft._config import config

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]
ndarray = core.ndarray
_FORWARD, _INVERSE = -1, 1
_NAMES = {
    ("C2C", _FORWARD): "fft.fftn",
    ("C2C", _INVERSE): "fft.ifftn",
    ("R2C", _FORWARD): "fft.rfftn",
    ("C2R", _INVERSE): "fft.irfftn",
}
_NORMS = ("backward", "ortho", "forward")


# ------------------------------------------------------------------- checks and prediction


def _check_array(a: Any) -> None:
    if not isinstance(a, ndarray):
        raise TypeError("The input array a must be a cupy.ndarray")


def _check_lengths(s: Any, axes: Any) -> None:
    if s is not None and axes is not None and len(s) != len(axes):
        raise ValueError("Shape and axes have different lengths.")


def _check_norm(norm: str | None) -> str:
    norm = "backward" if norm is None else norm
    if norm not in _NORMS:
        raise ValueError(f'Invalid norm value {norm}, should be "backward", "ortho", or "forward".')
    return norm


def _check_points(count: int) -> None:
    if count < 1:
        raise ValueError(f"Invalid number of FFT data points ({count}) specified.")


def _lengths(a: ndarray, s: Any, axes: Sequence[int], value_type: str) -> list[int]:
    """Return the length of the transform along each axis, for C2R that of the output."""
    lengths = []
    for position, axis in enumerate(axes):
        given = None if s is None else s[position]
        if given is not None:
            lengths.append(int(given))
        elif value_type == "C2R" and position == len(axes) - 1:
            lengths.append(2 * (a.shape[axis] - 1))
        else:
            lengths.append(a.shape[axis])
    return lengths


def _result_dtype(a: ndarray, value_type: str) -> np.dtype[Any]:
    made = complex_of(real_of(a.dtype)) if value_type == "R2C" else complex_of(a.dtype)
    return real_of(made) if value_type == "C2R" else made


def _swapped(shape: tuple[int, ...], axis: int, dtype: np.dtype[Any]) -> Any:
    """Return the layout that is contiguous along `axis`, as a transform of one axis leaves it."""
    if axis % len(shape) == len(shape) - 1:
        return "C"
    lengths = list(shape)
    lengths[axis], lengths[-1] = lengths[-1], lengths[axis]
    made = _shadow.make(tuple(lengths), dtype)
    return _shadow.order_of(made.swapaxes(axis, -1))


def _send(
    a: ndarray, s: Any, axes: Sequence[int], norm: str, direction: int, value_type: str, order: Any
) -> ndarray:
    """Transform; `order` is "C", "F", or None for that of transforms axis by axis."""
    lengths = _lengths(a, s, axes, value_type)
    for count in lengths:
        _check_points(count)
    callbacks = get_current_callback_manager()
    if callbacks is not None:
        about = (norm, direction, value_type, order)
        return callbacks.transform(_queue, a, lengths, axes, *about)
    return _queue(a, lengths, axes, norm, direction, value_type, order)


def _queue(
    a: ndarray,
    lengths: Sequence[int],
    axes: Sequence[int],
    norm: str,
    direction: int,
    value_type: str,
    order: Any,
) -> ndarray:
    shape = list(a.shape)
    for axis, length in zip(axes, lengths, strict=True):
        shape[axis] = length
    if value_type == "R2C":
        shape[axes[-1]] = lengths[-1] // 2 + 1
        if a.dtype.kind == "c":
            a = a.astype(real_of(a.dtype))
    elif value_type == "C2R" and a.dtype.char == "e":
        a = a.astype(np.float32)  # cupy.fft would return float16
    made = _result_dtype(a, value_type)
    result = tuple(shape)
    if order is None:
        last = axes[-2] if value_type == "R2C" and len(axes) > 1 else axes[-1]
        order = _swapped(result, last, made)
    args = (a, tuple(lengths), tuple(int(x) for x in axes), norm)
    return calls.call_one(_NAMES[value_type, direction], args, None, result, made, order)


def _fft(
    a: Any,
    s: Any,
    axes: Any,
    norm: str | None,
    direction: int,
    value_type: str = "C2C",
    overwrite_x: bool = False,
    plan: Any = None,
) -> ndarray:
    """Transform axis by axis.

    Raises:
        TypeError: not a device array.
        ValueError: lengths and axes that do not fit, a bad norm, no points.
        RuntimeError: two cuFFT plans.
    """
    _check_array(a)
    _check_lengths(s, axes)
    if axes is None:
        count = a.ndim if s is None else len(s)
        axes = list(range(-count, 0))
    axes = tuple(axes)
    if not axes:
        if value_type == "C2C":
            return a  # type: ignore[no-any-return]
        raise IndexError("list index out of range")
    norm = _check_norm(norm)
    check_plan(a, s, axes, value_type, plan)
    gpus = _plans.gpus_of(plan, value_type) if _several_may(plan) else ()
    if gpus and value_type == "C2C":  # real ones get as far as this only if they are empty
        for axis, points in zip(axes, _lengths(a, s, axes, value_type), strict=True):
            _check_points(points)
            a = _several.transform(a, axis, points, gpus, norm, direction)
        return a  # type: ignore[no-any-return]
    return _send(a, s, axes, norm, direction, value_type, None)


def _several_may(plan: Any) -> bool:
    """Whether a transform may be shared by several devices; a quick look."""
    return plan is not None or config._use_multi_gpus.get() or cufft.get_current_plan() is not None


def _fftn(
    a: Any,
    s: Any,
    axes: Any,
    norm: str | None,
    direction: int,
    value_type: str = "C2C",
    order: str = "A",
    plan: Any = None,
    overwrite_x: bool = False,
    out: Any = None,
) -> ndarray:
    """Transform up to three neighbouring axes at once; see `_fft`."""
    _check_array(a)
    norm = _check_norm(norm)
    axes, in_order = _prep_fftn_axes(a.ndim, s, axes, value_type)
    if not in_order:
        if value_type == "C2C":
            return a  # type: ignore[no-any-return]
        raise IndexError("list index out of range")
    if order == "A":
        order = "F" if a.flags.f_contiguous else "C"
    elif order not in ("C", "F"):
        raise ValueError(f"Unsupported order: {order}")
    for axis, count in enumerate(a.shape):
        if axis not in in_order:
            _check_points(count)
    lengths = _lengths(a, s, axes, value_type)
    by_axis = dict(zip((x % a.ndim for x in axes), lengths, strict=True))
    sorted_lengths = [by_axis[x] for x in in_order]
    if plan is not None or _plans.chosen(None) is not None:
        _plans.check_at_once(plan, a.dtype, sorted_lengths, order, value_type, in_order[-1])
    elif all(n > 0 for n in sorted_lengths):
        _plans.use_at_once(a.dtype, a.shape, in_order, sorted_lengths, order, value_type)
    if overwrite_x and value_type == "C2C" and a.dtype.kind == "c" and out is None:
        same = all(a.shape[axis] == n for axis, n in by_axis.items())
        out = a if same and a.flags.forc else None  # as in CuPy, the result is then `a` itself
    if value_type == "C2C":  # one plan for all of them: its result has no order of axes
        axes, s = in_order, sorted_lengths
    return calls.with_out(_send(a, s, axes, norm, direction, value_type, order), out)


def check_plan(a: ndarray, s: Any, axes: Sequence[int], value_type: str, plan: Any) -> None:
    """Check a cuFFT plan against a transform axis by axis, or note its own; see `_plans`."""
    shape = list(a.shape)
    for axis, length in zip(axes, _lengths(a, s, axes, value_type), strict=True):
        shape[axis] = length
    if _plans.chosen(plan if value_type == "C2C" else None) is not None:
        _plans.check_axis_by_axis(plan, a.dtype, shape, axes, value_type)
        return
    gpus = _plans.gpus_of(None, value_type)
    if gpus and get_current_callback_manager() is not None:
        raise NotImplementedError("callbacks of cuFFT are called on one GPU only")
    if all(shape):
        _plans.use_axis_by_axis(a.dtype, shape, axes, value_type, gpus)


def _prep_fftn_axes(
    ndim: int, s: Any = None, axes: Any = None, value_type: str = "C2C"
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the axes as given, and as non-negative ones in order (the last apart for R2C, C2R).

    Raises:
        ValueError: axes out of range, lengths that do not fit.
    """
    _check_lengths(s, axes)
    if axes is None:
        count = ndim if s is None else len(s)
        axes = tuple(range(ndim - count, ndim))
        return axes, axes
    axes = tuple(axes)
    if not axes:
        return (), ()
    if min(axes) < -ndim or max(axes) > ndim - 1:
        raise ValueError("The specified axes exceed the array dimensions.")
    if value_type == "C2C":
        return axes, tuple(sorted(x % ndim for x in axes))
    return axes, (*sorted(x % ndim for x in axes[:-1]), axes[-1] % ndim)


def _nd_plan_is_possible(axes: tuple[int, ...], ndim: int) -> bool:
    """Return whether cuFFT can transform these axes at once: neighbours, with the first or last."""
    return (
        0 < len(axes) <= 3
        and (0 in axes or ndim - 1 in axes)
        and all(b - a == 1 for a, b in pairwise(axes))
    )


def _default_fft_func(
    a: Any, s: Any = None, axes: Any = None, plan: Any = None, value_type: str = "C2C"
) -> Any:
    """Return `_fft` or `_fftn`, whichever CuPy would use: layouts and checks follow from it.

    Raises:
        RuntimeError: a plan as an argument inside of another one's block.
    """
    plan = _plans.chosen(plan)
    if isinstance(plan, cufft.PlanNd):
        return _fftn
    if isinstance(plan, cufft.Plan1d) or a.ndim == 1 or not config._enable_nd_planning.get():
        return _fft
    if a.flags.f_contiguous and value_type != "C2C":
        return _fft
    _, in_order = _prep_fftn_axes(a.ndim, s, axes, value_type)
    return _fftn if len(in_order) > 1 and _nd_plan_is_possible(in_order, a.ndim) else _fft


def _size_last_transform_axis(shape: tuple[int, ...], s: Any, axes: Any) -> Any:
    """Return the length of the last axis that is transformed."""
    if s is not None:
        if s[-1] is not None:
            return s[-1]
    elif axes is not None:
        return shape[axes[-1]]
    return shape[-1]


# ------------------------------------------------------------------- public functions


def fft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> ndarray:
    """Transform an axis, cut or padded with zeros to `n` points; the result is complex.

    Args:
        norm: "backward" (default), "ortho" or "forward": which direction divides.

    Raises:
        TypeError: not a device array.
        ValueError: no points, a bad norm.
    """
    return _fft(a, (n,), (axis,), norm, _FORWARD)


def ifft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> ndarray:
    """Transform an axis back; see `fft`."""
    return _fft(a, (n,), (axis,), norm, _INVERSE)


def fft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> ndarray:
    """Transform two axes; see `fftn`."""
    return fftn(a, s, axes, norm)


def ifft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> ndarray:
    """Transform two axes back; see `fftn`."""
    return ifftn(a, s, axes, norm)


def fftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> ndarray:
    """Transform several axes, cut or padded to the lengths `s`; all axes by default."""
    transform = _default_fft_func(a, s, axes)
    return transform(a, s, axes, norm, _FORWARD)  # type: ignore[no-any-return]


def ifftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> ndarray:
    """Transform several axes back; see `fftn`."""
    transform = _default_fft_func(a, s, axes)
    return transform(a, s, axes, norm, _INVERSE)  # type: ignore[no-any-return]


def rfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> ndarray:
    """Transform an axis of real values; the result has `n // 2 + 1` points."""
    return _fft(a, (n,), (axis,), norm, _FORWARD, "R2C")


def irfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> ndarray:
    """Transform an axis back to real values; `n` is `2 * (points - 1)` by default."""
    return _as_half(a, (axis,), _fft(a, (n,), (axis,), norm, _INVERSE, "C2R"))


def _as_half(a: Any, axes: Any, result: ndarray) -> ndarray:
    """Return real results of float16 along one axis in float16, as CuPy does."""
    if a.dtype.char == "e" and axes is not None and len(axes) == 1:
        return result.astype(a.dtype)  # type: ignore[no-any-return]
    return result


def rfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> ndarray:
    """Transform two axes of real values; see `rfftn`."""
    return rfftn(a, s, axes, norm)


def irfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> ndarray:
    """Transform two axes back to real values; see `irfftn`."""
    return irfftn(a, s, axes, norm)


def rfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> ndarray:
    """Transform several axes of real values; the last of them is halved."""
    transform = _default_fft_func(a, s, axes, value_type="R2C")
    return transform(a, s, axes, norm, _FORWARD, "R2C")  # type: ignore[no-any-return]


def irfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> ndarray:
    """Transform several axes back to real values; see `irfft` for the last of them."""
    transform = _default_fft_func(a, s, axes, value_type="C2R")
    return _as_half(a, axes, transform(a, s, axes, norm, _INVERSE, "C2R"))


def _swap_direction(norm: str | None) -> str:
    if norm in (None, "backward"):
        return "forward"
    if norm == "forward":
        return "backward"
    if norm != "ortho":
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho", or "forward".')
    return norm


def hfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> ndarray:
    """Transform an axis with Hermitian symmetry; the result is real."""
    return irfft(a.conj(), n, axis, _swap_direction(norm))


def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> ndarray:
    """Transform back what `hfft` gave."""
    return rfft(a, n, axis, _swap_direction(norm)).conj()  # type: ignore[no-any-return]


def fftfreq(n: int, d: Any = 1.0) -> ndarray:
    """Return the `n` sample frequencies of `fft` for a spacing `d`."""
    return calls.call_one("fft.fftfreq", (n, d), None, (int(n),), np.dtype(np.float64))


def rfftfreq(n: int, d: Any = 1.0) -> ndarray:
    """Return the `n // 2 + 1` sample frequencies of `rfft` for a spacing `d`."""
    shape = (int(n) // 2 + 1,)
    return calls.call_one("fft.rfftfreq", (n, d), None, shape, np.dtype(np.float64))


def _shift(name: str, x: Any, axes: Any) -> ndarray:
    x = asarray(x)
    if axes is None:
        axes = range(x.ndim)
    elif isinstance(axes, int):
        axes = (axes,)
    axes = tuple(axes)
    for axis in axes:
        x.shape[axis]
    return calls.call_one(name, (x, axes), None, x.shape, x.dtype)


def fftshift(x: Any, axes: Any = None) -> ndarray:
    """Move the zero frequency to the middle of axes (all by default).

    Raises:
        IndexError: an axis out of range.
    """
    return _shift("fft.fftshift", x, axes)


def ifftshift(x: Any, axes: Any = None) -> ndarray:
    """Undo `fftshift`."""
    return _shift("fft.ifftshift", x, axes)
