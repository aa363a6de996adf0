"""`all`, `any`, and arrays as sets."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls, core, views
from cupool.client_shim.cupy._core._reduction import reduce

__all__ = [
    "all",
    "any",
    "in1d",
    "intersect1d",
    "isin",
    "setdiff1d",
    "setxor1d",
    "union1d",
]
ndarray = core.ndarray
_BOOL = np.dtype(np.bool_)


def _require(a: Any) -> ndarray:
    if not isinstance(a, ndarray):
        raise TypeError(f"Wrong type for a: {type(a)}; it must be a cupy.ndarray")
    return a


def all(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> ndarray:
    """Return whether all elements are true, along axes or in all.

    Raises:
        TypeError: not a device array.
    """
    return reduce("all", _require(a), axis, None, out, keepdims)


def any(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> ndarray:
    """Return whether any element is true, along axes or in all.

    Raises:
        TypeError: not a device array.
    """
    return reduce("any", _require(a), axis, None, out, keepdims)


def in1d(ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False) -> ndarray:
    """Return, for each element of the flattened `ar1`, whether it is in `ar2`."""
    return isin(views.ravel(views.require(ar1)), ar2, assume_unique, invert)


def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False
) -> ndarray:
    """Return, for each element, whether it is among `test_elements`; no wait.

    Args:
        assume_unique: accepted, without effect.
        invert: return the opposite.
    """
    element, tests = views.require(element), views.require(test_elements)
    args = (element, tests, bool(assume_unique), bool(invert))
    return calls.call_one("isin", args, None, element.shape, _BOOL)


def intersect1d(
    arr1: Any, arr2: Any, assume_unique: bool = False, return_indices: bool = False
) -> Any:
    """Return the sorted elements that are in both arrays; costs a wait.

    Args:
        assume_unique: neither array holds an element twice.
        return_indices: also return where they are in each of the arrays.
    """
    args = (views.require(arr1), views.require(arr2), bool(assume_unique), bool(return_indices))
    results = calls.call_unknown("intersect1d", args, None, 3 if return_indices else 1)
    return tuple(results) if return_indices else results[0]


def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> ndarray:
    """Return the elements of `ar1` that are not in `ar2`; costs a wait.

    Sorted and without repetition, unless `assume_unique` leaves them as they are.
    """
    args = (views.require(ar1), views.require(ar2), bool(assume_unique))
    return calls.call_unknown("setdiff1d", args)[0]


def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> ndarray:
    """Return the sorted elements that are in just one of the arrays; costs a wait."""
    args = (views.require(ar1), views.require(ar2), bool(assume_unique))
    return calls.call_unknown("setxor1d", args)[0]


def union1d(arr1: Any, arr2: Any) -> ndarray:
    """Return the sorted elements that are in either of the arrays; costs a wait."""
    args = (views.require(arr1), views.require(arr2))
    return calls.call_unknown("union1d", args)[0]
