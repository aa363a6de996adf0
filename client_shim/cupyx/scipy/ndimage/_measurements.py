"""Measurements of labelled regions."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from cupool.client_shim.cupy import _util as _cupy_util
from cupool.client_shim.cupy._core import calls, core
from cupool.client_shim.cupy._core._dtype import accumulator, to_inexact
from cupool.client_shim.cupy._core._kernel import broadcast_shapes

__all__ = [
    "center_of_mass",
    "extrema",
    "maximum",
    "maximum_position",
    "mean",
    "median",
    "minimum",
    "minimum_position",
    "standard_deviation",
    "sum",
    "sum_labels",
    "variance",
]
ndarray = core.ndarray
_FLOAT = np.dtype(np.float64)
_INT = np.dtype(np.int64)
_FAST = frozenset("iefdILQ")


def _check(name: str, input: Any, labels: Any, index: Any) -> None:
    """Check the arguments of sums and means.

    Raises:
        TypeError: complex values, anything but device arrays; an index that is no integer.
        ValueError: labels that do not broadcast.
    """
    if not isinstance(input, ndarray):
        raise TypeError("input must be cupy.ndarray")
    if input.dtype.kind == "c":
        raise TypeError(f"cupyx.scipy.ndimage.{name} does not support {input.dtype}")
    if input.dtype.char not in _FAST:
        message = f"{input.dtype} takes the slower of two ways in cupyx.scipy.ndimage.{name}"
        warnings.warn(message, _cupy_util.PerformanceWarning, stacklevel=4)
    if labels is None:
        return
    if not isinstance(labels, ndarray):
        raise TypeError("label must be cupy.ndarray")
    broadcast_shapes([input.shape, labels.shape])
    if index is not None and not isinstance(index, (ndarray, int, np.integer)):
        raise TypeError("index must be cupy.ndarray or a scalar int")


def _shape(labels: Any, index: Any) -> tuple[int, ...]:
    """Return the shape of a result: that of the index if both it and labels are arrays."""
    if labels is None or not isinstance(index, ndarray):
        return ()
    shape: tuple[int, ...] = index.shape
    return shape


def _send(name: str, input: Any, labels: Any, index: Any, dtype: np.dtype[Any]) -> ndarray:
    args = (input, labels, index)
    shape = _shape(labels, index)
    return calls.call_one(f"scipy.ndimage.{name}", args, None, shape, dtype)


def sum_labels(input: Any, labels: Any = None, index: Any = None) -> ndarray:
    """Return the sum of the values of each region.

    Args:
        labels: array of regions; without it, all is one region.
        index: the labels wanted, an array or one; by default, all that are not 0 are one region.

    Raises:
        TypeError: complex values, anything but device arrays; an index that is no integer.
        ValueError: labels that do not broadcast.
    """
    _check("sum", input, labels, index)
    if labels is not None and isinstance(index, ndarray):
        dtype = _FLOAT if index.size else _INT
        if not index.size:
            from cupool.client_shim.cupy._creation.basic import empty

            return empty((0,), dtype)
    else:
        dtype = accumulator(input.dtype)
    return _send("sum_labels", input, labels, index, dtype)


def sum(input: Any, labels: Any = None, index: Any = None) -> ndarray:
    """Return the sum of the values of each region; see `sum_labels`."""
    return sum_labels(input, labels, index)


def mean(input: Any, labels: Any = None, index: Any = None) -> ndarray:
    """Return the mean of the values of each region; see `sum_labels`."""
    _check("mean", input, labels, index)
    return _send("mean", input, labels, index, _FLOAT)


def variance(input: Any, labels: Any = None, index: Any = None) -> ndarray:
    """Return the variance of the values of each region; see `sum_labels`."""
    _check("variance", input, labels, index)
    return _send("variance", input, labels, index, _FLOAT)


def standard_deviation(input: Any, labels: Any = None, index: Any = None) -> ndarray:
    """Return the standard deviation of the values of each region; see `sum_labels`."""
    _check("variance", input, labels, index)
    return _send("standard_deviation", input, labels, index, _FLOAT)


def minimum(input: Any, labels: Any = None, index: Any = None) -> ndarray:
    """Return the smallest value of each region; see `sum_labels`."""
    return _send("minimum", input, labels, index, input.dtype)


def maximum(input: Any, labels: Any = None, index: Any = None) -> ndarray:
    """Return the largest value of each region; see `sum_labels`."""
    return _send("maximum", input, labels, index, input.dtype)


def median(input: Any, labels: Any = None, index: Any = None) -> ndarray:
    """Return the median of the values of each region; see `sum_labels`."""
    return _send("median", input, labels, index, to_inexact(input.dtype))


def _positions(found: list[ndarray], ndim: int, shape: tuple[int, ...]) -> Any:
    """Bring coordinates to the host, all with one wait: a tuple, or a list of tuples."""
    from cupool.client_shim.cupy._manipulation.join import stack

    if not found:
        return () if not shape else []
    host = stack(found).get().reshape(-1, ndim)
    rows = [tuple(row) for row in host]
    return rows if shape else rows[0]


def _place(name: str, input: Any, labels: Any, index: Any) -> Any:
    shape = _shape(labels, index)
    count = input.ndim * int(np.prod(shape, dtype=int))
    specs = [((), _INT, "C")] * count
    found = calls.call(f"scipy.ndimage.{name}", (input, labels, index), None, *specs)
    return _positions(found, input.ndim, shape)


def minimum_position(input: Any, labels: Any = None, index: Any = None) -> Any:
    """Return the coordinates of the smallest value of each region, as tuples on the host."""
    return _place("minimum_position", input, labels, index)


def maximum_position(input: Any, labels: Any = None, index: Any = None) -> Any:
    """Return the coordinates of the largest value of each region, as tuples on the host."""
    return _place("maximum_position", input, labels, index)


def extrema(input: Any, labels: Any = None, index: Any = None) -> Any:
    """Return minima, maxima and the coordinates of both; see `minimum` and `minimum_position`."""
    shape = _shape(labels, index)
    count = input.ndim * int(np.prod(shape, dtype=int))
    values = [(shape, input.dtype, "C")] * 2
    places = [((), _INT, "C")] * (2 * count)
    args = (input, labels, index)
    low, high, *found = calls.call("scipy.ndimage.extrema", args, None, *values, *places)
    where = _positions(found, input.ndim, (2,))
    half = len(where) // 2
    if not shape:
        return low, high, where[0], where[1]
    return low, high, where[:half], where[half:]


def center_of_mass(input: Any, labels: Any = None, index: Any = None) -> Any:
    """Return the coordinates of each region's centre of mass.

    Returns:
        a tuple of 0-d arrays, or a list with an array for each label of an array `index`.

    Raises:
        IndexError: input without axes.
    """
    _check("sum", input, labels, index)
    if input.ndim == 0:
        raise IndexError("list index out of range")
    specs: list[Any] = [((), _FLOAT, "C")] * input.ndim
    if labels is not None and isinstance(index, ndarray):
        specs = [((input.ndim,), _FLOAT, "C")] * index.size
    args = (input, labels, index)
    found = calls.call("scipy.ndimage.center_of_mass", args, None, *specs) if specs else []
    return found if labels is not None and isinstance(index, ndarray) else tuple(found)
