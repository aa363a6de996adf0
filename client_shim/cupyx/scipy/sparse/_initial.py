"""What the constructors of CSR and CSC make of their first argument."""

from __future__ import annotations

from typing import Any, NamedTuple

from cupool.client_shim import cupy
from cupool.client_shim.cupyx.scipy.sparse import _base, _kernels, _sputils


class Given(NamedTuple):
    """Parts before they are cast.

    Attributes:
        shape: None where it follows from the indices.
        copy: whether the arrays are the caller's and must be copied.
        canonical: whether sorted without duplicates; None if not known.
    """

    data: Any
    indices: Any
    indptr: Any
    index_dtype: Any
    shape: tuple[int, ...] | None
    copy: bool
    canonical: bool | None = None


def is_1d_input(arg1: Any, shape: Any) -> bool:
    """Whether constructor arguments describe a vector."""
    if _base.issparse(arg1) or _sputils.is_dense(arg1) or _sputils.is_scipy_sparse(arg1):
        return arg1.ndim == 1 and (shape is None or len(shape) == 1)
    if shape is not None:
        return len(shape) == 1
    if not isinstance(arg1, tuple):
        return False
    if len(arg1) == 2 and isinstance(arg1[1], tuple):
        return len(arg1[1]) == 1
    return len(arg1) == 1


def given_parts(target: Any, arg1: Any, shape: Any, dtype: Any, copy: bool) -> Given:
    """Return the parts, in the format of `target`, of a constructor's first argument.

    Raises:
        ValueError: an argument of another form, parts that do not fit each other.
    """
    if _base.issparse(arg1):
        x = arg1.asformat(target.format)
        copy = copy and arg1.format == target.format
        known = x.__dict__.get("_has_canonical_format")
        parts: _kernels.Parts = x._parts
        return Given(*parts, x.indices.dtype, shape or arg1.shape, copy, known or None)
    if _sputils.is_shape(arg1):
        rows, columns = _sputils.check_shape(arg1)
        index_dtype = _sputils.get_index_dtype(maxval=max(rows, columns))
        indptr = cupy.zeros(target._swap(rows, columns)[0] + 1, dtype=index_dtype)
        none = cupy.zeros(0, index_dtype)
        data = cupy.zeros(0, dtype if dtype else "d")
        return Given(data, none, indptr, index_dtype, (rows, columns), False)
    if _sputils.is_scipy_sparse(arg1):
        x = arg1.asformat(target.format)
        arrays = (cupy.array(x.data), cupy.array(x.indices), cupy.array(x.indptr))
        return Given(*arrays, x.indices.dtype, shape or arg1.shape, False)
    if isinstance(arg1, tuple) and len(arg1) == 2:
        coo = target._coo_container(arg1, shape=shape, dtype=dtype, copy=copy)
        x = coo.asformat(target.format)
        parts = x._parts
        return Given(*parts, x.indices.dtype, shape or coo.shape, False, True)
    if isinstance(arg1, tuple) and len(arg1) == 3:
        return _from_tuple(target, arg1, shape, copy)
    if _sputils.is_dense(arg1):
        return _from_dense(target, arg1, shape)
    raise ValueError("Unsupported initializer format")


def _from_tuple(target: Any, arg1: tuple[Any, Any, Any], shape: Any, copy: bool) -> Given:
    """Check parts; one wait, for the first and last of indptr."""
    data, indices, indptr = arg1
    if not all(_sputils.is_dense(a) and a.ndim == 1 for a in arg1):
        raise ValueError("data, indices, and indptr must be 1-D cupy arrays")
    if len(data) != len(indices):
        raise ValueError("indices and data should have the same size")
    if indptr.size > 0:
        first, last = cupy.stack((indptr[0], indptr[-1])).get().tolist()
        if first != 0:
            raise ValueError(f"index pointer should start with 0 (got {first})")
        if last > data.size:
            raise ValueError(
                f"last index pointer ({last}) exceeds the size of data/indices ({data.size})"
            )
        if last < data.size:
            data, indices = data[:last], indices[:last]
    contents = not isinstance(target, _base.sparray)
    maxval = None if shape is None else max(shape)
    index_dtype = _sputils.get_index_dtype((indices, indptr), maxval, contents)
    return Given(data, indices, indptr, index_dtype, shape, copy)


def _from_dense(target: Any, a: Any, shape: Any) -> Given:
    """Find the elements that are not zero, which waits once."""
    if a.ndim > 2:
        raise ValueError("expected dimension <= 2 array or matrix")
    if a.ndim == 0 and isinstance(target, _base.sparray):
        name, vectors = type(target).__name__, 1 in getattr(target, "_allow_nd", ())
        text = f"{name} does not support scalar (0-D) input; provide a "
        raise (TypeError if vectors else ValueError)(text + ("1-D or " * vectors) + "2-D array")
    a = cupy.atleast_2d(a)
    major = a if target._major_axis == 0 else a.T
    # CuPy counts places of bool matrices in one index, those of others by axis.
    maxval = a.size if a.dtype.char not in "fdFD" else max(a.shape)
    index_dtype = _sputils.get_index_dtype(maxval=maxval)
    parts = _kernels.from_dense(major, index_dtype)
    return Given(*parts, parts[1].dtype, shape or a.shape, False, True)
