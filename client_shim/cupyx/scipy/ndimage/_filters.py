"""Linear and rank filters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupy._creation.basic import zeros_like
from cupool.client_shim.cupyx.scipy._declared import Spec, declared, send
from cupool.client_shim.cupyx.scipy.ndimage import _util
from cupool.client_shim.cupyx.scipy.ndimage._util import check_cval, like, output_dtype

__all__ = [
    "convolve",
    "convolve1d",
    "correlate",
    "correlate1d",
    "gaussian_filter",
    "gaussian_filter1d",
    "gaussian_gradient_magnitude",
    "gaussian_laplace",
    "generic_gradient_magnitude",
    "generic_laplace",
    "laplace",
    "prewitt",
    "sobel",
    "uniform_filter",
    "uniform_filter1d",
]
ndarray = core.ndarray
_operation = declared("scipy.ndimage")


def _axis(axis: Any, ndim: int) -> int:
    return int(np.lib.array_utils.normalize_axis_index(axis, ndim))


# ------------------------------------------------------------------- weights


def _weighted(
    name: str, input: Any, weights: Any, output: Any, mode: Any, cval: Any, origin: Any, axes: Any
) -> ndarray:
    """Filter with an array of weights, which has an axis for each that is filtered."""
    axes = _util.check_axes(axes, input.ndim)
    _util.check_modes((mode,), 1)
    if len(axes) < input.ndim and weights.ndim != len(axes):
        raise RuntimeError(f"weights.ndim ({weights.ndim}) must match len(axes) ({len(axes)})")
    if sum(n != 0 for n in weights.shape) != len(axes):
        raise RuntimeError("filter weights array has incorrect shape")
    if weights.size == 0:
        return zeros_like(input)
    _util.check_origins(origin, weights.shape)
    prediction = like(input, output, "c" in (input.dtype.kind, weights.dtype.kind))
    check_cval(mode, cval, prediction.dtype)
    given = {"input": input, "weights": weights, "output": output, "mode": mode, "cval": cval}
    given["origin"] = origin
    if len(axes) < input.ndim:
        given["axes"] = axes
    result: ndarray = send(name, given, prediction)
    return result


def correlate(
    input: Any,
    weights: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> ndarray:
    """Correlate with weights.

    Raises:
        RuntimeError: weights that do not fit, an unknown mode, an output of another shape.
        ValueError: an origin outside of the weights.
    """
    return _weighted("scipy.ndimage.correlate", input, weights, output, mode, cval, origin, axes)


def convolve(
    input: Any,
    weights: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> ndarray:
    """Convolve with weights; see `correlate`."""
    return _weighted("scipy.ndimage.convolve", input, weights, output, mode, cval, origin, axes)


def _line(
    input: Any, weights: Any, axis: Any, output: Any, mode: Any, cval: Any, origin: Any
) -> Spec:
    if weights.ndim != 1 or weights.size < 1:
        raise RuntimeError("incorrect filter size")
    _axis(axis, input.ndim)
    _util.check_origins(origin, weights.shape)
    _util.check_modes(mode, 1)
    prediction = like(input, output, "c" in (input.dtype.kind, weights.dtype.kind))
    check_cval(mode, cval, prediction.dtype)
    return prediction


@_operation
def correlate1d(
    input: Any,
    weights: Any,
    axis: int = -1,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
) -> Any:
    """Correlate lines along an axis with weights; see `correlate`."""
    return _line(input, weights, axis, output, mode, cval, origin)


@_operation
def convolve1d(
    input: Any,
    weights: Any,
    axis: int = -1,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
) -> Any:
    """Convolve lines along an axis with weights; see `correlate`."""
    return _line(input, weights, axis, output, mode, cval, origin)


# ------------------------------------------------------------------- smoothing, derivatives


@_operation
def uniform_filter1d(
    input: Any,
    size: int,
    axis: int = -1,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
) -> Any:
    """Return the mean of `size` neighbours along an axis."""
    _axis(axis, input.ndim)
    _util.check_modes(mode, 1)
    _util.check_origins(origin, (size,))
    return _derived(input, output, mode, cval)


@_operation
def uniform_filter(
    input: Any,
    size: Any = 3,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    axes: Any = None,
) -> Any:
    """Return the mean of a box of `size` around each element."""
    count = len(_util.check_axes(axes, input.ndim))
    _util.check_origins(origin, _util.sequence(size, count, "size", int), least=2)
    _util.check_modes(mode, count)
    return _derived(input, output, mode, cval)


def _derived(input: Any, output: Any, mode: Any, cval: Any) -> Spec:
    prediction = like(input, output)
    check_cval(mode, cval, prediction.dtype)
    return prediction


def _check_order(order: Any) -> None:
    if order < 0:
        raise ValueError("order must be non-negative")


@_operation
def gaussian_filter1d(
    input: Any,
    sigma: Any,
    axis: int = -1,
    order: int = 0,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    truncate: float = 4.0,
) -> Any:
    """Smooth lines with a Gaussian, or with its derivative of an order.

    Raises:
        ValueError: a negative order.
    """
    _check_order(order)
    _axis(axis, input.ndim)
    _util.check_modes(mode, 1)
    return _derived(input, output, mode, cval)


@_operation
def gaussian_filter(
    input: Any,
    sigma: Any,
    order: Any = 0,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    truncate: float = 4.0,
    radius: Any = None,
    axes: Any = None,
) -> Any:
    """Smooth with a Gaussian of standard deviation `sigma`, or its derivatives.

    Args:
        truncate: cut the kernel at so many standard deviations; `radius` says it in elements.

    Raises:
        RuntimeError: sequences whose lengths are not the number of axes.
        ValueError: a negative order.
    """
    count = len(_util.check_axes(axes, input.ndim))
    sigmas = _util.sequence(sigma, count, "sigma", float)
    orders = _util.sequence(order, count, "order", int)
    _util.sequence(radius, count, "radius")
    if any(s > 1e-15 for s in sigmas):
        for one in orders:
            _check_order(one)
        _util.check_modes(mode, count)
    return _derived(input, output, mode, cval)


def _checked(input: Any, output: Any, mode: Any, cval: Any, axes: Any) -> Spec:
    _util.check_modes(mode, len(_util.check_axes(axes, input.ndim)))
    return _derived(input, output, mode, cval)


@_operation
def prewitt(
    input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0
) -> Any:
    """Return Prewitt's derivative along an axis."""
    _axis(axis, input.ndim)
    return _checked(input, output, mode, cval, None)


@_operation
def sobel(
    input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0
) -> Any:
    """Return Sobel's derivative along an axis."""
    _axis(axis, input.ndim)
    return _checked(input, output, mode, cval, None)


@_operation
def laplace(
    input: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *, axes: Any = None
) -> Any:
    """Return the Laplacian by second differences."""
    return _checked(input, output, mode, cval, axes)


@_operation
def gaussian_laplace(
    input: Any,
    sigma: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    *,
    axes: Any = None,
    **kwargs: Any,
) -> Any:
    """Return the Laplacian by second derivatives of Gaussians."""
    return _checked(input, output, mode, cval, axes)


@_operation
def gaussian_gradient_magnitude(
    input: Any,
    sigma: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    *,
    axes: Any = None,
    **kwargs: Any,
) -> Any:
    """Return the length of the gradient by derivatives of Gaussians."""
    return _checked(input, output, mode, cval, axes)


def _new(input: Any, dtype: Any) -> Any:
    return zeros_like(input, dtype=dtype)


def _over_axes(
    input: Any,
    derivative: Any,
    output: Any,
    mode: Any,
    cval: Any,
    extra: tuple[Any, dict[str, Any]],
    axes: Any,
    change: Callable[[ndarray], Any],
) -> ndarray:
    """Sum over the axes what `derivative` makes of each, changed in place first."""
    found = _util.check_axes(axes, input.ndim)
    arguments, keywords = extra
    dtype = output_dtype(input, output, input.shape)
    result = output if isinstance(output, ndarray) else _new(input, dtype)
    if not found:
        result[...] = input
        return result
    modes = _util.sequence(mode, len(found), "mode")
    _util.check_modes(mode, len(found))
    for number, (axis, one) in enumerate(zip(found, modes, strict=True)):
        part = _new(input, result.dtype) if number else result
        derivative(input, axis, part, one, cval, *arguments, **keywords)
        change(part)
        if number:
            result += part
    return result


def generic_laplace(
    input: Any,
    derivative2: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    extra_arguments: Any = (),
    extra_keywords: Any = None,
    *,
    axes: Any = None,
) -> ndarray:
    """Sum what `derivative2(input, axis, output, mode, cval, ...)` makes of each axis."""
    extra = extra_arguments, extra_keywords or {}
    return _over_axes(input, derivative2, output, mode, cval, extra, axes, lambda part: part)


def generic_gradient_magnitude(
    input: Any,
    derivative: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    extra_arguments: Any = (),
    extra_keywords: Any = None,
    *,
    axes: Any = None,
) -> ndarray:
    """Return the root of the sum of squares of `derivative(input, axis, output, ...)`."""
    from cupool.client_shim import cupy

    def square(part: ndarray) -> None:
        cupy.multiply(part, part, part)

    extra = extra_arguments, extra_keywords or {}
    result = _over_axes(input, derivative, output, mode, cval, extra, axes, square)
    if not _util.check_axes(axes, input.ndim):
        return result
    return cupy.sqrt(result, result, casting="unsafe")  # type: ignore[no-any-return]
