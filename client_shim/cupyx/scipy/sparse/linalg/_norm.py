"""Norms of sparse matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim import cupy
from cupool.client_shim.cupyx.scipy.sparse import _base

__all__ = ["norm"]


def _frobenius(x: Any) -> Any:
    return cupy.sqrt((abs(x) if x.dtype.kind == "c" else x).power(2).sum())


def norm(x: Any, ord: Any = None, axis: Any = None) -> Any:
    """Return a norm of a sparse matrix, or of its rows (axis 1) or columns (axis 0).

    Args:
        ord: for matrices None or "fro", 1, -1, inf, -inf; for vectors any number.

    Raises:
        NotImplementedError: the 2-norm of a matrix.
        ValueError: another `ord`, axes out of range.
        TypeError: `x` is not sparse, `axis` is no integer.
    """
    if not _base.issparse(x):
        raise TypeError("input is not sparse. use cupy.linalg.norm")
    if axis is None and ord in (None, "fro", "f"):
        return _frobenius(x)
    x = x.tocsr()
    axes = _axes(axis)
    if len(axes) == 2:
        row, column = axes
        if not (-2 <= row < 2 and -2 <= column < 2):
            raise ValueError(f"Invalid axis {axes!r} for an array with shape {x.shape!r}")
        if row % 2 == column % 2:
            raise ValueError("Duplicate axes given.")
        return _matrix_norm(x, ord, row, column)
    if len(axes) != 1:
        raise ValueError("Improper number of dimensions to norm.")
    if not -2 <= axes[0] < 2:
        raise ValueError(f"Invalid axis {axes!r} for an array with shape {x.shape!r}")
    return _vector_norms(x, ord, axes[0])


def _axes(axis: Any) -> tuple[Any, ...]:
    if axis is None:
        return (0, 1)
    if isinstance(axis, tuple):
        return axis
    try:
        whole = int(axis)
    except TypeError:
        whole = None
    if whole is None or whole != axis:
        raise TypeError("'axis' must be None, an integer or a tuple of integers")
    return (whole,)


def _matrix_norm(x: Any, ord: Any, row: int, column: int) -> Any:
    if ord in (2, -2):
        raise NotImplementedError
    if ord in (None, "f", "fro"):
        return _frobenius(x)
    if ord not in (1, -1, np.inf, -np.inf):
        raise ValueError("Invalid norm order for matrices.")
    sums = abs(x).sum(axis=row if abs(ord) == 1 else column)
    return sums.max() if ord > 0 else sums.min()


def _vector_norms(x: Any, ord: Any, axis: int) -> Any:
    magnitudes = abs(x)
    if ord == np.inf:
        return magnitudes.max(axis=axis).toarray().ravel()
    if ord == -np.inf:
        return magnitudes.min(axis=axis).toarray().ravel()
    if ord == 0:
        return (x != 0).astype(np.float32).sum(axis=axis).ravel().astype(np.int_)
    if ord == 1:
        return magnitudes.sum(axis=axis).ravel()
    if ord in (2, None):
        return cupy.sqrt(magnitudes.power(2).sum(axis=axis)).ravel()
    try:
        ord + 1
    except TypeError:
        raise ValueError("Invalid norm order for vectors.") from None
    return cupy.power(magnitudes.power(ord).sum(axis=axis), 1 / ord).ravel()
