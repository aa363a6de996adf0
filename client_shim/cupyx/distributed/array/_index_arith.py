"""Arithmetic of indices that are slices with positive steps."""

from __future__ import annotations

import math
import operator
from typing import Any

Index = tuple[slice, ...]
"""A slice for each axis; once normalized, with three numbers each."""
IndexMap = dict[int, list[Index]]
"""Device -> which parts of an array it holds."""


def _extgcd(a: int, b: int) -> tuple[int, int]:
    """Return `(g, x)`: the greatest common divisor, and x with `a * x = g` modulo b."""
    g = math.gcd(a, b)
    return g, pow(a // g, -1, b // g)


def _slice_intersection(a: slice, b: slice, length: int) -> slice | None:
    """Return what two slices of an axis have in common, None for nothing."""
    first, second = range(*a.indices(length)), range(*b.indices(length))
    g, x = _extgcd(first.step, second.step)
    apart = second.start - first.start
    if apart % g:
        return None
    step = first.step * second.step // g
    start = first.start + apart // g * x % (second.step // g) * first.step
    if start < second.start:
        start += (second.start - start + step - 1) // step * step
    stop = min(first.stop, second.stop)
    return slice(start, stop, step) if start < stop else None


def _index_for_subslice(a: slice, sub: slice, length: int) -> slice:
    """Return the slice s for which `x[a][s]` is `x[sub]`; `sub` is within `a`."""
    outer, inner = range(*a.indices(length)), range(*sub.indices(length))
    start = (inner.start - outer.start) // outer.step
    step = inner.step // outer.step
    return slice(start, start + (len(inner) - 1) * step + 1, step)


def _index_intersection(a: Index, b: Index, shape: tuple[int, ...]) -> Index | None:
    """Return what two indices have in common, None for nothing."""
    found = []
    for one, other, length in zip(a, b, shape, strict=True):
        common = _slice_intersection(one, other, length)
        if common is None:
            return None
        found.append(common)
    return tuple(found)


def _index_for_subindex(a: Index, sub: Index, shape: tuple[int, ...]) -> Index:
    """Return the index i for which `x[a][i]` is `x[sub]`; `sub` is within `a`."""
    axes = zip(a, sub, shape, strict=True)
    return tuple(_index_for_subslice(one, part, length) for one, part, length in axes)


def _shape_after_indexing(shape: tuple[int, ...], index: Index) -> tuple[int, ...]:
    """Return the shape of `x[index]`."""
    axes = zip(index, shape, strict=True)
    return tuple(len(range(*one.indices(length))) for one, length in axes)


def _key(index: Index) -> tuple[tuple[int, int, int], ...]:
    """Return an index as numbers: slices have no hash before Python 3.12."""
    return tuple((one.start, one.stop, one.step) for one in index)


def _normalize_index(shape: tuple[int, ...], idx: Any) -> Index:
    """Return an index of slices and ints with a slice of three numbers for each axis.

    Raises:
        IndexError: too many axes, or beyond one.
        ValueError: nothing is left of an axis, a step below 1, or another kind of index.
    """
    given = idx if isinstance(idx, tuple) else (idx,)
    if len(given) > len(shape):
        raise IndexError(
            f"too many indices for array: array is {len(shape)}-dimensional, but {len(given)} were"
            " indexed"
        )
    given += (slice(None),) * (len(shape) - len(given))
    axes = enumerate(zip(given, shape, strict=True))
    return tuple(_normalize_axis(axis, one, length) for axis, (one, length) in axes)


def _normalize_axis(axis: int, one: Any, length: int) -> slice:
    if isinstance(one, slice):
        start, stop, step = one.indices(length)
        if step <= 0:
            raise ValueError("Slice step must be positive.")
        if start >= stop:
            raise ValueError(f"The index is empty on axis {axis}")
        return slice(start, stop, step)
    try:
        position = operator.index(one)
    except TypeError:
        raise ValueError(f"Invalid index on axis {axis}") from None
    if not -length <= position < length:
        raise IndexError(f"Index {position} is out of bounds for axis {axis} with size {length}")
    position %= length
    return slice(position, position + 1, 1)


def _normalize_index_map(shape: tuple[int, ...], index_map: dict[int, Any]) -> IndexMap:
    """Return a map with a sorted list of normalized indices for each device."""
    made: IndexMap = {}
    for device, given in index_map.items():
        indices = given if isinstance(given, list) else [given]
        made[device] = sorted((_normalize_index(shape, one) for one in indices), key=_key)
    return made
