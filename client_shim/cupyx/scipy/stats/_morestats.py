"""`boxcox_llf`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls, core
from cupool.client_shim.cupy._core._dtype import to_inexact
from cupool.client_shim.cupy._creation.basic import full

__all__ = ["boxcox_llf"]
ndarray = core.ndarray


def boxcox_llf(lmb: Any, data: Any) -> ndarray:
    """Return the log-likelihood of a Box-Cox transform with parameter `lmb`, along axis 0."""
    dtype = to_inexact(data.dtype)
    if data.shape[0] == 0:
        return full((), np.nan, dtype)
    return calls.call_one("scipy.stats.boxcox_llf", (lmb, data), None, data.shape[1:], dtype)
