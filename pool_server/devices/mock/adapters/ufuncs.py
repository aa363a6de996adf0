"""Ufuncs that NumPy lacks as ufuncs, or that CuPy computes otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cupool.pool_server.devices.mock.calls import adapter

NpArray = np.ndarray[Any, Any]


def _as_ufunc(compute: Callable[[NpArray], Any]) -> Callable[..., Any]:
    """Give a plain function of one array a ufunc's keywords."""

    def run(
        x: Any,
        /,
        out: Any = None,
        *,
        where: Any = True,
        dtype: Any = None,
        casting: Any = "same_kind",
    ) -> Any:
        array = np.asarray(x)
        if dtype is not None:
            array = array.astype(dtype, casting=casting)
        result = np.asarray(compute(array))
        if out is None and where is True:
            return result if dtype is None else result.astype(dtype, copy=False)
        if isinstance(out, (tuple, list)):
            (out,) = out
        if out is None:
            out = np.empty(np.broadcast_shapes(array.shape, np.shape(where)), result.dtype)
        np.copyto(out, result, casting=casting, where=where)
        return out

    return run


adapter("fix", casts=True)(_as_ufunc(np.trunc))
adapter("i0", casts=True)(_as_ufunc(np.i0))
adapter("sinc", casts=True)(_as_ufunc(np.sinc))
