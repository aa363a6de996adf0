"""`entropy`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls, core
from cupool.client_shim.cupy._core._reduction import reduced_shape
from cupool.client_shim.cupy._core.routines_indexing import normalize_axes

__all__ = ["entropy"]
ndarray = core.ndarray


def _normalize(x: Any, axis: Any) -> Any:
    """Return x, scaled so that sums along an axis are one."""
    return x / x.sum(axis=axis, keepdims=True)


def entropy(pk: Any, qk: Any = None, base: float | None = None, axis: Any = 0) -> ndarray:
    """Return the entropy of distributions, or their entropy relative to others.

    Args:
        pk, qk: probabilities along `axis`, scaled so that their sum is one; same shape.
        base: of the logarithm, e by default.

    Raises:
        TypeError: complex numbers.
        ValueError: different shapes.
    """
    if pk.dtype.kind == "c" or (qk is not None and qk.dtype.kind == "c"):
        raise TypeError("complex dtype not supported")
    if qk is not None and qk.shape != pk.shape:
        raise ValueError("qk and pk must have same shape.")
    floats = pk.dtype.kind == "f"
    dtype = np.result_type(pk.dtype, np.float32) if floats else np.dtype(np.float64)
    shape = reduced_shape(pk.shape, normalize_axes(axis, pk.ndim), False)
    pk = pk.astype(dtype, copy=False)
    qk = None if qk is None else qk.astype(dtype, copy=False)
    return calls.call_one("scipy.stats.entropy", (pk, qk, base, axis), None, shape, dtype)
