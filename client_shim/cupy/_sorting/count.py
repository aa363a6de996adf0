"""`count_nonzero`."""

from __future__ import annotations

from typing import Any

from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupy._core._reduction import reduce

__all__ = ["count_nonzero"]
ndarray = core.ndarray


def count_nonzero(a: Any, axis: Any = None) -> ndarray:
    """Return how many elements are not zero, along axes or in all; always an array, no wait."""
    return reduce("count_nonzero", a, axis)
