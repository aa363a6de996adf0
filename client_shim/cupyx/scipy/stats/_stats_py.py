"""`zscore` and `zmap`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls, core
from cupool.client_shim.cupy._core._dtype import to_inexact
from cupool.client_shim.cupy._core._kernel import broadcast_shapes
from cupool.client_shim.cupy._core._reduction import reduced_shape
from cupool.client_shim.cupy._core._ufuncs import ALL
from cupool.client_shim.cupy._core.routines_indexing import normalize_axes
from cupool.client_shim.cupy._creation.basic import empty

__all__ = ["zmap", "zscore"]
ndarray = core.ndarray
_POLICIES = ("propagate", "raise", "omit")


def zscore(a: Any, axis: Any = 0, ddof: int = 0, nan_policy: str = "propagate") -> ndarray:
    """Return elements less their mean, in standard deviations; see `zmap`."""
    return zmap(a, a, axis, ddof, nan_policy)


def zmap(
    scores: Any, compare: Any, axis: Any = 0, ddof: int = 0, nan_policy: str = "propagate"
) -> ndarray:
    """Return `scores` less the mean of `compare`, in standard deviations of `compare`.

    Where `compare` is constant the result is nan.

    Args:
        axis: of mean and deviation; None for all elements.
        ddof: the deviation divides by the count less this.
        nan_policy: "propagate"; "omit" leaves nan out; "raise" looks for them, which waits.

    Raises:
        ValueError: another policy; nan under "raise".
    """
    if nan_policy not in _POLICIES:
        raise ValueError(f"nan_policy must be one of {_POLICIES}")
    if compare.size == 0:
        return empty(compare.shape, to_inexact(compare.dtype))
    if nan_policy == "raise" and bool(ALL["isnan"](compare).any()):
        raise ValueError("The input contains nan values")
    kept = reduced_shape(compare.shape, normalize_axes(axis, compare.ndim), True)
    shape = broadcast_shapes([scores.shape, kept])
    dtype = np.result_type(to_inexact(scores.dtype), to_inexact(compare.dtype))
    options = {"axis": axis, "ddof": ddof, "nan_policy": nan_policy}
    return calls.call_one("scipy.stats.zmap", (scores, compare), options, shape, dtype)
