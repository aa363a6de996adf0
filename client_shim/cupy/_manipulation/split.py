"""Splitting an array into views of its parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import core, views

__all__ = ["array_split", "dsplit", "hsplit", "split", "vsplit"]
ndarray = core.ndarray


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[ndarray]:
    """Return views of parts along an axis; an int need not divide the length.

    Args:
        indices_or_sections: number of parts, or the host integers to split at.

    Raises:
        IndexError: no such axis.
        ValueError: no parts.
    """
    a = views.require(ary)
    if not -a.ndim <= axis < a.ndim:
        raise IndexError("Axis exceeds ndim")
    axis %= a.ndim
    length = a.shape[axis]
    if np.ndim(indices_or_sections) == 0:
        sections = int(indices_or_sections)
        if sections <= 0:
            raise ValueError("number sections must be larger than 0.")
        each, extra = divmod(length, sections)
        stops = [each * (i + 1) + min(i + 1, extra) for i in range(sections - 1)]
    else:
        if isinstance(indices_or_sections, ndarray):
            raise TypeError("the indices to split at must be host integers; use .get()")
        stops = [int(i) for i in indices_or_sections]
    bounds = zip([0, *stops], [*stops, length], strict=True)
    lead = (slice(None),) * axis
    return [core.view_of(a, a._shadow[(*lead, slice(first, last))]) for first, last in bounds]


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[ndarray]:
    """Return views of equal parts along an axis, or of the parts between host indices.

    Raises:
        IndexError: no such axis.
        ValueError: the number of parts does not divide the length.
    """
    a = views.require(ary)
    if a.ndim <= axis:
        raise IndexError("Axis exceeds ndim")
    if np.isscalar(indices_or_sections) and a.shape[axis] % indices_or_sections != 0:  # type: ignore[operator]
        raise ValueError(
            "indices_or_sections must divide the size along the axes.\n"
            "array_split takes numbers that do not divide it."
        )
    return array_split(a, indices_or_sections, axis)


def vsplit(ary: Any, indices_or_sections: Any) -> list[ndarray]:
    """Return views of parts along the first of at least two axes."""
    if ary.ndim <= 1:
        raise ValueError("Cannot vsplit an array with less than 2 dimensions")
    return split(ary, indices_or_sections, 0)


def hsplit(ary: Any, indices_or_sections: Any) -> list[ndarray]:
    """Return views of parts along the second axis, the first of a vector."""
    if ary.ndim == 0:
        raise ValueError("Cannot hsplit a zero-dimensional array")
    return split(ary, indices_or_sections, 0 if ary.ndim == 1 else 1)


def dsplit(ary: Any, indices_or_sections: Any) -> list[ndarray]:
    """Return views of parts along the third of at least three axes."""
    if ary.ndim <= 2:
        raise ValueError("Cannot dsplit an array with less than 3 dimensions")
    return split(ary, indices_or_sections, 2)
