"""A few of CuPy's private helpers, under its private names: tests and old code import them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = [
    "clp2",
    "complete_slice",
    "get_c_contiguity",
    "get_size",
    "infer_unknown_dimension",
    "prod",
    "prod_sequence",
    "vector_equal",
]


def prod(args: Any) -> Any:
    """Return the product of numbers; 1 of none."""
    return math.prod(args)


prod_sequence = prod


def get_size(size: Any) -> tuple[Any, ...]:
    """Return a shape as a tuple: of a sequence, or of one number.

    Raises:
        TypeError: bools.
    """
    if size is None:
        return ()
    lengths = tuple(size) if isinstance(size, Sequence) else (size,)
    if any(np.asarray(length).dtype.kind == "b" for length in lengths):
        raise TypeError("a length must be an integer, not a bool")
    return lengths


def vector_equal(x: Sequence[int], y: Sequence[int]) -> bool:
    """Return whether two shapes or strides are the same."""
    return tuple(x) == tuple(y)


def get_c_contiguity(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> bool:
    """Return whether an array of such strides is C-contiguous."""
    expected = itemsize
    for length, stride in zip(reversed(shape), reversed(strides), strict=True):
        if length == 0:
            return True
        if length != 1 and stride != expected:
            return False
        expected *= length
    return True


def infer_unknown_dimension(shape: Sequence[int], size: int) -> list[int]:
    """Return a shape with its -1 worked out.

    Raises:
        ValueError: more than one -1.
    """
    found = list(shape)
    unknown = [i for i, length in enumerate(found) if length < 0]
    if len(unknown) > 1:
        raise ValueError("can only specify only one unknown dimension")
    for i in unknown:
        found[i] = size // math.prod(x for x in found if x >= 0)
    return found


def complete_slice(slc: slice, dim: int) -> slice:
    """Return a slice with its numbers for an axis of a length; an empty one ends at its start."""
    start, stop, step = slc.indices(dim)
    return slice(start, max(start, stop) if step > 0 else min(start, stop), step)


def clp2(x: int) -> int:
    """Return the smallest power of two that is not below `x`; 0 of 0."""
    return 1 << (x - 1).bit_length() if x > 0 else 0
