"""What `ndarray.round` does."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import _kernel, _loops, _ufuncs, calls, core

_DECIMALS = np.dtype(np.int64)


def around(a: core.ndarray, decimals: Any, out: Any) -> Any:
    """Return `a` rounded to a number of decimals; bool comes out as float16.

    Raises:
        TypeError: `decimals` is not an int, or `out` does not take the result.
        ValueError: `out` of another shape.
    """
    _, weak = _loops.kind_of(decimals)
    loop = _ufuncs.round_loops.by_inputs((a.dtype, _DECIMALS), (None, weak))
    if isinstance(decimals, (float, complex)):
        raise TypeError(f"Wrong type of decimals: {type(decimals)}")
    if out is not None:
        if not isinstance(out, core.ndarray):
            raise TypeError("Output arguments type must be cupy.ndarray")
        _kernel.check_out(out, a.shape, loop.outs[0], "same_kind")
    result = calls.call_one("around", (a, int(decimals)), None, a.shape, loop.outs[0])
    return calls.with_out(result, out)
