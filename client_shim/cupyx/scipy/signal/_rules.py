"""What the declarations of this package predict with."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupy._core._dtype import to_inexact
from cupool.client_shim.cupy._creation.from_data import asarray
from cupool.client_shim.cupyx.scipy._declared import Spec
from cupool.client_shim.shadow import keep_order_strides, make

__all__ = [
    "BOOL",
    "COMPLEX",
    "FLOAT",
    "INT",
    "coefficients",
    "described",
    "frequencies",
    "on_device",
    "result_of",
    "transformed",
    "view_of",
    "whole_number",
]
ndarray = core.ndarray
FLOAT = np.dtype(np.float64)
COMPLEX = np.dtype(np.complex128)
INT = np.dtype(np.int64)
BOOL = np.dtype(np.bool_)


def on_device(*values: Any) -> bool:
    """Return whether a value is an array of the device, or a sequence that holds one."""
    return any(
        isinstance(value, ndarray) or (isinstance(value, (list, tuple)) and on_device(*value))
        for value in values
    )


def described(value: Any) -> Spec:
    """Return shape and dtype of what `asarray` makes of a value."""
    if not isinstance(value, ndarray):
        value = asarray(value) if on_device(value) else np.asarray(value)
    return Spec(value.shape, value.dtype)


def coefficients(value: Any) -> Spec:
    """Return shape and dtype of what `atleast_1d` makes of a value."""
    found = described(value)
    return found if found.shape else Spec((1,), found.dtype)


def result_of(*operands: Any) -> np.dtype[Any]:
    """Return the dtype of an expression of floating arrays (their dtypes) and host numbers.

    Integers count as float64, as they do in a division.
    """
    kinds = [to_inexact(v) if isinstance(v, np.dtype) else v for v in operands]
    return np.dtype(np.result_type(*kinds))


def whole_number(value: Any) -> int | None:
    """Return a host integer; None for anything else, such as a float or an array."""
    if isinstance(value, ndarray):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def frequencies(count: Any, default: int, scaled: bool = False) -> Spec | None:
    """Predict what a response's argument for frequencies becomes: so many, or those given.

    Args:
        scaled: given frequencies are divided by the sampling rate, a number.

    Returns:
        None if only the device knows, of an array of no axis, whether it is a count.
    """
    if isinstance(count, ndarray) and not count.ndim:
        return None
    number = default if count is None else whole_number(count)
    if number is not None:
        return Spec((number,), FLOAT)
    given = coefficients(count)
    return Spec(given.shape, to_inexact(given.dtype)) if scaled else given


def view_of(array: np.ndarray[Any, Any]) -> Spec:
    """Return the prediction of a result with the axes of this view of a shadow, packed."""
    return Spec(array.shape, array.dtype, keep_order_strides(array))


def transformed(shape: tuple[int, ...], dtype: np.dtype[Any], axis: int) -> Spec:
    """Predict what a Fourier transform of an axis gives, which is computed as the last one."""
    swapped = list(shape)
    swapped[axis], swapped[-1] = swapped[-1], swapped[axis]
    return view_of(np.swapaxes(make(tuple(swapped), dtype), axis, -1))
