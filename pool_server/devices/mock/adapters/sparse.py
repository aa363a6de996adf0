"""Sparse matrices as their parts: the chapter `proto.operations.sparse`, by NumPy and SciPy.

What a client sends as indices is checked before SciPy's compiled loops see it: they trust it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from cupool.pool_server.devices.base import Layout
from cupool.pool_server.devices.mock.adapters.sparse_parts import (
    NpArray,
    Parts,
    Shape,
    broadcast,
    canonical,
    csr,
    expand,
    grouped,
    indptr_of,
    is_canonical,
    keys_of,
    merge,
    parts_of,
    positions,
    summed,
)
from cupool.pool_server.devices.mock.calls import adapter
from cupool.proto.operations.sparse import BINARY

# ------------------------------------------------------------------- formats


@adapter("sparse.from_dense")
def from_dense(a: NpArray, index_dtype: Any) -> Parts:
    rows, columns = np.nonzero(a)
    return a[rows, columns], columns.astype(index_dtype), indptr_of(rows, len(a), index_dtype)


@adapter("sparse.to_dense")
def to_dense(parts: Parts, shape: Shape) -> NpArray:
    dense: NpArray = csr(parts, shape).toarray()
    return dense


@adapter("sparse.from_coordinates")
def from_coordinates(data: NpArray, major: NpArray, minor: NpArray, length: int) -> Parts:
    data, major, minor = summed(data, major, minor)
    return data, minor, indptr_of(major, length, major.dtype)


adapter("sparse.sum_coordinates")(summed)


@adapter("sparse.is_canonical")
def canonical_flags(indices: NpArray, indptr: NpArray) -> NpArray:
    return np.array(is_canonical(indices, indptr))


@adapter("sparse.canonicalize")
def canonicalize(parts: Parts) -> Parts:
    data, indices, indptr = parts
    if is_canonical(indices, indptr)[1]:
        return data[:0], indices[:0], indptr[:0]
    return canonical(parts)


@adapter("sparse.transpose")
def transpose(parts: Parts, minor_length: int) -> Parts:
    data, indices, indptr = parts
    order = np.argsort(indices, kind="stable")
    major = expand(indptr, len(indices))
    return data[order], major[order], indptr_of(indices, minor_length, indices.dtype)


adapter("sparse.expand")(expand)


@adapter("sparse.condense")
def condense(major: NpArray, length: int) -> NpArray:
    return indptr_of(major, length, major.dtype)


@adapter("sparse.sort")
def sort(parts: Parts) -> tuple[NpArray, NpArray]:
    data, indices, indptr = parts
    order = np.lexsort((indices, expand(indptr, len(indices))))
    return data[order], indices[order]


@adapter("sparse.compress")
def compress(parts: Parts, tolerance: float) -> Parts:
    data = parts[0]
    return _masked(parts, np.abs(data) > tolerance if tolerance > 0 else data != 0)


def _masked(parts: Parts, mask: NpArray) -> Parts:
    data, indices, indptr = parts
    major = expand(indptr, len(indices))[mask]
    return data[mask], indices[mask], indptr_of(major, len(indptr) - 1, indptr.dtype)


@adapter("sparse.from_diagonals")
def from_diagonals(data: NpArray, offsets: NpArray, shape: Shape) -> Parts:
    rows, columns = shape
    index_dtype = np.int64 if max(shape) > np.iinfo(np.int32).max else np.int32
    column = np.broadcast_to(np.arange(data.shape[1]), data.shape)
    row = column - offsets[:, None]
    mask = (row >= 0) & (row < rows) & (column < columns) & (data != 0)
    mask, row, column = mask.T, row.T, column.T
    indptr = indptr_of(column[mask], columns, index_dtype)
    return data.T[mask], row[mask].astype(index_dtype), indptr


# ------------------------------------------------------------------- products and sums


@adapter("sparse.matmul_dense", wants_outs=True)
def matmul_dense(
    parts: Parts, shape: Shape, x: NpArray, transposed: bool, outs: list[Layout | None]
) -> NpArray:
    matrix = csr(parts, shape)
    promised = outs[0]
    dtype = np.promote_types(matrix.dtype, x.dtype) if promised is None else promised.dtype
    matrix = matrix.T if transposed else matrix
    return np.asarray(matrix.astype(dtype) @ x.astype(dtype), order="F")


@adapter("sparse.matmul")
def matmul(a: Parts, a_shape: Shape, b: Parts, b_shape: Shape) -> Parts:
    """SciPy takes memory for every column: those without elements are left out meanwhile."""
    columns, places = np.unique(b[1], return_inverse=True)
    if len(columns) and not 0 <= columns[0] <= columns[-1] < b_shape[1]:
        raise ValueError("column indices outside the matrix")
    left = csr(a, a_shape)
    right = csr((b[0], places.astype(b[1].dtype), b[2]), (b_shape[0], max(len(columns), 1)))
    dtype = np.promote_types(left.dtype, right.dtype)
    product = (left.astype(dtype) @ right.astype(dtype)).tocsr()
    product.sort_indices()
    data, indices, indptr = parts_of(product, np.promote_types(a[1].dtype, b[1].dtype))
    return data, columns[indices].astype(indices.dtype), indptr


@adapter("sparse.add")
def add(a: Parts, alpha: Any, b: Parts, beta: Any, shape: Shape) -> Parts:
    dtype = np.promote_types(a[0].dtype, b[0].dtype)
    index_dtype = np.promote_types(a[1].dtype, b[1].dtype)
    data = [(alpha * a[0]).astype(dtype), (beta * b[0]).astype(dtype)]
    major = [expand(p[2], len(p[1])) for p in (a, b)]
    joined = [np.concatenate(two) for two in (data, major, [a[1], b[1]])]
    values, rows, columns = summed(*joined)
    indptr = indptr_of(rows, shape[0], index_dtype)
    return values, columns.astype(index_dtype), indptr


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "lt": np.less,
    "gt": np.greater,
    "le": np.less_equal,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "multiply": np.multiply,
}
assert set(_FUNCTIONS) == set(BINARY)


@adapter("sparse.binary")
def binary(name: str, a: Parts, a_shape: Shape, b: Parts, b_shape: Shape) -> Parts:
    """Products have an element wherever both have one, the others wherever they are not zero."""
    shape = (max(a_shape[0], b_shape[0]), max(a_shape[1], b_shape[1]))
    index_dtype = np.promote_types(a[1].dtype, b[1].dtype)
    dtype = np.promote_types(a[0].dtype, b[0].dtype)
    left = broadcast(canonical(a), a_shape, shape)
    right = broadcast(canonical(b), b_shape, shape)
    keys, x, y, both = merge(left, right, shape, dtype)
    values = _FUNCTIONS[name](x, y)
    kept = both if name == "multiply" else values != 0
    keys, values = keys[kept], values[kept]
    major, minor = np.divmod(keys, max(shape[1], 1))
    return values, minor.astype(index_dtype), indptr_of(major, shape[0], index_dtype)


# ------------------------------------------------------------------- elements


Selector = NpArray | tuple[int, int] | None


@adapter("sparse.select")
def select(parts: Parts, shape: Shape, major: Selector, minor: Selector) -> Parts:
    """Elements that are taken to several places come in the order of these."""
    if major is not None:
        if not isinstance(major, np.ndarray):
            major = np.arange(*major)
        parts = _take_major(parts, major)
    if isinstance(minor, np.ndarray):
        return _take_minor(parts, minor)
    if minor is not None:
        start, stop = minor
        data, indices, indptr = _masked(parts, (parts[1] >= start) & (parts[1] < stop))
        parts = data, indices - indices.dtype.type(start), indptr
    return parts


def _take_major(parts: Parts, index: NpArray) -> Parts:
    data, indices, indptr = parts
    counts = np.diff(indptr)[index]
    taken = np.zeros(len(index) + 1, indptr.dtype)
    np.cumsum(counts, out=taken[1:])
    source = np.repeat(indptr[index] - taken[:-1], counts) + np.arange(taken[-1])
    return data[source], indices[source], taken


def _take_minor(parts: Parts, index: NpArray) -> Parts:
    data, indices, indptr = parts
    order = np.argsort(index, kind="stable")
    ordered = index[order]
    low = np.searchsorted(ordered, indices, "left")
    counts = np.searchsorted(ordered, indices, "right") - low
    source = np.repeat(np.arange(len(indices)), counts)
    first = np.cumsum(counts) - counts
    minor = order[np.repeat(low - first, counts) + np.arange(len(source))]
    major = expand(indptr, len(indices))[source]
    place = np.lexsort((minor, major))
    taken = indptr_of(major, len(indptr) - 1, indptr.dtype)
    return data[source][place], minor[place].astype(indices.dtype), taken


@adapter("sparse.sample")
def sample(parts: Parts, shape: Shape, major: NpArray, minor: NpArray) -> NpArray:
    data, _, _ = whole = canonical(parts)
    where, found = positions(keys_of(whole, shape), major, minor, shape)
    values = np.zeros(where.shape, data.dtype)
    values[found] = data[where[found]]
    return values


@adapter("sparse.clear")
def clear(parts: Parts, shape: Shape, major: NpArray, minor: NpArray) -> NpArray:
    data = parts[0].copy()
    stored = keys_of(parts, shape)
    data[np.isin(stored, _wrapped(major, shape[0]) * shape[1] + _wrapped(minor, shape[1]))] = 0
    return data


def _wrapped(index: NpArray, length: int) -> NpArray:
    index = index.astype(np.int64)
    return np.where(index < 0, index + length, index)


@adapter("sparse.assign")
def assign(parts: Parts, shape: Shape, major: NpArray, minor: NpArray, values: NpArray) -> Parts:
    """Of several values for one place the last one stays."""
    data, indices, indptr = canonical(parts)
    stored = keys_of((data, indices, indptr), shape)
    wanted = _wrapped(major, shape[0]) * shape[1] + _wrapped(minor, shape[1])
    # The first of the reversed values is the last.
    wanted, last = np.unique(wanted[::-1], return_index=True)
    values = values[::-1][last]
    where = np.searchsorted(stored, wanted)
    known = np.zeros(len(wanted), bool)
    inside = where < len(stored)
    known[inside] = stored[where[inside]] == wanted[inside]
    data = data.copy()
    data[where[known]] = values[known]
    keys = np.concatenate([stored, wanted[~known]])
    order = np.argsort(keys, kind="stable")
    rows, columns = np.divmod(keys[order], max(shape[1], 1))
    grown = np.concatenate([data, values[~known]])[order]
    return grown, columns.astype(indices.dtype), indptr_of(rows, shape[0], indptr.dtype)


@adapter("sparse.diagonal")
def diagonal(parts: Parts, shape: Shape, k: int) -> NpArray:
    values: NpArray = csr(parts, shape).diagonal(k)
    return values


@adapter("sparse.extreme")
def extreme(name: str, parts: Parts, shape: Shape, explicit: bool) -> NpArray:
    """Elements that are not stored are zeros, unless only stored ones count; as float64."""
    data, _, indptr = canonical(parts)
    find = np.maximum if name == "max" else np.minimum
    counts = np.diff(indptr)
    values = grouped(find, data.real.astype(np.float64), indptr)
    if not explicit:
        values = np.where(counts < shape[1], find(values, 0.0), values)
    return np.where(counts == 0, 0.0, values)


@adapter("sparse.arg_extreme")
def arg_extreme(name: str, parts: Parts, shape: Shape) -> NpArray:
    """Where the extreme stands first; 0 where there is a nan."""
    data, indices, indptr = canonical(parts)
    values = data.real if name == "max" else -data.real
    found = np.zeros(len(indptr) - 1, np.int64)
    for row, (start, stop) in enumerate(itertools.pairwise(indptr)):
        stored, columns = values[start:stop], indices[start:stop]
        if not len(stored) or np.isnan(stored).any():
            continue
        best = int(np.argmax(stored))
        gaps = columns != np.arange(len(columns))
        if len(stored) < shape[1] and not stored[best] > 0:
            found[row] = int(np.argmax(gaps)) if gaps.any() else len(columns)
        else:
            found[row] = columns[best]
    return found
