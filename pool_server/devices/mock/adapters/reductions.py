"""Reductions and scans: CuPy's dtypes, accumulators and axes on NumPy's functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cupool.pool_server.devices.base import Layout
from cupool.pool_server.devices.mock.calls import adapter
from cupool.pool_server.devices.mock.casts import cast

NpArray = np.ndarray[Any, Any]


def _spread(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Variances are computed in the result's precision at least, never in integers."""

    def run(
        a: NpArray,
        axis: Any = None,
        dtype: Any = None,
        ddof: Any = 0,
        keepdims: bool = False,
        *,
        outs: Sequence[Layout | None],
    ) -> Any:
        promised = outs[0]
        assert promised is not None
        within = np.result_type(promised.dtype, a.dtype) if a.dtype.kind in "fc" else np.float64
        return compute(a, axis=axis, dtype=within, ddof=ddof, keepdims=keepdims)

    return run


for _name in ("var", "std", "nanvar", "nanstd"):
    adapter(_name, casts=True, wants_outs=True)(_spread(getattr(np, _name)))


def _mean(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Means asked for in integers are computed in float64 and cut."""

    def run(a: NpArray, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        if dtype is not None and np.dtype(dtype).kind in "biu":
            return np.asarray(compute(a, axis=axis, dtype=np.float64, keepdims=keepdims))
        return compute(a, axis=axis, dtype=dtype, keepdims=keepdims)

    return run


adapter("mean", casts=True)(_mean(np.mean))
adapter("nanmean", casts=True)(_mean(np.nanmean))


def _sum(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Sums and products of float16 are computed in float32."""

    def run(a: NpArray, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        if a.dtype.char == "e" and (dtype is None or np.dtype(dtype).char == "e"):
            dtype = np.float32
        return compute(_whole(a, dtype, compute), axis=axis, dtype=dtype, keepdims=keepdims)

    return run


def _whole(a: NpArray, dtype: Any, compute: Callable[..., Any]) -> NpArray:
    """Return what is added or multiplied: where that is in integers, each element is cut first."""
    if dtype is None or np.dtype(dtype).kind not in "iu" or a.dtype.kind not in "fc":
        return a
    if compute in (np.nanprod, np.nancumprod):
        a = np.where(np.isnan(a), a.dtype.type(1), a)
    return cast(a, np.dtype(dtype))


def _scan(compute: Callable[..., Any]) -> Callable[..., Any]:
    def run(a: NpArray, axis: Any = None, dtype: Any = None) -> Any:
        return compute(_whole(a, dtype, compute), axis=axis, dtype=dtype)

    return run


for _name in ("cumsum", "cumprod", "nancumsum", "nancumprod"):
    adapter(_name)(_scan(getattr(np, _name)))

for _name in ("sum", "prod", "nansum", "nanprod"):
    adapter(_name, casts=True)(_sum(getattr(np, _name)))


def _index(compute: Callable[..., Any], empty: float) -> Callable[..., Any]:
    """Positions of extremes: several axes are taken as one; all-nan slices give -1."""

    def run(a: NpArray, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        axes = tuple(range(a.ndim)) if axis is None else axis
        axes = (axes,) if isinstance(axes, int) else tuple(axes)
        rest = [i for i in range(a.ndim) if i not in axes]
        length = math.prod(a.shape[i] for i in axes)
        flat = a.transpose(rest + list(axes)).reshape([a.shape[i] for i in rest] + [length])
        if empty == empty:  # a nan-function: replace nan, and mark slices that hold nothing else
            gone = np.isnan(flat)
            found = np.asarray(compute(np.where(gone, empty, flat), axis=-1))
            # Where the stand-in for nan won, the first true infinity is meant.
            at_gone = np.take_along_axis(gone, found[..., np.newaxis], -1)[..., 0]
            found = np.where(at_gone, np.argmin(gone, axis=-1), found)
            found = np.where(gone.all(axis=-1), -1, found)
        else:
            found = np.asarray(compute(flat, axis=-1))
        if keepdims:
            found = found.reshape([1 if i in axes else n for i, n in enumerate(a.shape)])
        return found

    return run


adapter("argmax", casts=True)(_index(np.argmax, np.nan))
adapter("argmin", casts=True)(_index(np.argmin, np.nan))
adapter("nanargmax", casts=True)(_index(np.argmax, -np.inf))
adapter("nanargmin", casts=True)(_index(np.argmin, np.inf))
