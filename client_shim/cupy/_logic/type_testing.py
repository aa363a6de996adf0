"""Questions about types, and whether elements have an imaginary part."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import _operators, core, views
from cupool.client_shim.cupy._creation.basic import ones, zeros
from cupool.client_shim.cupy._creation.from_data import asarray

__all__ = ["iscomplex", "iscomplexobj", "isfortran", "isreal", "isrealobj"]
ndarray = core.ndarray


def iscomplex(x: Any) -> Any:
    """Return, element by element, whether the imaginary part is not zero."""
    if np.isscalar(x):
        return np.iscomplex(x)
    if not isinstance(x, ndarray):
        return asarray(np.iscomplex(x))
    if x.dtype.kind == "c":
        return _operators.ufuncs.not_equal(views.imag(x), 0)
    return zeros(x.shape, bool)


def isreal(x: Any) -> Any:
    """Return, element by element, whether the imaginary part is zero."""
    if np.isscalar(x):
        return np.isreal(x)
    if not isinstance(x, ndarray):
        return asarray(np.isreal(x))
    if x.dtype.kind == "c":
        return _operators.ufuncs.equal(views.imag(x), 0)
    return ones(x.shape, bool)


def iscomplexobj(x: Any) -> bool:
    """Return whether the dtype is complex, whatever the values."""
    return x.dtype.kind == "c" if isinstance(x, ndarray) else bool(np.iscomplexobj(x))


def isrealobj(x: Any) -> bool:
    """Return whether the dtype is not complex, whatever the values."""
    return x.dtype.kind != "c" if isinstance(x, ndarray) else bool(np.isrealobj(x))


def isfortran(a: Any) -> bool:
    """Return whether an array is F contiguous and not C contiguous."""
    return bool(a.flags.f_contiguous and not a.flags.c_contiguous)
