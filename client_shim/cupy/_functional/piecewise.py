"""`piecewise`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls, core, views
from cupool.client_shim.cupy._creation.from_data import array

__all__ = ["piecewise"]
ndarray = core.ndarray


def piecewise(x: Any, condlist: Any, funclist: Any) -> ndarray:
    """Return in each place the value of the last condition that holds there.

    Args:
        condlist: boolean arrays, or one of them.
        funclist: a scalar or array for each condition, and optionally one for all other places,
            which get 0 otherwise.

    Raises:
        NotImplementedError: a value is callable.
        ValueError: the numbers of conditions and values do not fit.
    """
    if isinstance(x, np.generic):
        return piecewise(array(x), condlist, funclist)
    x = views.require(x)
    if np.isscalar(condlist) or (isinstance(condlist, ndarray) and condlist.ndim == x.ndim):
        condlist = [condlist]
    conditions, values = list(condlist), list(funclist)
    count = len(conditions)
    if len(values) not in (count, count + 1):
        raise ValueError(
            f"with {count} condition(s), either {count} or {count + 1} functions are expected"
        )
    if any(callable(v) for v in values):
        raise NotImplementedError("Callable functions are not supported currently")
    return calls.call_one("piecewise", (x, conditions, values), None, x.shape, x.dtype)
