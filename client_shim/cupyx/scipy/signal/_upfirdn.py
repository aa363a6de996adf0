"""Filters between two sampling rates."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupyx.scipy._declared import Spec, declared

__all__ = ["upfirdn"]
_operation = declared("scipy.signal")


def _output_len(len_h: int, in_len: int, up: int, down: int) -> int:
    """Return how many samples come out of `in_len` samples."""
    return ((in_len - 1) * up + len_h - 1) // down + 1


@_operation
def upfirdn(
    h: Any,
    x: Any,
    up: int = 1,
    down: int = 1,
    axis: int = -1,
    mode: Any = "constant",
    cval: Any = 0,
) -> Any:
    """Insert `up - 1` zeros between samples, filter, and keep one sample of `down`.

    Raises:
        NotImplementedError: values beyond the edges that are not zero.
        ValueError: a filter of other than one axis or without taps, rates below 1.
    """
    if mode is not None and (mode != "constant" or cval != 0):
        raise NotImplementedError(f"{mode=} and {cval=} not implemented.")
    if getattr(h, "ndim", 1) != 1 or not len(h):
        raise ValueError("h must be 1D with non-zero length")
    if up < 1 or down < 1:
        raise ValueError("Both up and down must be >= 1")
    axis = np.lib.array_utils.normalize_axis_index(axis, x.ndim)
    taps = h.dtype if hasattr(h, "dtype") else np.asarray(h).dtype
    count = _output_len(len(h), x.shape[axis], int(up), int(down))
    shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
    return Spec(shape, np.result_type(taps, x.dtype, np.float32))
