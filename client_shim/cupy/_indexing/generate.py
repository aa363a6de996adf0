"""Making indices: grids, triangles, and conversions between flat and multiple indices."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from numbers import Integral
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls, core, views
from cupool.client_shim.cupy._core._dtype import get_dtype
from cupool.client_shim.cupy._core._kernel import broadcast_shapes
from cupool.client_shim.cupy._creation.basic import ones
from cupool.client_shim.cupy._creation.from_data import array, asarray
from cupool.client_shim.cupy._manipulation.join import concatenate
from cupool.client_shim.cupy._sorting.search import nonzero

__all__ = [
    "c_",
    "indices",
    "ix_",
    "mask_indices",
    "r_",
    "ravel_multi_index",
    "tril_indices",
    "tril_indices_from",
    "triu_indices",
    "triu_indices_from",
    "unravel_index",
]
ndarray = core.ndarray
_INT = np.dtype(np.int64)


class AxisConcatenator:
    """Joins what it is indexed with along an axis; scalars take the dtype of the arrays.

    Raises:
        NotImplementedError: slices and strings among the items, as in CuPy.
    """

    def __init__(
        self, axis: int = 0, matrix: bool = False, ndmin: int = 1, trans1d: int = -1
    ) -> None:
        self.axis = axis
        self.trans1d = trans1d
        self.matrix = matrix
        self.ndmin = ndmin

    def __getitem__(self, key: Any) -> ndarray:
        if isinstance(key, str):
            raise NotImplementedError("strings are not supported")
        items = key if isinstance(key, tuple) else (key,)
        parts: list[Any] = []
        kinds: list[Any] = []
        scalars = []
        for position, item in enumerate(items):
            if isinstance(item, str) and position:
                raise ValueError("special directives must be the first entry.")
            if isinstance(item, (slice, str)):
                raise NotImplementedError("slices and strings are not supported")
            if isinstance(item, (bool, int, float, complex, np.generic)):
                scalars.append(position)
                parts.append(array(item, ndmin=self.ndmin))
                kinds.append(item)
            else:
                parts.append(self._widened(array(item, copy=None)))
                kinds.append(parts[-1].dtype)
        dtype = np.result_type(*kinds)
        for position in scalars:
            parts[position] = parts[position].astype(dtype)
        return concatenate(parts, self.axis)

    def _widened(self, part: ndarray) -> ndarray:
        missing = self.ndmin - part.ndim
        if missing <= 0:
            return part
        made = views.reshape(part, (1,) * missing + part.shape)
        if self.trans1d == -1:
            return made
        start = self.trans1d + (missing + 1 if self.trans1d < 0 else 0)
        axes = list(range(self.ndmin))
        return views.transpose(made, axes[:start] + axes[missing:] + axes[start:missing])

    def __len__(self) -> int:
        return 0


class CClass(AxisConcatenator):
    """`c_`: joins along the last axis, vectors as columns."""

    def __init__(self) -> None:
        super().__init__(-1, ndmin=2, trans1d=0)


class RClass(AxisConcatenator):
    """`r_`: joins along the first axis."""

    def __init__(self) -> None:
        super().__init__()


c_ = CClass()
r_ = RClass()


def indices(dimensions: Any, dtype: Any = int) -> ndarray:
    """Return a grid's indices: an array of shape (number of dimensions, *dimensions)."""
    shape = tuple(int(n) for n in dimensions)
    wanted = get_dtype(dtype)
    if wanted.kind == "b" and any(n > 2 for n in shape):
        raise TypeError(
            "arange() is only supported for booleans when the result has at most length 2."
        )
    return calls.call_one("indices", (shape, wanted), None, (len(shape), *shape), wanted)


def ix_(*args: Any) -> tuple[ndarray, ...]:
    """Return an open mesh of index vectors; boolean ones on the device cost a wait.

    Raises:
        ValueError: not one axis.
    """
    made = []
    for position, item in enumerate(args):
        if not isinstance(item, ndarray):
            host = np.asarray(item)
            if host.ndim == 1 and host.dtype.kind == "b":
                item = np.flatnonzero(host)
        vector = asarray(item)
        if vector.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if vector.size == 0:
            vector = vector.astype(np.intp)
        if vector.dtype.kind == "b":
            (vector,) = nonzero(vector)
        shape = (1,) * position + (vector.size,) + (1,) * (len(args) - position - 1)
        made.append(views.reshape(vector, shape))
    return tuple(made)


def _check_order(order: str | None) -> str:
    char = "C" if order is None else order.upper()
    if char not in ("C", "F"):
        raise ValueError("order not understood")
    return char


def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "wrap", order: str = "C") -> ndarray:
    """Return flat indices of an array of shape `dims` from one index array for each axis.

    Args:
        mode: what to do with an index out of range, one word or one for each axis: "wrap",
            "clip", or "raise", which costs a wait.

    Raises:
        ValueError: wrong numbers, words or sizes; an index out of range with "raise".
        TypeError: not integers.
    """
    dims = tuple(dims)
    if len(multi_index) != len(dims):
        raise ValueError(f"parameter multi_index must be a sequence of length {len(dims)}")
    for length in dims:
        if not isinstance(length, Integral):
            raise TypeError(f"{type(length)} object cannot be interpreted as an integer")
    modes = (mode,) * len(dims) if isinstance(mode, str) else tuple(mode)
    if prod(int(n) for n in dims) > np.iinfo(np.int64).max:
        raise ValueError(
            "invalid dims: array size defined by dims is larger than the maximum possible size"
        )
    char = _check_order(order)
    parts = tuple(multi_index)
    for part in parts:
        if not isinstance(part, ndarray):
            raise TypeError("elements of multi_index must be cupy arrays")
        _check_indices(part, "multi_index entries could not be cast")
    for word in modes:
        if word not in ("raise", "clip", "wrap"):
            raise ValueError(f"Unrecognized mode: {word}")
    shape = broadcast_shapes([part.shape for part in parts])
    args = (parts, tuple(int(n) for n in dims), modes, char)
    made = calls.call_one("ravel_multi_index", args, None, shape, _INT)
    if "raise" in modes:
        core.session_of(made).synchronize()
    return made


def _check_indices(part: ndarray, what: str) -> None:
    if not np.can_cast(part.dtype, np.int64, "same_kind"):
        raise TypeError(f"{what} from {part.dtype!r} to {_INT!r} according to the rule 'same_kind'")


def unravel_index(indices: Any, dims: Any, order: str = "C") -> tuple[ndarray, ...]:
    """Return one index array for each axis of `dims` from flat indices; waits, to check them.

    Raises:
        ValueError: an index out of range, an unknown order.
        TypeError: not integers.
    """
    char = _check_order(order)
    indices = views.require(indices)
    _check_indices(indices, "Iterator operand 0 dtype could not be cast")
    dims = (dims,) if np.ndim(dims) == 0 else tuple(dims)
    dims = tuple(int(n) for n in dims)
    dtype = _INT if indices.dtype.kind == "b" else indices.dtype
    specs = [(indices.shape, dtype, "C")] * len(dims)
    made = calls.call("unravel_index", (indices, dims, char), None, *specs)
    core.session_of(indices).synchronize()
    return tuple(made)


def mask_indices(n: int, mask_func: Callable[..., Any], k: Any = 0) -> Any:
    """Return where `mask_func` of an n by n array of ones is not zero; costs a wait."""
    return nonzero(mask_func(ones((n, n), np.int8), k))


def _triangle_size(rows: int, columns: int, k: int) -> int:
    """Return how many elements lie on and below diagonal `k`."""
    return int(np.clip(np.arange(rows) + k + 1, 0, columns).sum())


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[ndarray, ...]:
    """Return row and column indices of the lower triangle of an n by m array."""
    rows, columns = int(n), int(n if m is None else m)
    size = _triangle_size(rows, columns, int(k))
    specs = [((size,), _INT, "C")] * 2
    return tuple(calls.call("tril_indices", (rows, int(k), columns), None, *specs))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[ndarray, ...]:
    """Return row and column indices of the upper triangle of an n by m array."""
    rows, columns = int(n), int(n if m is None else m)
    size = rows * columns - _triangle_size(rows, columns, int(k) - 1)
    specs = [((size,), _INT, "C")] * 2
    return tuple(calls.call("triu_indices", (rows, int(k), columns), None, *specs))


def _matrix_shape(arr: Any) -> tuple[int, int]:
    if arr.ndim != 2:
        raise ValueError("input array must be 2-d")
    rows, columns = arr.shape
    return rows, columns


def tril_indices_from(arr: Any, k: int = 0) -> tuple[ndarray, ...]:
    """Return the indices of the lower triangle of a matrix."""
    rows, columns = _matrix_shape(arr)
    return tril_indices(rows, k, columns)


def triu_indices_from(arr: Any, k: int = 0) -> tuple[ndarray, ...]:
    """Return the indices of the upper triangle of a matrix."""
    rows, columns = _matrix_shape(arr)
    return triu_indices(rows, k, columns)
