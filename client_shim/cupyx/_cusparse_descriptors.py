"""The descriptors of `cupyx.cusparse`: each owns a number of `cupy.cuda.cusparse`.

Attributes that a class has not are those that the library's `...Get` returns. As with CuPy, arrays
are not kept alive by them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from cupool.client_shim.cupy.cuda import cusparse

_cusparse: Any = cusparse
_VALUE_TYPES = {"f": 0, "d": 1, "e": 2, "b": 3, "F": 4, "D": 5, "B": 8, "i": 10, "I": 12}
"""`cudaDataType_t` by dtype."""
_INDEX_TYPES = {np.dtype(np.int32): 2, np.dtype(np.int64): 3}


def _value_type(dtype: Any) -> int:
    code = _VALUE_TYPES.get(np.dtype(dtype).char)
    if code is None:
        raise TypeError(f"cuSPARSE has no values of {np.dtype(dtype)}")
    return code


def _index_type(dtype: Any) -> int:
    code = _INDEX_TYPES.get(np.dtype(dtype))
    if code is None:
        raise TypeError(f"cuSPARSE has no indices of {np.dtype(dtype)}")
    return code


class BaseDescriptor:
    """A number of the library, forgotten with this object.

    Args:
        descriptor: the number.
        get: gives what it holds.
        destroyer: forgets it.
    """

    __module__ = "cupyx.cusparse"

    def __init__(
        self,
        descriptor: int,
        get: Callable[[int], Any] | None = None,
        destroyer: Callable[[int], None] | None = None,
    ) -> None:
        self.desc: int | None = descriptor
        self.get = get
        self.destroy = destroyer

    def __del__(self, is_shutting_down: Callable[[], bool] = sys.is_finalizing) -> None:
        if is_shutting_down():
            return
        number, self.desc = self.__dict__.get("desc"), None
        if number is not None and self.destroy is not None:
            self.destroy(number)

    def __getattr__(self, name: str) -> Any:
        held = self.__dict__
        if held.get("get") is None or held.get("desc") is None:
            raise AttributeError(f"{type(self).__name__} has no {name}")
        return getattr(held["get"](held["desc"]), name)


class SpMatDescriptor(BaseDescriptor):
    """A descriptor of a sparse matrix."""

    __module__ = "cupyx.cusparse"

    @classmethod
    def create(cls, a: Any) -> SpMatDescriptor:
        """Describe a CSR, CSC or COO matrix."""
        from cupool.client_shim.cupyx.scipy.sparse import _base

        if not _base.issparse(a):
            raise TypeError(f"a sparse matrix is wanted, not {type(a)}")
        makers: dict[str, tuple[Any, Any]] = {
            "csr": (_cusparse.createCsr, _cusparse.csrGet),
            "csc": (_cusparse.createCsc, None),
            "coo": (_cusparse.createCoo, _cusparse.cooGet),
        }
        if a.format not in makers:
            raise ValueError(f"a matrix in the format csr, csc or coo is wanted, not {a.format}")
        make, get = makers[a.format]
        indices = (a.row, a.col) if a.format == "coo" else (a.indptr, a.indices)
        kinds = [_index_type(one.dtype) for one in indices[: 1 if a.format == "coo" else 2]]
        where = (one.data.ptr for one in (*indices, a.data))
        number = make(*a.shape, a.nnz, *where, *kinds, 0, _value_type(a.dtype))
        return cls(number, get, _cusparse.destroySpMat)

    def set_attribute(self, attribute: int, data: int) -> None:
        """Set a `CUSPARSE_SPMAT_*`."""
        _cusparse.spMatSetAttribute(self.desc, attribute, data)


class SpVecDescriptor(BaseDescriptor):
    """A descriptor of a sparse vector."""

    __module__ = "cupyx.cusparse"

    @classmethod
    def create(cls, idx: Any, x: Any) -> SpVecDescriptor:
        """Describe a vector of its indices and values."""
        kinds = (_index_type(idx.dtype), 0, _value_type(x.dtype))
        number = _cusparse.createSpVec(x.size, x.size, idx.data.ptr, x.data.ptr, *kinds)
        return cls(number, _cusparse.spVecGet, _cusparse.destroySpVec)


class DnVecDescriptor(BaseDescriptor):
    """A descriptor of a vector."""

    __module__ = "cupyx.cusparse"

    @classmethod
    def create(cls, x: Any) -> DnVecDescriptor:
        """Describe a vector."""
        number = _cusparse.createDnVec(x.size, x.data.ptr, _value_type(x.dtype))
        return cls(number, _cusparse.dnVecGet, _cusparse.destroyDnVec)


class DnMatDescriptor(BaseDescriptor):
    """A descriptor of a matrix in Fortran order."""

    __module__ = "cupyx.cusparse"

    @classmethod
    def create(cls, a: Any) -> DnMatDescriptor:
        """Describe a matrix."""
        if a.ndim != 2:
            raise ValueError("expected 2-D matrix")
        if not a.flags.f_contiguous:
            raise ValueError("expected F-contiguous array")
        rows, columns = a.shape
        where = (rows, a.data.ptr, _value_type(a.dtype), _cusparse.CUSPARSE_ORDER_COL)
        number = _cusparse.createDnMat(rows, columns, *where)
        return cls(number, _cusparse.dnMatGet, _cusparse.destroyDnMat)


class MatDescriptor:
    """A descriptor of the old API: what kind of matrix it is, without where it lies.

    Args:
        descriptor: its number.
    """

    __module__ = "cupyx.cusparse"

    def __init__(self, descriptor: int) -> None:
        self.descriptor: int | None = descriptor

    @classmethod
    def create(cls) -> MatDescriptor:
        """Describe a general matrix."""
        return cls(_cusparse.createMatDescr())

    def __reduce__(self) -> tuple[Any, tuple[()]]:
        return type(self).create, ()

    def __del__(self, is_shutting_down: Callable[[], bool] = sys.is_finalizing) -> None:
        if is_shutting_down():
            return
        number, self.descriptor = self.__dict__.get("descriptor"), None
        if number:
            _cusparse.destroyMatDescr(number)

    def set_mat_type(self, typ: int) -> None:
        """Set a `CUSPARSE_MATRIX_TYPE_*`."""
        _cusparse.setMatType(self.descriptor, typ)

    def set_mat_index_base(self, base: int) -> None:
        """Set whether indices are from 0 or from 1 on."""
        _cusparse.setMatIndexBase(self.descriptor, base)

    def set_mat_fill_mode(self, fill_mode: int) -> None:
        """Set a `CUSPARSE_FILL_MODE_*`."""
        _cusparse.setMatFillMode(self.descriptor, fill_mode)

    def set_mat_diag_type(self, diag_type: int) -> None:
        """Set a `CUSPARSE_DIAG_TYPE_*`."""
        _cusparse.setMatDiagType(self.descriptor, diag_type)
