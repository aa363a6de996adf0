"""Geometric transforms by splines."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupyx.scipy._declared import Spec, declared, send
from cupool.client_shim.cupyx.scipy.ndimage import _util

__all__ = [
    "affine_transform",
    "map_coordinates",
    "rotate",
    "shift",
    "spline_filter",
    "spline_filter1d",
    "zoom",
]
ndarray = core.ndarray
_operation = declared("scipy.ndimage")

_MODES = frozenset(
    "constant grid-constant nearest mirror reflect grid-mirror wrap grid-wrap opencv".split()
)


def _check(order: Any, mode: Any) -> None:
    if not 0 <= order <= 5:
        raise ValueError("spline order is not supported")
    if mode not in _MODES:
        raise ValueError(f"boundary mode ({mode}) is not supported")


def _made(input: Any, output: Any, shape: tuple[int, ...], mode: Any, cval: Any) -> Spec:
    dtype = _util.output_dtype(input, output, shape)
    _util.check_cval(mode, cval, dtype)
    return Spec(shape, dtype)


def _spline(input: Any, output: Any) -> Spec:
    """Predict the coefficients, which are complex for complex input.

    Raises:
        ValueError: a real array for complex coefficients.
        RuntimeError: an output of another shape.
    """
    if isinstance(output, ndarray):
        if input.dtype.kind == "c" and output.dtype.kind != "c":
            raise ValueError("output must have complex dtype for complex inputs")
        if output.shape != input.shape:
            raise RuntimeError("output shape not correct")
        return Spec(input.shape, output.dtype)
    dtype = input.dtype if output is None else np.dtype(output)
    if input.dtype.kind == "c":
        dtype = np.promote_types(dtype, np.complex64)
    return Spec(input.shape, dtype)


def spline_filter1d(
    input: Any, order: int = 3, axis: int = -1, output: Any = np.float64, mode: str = "mirror"
) -> ndarray:
    """Return the spline coefficients of lines along an axis.

    Raises:
        RuntimeError: an order outside of 0 to 5.
    """
    if not 0 <= order <= 5:
        raise RuntimeError("spline order not supported")
    if input.ndim or axis not in (0, -1):
        np.lib.array_utils.normalize_axis_index(axis, input.ndim)
    given = {"input": input, "order": order, "axis": axis, "output": output, "mode": mode}
    result = send("scipy.ndimage.spline_filter1d", given, _spline(input, output))
    return result  # type: ignore[no-any-return]


def spline_filter(
    input: Any, order: int = 3, output: Any = np.float64, mode: str = "mirror"
) -> ndarray:
    """Return the spline coefficients along all axes.

    Raises:
        RuntimeError: an order outside of 2 to 5.
    """
    if not 2 <= order <= 5:
        raise RuntimeError("spline order not supported")
    given = {"input": input, "order": order, "output": output, "mode": mode}
    result = send("scipy.ndimage.spline_filter", given, _spline(input, output))
    return result  # type: ignore[no-any-return]


@_operation
def map_coordinates(
    input: Any,
    coordinates: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    """Return the values at coordinates, one row for each axis.

    Raises:
        ValueError: an order or mode that does not exist, coordinates that are no numbers.
        NotImplementedError: integers filled with nan.
    """
    _check(order, mode)
    prediction = _made(input, output, coordinates.shape[1:], mode, cval)
    if coordinates.dtype.kind not in "fiu":
        raise ValueError("coordinates should have floating point dtype")
    return prediction


def _textured(
    input: Any, matrix: Any, shape: Any, output: Any, order: Any, mode: Any, cval: Any
) -> Any:
    """Transform by way of texture memory, which interpolates in hardware.

    Raises:
        ValueError: not float32 of two or three axes, a matrix not homogeneous, another mode.
    """
    ndim = input.ndim
    single = np.dtype(np.float32)
    if ndim not in (2, 3):
        raise ValueError("texture memory holds arrays of two or three axes")
    if input.dtype != single:
        raise ValueError(f"texture memory is for float32, not {input.dtype}")
    if matrix.shape != (ndim + 1, ndim + 1):
        raise ValueError("the matrix must have shape (ndim + 1, ndim + 1)")
    if mode not in ("constant", "nearest"):
        raise ValueError(f"Unsupported address mode {mode} (supported: constant, nearest)")
    shape = input.shape if shape is None else tuple(int(n) for n in shape)
    dtype = single
    if isinstance(output, ndarray):
        if output.shape != shape:
            raise ValueError("Output shapes do not match")
        dtype = output.dtype
    elif isinstance(output, str) or (output is not None and np.dtype(output) != single):
        raise ValueError(f"texture memory gives float32, not {output}")
    given = {"input": input, "matrix": matrix, "output_shape": shape, "output": output}
    given |= {"order": min(order, 1), "mode": mode, "cval": cval, "texture_memory": True}
    return send("scipy.ndimage.affine_transform", given, Spec(shape, dtype))


def affine_transform(
    input: Any,
    matrix: Any,
    offset: Any = 0.0,
    output_shape: Any = None,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
    *,
    texture_memory: bool = False,
    float64_coords: bool = False,
) -> ndarray:
    """Return the values at `matrix @ position + offset`.

    Args:
        matrix: square, or the diagonal, or with the offset as its last column.

    Raises:
        RuntimeError: a matrix of another shape, an output of another shape.
        ValueError: an order or mode that does not exist; what texture memory cannot hold.
    """
    if texture_memory:
        return _textured(input, matrix, output_shape, output, order, mode, cval)  # type: ignore[no-any-return]
    _check(order, mode)
    if not isinstance(offset, ndarray):
        offset = _util.sequence(offset, input.ndim, "offset", float)
    if matrix.ndim not in (1, 2) or matrix.shape[0] < 1:
        raise RuntimeError("no proper affine matrix provided")
    if matrix.ndim == 2:
        ndim = input.ndim
        if matrix.shape not in ((ndim, ndim), (ndim, ndim + 1), (ndim + 1, ndim + 1)):
            raise RuntimeError("improper affine shape")
    shape = input.shape if output_shape is None else tuple(int(n) for n in output_shape)
    given = {"input": input, "matrix": matrix, "offset": offset, "output_shape": shape}
    given |= {"output": output, "order": order, "mode": mode, "cval": cval}
    given["prefilter"] = prefilter
    result = send("scipy.ndimage.affine_transform", given, _made(input, output, shape, mode, cval))
    return result  # type: ignore[no-any-return]


def _rotated(shape: tuple[int, ...], angle: float, axes: list[int]) -> tuple[int, ...]:
    """Return the shape of the smallest picture that holds a rotated one."""
    radians = math.radians(angle)
    cos, sin = math.cos(radians), math.sin(radians)
    height, width = (shape[axis] for axis in axes)
    matrix = np.array([[cos, sin], [-sin, cos]])
    corners = matrix @ [[0, 0, height, height], [0, width, 0, width]]
    lengths = (np.ptp(corners, axis=1) + 0.5).astype(int)
    result = list(shape)
    for axis, length in zip(axes, lengths, strict=True):
        result[axis] = int(length)
    return tuple(result)


@_operation
def rotate(
    input: Any,
    angle: float,
    axes: Any = (1, 0),
    reshape: bool = True,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    """Rotate by an angle in degrees in the plane of two axes.

    Args:
        reshape: make the result as large as the whole rotated picture.

    Raises:
        ValueError: axes that do not exist, an order or mode that does not exist.
    """
    _check(order, mode)
    plane = sorted(axis + input.ndim if axis < 0 else axis for axis in axes)
    if plane[0] < 0 or plane[1] >= input.ndim:
        raise ValueError("invalid rotation plane specified")
    shape = _rotated(input.shape, angle, plane) if reshape else input.shape
    return _made(input, output, shape, mode, cval)


@_operation
def shift(
    input: Any,
    shift: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    """Shift by a distance along each axis.

    Raises:
        RuntimeError: not one distance for each axis.
        ValueError: an order or mode that does not exist.
    """
    _check(order, mode)
    if not isinstance(shift, ndarray):
        _util.sequence(shift, input.ndim, "shift", float)
    return _made(input, output, input.shape, mode, cval)


def _zooms(zoom: Any, ndim: int) -> list[float]:
    if isinstance(zoom, ndarray):
        zoom = zoom.tolist()
    return _util.sequence(zoom, ndim, "zoom", float)  # type: ignore[no-any-return]


def zoom(
    input: Any,
    zoom: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
    *,
    grid_mode: bool = False,
) -> ndarray:
    """Resize by a factor along each axis.

    Args:
        grid_mode: measure between the outer edges of the first and last elements.

    Raises:
        RuntimeError: not one factor for each axis.
        ValueError: an order or mode that does not exist.
    """
    _check(order, mode)
    factors = _zooms(zoom, input.ndim)
    if grid_mode and mode in ("constant", "wrap"):
        advice = f"It is recommended to use mode = grid-{mode} instead of {mode}"
        warnings.warn(f"{advice} when grid_mode is True.", stacklevel=2)
    shape = tuple(round(n * z) for n, z in zip(input.shape, factors, strict=True))
    given = {"input": input, "zoom": factors, "output": output, "order": order, "mode": mode}
    given |= {"cval": cval, "prefilter": prefilter, "grid_mode": grid_mode}
    result = send("scipy.ndimage.zoom", given, _made(input, output, shape, mode, cval))
    return result  # type: ignore[no-any-return]
