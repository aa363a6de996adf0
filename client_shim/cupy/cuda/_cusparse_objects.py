"""`cupy.cuda.cusparse`: what its descriptors stand for: what lies at addresses of a device.

They are objects of this process; what they describe becomes views when something is computed.
Numbers are the library's own constants.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from cupool.client_shim.cupy.cuda import _libraries

_INVALID_VALUE, _NOT_SUPPORTED = 3, 10
CSR, CSC, COO = 1, 2, 3
COLUMNS, ROWS = 1, 2
_INDEX_TYPES: dict[int, np.dtype[Any]] = {2: np.dtype(np.int32), 3: np.dtype(np.int64)}
_VALUE_TYPES: dict[int, np.dtype[Any]] = {
    0: np.dtype("f"),
    1: np.dtype("d"),
    4: np.dtype("F"),
    5: np.dtype("D"),
}
"""dtypes by `cudaDataType_t`: those that are computed with."""
_KIND = "cusparse_descriptor"
FUNCTIONS: dict[str, Any] = {}
"""By the names that CuPy gives them."""
_T = TypeVar("_T")
_F = TypeVar("_F", bound=Callable[..., Any])


def error(status: int) -> Exception:
    """Return the library's error of a status."""
    from cupool.client_shim.cupy.cuda import cusparse

    made: Exception = cusparse.CuSparseError(status)
    return made


def check(fine: bool) -> None:
    """Raise CuSparseError for a value that the library does not take."""
    if not fine:
        raise error(_INVALID_VALUE)


def function(made: _F) -> _F:
    """Register a function under its own name."""
    FUNCTIONS[made.__name__] = made
    return made


# ------------------------------------------------------------------- what CuPy returns of them


@dataclass
class SpVecAttributes:
    """A sparse vector: `nnz` values at `values`, their indices at `idx`."""

    size: int
    nnz: int
    idx: int
    values: int
    idxType: int
    idxBase: int
    valueType: int


@dataclass
class CooAttributes:
    """A sparse matrix with the row and the column of each value."""

    rows: int
    cols: int
    nnz: int
    rowIdx: int
    colIdx: int
    values: int
    idxType: int
    idxBase: int
    valueType: int


@dataclass
class CsrAttributes:
    """A sparse matrix with the column of each value, and where each row begins."""

    rows: int
    cols: int
    nnz: int
    rowOffsets: int
    colIdx: int
    values: int
    rowOffsetType: int
    colIdxType: int
    idxBase: int
    valueType: int


@dataclass
class DnVecAttributes:
    """A vector."""

    size: int
    values: int
    valueType: int


@dataclass
class DnMatAttributes:
    """A matrix whose columns (order 1) or rows (order 2) lie `ld` elements apart."""

    rows: int
    cols: int
    ld: int
    values: int
    valueType: int
    order: int


@dataclass
class DnMatBatchAttributes:
    """How many matrices there are, and how many elements apart they lie."""

    count: int
    stride: int


CLASSES = (
    SpVecAttributes,
    CooAttributes,
    CsrAttributes,
    DnVecAttributes,
    DnMatAttributes,
    DnMatBatchAttributes,
)

# ------------------------------------------------------------------- what they stand for


@dataclass
class SparseVector(SpVecAttributes):
    """What `createSpVec` makes."""

    def arrays(self) -> tuple[Any, Any]:
        """Return views of indices (from 0 on: a copy, if they are from 1 on) and values."""
        indices = array(self.idx, self.nnz, index_type(self.idxType))
        values = array(self.values, self.nnz, value_type(self.valueType))
        return shifted(indices, -self.idxBase), values


@dataclass
class SparseMatrix:
    """What `createCsr`, `createCsc` and `createCoo` make.

    Attributes:
        major, minor: addresses: offsets and indices; rows and columns of a COO matrix.
        attributes: what `spMatSetAttribute` has set, by number.
    """

    format: int
    rows: int
    cols: int
    nnz: int
    major: int
    minor: int
    values: int
    major_type: int
    minor_type: int
    base: int
    value_type: int
    attributes: dict[int, int] = field(default_factory=dict)

    @property
    def transposed(self) -> bool:
        """Whether its parts are those of its transpose, read as CSR."""
        return self.format == CSC

    @property
    def shape(self) -> tuple[int, int]:
        """Its shape as its parts are read."""
        return (self.cols, self.rows) if self.transposed else (self.rows, self.cols)

    def views(self) -> tuple[Any, Any, Any]:
        """Return views of values, of indices (columns of COO), and of offsets (rows of COO)."""
        length = self.nnz if self.format == COO else self.shape[0] + 1
        major = array(self.major, length, index_type(self.major_type))
        minor = array(self.minor, self.nnz, index_type(self.minor_type))
        return array(self.values, self.nnz, value_type(self.value_type)), minor, major

    def parts(self) -> tuple[Any, Any, Any]:
        """Return data, indices and indptr, from 0 on; a COO matrix is sorted by row."""
        from cupool.client_shim.cupyx.scipy.sparse import _kernels

        data, minor, major = self.views()
        minor, major = shifted(minor, -self.base), shifted(major, -self.base)
        if minor.dtype != major.dtype:
            minor, major = minor.astype(np.int64), major.astype(np.int64)
        if self.format == COO:
            major = _kernels.condense(major, self.rows)
        return data, minor, major


@dataclass
class DenseVector(DnVecAttributes):
    """What `createDnVec` makes."""

    def array(self) -> Any:
        """Return a view of it."""
        return array(self.values, self.size, value_type(self.valueType))


@dataclass
class DenseMatrix(DnMatAttributes):
    """What `createDnMat` makes."""

    count: int = 1
    stride: int = 0

    def array(self, index: int = 0) -> Any:
        """Return a view of one of its batch, shape (rows, cols)."""
        from cupool.client_shim import cupy

        dtype, shape = value_type(self.valueType), (self.rows, self.cols)
        if not all(shape):
            return cupy.empty(shape, dtype)
        pointer = self.values + index * self.stride * dtype.itemsize
        if self.order == COLUMNS:
            return _libraries.matrix(pointer, shape, self.ld, dtype)
        return _libraries.matrix(pointer, shape[::-1], self.ld, dtype).T


def array(pointer: int, count: int, dtype: np.dtype[Any]) -> Any:
    """Return a view of what lies at an address; of nothing, an array of its own."""
    from cupool.client_shim import cupy

    return _libraries.vector(pointer, count, 1, dtype) if count else cupy.empty(0, dtype)


def shifted(indices: Any, by: int) -> Any:
    """Return indices from another number on."""
    return indices + by if by else indices


def index_type(code: int) -> np.dtype[Any]:
    """Return the dtype of indices; raise CuSparseError for 16 bits."""
    if code not in _INDEX_TYPES:
        raise error(_NOT_SUPPORTED)
    return _INDEX_TYPES[code]


def value_type(code: int) -> np.dtype[Any]:
    """Return the dtype of values; raise CuSparseError for what is not computed with."""
    if code not in _VALUE_TYPES:
        raise error(_NOT_SUPPORTED)
    return _VALUE_TYPES[code]


# ------------------------------------------------------------------- numbers


def new(what: Any) -> int:
    """Return a number that stands for an object."""
    from cupool.client_shim import session

    number = _libraries.create(_KIND, session.current.device)
    found = _libraries.find(number, _KIND)
    assert found is not None
    found.settings["what"] = what
    return number


def of(desc: int, kind: type[_T]) -> _T:
    """Return what a number stands for; raise CuSparseError if that is not of this kind."""
    found = _libraries.find(desc, _KIND)
    what = None if found is None else found.settings["what"]
    if not isinstance(what, kind):
        raise error(_INVALID_VALUE)
    return what


def forget(desc: int, kind: type) -> None:
    """Forget a number."""
    of(desc, kind)
    _libraries.destroy(desc, _KIND)
