"""`trim_mean`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls
from cupool.client_shim.cupy._core._dtype import to_inexact
from cupool.client_shim.cupy._core._reduction import reduced_shape
from cupool.client_shim.cupy._core.routines_indexing import normalize_axes

__all__ = ["trim_mean"]


def trim_mean(a: Any, proportiontocut: float, axis: Any = 0) -> Any:
    """Return means along an axis without a part of the smallest and of the largest elements.

    Args:
        proportiontocut: part that is left out at each end.

    Raises:
        ValueError: more than half.
    """
    if a.size == 0:
        return np.nan
    if axis is None:
        a, axis = a.ravel(), 0
    count = a.shape[axis]
    if 2 * int(proportiontocut * count) > count:
        raise ValueError("Proportion too big.")
    shape = reduced_shape(a.shape, normalize_axes(axis, a.ndim), False)
    args = (a, proportiontocut, axis)
    return calls.call_one("scipy.stats.trim_mean", args, None, shape, to_inexact(a.dtype))
