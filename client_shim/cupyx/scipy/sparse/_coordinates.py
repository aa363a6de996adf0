"""The constructor of COO."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cupool.client_shim import cupy
from cupool.client_shim.cupyx.scipy.sparse import _base, _sputils


class Given(NamedTuple):
    """What a constructor's first argument holds.

    Attributes:
        copy: whether the arrays are the caller's and must be copied.
        canonical: whether known to be sorted without duplicates.
        axes: how many arrays of coordinates were given; None if there is a shape anyway.
    """

    data: Any
    row: Any
    col: Any
    shape: tuple[int, ...] | None
    copy: bool
    canonical: bool
    axes: int | None = None


class CooInit:
    """`coo_matrix(...)`, `coo_array(...)`."""

    def __init__(
        self: Any,
        arg1: Any,
        shape: Any = None,
        dtype: Any = None,
        copy: bool = False,
        *,
        maxprint: int | None = None,
    ) -> None:
        """Make a matrix of a dense or sparse one, a shape, or elements with coordinates.

        Args:
            arg1: a device array; a sparse matrix of ours or of SciPy; (M, N); (data, (row, col)),
                whose coordinates are looked at, one wait.
            shape: its shape, if `arg1` does not say it.
            dtype: bool, float32, float64, complex64 or complex128.
            copy: whether the arrays must be new ones.

        Raises:
            TypeError: an argument of another form.
            ValueError: coordinates outside the shape, or another dtype.
        """
        if maxprint is not None:
            self.maxprint = maxprint
        if shape is not None and len(shape) not in self._allow_nd:
            raise _wrong_dimensions(self)
        if shape is not None:
            shape = _sputils.check_shape(shape, self._allow_nd)
        given = _given(self, arg1, shape, dtype, copy)
        shape = given.shape if shape is None else shape
        if given.axes is not None and shape is not None and len(shape) != given.axes:
            raise ValueError(
                f"mismatching number of index arrays for shape; got {given.axes}, "
                f"expected {len(shape)}"
            )
        vector = given.axes == 1 if shape is None else len(shape) == 1
        dtype = _sputils.check_data_dtype(given.data.dtype if dtype is None else dtype)
        row, col = given.row, given.col
        if shape is None and not len(row):
            raise ValueError("cannot infer dimensions from zero sized index arrays")
        high = None
        if given.axes is not None and len(row):
            shape, high = _bounds(row, col, shape, vector)
        index_dtype = _index_dtype(self, row, col, shape, high)
        self.data = given.data.astype(dtype, copy=given.copy)
        self.row = row.astype(index_dtype, copy=given.copy)
        self.col = col.astype(index_dtype, copy=given.copy)
        self.has_canonical_format = given.canonical
        self._shape = _sputils.check_shape(shape, self._allow_nd)


def _index_dtype(target: Any, row: Any, col: Any, shape: Any, high: int | None) -> Any:
    """Return the dtype of indices; matrices look at values, arrays at dtypes."""
    maxval = max(shape)
    if high is not None and not isinstance(target, _base.sparray):
        return _sputils.get_index_dtype(maxval=max(maxval, high))
    return _sputils.get_index_dtype((row, col), maxval=maxval)


def _bounds(row: Any, col: Any, shape: Any, vector: bool) -> tuple[tuple[int, ...], int]:
    """Check coordinates, by one wait; return the shape and the highest of them.

    Raises:
        ValueError: outside the shape.
    """
    ends = cupy.stack((row.max(), col.max(), row.min(), col.min())).get().tolist()
    high_row, high_col, low_row, low_col = (int(n) for n in ends)
    if shape is None:
        shape = (high_col + 1,) if vector else (high_row + 1, high_col + 1)
    if not vector and high_row >= shape[0]:
        raise ValueError("row index exceeds matrix dimensions")
    if high_col >= shape[-1]:
        raise ValueError("column index exceeds matrix dimensions")
    if low_row < 0:
        raise ValueError("negative row index found")
    if low_col < 0:
        raise ValueError("negative column index found")
    return shape, max(high_row, high_col)


def _wrong_dimensions(target: Any) -> ValueError:
    which = "1-D and 2-D" if 1 in target._allow_nd else "two-dimensional"
    return ValueError(f"Only {which} sparse arrays are supported.")


def _given(target: Any, arg1: Any, shape: Any, dtype: Any, copy: bool) -> Given:
    if _base.issparse(arg1):
        _sputils.check_ndim(shape, arg1.ndim)
        x = arg1.asformat("coo")
        copy = copy and arg1.format == "coo"
        # A shape that is smaller than the matrix must not go unnoticed.
        axes = None if shape in (None, arg1.shape) else arg1.ndim
        return Given(x.data, x.row, x.col, arg1.shape, copy, x.has_canonical_format, axes)
    if _sputils.is_shape(arg1, target._allow_nd):
        lengths = _sputils.check_shape(arg1, target._allow_nd)
        none = cupy.zeros(0, dtype=_sputils.get_index_dtype(maxval=max(lengths)))
        return Given(
            cupy.zeros(0, dtype if dtype else "d"), none, none.copy(), lengths, False, True
        )
    if _sputils.is_scipy_sparse(arg1):
        return _from_scipy(arg1, shape)
    if isinstance(arg1, tuple) and len(arg1) == 2:
        return _from_tuple(target, arg1, copy)
    if _sputils.is_dense(arg1):
        return _from_dense(target, arg1, shape)
    allowed = isinstance(arg1, tuple) and bool(arg1) and _sputils.is_shape(arg1, (len(arg1),))
    if isinstance(target, _base.sparray) and allowed:
        raise _wrong_dimensions(target)
    raise TypeError("invalid input format")


def _from_scipy(arg1: Any, shape: Any) -> Given:
    _sputils.check_ndim(shape, arg1.ndim)
    x = arg1.tocoo()
    col = x.coords[-1] if hasattr(x, "coords") else x.col
    row = x.row if arg1.ndim == 2 else np.zeros_like(col)
    arrays = (cupy.array(x.data), cupy.array(row), cupy.array(col))
    axes = None if shape in (None, arg1.shape) else arg1.ndim
    return Given(*arrays, arg1.shape, False, bool(x.has_canonical_format), axes)


def _from_tuple(target: Any, arg1: tuple[Any, Any], copy: bool) -> Given:
    data, coords = arg1
    if _sputils.is_dense(coords) and coords.ndim != 2:
        raise TypeError("invalid input format")
    try:
        coords = tuple(coords)
    except TypeError:
        raise TypeError("invalid input format") from None
    vector = len(coords) == 1 and 1 in target._allow_nd
    if len(coords) != 2 and not vector:
        raise ValueError("invalid number of coordinate arrays")
    names = "coordinate and data array" if vector else "row, column, and data array"
    if not all(_sputils.is_dense(a) and a.ndim == 1 for a in (data, *coords)):
        raise ValueError(f"{names}s must be 1-D")
    if any(len(coord) != len(data) for coord in coords):
        raise ValueError(f"{names} must all be the same length")
    row = cupy.zeros_like(coords[0]) if vector else coords[0]
    return Given(data, row, coords[-1], None, copy, False, len(coords))


def _from_dense(target: Any, a: Any, shape: Any) -> Given:
    """Find the elements that are not zero, which waits once."""
    if a.ndim > 2:
        raise TypeError("expected dimension <= 2 array or matrix")
    if a.ndim == 0 and isinstance(target, _base.sparray):
        raise TypeError(
            f"{type(target).__name__} does not support scalar (0-D) input; "
            "provide a 1-D or 2-D array"
        )
    if a.ndim >= 1:
        _sputils.check_ndim(shape, a.ndim)
    axes = None if shape in (None, a.shape) else a.ndim
    if a.ndim == 1 and 1 in target._allow_nd:
        (col,) = a.nonzero()
        return Given(a[col], cupy.zeros_like(col), col, a.shape, False, True, axes)
    a = cupy.atleast_2d(a)
    row, col = a.nonzero()
    return Given(a[row, col], row, col, a.shape, False, True, axes)
