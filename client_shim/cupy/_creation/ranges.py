"""`arange`, `linspace`, `logspace`, `meshgrid`, `mgrid`, `ogrid`."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import _operators, calls, core, views
from cupool.client_shim.cupy._core._dtype import get_dtype
from cupool.client_shim.cupy._creation.from_data import array

__all__ = [
    "arange",
    "linspace",
    "logspace",
    "meshgrid",
    "mgrid",
    "ogrid",
]
ndarray = core.ndarray


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> ndarray:
    """Return evenly spaced values of a half-open interval.

    Raises:
        ZeroDivisionError: `step` is zero.
        ValueError: bool with more than two values.
    """
    if stop is None:
        start, stop = 0, start
    if step is None:
        step = 1
    if dtype is None:
        kinds = [np.asarray(x).dtype for x in (start, stop, step)]
        dtype = np.result_type(*(np.dtype(np.int64) if k.kind == "b" else k for k in kinds))
    dtype = get_dtype(dtype)
    size = max(int(ceil((stop - start) / step)), 0)
    if dtype.kind == "b" and size > 2:
        raise ValueError("no fill-function for data-type.")
    return calls.call_one("arange", (start, stop, step, dtype), None, (size,), dtype)


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """Return `num` evenly spaced values; `start` and `stop` may be arrays."""
    num = num.__index__()
    if num < 0:
        raise ValueError(f"linspace with num={num} points, must be non-negative")
    arrays = [x for x in (start, stop) if isinstance(x, (ndarray, np.ndarray, list, tuple))]
    wanted = None if dtype is None else get_dtype(dtype)
    if arrays:
        return _linspace_arrays(array(start), array(stop), num, endpoint, retstep, wanted, axis)
    steps = (num - 1) if endpoint else num
    made = np.result_type(np.asarray(start), np.asarray(stop), float) if wanted is None else wanted
    step = (stop - start) / steps if steps > 0 else float("nan")
    args = (start, stop, num, bool(endpoint), False, made)
    result = calls.call_one("linspace", args, None, (num,), made)
    return (result, step) if retstep else result


def _linspace_arrays(
    start: ndarray, stop: ndarray, num: int, endpoint: bool, retstep: bool, dtype: Any, axis: int
) -> Any:
    made = dtype or np.result_type(start.dtype, stop.dtype, float)
    u = _operators.ufuncs
    steps = (num - 1) if endpoint else num
    delta = u.subtract(stop.astype(np.result_type(made, float)), start)
    positions = views.reshape(arange(num, dtype=float), (num,) + (1,) * delta.ndim)
    step = delta / steps if steps > 0 else delta * float("nan")
    result = positions * (step if steps > 0 else delta) + start
    if endpoint and num > 1:
        result[-1] = stop
    if made.kind in "iu":
        result = u.floor(result)
    result = result.astype(made, copy=False)
    if axis != 0:
        from cupool.client_shim.cupy._manipulation.transpose import moveaxis

        result = moveaxis(result, 0, axis)
    return (result, step) if retstep else result


def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> ndarray:
    """Return values evenly spaced on a logarithmic scale."""
    exponents = linspace(start, stop, num, endpoint, axis=axis)
    result: ndarray = _operators.ufuncs.power(base, exponents)
    return result if dtype is None else result.astype(dtype)


def meshgrid(*xi: Any, indexing: str = "xy", sparse: bool = False, copy: bool = True) -> Any:
    """Return coordinate arrays from coordinate vectors.

    Raises:
        ValueError: `indexing` is neither "xy" nor "ij".
    """
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    vectors = [views.ravel(views.require(x)) for x in xi]
    n = len(vectors)
    shaped = [
        views.reshape(x, (1,) * i + (x.size,) + (1,) * (n - i - 1)) for i, x in enumerate(vectors)
    ]
    if indexing == "xy" and n > 1:
        shaped[0] = views.reshape(vectors[0], (1, -1) + (1,) * (n - 2))
        shaped[1] = views.reshape(vectors[1], (-1, 1) + (1,) * (n - 2))
    if not sparse:
        full = np.broadcast_shapes(*(x.shape for x in shaped)) if n else ()
        shaped = [views.broadcast_to(x, full) for x in shaped]
    return [views.copy(x) if copy else x for x in shaped]


class nd_grid:
    """`mgrid` (dense) and `ogrid` (sparse): index with slices."""

    def __init__(self, sparse: bool = False) -> None:
        self.sparse = sparse

    def __getitem__(self, key: Any) -> Any:
        host = (np.ogrid if self.sparse else np.mgrid)[key]
        if isinstance(host, (list, tuple)):
            return [array(x) for x in host]
        return array(host)


mgrid = nd_grid(sparse=False)
ogrid = nd_grid(sparse=True)
