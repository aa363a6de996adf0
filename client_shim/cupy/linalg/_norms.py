"""`norm`, `cond`, `det`, `slogdet`, `matrix_rank`, `trace`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from cupool.client_shim.cupy._core import calls, core
from cupool.client_shim.cupy._core._dtype import to_inexact
from cupool.client_shim.cupy._core._reduction import reduced_shape
from cupool.client_shim.cupy._core.routines_indexing import normalize_axis
from cupool.client_shim.cupy._core.views import require
from cupool.client_shim.cupy._creation.from_data import asarray
from cupool.client_shim.cupy.linalg._util import (
    assert_stacked_2d,
    assert_stacked_square,
    linalg_common_type,
    real_of,
    solver,
)

__all__ = ["cond", "det", "matrix_rank", "norm", "slogdet", "trace"]
ndarray = core.ndarray
_MATRIX_ORDS = (None, "fro", "f", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
_EXTREME = (1, -1, np.inf, -np.inf)


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> ndarray:
    """Return a vector norm (one axis) or matrix norm (two axes).

    Args:
        x: array; with `axis` None and `ord` given it must have one or two axes.
        ord: None (2-norm, Frobenius), a number or infinity; "fro", "nuc" for matrices.
        axis: an axis, a pair of them, or None for all.
        keepdims: leave the axes with length one.

    Returns:
        real, without the axes of the norm.

    Raises:
        ValueError: no such norm, axes that do not fit.
        TypeError: an axis that is not an integer.
    """
    x = require(x)
    dtype = real_of(to_inexact(x.dtype))
    axes = _norm_axes(x, ord, axis)
    if not isinstance(ord, (str, type(None))) and len(axes) == 1 and axis is not None:
        float(ord)
    shape = reduced_shape(x.shape, axes, bool(keepdims))
    ranked = ord if ord is None or isinstance(ord, (str, int)) else float(ord)
    kwargs: dict[str, Any] = {"ord": ranked, "keepdims": bool(keepdims)}
    if axis is not None:
        kwargs["axis"] = axes[0] if len(axes) == 1 else axes
    if len(axes) == 2 and ord in (2, -2, "nuc") and _is_ranked(ord, axes, axis, x):
        made = real_of(linalg_common_type(x))
        return solver("linalg.norm", (x,), kwargs, (shape, made, "C"))[0]
    return calls.call_one("linalg.norm", (x,), kwargs, shape, dtype)


def _is_ranked(ord: Any, axes: tuple[int, ...], axis: Any, x: ndarray) -> bool:
    return axis is not None or x.ndim == 2


def _norm_axes(x: ndarray, ord: Any, axis: Any) -> tuple[int, ...]:
    """Check the axes of a norm and its order, and return the axes."""
    ndim = x.ndim
    if axis is None:
        if ord is None or (ndim == 1 and ord == 2) or (ndim == 2 and ord in ("f", "fro")):
            return tuple(range(ndim))
        axes: tuple[int, ...] = tuple(range(ndim))
    elif isinstance(axis, tuple):
        axes = axis
    else:
        try:
            axes = (int(axis),)
        except Exception:
            raise TypeError("'axis' must be None, an integer or a tuple of integers") from None
    if len(axes) == 1:
        axes = (normalize_axis(axes[0], ndim),)
        _check_vector_ord(x, ord, axes[0])
        return axes
    if len(axes) != 2:
        raise ValueError("Improper number of dimensions to norm.")
    row, column = (i + ndim if i < 0 else i for i in axes)
    if not (0 <= row < ndim and 0 <= column < ndim):
        raise ValueError(f"Invalid axis {axes!r} for an array with shape {x.shape!r}")
    if row == column:
        raise ValueError("Duplicate axes given.")
    if ord not in _MATRIX_ORDS:
        raise ValueError("Invalid norm order for matrices.")
    outer = row if ord in (np.inf, -np.inf) else column
    if (ord in _EXTREME and x.shape[outer] == 0) or (
        ord in (2, -2) and 0 in (x.shape[row], x.shape[column])
    ):
        raise ValueError("zero-size array to reduction operation which has no identity")
    return (row, column)


def _check_vector_ord(x: ndarray, ord: Any, axis: int) -> None:
    if ord in (np.inf, -np.inf):
        if x.shape[axis] == 0:
            raise ValueError("zero-size array to reduction operation which has no identity")
    elif ord is not None:
        try:
            float(ord)
        except TypeError:
            raise ValueError("Invalid norm order for vectors.") from None


def cond(x: Any, p: Any = None) -> ndarray:
    """Return the condition number of matrices, which may be infinite.

    Args:
        x: shape (..., M, N); square unless `p` is None, 2 or -2.
        p: a norm, see `norm`.

    Raises:
        LinAlgError: an empty array, not matrices, not square ones.
    """
    x = asarray(x)
    if x.size == 0:
        raise LinAlgError("cond is not defined on empty arrays")
    made = linalg_common_type(x)
    if p is None or p in (2, -2):
        if x.ndim < 2:
            raise ValueError(f"not enough values to unpack (expected 2, got {x.ndim})")
        return solver("linalg.cond", (x, p), None, (x.shape[:-2], real_of(made), "C"))[0]
    assert_stacked_2d(x)
    assert_stacked_square(x)
    if p not in _MATRIX_ORDS:
        raise ValueError("Invalid norm order for matrices.")
    ranked = p if isinstance(p, (str, int)) else float(p)
    return calls.call_one("linalg.cond", (x, ranked), None, x.shape[:-2], made)


def det(a: Any) -> ndarray:
    """Return the determinants (...) of matrices (..., N, N).

    Raises:
        LinAlgError: not square matrices.
        TypeError: float16.
    """
    a = require(a)
    assert_stacked_2d(a)
    assert_stacked_square(a)
    return calls.call_one("linalg.det", (a,), None, a.shape[:-2], linalg_common_type(a))


def slogdet(a: Any) -> tuple[ndarray, ndarray]:
    """Return sign (...) and logarithm of the absolute value (...) of determinants.

    A singular matrix gives 0 and -inf.

    Raises:
        LinAlgError: not square matrices.
        TypeError: float16.
    """
    a = require(a)
    assert_stacked_2d(a)
    assert_stacked_square(a)
    dtype = linalg_common_type(a)
    shape = a.shape[:-2]
    specs = ((shape, dtype, "C"), (shape, real_of(dtype), "C"))
    sign, logdet = calls.call("linalg.slogdet", (a,), None, *specs)
    return sign, logdet


def matrix_rank(M: Any, tol: Any = None) -> ndarray:
    """Return how many singular values of matrices (..., M, N) are above a threshold.

    Args:
        tol: number, or array of shape (...); from the largest singular value by default.

    Raises:
        TypeError: float16.
    """
    M = require(M)
    made = np.dtype(np.intp)
    if M.ndim < 2:
        return calls.call_one("linalg.matrix_rank", (M,), None, (), made)
    linalg_common_type(M)
    return solver("linalg.matrix_rank", (M, tol), None, (M.shape[:-2], made, "C"))[0]


def trace(
    a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
) -> ndarray:
    """Return the sums along the diagonals of two axes."""
    return require(a).trace(offset, axis1, axis2, dtype, out)  # type: ignore[no-any-return]
