"""Checking and trimming coefficient vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import _operators, core, views
from cupool.client_shim.cupy._creation.basic import zeros
from cupool.client_shim.cupy._manipulation.add_remove import trim_zeros
from cupool.client_shim.cupy.lib._routines_poly import common_dtype

__all__ = ["as_series", "trimcoef", "trimseq"]
ndarray = core.ndarray


def trimseq(seq: Any) -> ndarray:
    """Return a vector without trailing zeros, but at least one element; waits.

    Raises:
        TypeError, ValueError: not one axis.
    """
    if seq.ndim == 0:
        raise TypeError("Input must be 1-d array")
    if seq.ndim > 1:
        raise ValueError("Input must be 1-d array")
    if seq.size == 0:
        return views.require(seq)
    made = trim_zeros(seq, "b")
    return made if made.size else core.view_of(seq, seq._shadow[:1])


def as_series(alist: Sequence[Any], trim: bool = True) -> list[ndarray]:
    """Return vectors in one floating or complex dtype, trimmed if wished.

    Raises:
        ValueError: an empty, boolean or multidimensional one.
    """
    made = []
    for a in alist:
        if a.size == 0:
            raise ValueError("Coefficient array is empty")
        if a.ndim > 1:
            raise ValueError("Coefficient array is not 1-d")
        if a.dtype.kind == "b":
            raise ValueError("Coefficient arrays have no common type")
        vector = views.ravel(a)
        made.append(trimseq(vector) if trim else vector)
    dtype = common_dtype(*made)
    return [a.astype(dtype, copy=False) for a in made]


def trimcoef(c: Any, tol: float = 0) -> ndarray:
    """Return coefficients without trailing ones of magnitude up to `tol`; waits.

    Raises:
        ValueError: a negative `tol`; an empty, boolean or multidimensional vector.
    """
    if tol < 0:
        raise ValueError("tol must be non-negative")
    if c.size == 0:
        raise ValueError("Coefficient array is empty")
    if c.ndim > 1:
        raise ValueError("Coefficient array is not 1-d")
    if c.dtype.kind == "b":
        raise ValueError("bool inputs are not allowed")
    c = views.ravel(c)
    c = c.astype(common_dtype(c), copy=False)
    u = _operators.ufuncs
    kept = trim_zeros(u.greater(u.absolute(c), tol), "b").size
    if not kept:
        return zeros((1,), c.dtype)
    return core.view_of(c, c._shadow[:kept])


def as_int(value: Any, what: str) -> int:
    """Return an int.

    Raises:
        TypeError: not an integer.
    """
    try:
        return int(value.__index__())
    except (TypeError, AttributeError) as exc:
        raise TypeError(f"{what} must be an integer, received {value}") from exc


def to_float(c: ndarray) -> ndarray:
    """Return integers and booleans as float64."""
    return c.astype(np.float64) if c.dtype.kind in "biu" else c
