"""`unwrap`; the trigonometric ufuncs are in `_core._ufuncs`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cupool.client_shim import shadow as _shadow
from cupool.client_shim.cupy._core import calls, core
from cupool.client_shim.cupy._core.routines_indexing import normalize_axis
from cupool.client_shim.cupy._creation.from_data import asarray

__all__ = ["unwrap"]
ndarray = core.ndarray


def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * math.pi) -> ndarray:
    """Return `p` with jumps larger than half a period replaced by their complement.

    Args:
        discont: smallest jump to replace, half a period by default.
        axis: along which jumps are looked for.

    Raises:
        AxisError: no such axis.
    """
    p = asarray(p)
    normalize_axis(axis, p.ndim)
    dtype = np.result_type(np.dtype(np.bool_) if p.dtype.kind == "b" else p.dtype, period)
    kwargs = {"discont": discont, "axis": axis, "period": period}
    order = _shadow.keep_order_strides(core.shadow_of_type(p._shadow, dtype))
    return calls.call_one("unwrap", (p,), kwargs, p.shape, dtype, order)
