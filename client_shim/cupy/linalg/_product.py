"""`dot`, `vdot`, `inner`, `outer`, `tensordot`, `kron`, `cross`, `matrix_power`."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from cupool.client_shim import shadow as _shadow
from cupool.client_shim.cupy._core import _operators, calls, core, views
from cupool.client_shim.cupy._core._kernel import broadcast_shapes
from cupool.client_shim.cupy._core.products import dot, matmul
from cupool.client_shim.cupy._core.routines_indexing import normalize_axis
from cupool.client_shim.cupy._core.views import require
from cupool.client_shim.cupy._creation.from_data import asarray
from cupool.client_shim.cupy.linalg._util import (
    assert_cupy_array,
    assert_stacked_2d,
    assert_stacked_square,
    linalg_common_type,
    solver,
)

__all__ = [
    "cross",
    "dot",
    "inner",
    "kron",
    "linalg_cross",
    "matmul",
    "matrix_power",
    "matrix_transpose",
    "outer",
    "tensordot",
    "vdot",
]
ndarray = core.ndarray


def _multiply(a: Any, b: Any) -> ndarray:
    product: ndarray = _operators.ufuncs.multiply(a, b)
    return product


def vdot(a: Any, b: Any) -> ndarray:
    """Return the dot product of two flattened arrays, the first one conjugated; shape ().

    Raises:
        ValueError: the sizes differ.
    """
    a, b = require(a), require(b)
    if a.size != b.size:
        raise ValueError("Axis dimension mismatch")
    return calls.call_one("vdot", (a, b), None, (), np.result_type(a.dtype, b.dtype))


def inner(a: Any, b: Any) -> ndarray:
    """Return the sum of products over the last axes.

    Raises:
        ValueError: the lengths of the last axes differ.
    """
    a, b = require(a), require(b)
    if a.ndim == 0 or b.ndim == 0:
        return _multiply(a, b)
    if a.shape[-1] != b.shape[-1]:
        raise ValueError("Axis dimension mismatch")
    shape = a.shape[:-1] + b.shape[:-1]
    return calls.call_one("inner", (a, b), None, shape, np.result_type(a.dtype, b.dtype))


def outer(a: Any, b: Any, out: Any = None) -> ndarray:
    """Return the products of all pairs of two flattened arrays, shape (a.size, b.size)."""
    left = views.basic_index(views.ravel(require(a)), (slice(None), None))
    right = views.basic_index(views.ravel(require(b)), (None, slice(None)))
    product: ndarray = _operators.ufuncs.multiply(left, right, out=out)
    return product


def tensordot(a: Any, b: Any, axes: Any = 2) -> ndarray:
    """Return the sum of products over pairs of axes.

    Args:
        axes: how many of the last axes of `a` and the first of `b`, or a pair: axes of `a`, axes
            of `b`.

    Raises:
        ValueError: axes that do not fit.
    """
    a, b = require(a), require(b)
    if a.ndim == 0 or b.ndim == 0:
        if axes not in (0, ((), ())):
            raise ValueError("An input is zero-dim while axes has dimensions")
        return _multiply(a, b)
    a_axes, b_axes = _paired_axes(a.ndim, axes)
    if len(a_axes) != len(b_axes):
        raise ValueError("Axes length mismatch")
    for i, j in zip(a_axes, b_axes, strict=True):
        if a.shape[i] != b.shape[j]:
            raise ValueError("Axis dimension mismatch")
    left = [i % a.ndim for i in a_axes]
    right = [j % b.ndim for j in b_axes]
    shape = (
        *(n for i, n in enumerate(a.shape) if i not in left),
        *(n for j, n in enumerate(b.shape) if j not in right),
    )
    args = (a, b, (tuple(left), tuple(right)))
    return calls.call_one("tensordot", args, None, shape, np.result_type(a.dtype, b.dtype))


def _paired_axes(a_ndim: int, axes: Any) -> tuple[list[int], list[int]]:
    if not isinstance(axes, Sequence):
        return list(range(a_ndim - axes, a_ndim)), list(range(axes))
    if len(axes) != 2:
        raise ValueError("Axes must consist of two arrays.")
    first, second = (list(x) if isinstance(x, Iterable) else [x] for x in axes)
    return [int(i) for i in first], [int(j) for j in second]


def kron(a: Any, b: Any) -> Any:
    """Return the Kronecker product: blocks of `b` scaled by the elements of `a`."""
    numbers_given = [isinstance(x, numbers.Number) for x in (a, b)]
    if all(numbers_given):
        return a * b
    if any(numbers_given):
        return _multiply(a, b)
    a, b = require(a), require(b)
    if a.ndim == 0 or b.ndim == 0:
        return _multiply(a, b)
    ndim = max(a.ndim, b.ndim)
    a_shape = (1,) * (ndim - a.ndim) + a.shape
    b_shape = (1,) * (ndim - b.ndim) + b.shape
    shape = tuple(m * n for m, n in zip(a_shape, b_shape, strict=True))
    return calls.call_one("kron", (a, b), None, shape, np.result_type(a.dtype, b.dtype))


def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> ndarray:
    """Return the cross products of vectors of two or three components.

    Args:
        axisa, axisb, axisc: where the components are in `a`, `b` and the result.
        axis: all three of them.

    Raises:
        ValueError: neither two nor three components.
        AxisError: an axis out of range.
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = asarray(a), asarray(b)
    axisa, axisb = normalize_axis(axisa, a.ndim), normalize_axis(axisb, b.ndim)
    lengths = (a.shape[axisa], b.shape[axisb])
    if not {*lengths} <= {2, 3}:
        raise ValueError("incompatible dimensions for cross product\n(dimension must be 2 or 3)")
    if 2 in lengths:
        warnings.warn(
            "Arrays of 2-dimensional vectors are deprecated. Use arrays of 3-dimensional vectors"
            " instead.",
            DeprecationWarning,
            stacklevel=2,
        )
    rest = [s[:i] + s[i + 1 :] for s, i in ((a.shape, axisa), (b.shape, axisb))]
    shape = broadcast_shapes(rest)
    options = {"axisa": axisa, "axisb": axisb}
    dtype = np.promote_types(a.dtype, b.dtype)
    order: Any = "C"
    if 3 in lengths:
        options["axisc"] = axisc = normalize_axis(axisc, len(shape) + 1)
        moved = np.moveaxis(_shadow.make((*shape, 3), dtype), -1, axisc)
        shape, order = moved.shape, _shadow.order_of(moved)
    return calls.call_one("cross", (a, b), options, shape, dtype, order)


def linalg_cross(x1: Any, x2: Any, /, *, axis: int = -1) -> ndarray:
    """Return the cross products of vectors of three components along an axis.

    Raises:
        ValueError: shapes that differ, not three components.
    """
    x1, x2 = require(x1), require(x2)
    if x1.shape != x2.shape:
        raise ValueError("x1 and x2 must have the same shape")
    if x1.ndim == 0:
        raise ValueError("cross() requires arrays of dimension at least 1")
    if x1.shape[axis] != 3:
        raise ValueError("cross() dimension must equal 3")
    return cross(x1, x2, axis=axis)


def matrix_power(M: Any, n: int) -> ndarray:
    """Return matrices (..., N, N) multiplied with themselves `n` times, inverted for n < 0.

    Raises:
        LinAlgError: not square matrices.
        TypeError: `n` is not an int.
    """
    assert_cupy_array(M)
    assert_stacked_2d(M)
    assert_stacked_square(M)
    if not isinstance(n, int):
        raise TypeError("exponent must be an integer")
    if n == 1:
        return M  # type: ignore[no-any-return]
    dtype = linalg_common_type(M) if n < 0 else M.dtype
    return solver("linalg.matrix_power", (M, n), None, (M.shape, dtype, "C"))[0]


def matrix_transpose(a: Any) -> ndarray:
    """Return `a` with its last two axes exchanged, a view.

    Raises:
        ValueError: fewer than two axes.
    """
    a = require(a)
    if a.ndim < 2:
        raise ValueError("Matrix dimension is less than 2")
    return views.swapaxes(a, -1, -2)
