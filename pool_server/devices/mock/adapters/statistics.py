"""Statistics beyond plain reductions, with CuPy's dtypes and checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cupool.pool_server.devices.base import Layout
from cupool.pool_server.devices.mock.calls import adapter

NpArray = np.ndarray[Any, Any]


@adapter("average", casts=True)
def average(
    a: NpArray,
    axis: Any = None,
    weights: Any = None,
    returned: bool = False,
    keepdims: bool = False,
) -> Any:
    wide = np.float64 if a.dtype.kind in "biu" else a.dtype
    kind = np.promote_types(np.promote_types(a.dtype, weights.dtype), wide)
    if a.shape != weights.shape:
        lengths = [1] * a.ndim
        lengths[axis] = -1
        weights = np.broadcast_to(weights.reshape(lengths), a.shape)
    total = weights.sum(axis=axis, dtype=kind, keepdims=keepdims)
    if np.any(total == 0):
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    product = np.multiply(a, weights, dtype=kind, casting="unsafe")
    return product.sum(axis=axis, keepdims=keepdims) / total, total


@adapter("bincount")
def bincount(x: NpArray, weights: Any = None, minlength: Any = None) -> Any:
    if x.dtype.kind == "u":
        x = x.astype(np.int64)
    if (x < 0).any():
        raise ValueError("The first argument of bincount must be non-negative")
    return np.bincount(x, weights, minlength or 0)


@adapter("corrcoef", casts=True)
def corrcoef(a: NpArray, y: Any = None, rowvar: bool = True, dtype: Any = None) -> Any:
    return np.corrcoef(a, y, rowvar, dtype=dtype)


@adapter("cov", casts=True)
def cov(
    a: NpArray,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    dtype: Any = None,
) -> Any:
    return np.cov(a, y, rowvar, bias, ddof, fweights, aweights, dtype=dtype)


adapter("correlate", casts=True)(np.correlate)


@adapter("digitize", casts=True)
def digitize(x: NpArray, bins: NpArray, right: bool) -> Any:
    try:
        return np.digitize(x, bins, right)
    except ValueError:  # bins in no order: CuPy does not look
        return np.searchsorted(bins, x, "left" if right else "right")


@adapter("histogram", casts=True)
def histogram(x: NpArray, bins: Any, limits: Any, density: bool, weights: Any) -> Any:
    if isinstance(bins, np.ndarray) and bool((bins[:-1] > bins[1:]).any()):
        raise ValueError("`bins` must increase monotonically, when an array")
    return np.histogram(x, bins, limits, density, weights)


@adapter("histogramdd", casts=True)
def histogramdd(sample: NpArray, bins: Any, limits: Any, weights: Any, density: bool) -> Any:
    counts, edges = np.histogramdd(sample, bins, limits, density, weights)
    return [counts, *edges]


def _quantile(compute: Any, highest: float, words: str) -> Any:
    def run(
        a: NpArray,
        q: Any,
        axis: Any = None,
        method: str = "linear",
        keepdims: bool = False,
        overwrite_input: bool = False,
        *,
        outs: Sequence[Layout | None],
    ) -> Any:
        wanted = np.asarray(q)
        if not bool(np.all((wanted >= 0) & (wanted <= highest))):
            raise ValueError(words)
        if a.dtype.kind == "b":
            a = a.astype(np.int8)
        if overwrite_input and a.ndim:
            a.sort(axis=axis if isinstance(axis, int) else -1)
        result = np.asarray(compute(a, wanted, axis=axis, method=method, keepdims=keepdims))
        promised = outs[0]
        return result if promised is None else result.reshape(promised.shape)

    return run


adapter("percentile", casts=True, wants_outs=True)(
    _quantile(np.percentile, 100, "Percentiles must be in the range [0, 100]")
)
adapter("quantile", casts=True, wants_outs=True)(
    _quantile(np.quantile, 1, "Quantiles must be in the range [0, 1]")
)
