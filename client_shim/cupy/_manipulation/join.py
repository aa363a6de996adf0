"""`concatenate`, `stack` and their relatives."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls, core, views
from cupool.client_shim.cupy._core._dtype import get_dtype
from cupool.client_shim.cupy._core.routines_indexing import normalize_axis
from cupool.client_shim.cupy._creation.from_data import asarray
from cupool.client_shim.cupy._functions import warn_complex

__all__ = [
    "column_stack",
    "concat",
    "concatenate",
    "dstack",
    "hstack",
    "row_stack",
    "stack",
    "vstack",
]
ndarray = core.ndarray


def concatenate(
    tup: Sequence[Any],
    axis: Any = 0,
    out: Any = None,
    *,
    dtype: Any = None,
    casting: str = "same_kind",
) -> ndarray:
    """Join arrays along an existing axis; None joins them flattened.

    Raises:
        ValueError: no arrays, or shapes that do not fit.
        TypeError: something that is not a device array, a cast that `casting` forbids.
    """
    arrays = [views.require(a) for a in tup]
    if axis is None:
        arrays, axis = [views.ravel(a) for a in arrays], 0
    if not arrays:
        raise ValueError("Cannot concatenate from empty tuple")
    first = arrays[0]
    if first.ndim == 0:
        raise TypeError("zero-dimensional arrays cannot be concatenated")
    axis = normalize_axis(axis, first.ndim)
    for other in arrays[1:]:
        if other.ndim != first.ndim:
            raise ValueError("All arrays to concatenate must have the same ndim")
        rows = enumerate(zip(first.shape, other.shape, strict=True))
        if any(m != n for i, (m, n) in rows if i != axis):
            raise ValueError("All arrays must have same shape except the axis to concatenate")
    if out is not None and dtype is not None:
        raise TypeError(
            "concatenate() only takes `out` or `dtype` as an argument, but both were provided."
        )
    length = sum(a.shape[axis] for a in arrays)
    shape = (*first.shape[:axis], length, *first.shape[axis + 1 :])
    if out is not None:
        if not isinstance(out, ndarray):
            raise TypeError(f"Argument 'out' has incorrect type (got {type(out)})")
        if out.ndim != len(shape):
            raise ValueError("Output array has wrong dimensionality")
        if out.shape != shape:
            raise ValueError("Output array is the wrong shape")
        dtype = out.dtype
    made = np.result_type(*(a.dtype for a in arrays)) if dtype is None else get_dtype(dtype)
    for a in arrays:
        if not np.can_cast(a.dtype, made, casting):  # type: ignore[arg-type]
            raise TypeError(
                f"Cannot cast array data from {a.dtype!r} to {made!r} according to the rule"
                f" '{casting}'"
            )
    if made.kind not in "bc" and any(a.dtype.kind == "c" for a in arrays):
        warn_complex()
    kwargs: dict[str, Any] = {"axis": axis}
    if dtype is not None:
        kwargs |= {"dtype": made, "casting": "unsafe"}
    result = calls.call_one("concatenate", (tuple(arrays),), kwargs, shape, made)
    return calls.with_out(result, out)


concat = concatenate


def stack(
    tup: Sequence[Any],
    axis: int = 0,
    out: Any = None,
    *,
    dtype: Any = None,
    casting: str = "same_kind",
) -> ndarray:
    """Join arrays of one shape along a new axis."""
    arrays = [views.require(a) for a in tup]
    if len({a.shape for a in arrays}) > 1:
        raise ValueError("all input arrays must have the same shape")
    axis = normalize_axis(axis, arrays[0].ndim + 1) if arrays else 0
    expanded = [core.view_of(a, np.expand_dims(a._shadow, axis)) for a in arrays]
    return concatenate(expanded, axis, out, dtype=dtype, casting=casting)


def _at_least(a: Any, dimensions: int) -> ndarray:
    a = asarray(a)
    widen = (np.atleast_1d, np.atleast_2d, np.atleast_3d)[dimensions - 1]
    return core.view_of(a, widen(a._shadow))


def vstack(tup: Sequence[Any], *, dtype: Any = None, casting: str = "same_kind") -> ndarray:
    """Stack rows: join along the first of at least two axes."""
    return concatenate([_at_least(a, 2) for a in tup], 0, dtype=dtype, casting=casting)


def row_stack(tup: Sequence[Any], *, dtype: Any = None, casting: str = "same_kind") -> ndarray:
    """Do what `vstack` does (deprecated, as in CuPy)."""
    warnings.warn(
        "`row_stack` alias is deprecated. Use `cp.vstack` directly.",
        DeprecationWarning,
        stacklevel=2,
    )
    return vstack(tup, dtype=dtype, casting=casting)


def hstack(tup: Sequence[Any], *, dtype: Any = None, casting: str = "same_kind") -> ndarray:
    """Join along the second axis, the first for vectors."""
    arrays = [_at_least(a, 1) for a in tup]
    axis = 0 if arrays and arrays[0].ndim == 1 else 1
    return concatenate(arrays, axis, dtype=dtype, casting=casting)


def dstack(tup: Sequence[Any]) -> ndarray:
    """Join along the third of at least three axes."""
    return concatenate([_at_least(a, 3) for a in tup], 2)


def column_stack(tup: Sequence[Any]) -> ndarray:
    """Stack vectors as columns.

    Raises:
        ValueError: more than two axes.
    """
    arrays = [views.require(a) for a in tup]
    if any(a.ndim not in (1, 2) for a in arrays):
        raise ValueError("Only 1 or 2 dimensional arrays can be column stacked")
    columns = [a if a.ndim == 2 else views.reshape(a, (-1, 1)) for a in arrays]
    return concatenate(columns, 1)
