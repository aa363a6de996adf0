"""What the formats share that keep their elements in an array `data`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cupool.client_shim import cupy
from cupool.client_shim.cupyx.scipy.sparse import _base, _kernels, _sputils

_UFUNCS = (
    "arcsin arcsinh arctan arctanh ceil deg2rad expm1 floor log1p rad2deg rint sign sin sinh sqrt "
    "tan tanh trunc"
).split()


class _data_matrix(_base._spbase):
    """Base of the formats whose elements are in `data`."""

    data: Any
    _has_canonical_format: bool

    @property
    def dtype(self) -> Any:
        """Element type."""
        return self.data.dtype

    @property
    def device(self) -> Any:
        """The device on which the elements lie."""
        return self.data.device

    def _with_data(self, data: Any, copy: bool = True) -> Any:
        """Return a matrix of the same structure with other elements."""
        raise NotImplementedError

    def _bool_reduction_carrier(self) -> Any:
        """Return the truth values as float64: several at one place count once."""
        source = self
        summed = getattr(self, "_has_canonical_format", None) is True
        if not summed and hasattr(self, "sum_duplicates"):
            source = self.copy()
            source.sum_duplicates()
        return source._with_data(source.data.astype(np.float64), copy=False)

    def __abs__(self) -> Any:
        return self._with_data(abs(self.data))

    def __round__(self, ndigits: int = 0) -> Any:
        return self._with_data(cupy.around(self.data, decimals=ndigits))

    def __neg__(self) -> Any:
        if self.dtype.kind == "b":
            raise NotImplementedError("negating a boolean sparse array is not supported")
        return self._with_data(-self.data)

    def _scale(self, factor: Any) -> None:
        dtype = np.result_type(self.dtype, factor)
        if not _sputils.is_data_dtype(dtype):
            dtype = np.dtype(np.float64)
        if dtype != self.dtype:
            self.data = self.data.astype(dtype) * factor
        else:
            self.data *= factor

    def __imul__(self, other: Any) -> Any:
        if not _sputils.is_scalar_like(other):
            return NotImplemented
        self._scale(other)
        return self

    def __itruediv__(self, other: Any) -> Any:
        if not _sputils.is_scalar_like(other):
            return NotImplemented
        self._scale(1.0 / other)
        return self

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        """Return the matrix with another dtype."""
        if self.dtype != np.dtype(dtype):
            return self._with_data(self.data.astype(dtype, copy=copy))
        return self.copy() if copy else self

    def conj(self, copy: bool = True) -> Any:
        """Return the complex conjugate."""
        if self.dtype.kind == "c":
            return self._with_data(self.data.conj(), copy=copy)
        return self.copy() if copy else self

    @property
    def real(self) -> Any:
        """The real parts, in a matrix of the same structure."""
        return self._with_data(self.data.real)

    @property
    def imag(self) -> Any:
        """The imaginary parts, in a matrix of the same structure."""
        return self._with_data(self.data.imag)

    def copy(self) -> Any:
        """Return a matrix with arrays of its own."""
        return self._with_data(self.data.copy(), copy=True)

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """Return the mean of all elements or along an axis, as a dense array."""
        if self.dtype == bool:
            return self._bool_reduction_carrier().mean(axis=axis, dtype=dtype, out=out)
        if self.ndim == 1:
            _sputils.check_axis_1d(axis)
            total = self.data.sum() * (1.0 / self.shape[0])
            return total.sum(dtype=dtype, out=out)
        axis = _sputils.collapse_axis(axis)
        _sputils.check_axis(axis)
        rows, columns = self.shape
        count = rows * columns if axis is None else self.shape[axis % 2]
        return self._with_data(self.data * (1.0 / count)).sum(axis, dtype, out)

    def power(self, n: Any, dtype: Any = None) -> Any:
        """Return each element to the power of `n`.

        Raises:
            NotImplementedError: `n` is no scalar, or 0, which would fill the matrix.
        """
        if not _sputils.is_scalar_like(n):
            raise NotImplementedError("input is not scalar")
        if n == 0:
            raise NotImplementedError(
                "zero power is not supported as it would densify the matrix.\n"
                "Use cupy.ones(A.shape, dtype=A.dtype) for this case."
            )
        data = self.data.copy() if dtype is None else self.data.astype(dtype, copy=True)
        data **= n
        return self._with_data(data)


def _elementwise(name: str) -> Callable[[_data_matrix], Any]:
    def method(self: _data_matrix) -> Any:
        return self._with_data(getattr(cupy, name)(self.data))

    method.__name__ = name
    method.__qualname__ = f"_data_matrix.{name}"
    method.__doc__ = f"Return `cupy.{name}` of each stored element."
    return method


for _name in _UFUNCS:
    setattr(_data_matrix, _name, _elementwise(_name))


class _minmax_mixin:
    """`min`, `max`, `argmin`, `argmax`, in which elements that are not stored count as zeros."""

    def max(self: Any, axis: Any = None, out: Any = None, *, explicit: bool = False) -> Any:
        """Return the maximum of all elements, or a sparse one along an axis.

        Args:
            out: must be None.
            explicit: whether only stored elements count.
        """
        return _extreme(self, "max", axis, out, explicit)

    def min(self: Any, axis: Any = None, out: Any = None, *, explicit: bool = False) -> Any:
        """Return the minimum, see `max`."""
        return _extreme(self, "min", axis, out, explicit)

    def argmax(self: Any, axis: Any = None, out: Any = None) -> Any:
        """Return where the maximum stands first, of the flattened matrix or along an axis.

        Along an axis, a row or column with a nan gives 0.
        """
        return _arg_extreme(self, "max", axis, out)

    def argmin(self: Any, axis: Any = None, out: Any = None) -> Any:
        """Return where the minimum stands first, see `argmax`."""
        return _arg_extreme(self, "min", axis, out)


def _reduced_axis(matrix: Any, axis: Any, out: Any) -> Any:
    """Return 0, 1, or None for everything."""
    if out is not None:
        raise ValueError("Sparse matrices do not support an 'out' parameter.")
    if matrix.ndim == 1:
        _sputils.check_axis_1d(axis)
        return None
    _sputils.check_axis(axis)
    return None if axis is None else axis % 2


def _extreme(matrix: Any, name: str, axis: Any, out: Any, explicit: bool) -> Any:
    if explicit:
        label = f"cupyx.scipy.sparse.{type(matrix).__name__}.{name}"
        cupy._util.experimental(f"explicit of {label}")
    axis = _reduced_axis(matrix, axis, out)
    if 0 in (matrix.shape if axis is None else matrix.shape[axis : axis + 1]):
        raise ValueError("zero-size array to reduction operation")
    if axis is not None:
        return _extreme_along(matrix, name, axis, explicit)
    zero = cupy.zeros((), dtype=matrix.dtype)
    if matrix.nnz == 0:
        return zero
    matrix.sum_duplicates()
    found = getattr(cupy, name)(matrix.data)
    if explicit or matrix.nnz == int(np.prod(matrix.shape)):
        return found
    return (cupy.maximum if name == "max" else cupy.minimum)(zero, found)


def _extreme_along(matrix: Any, name: str, axis: int, explicit: bool) -> Any:
    length = matrix.shape[1 - axis]
    lines = matrix.tocsc() if axis == 0 else matrix.tocsr()
    shape = lines._swap(*lines.shape)
    values = _kernels.extreme(name, lines._parts, shape, explicit)
    index_dtype = _sputils.get_index_dtype(maxval=length)
    place = cupy.flatnonzero(values != 0)
    values = values[place].astype(matrix.dtype, copy=False)
    place = place.astype(index_dtype)
    zeros = cupy.zeros(place.size, dtype=index_dtype)
    make = matrix._coo_container._from_parts
    if isinstance(matrix, _base.sparray):
        return make(values, zeros, place, shape=(length,))
    if axis == 0:
        return make(values, zeros, place, shape=(1, length))
    return make(values, place, zeros, shape=(length, 1))


def _arg_extreme(matrix: Any, name: str, axis: Any, out: Any) -> Any:
    axis = _reduced_axis(matrix, axis, out)
    if axis is None:
        if 0 in matrix.shape:
            raise ValueError("Can't apply the operation to an empty matrix.")
        return _arg_extreme_of_all(matrix, name) if matrix.nnz else 0
    if matrix.shape[axis] == 0:
        raise ValueError("Can't apply the operation along a zero-sized dimension.")
    lines = matrix.tocsc() if axis == 0 else matrix.tocsr()
    found = _kernels.arg_extreme(name, lines._parts, lines._swap(*lines.shape))
    if isinstance(matrix, _base.sparray):
        return found
    return found[None, :] if axis == 0 else found[:, None]


def _arg_extreme_of_all(matrix: Any, name: str) -> Any:
    """Compare the extreme of the stored elements with the first place that has none."""
    coo = matrix.tocoo()
    coo.sum_duplicates()
    if coo.ndim == 1:
        coo = coo._as_2d()
    at = cupy.argmax(coo.data) if name == "max" else cupy.argmin(coo.data)
    value = coo.data[at]
    width = coo.shape[1]
    stored = coo.row[at] * width + coo.col[at]
    better = value > 0 if name == "max" else value < 0
    size = int(np.prod(coo.shape))
    if size == coo.nnz:
        return cupy.where(better, stored, at)
    places = coo.row * width + coo.col
    moved = places != cupy.arange(places.size)
    gap = cupy.where(moved.any(), moved.argmax(), places.size)
    return cupy.where(better, stored, cupy.where(value == 0, cupy.minimum(gap, at), gap))
