"""`empty`, `zeros`, `ones`, `full`, `eye`, `identity` and their `_like` forms."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from cupool.client_shim import shadow as _shadow
from cupool.client_shim.cupy._core import calls, core
from cupool.client_shim.cupy._core._dtype import get_dtype
from cupool.client_shim.cupy._core.routines_indexing import assign
from cupool.client_shim.cupy._core.views import require

__all__ = [
    "astype",
    "empty",
    "empty_like",
    "eye",
    "full",
    "full_like",
    "identity",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
]
ndarray = core.ndarray


def lengths_of(shape: Any) -> tuple[int, ...]:
    """Return a shape as a tuple of non-negative ints.

    Raises:
        ValueError: a negative length.
        TypeError: not integers.
    """
    if isinstance(shape, ndarray):
        raise TypeError("a shape is made of host integers; use int() or .get()")
    if shape is None:
        raise TypeError("None is not a shape. Use () for an array without axes")
    lengths = (shape,) if np.ndim(shape) == 0 else tuple(shape)
    result = tuple(operator.index(n) for n in lengths)
    if any(n < 0 for n in result):
        raise ValueError("Negative dimensions are not allowed")
    return result


def _filled(shape: Any, dtype: Any, order: str | None, value: Any, cls: Any = None) -> ndarray:
    made = ndarray(lengths_of(shape), dtype, order=core.order_char(order))
    assign(made, value)
    return made


def empty(shape: Any, dtype: Any = float, order: str = "C") -> ndarray:
    """Return a new array without setting its elements."""
    return ndarray(lengths_of(shape), dtype, order=order)


def zeros(shape: Any, dtype: Any = float, order: str = "C") -> ndarray:
    """Return a new array of zeros."""
    return _zeros(lengths_of(shape), get_dtype(dtype), core.order_char(order))


def _zeros(shape: tuple[int, ...], dtype: np.dtype[Any], order: Any) -> ndarray:
    return calls.call_one("zeros", (shape, dtype, order), None, shape, dtype, order)


def ones(shape: Any, dtype: Any = float, order: str = "C") -> ndarray:
    """Return a new array of ones."""
    return _filled(shape, dtype, order, 1)


def full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C") -> ndarray:
    """Return a new array with one value; its dtype is the value's by default."""
    if dtype is None:
        dtype = fill_value.dtype if isinstance(fill_value, ndarray) else np.array(fill_value).dtype
    return _filled(shape, dtype, order, fill_value)


def _like(a: Any, dtype: Any, order: str, subok: Any, shape: Any) -> ndarray:
    """Make an empty array as another: its shape, dtype and layout unless told otherwise."""
    if subok is not None:
        raise TypeError("subok is not supported yet")
    if not isinstance(a, np.ndarray):  # of which nothing but the layout is taken
        a = require(a)
    dtype = a.dtype if dtype is None else get_dtype(dtype)
    lengths = a.shape if shape is None else lengths_of(shape)
    char = core.order_char(order or "K", allowed="CFAK")
    layout: Any = char
    if char in "AK":
        flags = a.flags
        layout = "F" if flags.f_contiguous and not flags.c_contiguous else "C"
        if char == "K" and len(lengths) != a.ndim:
            layout = "C"
        elif char == "K" and not flags.forc:
            layout = _kept_strides(a, dtype, lengths)
    return calls.call_one("empty", (), None, lengths, dtype, layout)


def _kept_strides(a: Any, dtype: np.dtype[Any], lengths: tuple[int, ...]) -> Any:
    """Return packed strides for a shape, the axes in the order in which they lie in `a`."""
    strides = [0] * a.ndim
    step = dtype.itemsize
    for _, axis in sorted((abs(s), -i) for i, s in enumerate(a.strides)):
        strides[-axis] = step
        step *= max(lengths[-axis], 1)
    return _shadow.order_of(_shadow.make(lengths, dtype, tuple(strides)))


def empty_like(
    prototype: Any, dtype: Any = None, order: str = "K", subok: Any = None, shape: Any = None
) -> ndarray:
    """Return a new array as `prototype`, without setting its elements."""
    return _like(prototype, dtype, order, subok, shape)


def zeros_like(
    a: Any, dtype: Any = None, order: str = "K", subok: Any = None, shape: Any = None
) -> ndarray:
    """Return an array of zeros as `a`."""
    made = _like(a, dtype, order, subok, shape)
    assign(made, 0)
    return made


def ones_like(
    a: Any, dtype: Any = None, order: str = "K", subok: Any = None, shape: Any = None
) -> ndarray:
    """Return an array of ones as `a`."""
    made = _like(a, dtype, order, subok, shape)
    assign(made, 1)
    return made


def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "K",
    subok: Any = None,
    shape: Any = None,
) -> ndarray:
    """Return an array of one value as `a`."""
    made = _like(a, dtype, order, subok, shape)
    assign(made, fill_value)
    return made


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = float, order: str = "C") -> ndarray:
    """Return ones on a diagonal and zeros elsewhere."""
    rows, columns = int(N), int(N if M is None else M)
    made = zeros((rows, columns), dtype, order)
    if -rows < k < columns and rows and columns:
        made.diagonal(k)[...] = 1
    return made


def identity(n: int, dtype: Any = float) -> ndarray:
    """Return a square identity matrix."""
    return eye(n, dtype=dtype)


def astype(x: Any, dtype: Any, /, *, copy: bool = True) -> ndarray:
    """Return `x` converted; itself if nothing changes and `copy` is false.

    Raises:
        TypeError: not a device array.
    """
    if not isinstance(x, ndarray):
        raise TypeError(f"Input should be a CuPy array. It is a {type(x)} instead.")
    made: ndarray = x.astype(dtype, copy=copy)
    return made
