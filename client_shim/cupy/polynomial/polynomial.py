"""Power series, lowest power first."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import _operators, core, views
from cupool.client_shim.cupy._core._dtype import to_inexact
from cupool.client_shim.cupy._core._reduction import reduce
from cupool.client_shim.cupy._creation.basic import eye
from cupool.client_shim.cupy._creation.from_data import array, asarray
from cupool.client_shim.cupy._creation.ranges import arange
from cupool.client_shim.cupy.polynomial.polyutils import as_int, as_series, to_float

__all__ = ["polycompanion", "polyval", "polyvalfromroots", "polyvander"]
ndarray = core.ndarray


def polyvander(x: Any, deg: Any) -> ndarray:
    """Return the powers 0 to `deg` of each element, along a new last axis.

    Raises:
        TypeError, ValueError: `deg` is not an integer, or negative.
    """
    deg = as_int(deg, "deg")
    if deg < 0:
        raise ValueError("degree must be non-negative")
    if x.ndim == 0:
        x = views.ravel(x)
    exponents = views.reshape(arange(deg + 1, dtype=to_inexact(x.dtype)), (-1,) + (1,) * x.ndim)
    made = _operators.ufuncs.power(x, exponents)
    return core.view_of(made, np.moveaxis(made._shadow, 0, -1))


def polycompanion(c: Any) -> ndarray:
    """Return the companion matrix of a series; waits, as trailing zeros do not count.

    Raises:
        ValueError: the series is constant.
    """
    (series,) = as_series([c])
    degree = series.size - 1
    if degree == 0:
        raise ValueError("Series must have maximum degree of at least 1.")
    matrix: Any = eye(degree, k=-1, dtype=series.dtype)
    coefficients: Any = series
    matrix[:, -1] -= coefficients[:-1] / coefficients[-1]
    made: ndarray = matrix
    return made


def polyval(x: Any, c: Any, tensor: bool = True) -> Any:
    """Return the value of a series at points.

    Args:
        tensor: evaluate every column of `c` at every point, instead of broadcasting.
    """
    c = to_float(array(c, ndmin=1, copy=None))
    if isinstance(x, (tuple, list)):
        x = asarray(x)
    if isinstance(x, ndarray) and tensor:
        c = views.reshape(c, c.shape + (1,) * x.ndim)
    made = c[-1] + x * 0
    for place in range(2, len(c) + 1):
        made = c[-place] + made * x
    return made


def polyvalfromroots(x: Any, r: Any, tensor: bool = True) -> Any:
    """Return the value at points of the polynomial with given roots.

    Args:
        tensor: evaluate every column of `r` at every point, instead of broadcasting.

    Raises:
        ValueError: without `tensor`, points with as many axes as the roots.
    """
    r = to_float(array(r, ndmin=1, copy=None))
    if isinstance(x, (tuple, list)):
        x = asarray(x)
    if isinstance(x, ndarray):
        if tensor:
            r = views.reshape(r, r.shape + (1,) * x.ndim)
        elif x.ndim >= r.ndim:
            raise ValueError("x.ndim must be < r.ndim when tensor == False")
    return reduce("prod", _operators.ufuncs.subtract(x, r), 0)
