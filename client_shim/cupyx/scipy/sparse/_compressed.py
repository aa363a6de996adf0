"""What CSR and CSC have in common: three arrays, sorted by the major axis."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from cupool.client_shim import cupy
from cupool.client_shim.cupyx.scipy.sparse import _base, _kernels, _sputils
from cupool.client_shim.cupyx.scipy.sparse._data import _data_matrix, _minmax_mixin
from cupool.client_shim.cupyx.scipy.sparse._index import IndexMixin
from cupool.client_shim.cupyx.scipy.sparse._initial import given_parts, is_1d_input

_FLAGS = ("_has_canonical_format", "_has_sorted_indices")


class _compressed_sparse_matrix(_data_matrix, _minmax_mixin, IndexMixin):
    """Base of CSR and CSC.

    Attributes:
        data: the stored elements, shape (nnz,).
        indices: the minor index of each, shape (nnz,).
        indptr: where each major index begins, shape (length of the major axis + 1,).
    """

    _major_axis: int
    indices: Any
    indptr: Any
    _has_sorted_indices: bool

    def __init__(
        self,
        arg1: Any,
        shape: Any = None,
        dtype: Any = None,
        copy: bool = False,
        *,
        maxprint: int | None = None,
    ) -> None:
        """Make a matrix of a dense or sparse one, a shape, elements with coordinates, or parts.

        Args:
            arg1: a device array; a sparse matrix of ours or of SciPy; (M, N);
                (data, (row, col)); (data, indices, indptr).
            shape: its shape, if `arg1` does not say it.
            dtype: bool, float32, float64, complex64 or complex128.
            copy: whether the arrays must be new ones.

        Raises:
            ValueError: parts that do not fit, or another dtype.
        """
        if maxprint is not None:
            self.maxprint = maxprint
        if is_1d_input(arg1, shape):
            if 1 in self._allow_nd:
                self._adopt(self._vector(arg1, shape, dtype, copy))
                return
            if isinstance(self, _base.sparray):
                raise ValueError(
                    f"{type(self).__name__} does not support 1D input; "
                    "use a 2D shape or coo_array / csr_array"
                )
        if shape is not None:
            shape = _sputils.check_shape(shape)
        given = given_parts(self, arg1, shape, dtype, copy)
        dtype = _sputils.check_data_dtype(given.data.dtype if dtype is None else dtype)
        self.data = given.data.astype(dtype, copy=given.copy)
        self.indices = given.indices.astype(given.index_dtype, copy=given.copy)
        self.indptr = given.indptr.astype(given.index_dtype, copy=given.copy)
        if given.canonical is not None:
            self.has_canonical_format = given.canonical
        shape = given.shape
        if shape is None:
            shape = self._swap(len(self.indptr) - 1, int(self.indices.max()) + 1)
        major = self._swap(*shape)[0]
        if len(self.indptr) != major + 1:
            size = len(self.indptr)
            raise ValueError(f"index pointer size ({size}) should be ({major + 1})")
        self._shape = shape

    def _vector(self, arg1: Any, shape: Any, dtype: Any, copy: bool) -> Any:
        """Make a vector in the format: its parts are those of a matrix of one row."""
        same_shape = shape is None or tuple(shape) == tuple(getattr(arg1, "shape", ()))
        if _base.issparse(arg1) and arg1.format == self.format and same_shape:
            vector = arg1.copy() if copy else arg1
            return vector if dtype is None else vector.astype(dtype)
        if isinstance(arg1, tuple) and len(arg1) == 3:
            (length,) = _sputils.check_shape(shape, self._allow_nd)
            vector = type(self)(arg1, shape=(1, length), dtype=dtype, copy=copy)
            vector._shape = (length,)
            return vector
        return self._coo_container(arg1, shape=shape, dtype=dtype, copy=copy).tocsr()

    @cached_property
    def _descr(self) -> Any:
        """cuSPARSE's old descriptor of the matrix, which libraries beside CuPy look at."""
        from cupool.client_shim.cupyx import cusparse

        return cusparse.MatDescriptor.create()

    def _adopt(self, other: Any) -> None:
        """Take over arrays, flags and shape of another matrix of the format."""
        self.data, self.indices, self.indptr = other._parts
        self._shape = other._shape
        self._take_flags(other)

    def _take_flags(self, other: Any) -> None:
        for name in _FLAGS:
            self.__dict__.pop(name, None)
            if name in other.__dict__:
                self.__dict__[name] = other.__dict__[name]

    @classmethod
    def _from_parts(
        cls,
        data: Any,
        indices: Any,
        indptr: Any,
        shape: Any,
        has_canonical_format: bool | None = None,
        has_sorted_indices: bool | None = None,
    ) -> Any:
        """Make a matrix of its parts without looking at their values.

        Raises:
            ValueError: dimensions, lengths or dtypes that cannot be.
        """
        shape = _sputils.check_shape(shape, cls._allow_nd)
        if data.ndim != 1 or indices.ndim != 1 or indptr.ndim != 1:
            raise ValueError("data, indices, and indptr must be 1-D")
        if indices.dtype != indptr.dtype:
            raise ValueError(
                "indices and indptr must have the same dtype, "
                f"got {indices.dtype} and {indptr.dtype}"
            )
        if has_canonical_format is True and has_sorted_indices is False:
            raise ValueError("has_canonical_format=True contradicts has_sorted_indices=False")
        if data.size != indices.size:
            raise ValueError(
                f"data and indices must have the same length, got {data.size} and {indices.size}"
            )
        major = ((1, *shape) if len(shape) == 1 else shape)[cls._major_axis]
        if indptr.size != major + 1:
            expected = f"{major + 1} (major axis + 1)"
            raise ValueError(f"indptr has length {indptr.size}, expected {expected}")
        limit = np.iinfo(indices.dtype).max
        if max(shape) > limit or data.size > limit:
            what = f"shape {shape}" if max(shape) > limit else f"nnz {data.size}"
            raise ValueError(f"{what} too large for index dtype {indices.dtype}")
        made = cls.__new__(cls)
        made.data, made.indices, made.indptr, made._shape = data, indices, indptr, shape
        if has_canonical_format is not None:
            made._has_canonical_format = has_canonical_format
            if has_canonical_format:
                made._has_sorted_indices = True
        if has_sorted_indices is not None:
            made._has_sorted_indices = has_sorted_indices
        return made

    # ---------------------------------------------------------------- the same in other dress

    @property
    def _parts(self) -> _kernels.Parts:
        return self.data, self.indices, self.indptr

    def _swap(self, rows: Any, columns: Any) -> tuple[Any, Any]:
        """Exchange (rows, columns) and (major, minor)."""
        return (rows, columns) if self._major_axis == 0 else (columns, rows)

    @property
    def _major_shape(self) -> tuple[int, int]:
        """The shape of the matrix whose rows are this one's major indices."""
        return self._swap(*self._shape_as_2d)

    def _like(self, container: Any, shape: Any) -> Any:
        """Return the same parts and flags as another class, in another shape."""
        flags = [self.__dict__.get(name) for name in _FLAGS]
        return container._from_parts(*self._parts, shape, *flags)

    def _with_data(self, data: Any, copy: bool = True) -> Any:
        indices, indptr = self.indices, self.indptr
        if copy:
            indices, indptr = indices.copy(), indptr.copy()
        flags = [self.__dict__.get(name) for name in _FLAGS]
        return type(self)._from_parts(data, indices, indptr, self.shape, *flags)

    def _as_2d(self) -> Any:
        return self if self.ndim != 1 else self._like(type(self), self._shape_as_2d)

    def _apply_2d_inplace(self, run: Any) -> None:
        """Change a vector as a matrix of one row."""
        matrix = self._as_2d()
        run(matrix)
        shape = self._shape
        self._adopt(matrix)
        self._shape = shape

    def _empty_like(self, shape: tuple[int, int]) -> Any:
        index_dtype = self.indices.dtype
        indptr = cupy.zeros(self._swap(*shape)[0] + 1, index_dtype)
        none = cupy.empty(0, index_dtype)
        return type(self)._from_parts(cupy.empty(0, self.dtype), none, indptr, shape)

    def get(self, stream: Any = None) -> Any:
        """Return SciPy's object of the same format on the host."""
        make = getattr(_sputils.host_sparse(), f"{self.format}_{self._kind}")
        parts = tuple(array.get(stream) for array in self._parts)
        return make(parts, shape=self._shape)

    def transpose(self, axes: Any = None, copy: bool = False) -> Any:
        """Return the transpose in the other format, which shares arrays unless `copy`."""
        refuse_axes(axes)
        if self.ndim == 1:
            return self.copy() if copy else self
        source = self.copy() if copy else self
        target = self._csc_container if self.format == "csr" else self._csr_container
        return source._like(target, self.shape[::-1])

    def _other_format(self, container: Any) -> Any:
        """Return the matrix sorted by its other axis."""
        parts = _kernels.transpose(self._parts, self._major_shape[1])
        canonical = True if self.__dict__.get(_FLAGS[0]) else None
        return container._from_parts(*parts, self.shape, canonical, True)

    def toarray(self, order: str | None = None, out: Any = None) -> Any:
        """Return a dense array.

        Args:
            order: "C" (default) or "F".
            out: not looked at, as in CuPy.
        """
        order = "C" if order is None else order.upper()
        if order not in ("C", "F"):
            raise ValueError("order not understood")
        if self.ndim == 1:
            return self._as_2d().toarray(order=order).reshape(self.shape)
        if self.nnz == 0:
            return cupy.zeros(shape=self.shape, dtype=self.dtype, order=order)
        dense = _kernels.to_dense(self._parts, self._major_shape)
        dense = dense if self._major_axis == 0 else dense.T
        return cupy.ascontiguousarray(dense) if order == "C" else cupy.asfortranarray(dense)

    def todia(self, copy: bool = False) -> Any:
        """Not implemented in CuPy."""
        raise NotImplementedError

    todok = tolil = todia

    def tobsr(self, blocksize: Any = None, copy: bool = False) -> Any:
        """Not implemented in CuPy."""
        raise NotImplementedError

    # ---------------------------------------------------------------- order and duplicates

    @property
    def has_canonical_format(self) -> bool:
        """Whether indices are sorted and none is there twice; found out once, by a wait."""
        if self.data.size == 0:
            self._has_canonical_format = self._has_sorted_indices = True
        elif not self.__dict__.get("_has_sorted_indices", True):
            self._has_canonical_format = False
        elif "_has_canonical_format" not in self.__dict__:
            self._find_flags()
            self.__dict__.setdefault("_has_canonical_format", False)
        return self._has_canonical_format

    @has_canonical_format.setter
    def has_canonical_format(self, value: bool) -> None:
        self._has_canonical_format = bool(value)
        if value:
            self._has_sorted_indices = True

    @property
    def has_sorted_indices(self) -> bool:
        """Whether indices ascend within each major index; found out once, by a wait."""
        if self.data.size == 0:
            self._has_sorted_indices = True
        elif "_has_sorted_indices" not in self.__dict__:
            self._find_flags()
        return self._has_sorted_indices

    @has_sorted_indices.setter
    def has_sorted_indices(self, value: bool) -> None:
        self._has_sorted_indices = bool(value)

    def _find_flags(self) -> None:
        in_order, canonical = _kernels.is_canonical(self.indices, self.indptr).get().tolist()
        self.__dict__.setdefault("_has_sorted_indices", in_order)
        if in_order:  # else sorting may make it so
            self.__dict__.setdefault("_has_canonical_format", canonical)

    def sum_duplicates(self) -> None:
        """Sort, and add elements at the same place, in place; waits once unless it is known."""
        if self.data.size and not self.__dict__.get("_has_canonical_format"):
            found = _kernels.canonicalize(self._parts)
            if found is not None:
                self.data, self.indices, self.indptr = found
        self.has_canonical_format = True

    def sort_indices(self) -> None:
        """Sort within each major index, in place."""
        if not self.has_sorted_indices:
            data, indices = _kernels.sort(self._parts)
            self.data[...] = data
            self.indices[...] = indices
            self.has_sorted_indices = True

    def sorted_indices(self) -> Any:
        """Return a sorted copy."""
        made = self.copy()
        made.sort_indices()
        return made

    def eliminate_zeros(self) -> None:
        """Remove explicit zeros in place; waits once."""
        if self.nnz:
            self.data, self.indices, self.indptr = _kernels.compress(self._parts)

    def prune(self) -> None:
        """Drop what lies behind the last element that indptr counts."""
        if len(self.indptr) != self._major_shape[0] + 1:
            raise ValueError("index pointer has invalid length")
        nnz = int(self.indptr[-1])
        for name in ("indices", "data"):
            array = getattr(self, name)
            if len(array) < nnz:
                raise ValueError(f"{name} array has fewer than nnz elements")
            if len(array) > nnz:
                setattr(self, name, array[:nnz].copy())

    # ---------------------------------------------------------------- elements

    def _getnnz(self, axis: Any = None) -> int:
        if axis is not None:
            name = self.format.upper()
            raise NotImplementedError(f"getnnz over an axis is not implemented for {name} format")
        return int(self.data.size)

    def count_nonzero(self, axis: Any = None) -> Any:
        """Return how many elements are not zero, in all or along an axis."""
        self.sum_duplicates()
        if self.ndim == 1:
            _sputils.check_axis_1d(axis)
            axis = None
        if axis is None:
            return int(cupy.count_nonzero(self.data))
        if not -2 <= axis <= 1:
            raise ValueError("axis out of bounds")
        major_length, minor_length = self._major_shape
        over_major = axis % 2 == self._major_axis
        length = minor_length if over_major else major_length
        at = self.indices if over_major else _kernels.expand(self.indptr, self.nnz)
        counts = cupy.zeros(length, dtype=cupy.intp)
        cupy.add.at(counts, at, (self.data != 0).astype(cupy.intp))
        return counts

    def diagonal(self, k: int = 0) -> Any:
        """Return the k-th diagonal as a dense vector."""
        self._require_2d("diagonal")
        k = int(k) if self._major_axis == 0 else -int(k)
        rows, columns = self._major_shape
        if min(rows + min(k, 0), columns - max(k, 0)) <= 0:
            return cupy.empty(0, dtype=self.dtype)
        return _kernels.diagonal(self._parts, self._major_shape, k)


def refuse_axes(axes: Any) -> None:
    """Raise ValueError for an argument `axes` of `transpose`."""
    if axes is not None:
        raise ValueError(
            "Sparse matrices do not support an 'axes' parameter because swapping dimensions is "
            "the only logical permutation."
        )
