"""Arrays of a required kind: `require`, `asarray_chkfinite`, `asfarray`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import _operators, core
from cupool.client_shim.cupy._core._reduction import reduce
from cupool.client_shim.cupy._creation.from_data import array, asanyarray, asarray

__all__ = ["asarray_chkfinite", "asfarray", "require"]
ndarray = core.ndarray

_REQUIREMENTS = {
    "C": "C",
    "C_CONTIGUOUS": "C",
    "CONTIGUOUS": "C",
    "F": "F",
    "F_CONTIGUOUS": "F",
    "FORTRAN": "F",
    "O": "O",
    "OWNDATA": "O",
}


def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> ndarray:
    """Return `a` on the device after looking, with a wait, that all of it is finite.

    Raises:
        ValueError: a NaN or an infinity is in it.
    """
    made = asarray(a, dtype, order)
    if not bool(reduce("all", _operators.ufuncs.isfinite(made))):
        raise ValueError("array must not contain Infs or NaNs")
    return made


def asfarray(a: Any, dtype: Any = np.float64) -> ndarray:
    """Return `a` as an array of a floating or complex dtype, float64 instead of any other."""
    if not np.issubdtype(dtype, np.inexact):
        dtype = np.float64
    return asarray(a, dtype)


def require(a: Any, dtype: Any = None, requirements: Any = None) -> ndarray:
    """Return `a` with a dtype and a memory layout, copied only if it lacks them.

    Args:
        requirements: names or a string of letters: "C", "F" (contiguous), "O" (owns its memory).

    Raises:
        ValueError: an unknown name, both "C" and "F", or not a dtype.
    """
    try:
        wanted = {_REQUIREMENTS[name.upper()] for name in requirements or ()}
    except KeyError as exc:
        raise ValueError(f'Incorrect flag "{exc.args[0]}" in requirements') from None
    if wanted >= {"C", "F"}:
        raise ValueError('Cannot specify both "C" and "F" order')
    try:
        if not wanted:
            return asanyarray(a, dtype)
        order = "C" if "C" in wanted else "F" if "F" in wanted else "A"
        return array(a, dtype, True if "O" in wanted else None, order)
    except TypeError:
        raise ValueError(f'Incorrect dtype "{dtype}" provided') from None
