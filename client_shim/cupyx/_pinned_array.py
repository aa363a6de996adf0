"""NumPy arrays in page-locked memory, as far as that exists without a GPU in this machine.

The memory comes from the pool of `cupy.cuda.alloc_pinned_memory`; uploads copy it like any other.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupy.cuda.pinned_memory import alloc_pinned_memory

__all__ = ["empty_like_pinned", "empty_pinned", "zeros_like_pinned", "zeros_pinned"]

NpArray = np.ndarray[Any, Any]


def empty_pinned(shape: Any, dtype: Any = float, order: Any = "C") -> NpArray:
    """Return a NumPy array whose elements are not set; its base is the memory's pointer."""
    lengths = tuple(shape) if isinstance(shape, (tuple, list)) else (int(shape),)
    kind = np.dtype(dtype)
    memory = alloc_pinned_memory(prod(lengths) * kind.itemsize)
    return np.ndarray(lengths, kind, memory, order=order)  # type: ignore[arg-type]


def zeros_pinned(shape: Any, dtype: Any = float, order: Any = "C") -> NpArray:
    """Return a NumPy array of zeros."""
    return _zeroed(empty_pinned(shape, dtype, order))


def empty_like_pinned(
    a: Any, dtype: Any = None, order: Any = "K", subok: Any = None, shape: Any = None
) -> NpArray:
    """Return a NumPy array of the shape, dtype and layout of `a`, elements not set.

    Args:
        a: NumPy or device array.
        dtype, order, shape: instead of `a`'s.

    Raises:
        TypeError: `subok` is given.
    """
    if subok is not None:
        raise TypeError("subok is not supported yet")
    if order not in ("C", "F", "A", "K", None, "c", "f", "a", "k"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    template = a._shadow if isinstance(a, core.ndarray) else a
    like = np.empty_like(template, dtype, order or "K", subok=False, shape=shape)
    memory = alloc_pinned_memory(like.nbytes)
    return np.ndarray(like.shape, like.dtype, memory, strides=like.strides)  # type: ignore[arg-type]


def zeros_like_pinned(
    a: Any, dtype: Any = None, order: Any = "K", subok: Any = None, shape: Any = None
) -> NpArray:
    """Return zeros like `a`; see `empty_like_pinned`."""
    return _zeroed(empty_like_pinned(a, dtype, order, subok, shape))


def _zeroed(made: NpArray) -> NpArray:
    made[...] = np.zeros((), made.dtype)
    return made
