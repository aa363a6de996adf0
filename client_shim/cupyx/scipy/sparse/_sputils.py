"""Checks and dtypes that the formats share."""

from __future__ import annotations

import operator
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from cupool.client_shim import cupy
from cupool.client_shim.cupy._core import core

__all__ = ["get_index_dtype", "safely_cast_index_arrays", "upcast"]

SUPPORTED = tuple(np.dtype(char) for char in "fdFD")
INT32_MAX = np.iinfo(np.int32).max
Shape = tuple[int, ...]


def is_dense(x: Any) -> bool:
    """Whether `x` is a device array."""
    return isinstance(x, core.ndarray)


def is_scalar_like(x: Any) -> bool:
    """Whether `x` is a scalar, or a device array without axes."""
    return bool(cupy.isscalar(x)) or (is_dense(x) and x.ndim == 0)


def is_scipy_sparse(x: Any) -> bool:
    """Whether `x` is one of SciPy's matrices; SciPy is not imported to find out."""
    scipy = sys.modules.get("scipy.sparse")
    return scipy is not None and bool(scipy.issparse(x))


def host_sparse() -> Any:
    """Return `scipy.sparse`.

    Raises:
        RuntimeError: SciPy is not installed where the script runs.
    """
    try:
        import scipy.sparse
    except ImportError:
        raise RuntimeError("scipy is not available") from None
    return scipy.sparse


def is_int_like(x: Any) -> bool:
    """Whether `x` is an integer, or a number equal to one."""
    if getattr(x, "ndim", 0) != 0:  # asking an array for its index would fetch it
        return False
    try:
        operator.index(x)
    except TypeError:
        try:
            return bool(int(x) == x)
        except (TypeError, ValueError):
            return False
    return True


def is_shape(x: Any, allow_nd: Sequence[int] = (2,)) -> bool:
    """Whether `x` is a tuple of integers of an allowed length; negative ones pass."""
    if not isinstance(x, tuple) or len(x) not in allow_nd:
        return False
    return all(not isinstance(n, tuple) and is_int_like(n) for n in x)


def check_shape(shape: Any, allow_nd: tuple[int, ...] = (2,)) -> Shape:
    """Return a shape as a tuple of ints.

    Raises:
        ValueError: not a shape of an allowed length, or negative lengths.
    """
    wanted = "must be a 2-tuple of int"
    if allow_nd != (2,):
        wanted = f"must be a tuple of int with length in {allow_nd}"
    try:
        lengths = tuple(shape)
    except TypeError:
        raise ValueError(f"invalid shape ({wanted})") from None
    if not is_shape(lengths, allow_nd):
        raise ValueError(f"invalid shape ({wanted})")
    if any(int(n) < 0 for n in lengths):
        raise ValueError("'shape' elements cannot be negative")
    return tuple(int(n) for n in lengths)


def check_ndim(shape: Any, ndim: int) -> None:
    """Raise ValueError if an explicit shape has other dimensions than the input."""
    if shape is not None and len(shape) != ndim:
        raise ValueError(
            f"cannot use a {len(shape)}-D shape {tuple(shape)} with a {ndim}-D input array"
        )


def new_shape(args: tuple[Any, ...], current: Shape, allow_nd: tuple[int, ...]) -> Shape:
    """Return the shape that arguments of `reshape` mean, with -1 replaced.

    Raises:
        TypeError: no shape.
        ValueError: another number of elements, or of dimensions.
    """
    if not args:
        raise TypeError("function missing 1 required positional argument: 'shape'")
    lengths: Any = args[0] if len(args) == 1 else args
    try:
        shape = tuple(operator.index(n) for n in lengths)
    except TypeError:
        if len(args) > 1 or hasattr(lengths, "__iter__"):
            raise
        shape = (operator.index(lengths),)
    size = int(np.prod(current))
    unknown = [i for i, n in enumerate(shape) if n < 0]
    if len(unknown) > 1:
        raise ValueError("can only specify one unknown dimension")
    if unknown:
        known = int(np.prod([n for n in shape if n >= 0]))
        shown = tuple("newshape" if n < 0 else n for n in shape)
        if known == 0 or size % known:
            raise ValueError(f"cannot reshape array of size {size} into shape {shown}")
        shape = tuple(size // known if n < 0 else n for n in shape)
    elif int(np.prod(shape)) != size:
        raise ValueError(f"cannot reshape array of size {size} into shape {shape}")
    if len(shape) not in allow_nd:
        raise ValueError(f"shape must have length in {allow_nd}. Got new_shape={shape}")
    return shape


def check_data_dtype(dtype: Any) -> np.dtype[Any]:
    """Return a dtype that elements can have.

    Raises:
        ValueError: another one.
    """
    checked: np.dtype[Any] = np.dtype(dtype)
    if not is_data_dtype(checked):
        raise ValueError("Only bool, float32, float64, complex64 and complex128 are supported")
    return checked


def is_data_dtype(dtype: Any) -> bool:
    """Whether elements can have the dtype."""
    return np.dtype(dtype).char in "?fdFD"


def get_index_dtype(
    arrays: Any = (), maxval: float | None = None, check_contents: bool = False
) -> type[np.signedinteger[Any]]:
    """Return int32 or int64, the dtype that index arrays need.

    Args:
        arrays: arrays whose dtypes count.
        maxval: the largest index.
        check_contents: look at the values of wide arrays, one wait each.
    """
    if maxval is not None and maxval > INT32_MAX:
        return np.int64
    for array in (arrays,) if is_dense(arrays) else arrays:
        array = array if is_dense(array) else cupy.asarray(array)
        if np.can_cast(array.dtype, np.int32):
            continue
        if check_contents and array.dtype.kind in "iu":
            if array.size == 0:
                continue
            low, high = cupy.stack((array.min(), array.max())).get().tolist()
            if -INT32_MAX - 1 <= low and high <= INT32_MAX:
                continue
        return np.int64
    return np.int32


def safely_cast_index_arrays(A: Any, idx_dtype: Any = np.int32, msg: str = "") -> Any:
    """Return the index arrays of a matrix in another dtype, the same ones if they have it.

    Returns:
        (indices, indptr), (row, col) or offsets.

    Raises:
        ValueError: indices do not fit.
        TypeError: a format without index arrays.
    """
    dtype = np.dtype(idx_dtype)
    limit = np.iinfo(dtype).max
    msg = msg or f"dtype {dtype}"
    large = max(A.shape) > limit
    if A.format in ("csr", "csc"):
        if int(A.indptr[-1]) > limit:
            raise ValueError(f"indptr values too large for {msg}")
        if large and bool((A.indices > limit).any()):
            raise ValueError(f"indices values too large for {msg}")
        return A.indices.astype(dtype, copy=False), A.indptr.astype(dtype, copy=False)
    if A.format == "coo":
        if large and bool((cupy.maximum(A.row, A.col) > limit).any()):
            raise ValueError(f"coords values too large for {msg}")
        return A.row.astype(dtype, copy=False), A.col.astype(dtype, copy=False)
    if A.format == "dia":
        if large and bool((A.offsets > limit).any()):
            raise ValueError(f"offsets values too large for {msg}")
        return A.offsets.astype(dtype, copy=False)
    raise TypeError(f"Format {A.format} is not associated with index arrays.")


def check_axis(axis: Any) -> None:
    """Raise TypeError or ValueError unless `axis` is None or an axis of a matrix."""
    if axis is None:
        return
    if isinstance(axis, tuple):
        raise TypeError("Tuples are not accepted for the 'axis' parameter: use -2, -1, 0, 1, None")
    if not np.issubdtype(np.dtype(type(axis)), np.integer):
        raise TypeError(f"axis must be an integer, not {type(axis).__name__}")
    if not -2 <= axis <= 1:
        raise ValueError("axis out of range")


def check_axis_1d(axis: Any) -> None:
    """Raise TypeError or ValueError unless `axis` is None or the axis of a vector."""
    if isinstance(axis, tuple):
        if len(axis) != 1:
            raise ValueError("axis out of range for 1-D array")
        axis = operator.index(axis[0])
    if axis not in (None, 0, -1):
        raise ValueError(f"axis {axis} is out of bounds for 1-D array")


def collapse_axis(axis: Any) -> Any:
    """Return a tuple of axes of a matrix as one axis, or None for both."""
    if not isinstance(axis, tuple):
        return axis
    axes = [operator.index(a) for a in axis]
    if len(axes) == 1:
        return axes[0]
    if len(axes) == 2 and {a % 2 for a in axes} == {0, 1} and all(-2 <= a < 2 for a in axes):
        return None
    raise ValueError("axis out of range for 2-D reduction")


def upcast(*dtypes: Any) -> np.dtype[Any]:
    """Return the smallest supported dtype that holds all of these.

    Raises:
        TypeError: there is none.
    """
    common = np.result_type(*dtypes)
    for dtype in SUPPORTED:
        if np.can_cast(common, dtype):
            return dtype
    raise TypeError(f"no supported conversion for types: {dtypes!r}")
