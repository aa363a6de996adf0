"""Floating-point numbers to integers as CUDA does it, where C leaves it open.

What is out of range becomes the nearest integer of 32 or 64 bits, NaN becomes 0, and integers of
8 and 16 bits are the low bits of those of 32. That is what NVRTC makes of `y = x` (`cvt.rzi` and a
narrower store; https://docs.nvidia.com/cuda/parallel-thread-execution, "cvt"), and what CuPy's
page of differences to NumPy shows: -1.0 as uint32 is 0, inf as int32 is 2147483647.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from cupool.proto.bfloat16 import is_bfloat16

NpArray = np.ndarray[Any, Any]


def cast(array: NpArray, dtype: np.dtype[Any], order: Literal["K", "A", "C", "F"] = "K") -> NpArray:
    """Return an array's values as another dtype; the array itself if it has it already."""
    if array.dtype.kind == "c" and dtype.kind in "iu":
        array = array.real  # as CuPy does it, of complex numbers the imaginary part is dropped
    if is_bfloat16(array.dtype) and dtype.kind in "iu":
        array = array.astype(np.float32)
    if array.dtype.kind != "f" or dtype.kind not in "iu":
        return array.astype(dtype, order, copy=False)
    wide = dtype if dtype.itemsize >= 4 else np.dtype(f"{dtype.kind}4")
    if not array.size or _fits(array, wide):
        return array.astype(wide, order).astype(dtype, order, copy=False)
    return _saturated(array, wide, order).astype(dtype, order, copy=False)


def _bounds(wide: np.dtype[Any]) -> tuple[float, float]:
    """Return what values must be above, and below: both are exact as floats."""
    bits = 8 * wide.itemsize
    return (-1.0, 2.0**bits) if wide.kind == "u" else (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1))


def _fits(array: NpArray, wide: np.dtype[Any]) -> bool:
    """Whether no value is out of range; NaN is."""
    low, high = _bounds(wide)
    return bool(float(array.min()) > low and float(array.max()) < high)


def _saturated(array: NpArray, wide: np.dtype[Any], order: Any) -> NpArray:
    low, high = _bounds(wide)
    values = array.astype(np.float64, copy=False)
    with np.errstate(invalid="ignore"):
        made = np.asarray(array.astype(wide, order))  # ufuncs give scalars, not arrays, of scalars
    limits = np.iinfo(wide)
    made[values <= low] = limits.min
    made[values >= high] = limits.max
    made[np.isnan(values)] = 0
    return made
