"""Reckoning with the parts of compressed matrices: `(data, indices, indptr)`, read as CSR."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

NpArray: TypeAlias = np.ndarray[Any, Any]
Parts: TypeAlias = tuple[NpArray, NpArray, NpArray]
Shape: TypeAlias = tuple[int, int]
Elements: TypeAlias = tuple[NpArray, NpArray, NpArray]
"""Values, major indices, minor indices."""


def csr(parts: Parts, shape: Shape) -> Any:
    """Make SciPy's matrix of parts, whose indices keep their dtype.

    Raises:
        ValueError: parts that do not fit each other or the shape.
    """
    from scipy.sparse import csr_array

    matrix = csr_array(tuple(parts), shape=tuple(shape))
    matrix.check_format(full_check=True)
    return matrix


def parts_of(matrix: Any, index_dtype: Any) -> Parts:
    """Return the parts of SciPy's CSR matrix."""
    return matrix.data, matrix.indices.astype(index_dtype), matrix.indptr.astype(index_dtype)


def indptr_of(major: NpArray, length: int, dtype: Any) -> NpArray:
    """Return where each major index begins, of elements sorted by it, shape (length + 1,)."""
    indptr = np.zeros(length + 1, dtype)
    np.cumsum(np.bincount(major, minlength=length), out=indptr[1:])
    return indptr


def expand(indptr: NpArray, count: int) -> NpArray:
    """Return the major index of each of `count` elements."""
    major = np.repeat(np.arange(len(indptr) - 1, dtype=indptr.dtype), np.diff(indptr))
    if len(major) != count:
        raise ValueError(f"indptr counts {len(major)} elements of {count}")
    return major


def is_canonical(indices: NpArray, indptr: NpArray) -> tuple[bool, bool]:
    """Whether indices ascend within each major index; whether none is there twice either."""
    if len(indices) < 2:
        return True, True
    major = expand(indptr, len(indices))
    same = major[1:] == major[:-1]
    steps = np.diff(indices)[same]
    return bool((steps >= 0).all()), bool((steps > 0).all())


def summed(data: NpArray, major: NpArray, minor: NpArray) -> Elements:
    """Sort elements by major, then minor index, and add those at one place."""
    order = np.lexsort((minor, major))
    data, major, minor = data[order], major[order], minor[order]
    if not len(data):
        return data, major, minor
    first = np.ones(len(data), bool)
    first[1:] = (major[1:] != major[:-1]) | (minor[1:] != minor[:-1])
    starts = np.flatnonzero(first)
    add = np.logical_or if data.dtype.kind == "b" else np.add
    return add.reduceat(data, starts), major[starts], minor[starts]


def canonical(parts: Parts) -> Parts:
    """Return the parts sorted and without duplicates."""
    data, indices, indptr = parts
    if is_canonical(indices, indptr)[1]:
        return data, indices, indptr
    data, major, minor = summed(data, expand(indptr, len(indices)), indices)
    return data, minor, indptr_of(major, len(indptr) - 1, indptr.dtype)


def broadcast(parts: Parts, shape: Shape, to: Shape) -> Elements:
    """Return the elements of a canonical matrix, repeated along axes of length 1."""
    data, minor, indptr = parts
    major = expand(indptr, len(minor)).astype(np.int64)
    minor = minor.astype(np.int64)
    if shape[1] == 1 < to[1]:
        minor = np.tile(np.arange(to[1]), len(data))
        data, major = np.repeat(data, to[1]), np.repeat(major, to[1])
    if shape[0] == 1 < to[0]:
        major = np.repeat(np.arange(to[0]), len(data))
        data, minor = np.tile(data, to[0]), np.tile(minor, to[0])
    return data, major, minor


def merge(
    left: Elements, right: Elements, shape: Shape, dtype: Any
) -> tuple[NpArray, NpArray, NpArray, NpArray]:
    """Return the places where either has an element, both values, and where both have one."""
    at = [major * shape[1] + minor for _, major, minor in (left, right)]
    keys = np.union1d(*at)
    values = [np.zeros(len(keys), dtype) for _ in at]
    stored = np.zeros((2, len(keys)), bool)
    for side, (data, _, _) in enumerate((left, right)):
        where = np.searchsorted(keys, at[side])
        values[side][where] = data
        stored[side, where] = True
    return keys, values[0], values[1], stored[0] & stored[1]


def keys_of(parts: Parts, shape: Shape) -> NpArray:
    """Return the place of each element in the flattened matrix."""
    _, indices, indptr = parts
    keys: NpArray = expand(indptr, len(indices)).astype(np.int64) * shape[1] + indices
    return keys


def positions(
    stored: NpArray, major: NpArray, minor: NpArray, shape: Shape
) -> tuple[NpArray, NpArray]:
    """Find places among ascending ones; negative indices count from the end.

    Returns:
        where each would stand, and whether it does.
    """
    major, minor = major.astype(np.int64), minor.astype(np.int64)
    major = np.where(major < 0, major + shape[0], major)
    minor = np.where(minor < 0, minor + shape[1], minor)
    wanted = major * shape[1] + minor
    where = np.searchsorted(stored, wanted)
    found = where < len(stored)
    found[found] = stored[where[found]] == wanted[found]
    return where, found


def grouped(ufunc: Any, values: NpArray, indptr: NpArray) -> NpArray:
    """Reduce the elements of each major index; 0 where there are none."""
    reduced = np.zeros(len(indptr) - 1, values.dtype)
    filled = np.diff(indptr) > 0
    if filled.any():
        reduced[filled] = ufunc.reduceat(values, indptr[:-1][filled])
    return reduced
