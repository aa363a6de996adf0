"""The operations on parts of matrices that devices do: what they are called with, what they give.

Parts are `(data, indices, indptr)` of a compressed matrix; shapes are those of the matrix read as
CSR, so a CSC matrix is given as its transpose. Functions that return parts wait once, for how
many elements there are; `transpose` and those that return arrays do not wait.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from cupool.client_shim.cupy._core import calls, core

ndarray: TypeAlias = core.ndarray
Parts: TypeAlias = tuple[ndarray, ndarray, ndarray]
Shape: TypeAlias = tuple[int, ...]
Selector: TypeAlias = "ndarray | tuple[int, int] | None"
"""Indices along an axis: an array of them, from one to before another, or all."""
_INT = np.dtype(np.int64)
_BOOL = np.dtype(np.bool_)


def _parts(name: str, *args: Any) -> Parts:
    data, indices, indptr = calls.call_unknown(name, args, None, 3)
    return data, indices, indptr


def from_dense(a: ndarray, index_dtype: Any) -> Parts:
    return _parts("sparse.from_dense", a, np.dtype(index_dtype))


def from_coordinates(data: ndarray, major: ndarray, minor: ndarray, length: int) -> Parts:
    """Sort, and add elements at the same place."""
    return _parts("sparse.from_coordinates", data, major, minor, length)


def sum_coordinates(data: ndarray, row: ndarray, col: ndarray) -> Parts:
    return _parts("sparse.sum_coordinates", data, row, col)


def canonicalize(parts: Parts) -> Parts | None:
    """Return sorted parts without duplicates; None if they are so already."""
    found = _parts("sparse.canonicalize", parts)
    return None if found[2].size == 0 else found


def compress(parts: Parts, tolerance: float = 0.0) -> Parts:
    """Leave out elements up to a magnitude."""
    return _parts("sparse.compress", parts, float(tolerance))


def matmul(a: Parts, a_shape: Shape, b: Parts, b_shape: Shape) -> Parts:
    return _parts("sparse.matmul", a, a_shape, b, b_shape)


def add(a: Parts, alpha: Any, b: Parts, beta: Any, shape: Shape) -> Parts:
    return _parts("sparse.add", a, alpha, b, beta, shape)


def binary(name: str, a: Parts, a_shape: Shape, b: Parts, b_shape: Shape) -> Parts:
    return _parts("sparse.binary", name, a, a_shape, b, b_shape)


def select(parts: Parts, shape: Shape, major: Selector, minor: Selector) -> Parts:
    """Return some of the major and some of the minor indices."""
    return _parts("sparse.select", parts, shape, major, minor)


def assign(parts: Parts, shape: Shape, major: ndarray, minor: ndarray, values: ndarray) -> Parts:
    return _parts("sparse.assign", parts, shape, major, minor, values)


def from_diagonals(data: ndarray, offsets: ndarray, shape: Shape) -> Parts:
    return _parts("sparse.from_diagonals", data, offsets, shape)


def to_dense(parts: Parts, shape: Shape) -> ndarray:
    return calls.call_one("sparse.to_dense", (parts, shape), None, shape, parts[0].dtype)


def is_canonical(indices: ndarray, indptr: ndarray) -> ndarray:
    """Return whether sorted, whether without duplicates too, shape (2,)."""
    return calls.call_one("sparse.is_canonical", (indices, indptr), None, (2,), _BOOL)


def transpose(parts: Parts, minor_length: int) -> Parts:
    """Return the parts in order of the minor axis."""
    data, indices, indptr = parts
    specs = (
        (data.shape, data.dtype, "C"),
        (indices.shape, indices.dtype, "C"),
        ((minor_length + 1,), indices.dtype, "C"),
    )
    data, indices, indptr = calls.call("sparse.transpose", (parts, minor_length), None, *specs)
    return data, indices, indptr


def expand(indptr: ndarray, count: int) -> ndarray:
    """Return the major index of each of `count` elements."""
    return calls.call_one("sparse.expand", (indptr, count), None, (count,), indptr.dtype)


def condense(major: ndarray, length: int) -> ndarray:
    """Return indptr of ascending major indices."""
    return calls.call_one("sparse.condense", (major, length), None, (length + 1,), major.dtype)


def sort(parts: Parts) -> tuple[ndarray, ndarray]:
    """Return data and indices in ascending order within each major index."""
    specs = ((parts[0].shape, parts[0].dtype, "C"), (parts[1].shape, parts[1].dtype, "C"))
    data, indices = calls.call("sparse.sort", (parts,), None, *specs)
    return data, indices


def matmul_dense(parts: Parts, shape: Shape, x: ndarray, transposed: bool) -> ndarray:
    """Multiply the matrix, or its transpose, with a vector or matrix."""
    dtype = np.promote_types(parts[0].dtype, x.dtype)
    result = (shape[1] if transposed else shape[0], *x.shape[1:])
    args = (parts, shape, x, transposed)
    return calls.call_one("sparse.matmul_dense", args, None, result, dtype, "F")


def sample(parts: Parts, shape: Shape, major: ndarray, minor: ndarray) -> ndarray:
    """Return elements by their places, zero where there is none."""
    args = (parts, shape, major, minor)
    return calls.call_one("sparse.sample", args, None, major.shape, parts[0].dtype)


def clear(parts: Parts, shape: Shape, major: ndarray, minor: ndarray) -> ndarray:
    """Return the data with zeros at places."""
    args = (parts, shape, major, minor)
    return calls.call_one("sparse.clear", args, None, parts[0].shape, parts[0].dtype)


def extreme(name: str, parts: Parts, shape: Shape, explicit: bool) -> ndarray:
    """Return "max" or "min" of each major index, float64."""
    args = (name, parts, shape, explicit)
    return calls.call_one("sparse.extreme", args, None, (shape[0],), np.dtype(np.float64))


def arg_extreme(name: str, parts: Parts, shape: Shape) -> ndarray:
    """Return where "max" or "min" of each major index stands first."""
    return calls.call_one("sparse.arg_extreme", (name, parts, shape), None, (shape[0],), _INT)


def diagonal(parts: Parts, shape: Shape, k: int) -> ndarray:
    length = max(0, min(shape[0] + min(k, 0), shape[1] - max(k, 0)))
    return calls.call_one("sparse.diagonal", (parts, shape, k), None, (length,), parts[0].dtype)


def solve(parts: Parts, b: ndarray) -> ndarray:
    """Solve a square system by QR, for one right side or several."""
    return calls.call_one("sparse.solve", (parts, b), None, b.shape, b.dtype, "F")


def solve_triangular(parts: Parts, b: ndarray, lower: bool, unit: bool, trans: str) -> ndarray:
    args = (parts, b, lower, unit, trans)
    return calls.call_one("sparse.solve_triangular", args, None, b.shape, b.dtype, "F")


def ilu0(parts: Parts) -> tuple[ndarray, ndarray]:
    """Return the elements of both factors, and rows with what is wrong or -1, int32 (2,)."""
    specs = ((parts[0].shape, parts[0].dtype, "C"), ((2,), np.dtype(np.int32), "C"))
    data, wrong = calls.call("sparse.ilu0", (parts,), None, *specs)
    return data, wrong
