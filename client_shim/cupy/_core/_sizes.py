"""`size` arguments, as NumPy's random functions take them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["get_size"]


def get_size(size: Any) -> tuple[int, ...]:
    """Return a shape; None is 0-d, an int one axis.

    Raises:
        ValueError: none of these, nor a sequence.
    """
    if size is None:
        return ()
    if isinstance(size, Sequence):
        return tuple(size)
    if isinstance(size, int):
        return (size,)
    raise ValueError("size should be None, collections.abc.Sequence, or int")
