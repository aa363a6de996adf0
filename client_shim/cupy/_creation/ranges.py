"""`arange`, `linspace`, `logspace`, `meshgrid`, `mgrid`, `ogrid`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import _operators, calls, core, views
from cupool.client_shim.cupy._core._dtype import get_dtype
from cupool.client_shim.cupy._core._kernel import broadcast_shapes
from cupool.client_shim.cupy._core.routines_indexing import normalize_axis
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
        TypeError: bool with more than two values.
    """
    # How many values there are is decided here: arrays of one element are fetched.
    start, stop, step = (x.item() if isinstance(x, ndarray) else x for x in (start, stop, step))
    if dtype is None:
        kinds = [np.asarray(x).dtype.kind for x in (start, stop, step) if x is not None]
        dtype = complex if "c" in kinds else float if "f" in kinds else int
    dtype = get_dtype(dtype)
    if stop is None:
        start, stop = 0, start
    if step is None:
        step = 1
    size = max(int(np.ceil((stop - start) / step)), 0)
    if dtype.kind == "b":
        if size > 2:
            raise TypeError(
                "arange() is only supported for booleans when the result has at most length 2."
            )
        return array([bool(start), bool(start - step)][:size], dtype)
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
    """Return `num` evenly spaced values; `start` and `stop` may be arrays.

    Args:
        retstep: also return the distance.
        axis: of the result, along which the values lie.

    Raises:
        ValueError: `num` is negative.
    """
    num = num.__index__()
    if num < 0:
        raise ValueError("linspace with num<0 is not supported")
    steps = num - 1 if endpoint else num
    if np.isscalar(start) and np.isscalar(stop):
        within = np.result_type(start, stop, float(num))
        made = within if dtype is None else get_dtype(dtype)
        step: Any = (stop - start) / steps if steps > 0 else float("nan")  # type: ignore[operator]
        args = (start, stop, num, bool(endpoint), False, made)
        result = calls.call_one("linspace", args, None, (num,), made)
        return (result, step) if retstep else result
    start, stop = _floating(start), _floating(stop)
    kinds = [x.dtype if isinstance(x, ndarray) else x for x in (start, stop)]
    within = np.result_type(*kinds, float(num))
    made = within if dtype is None else get_dtype(dtype)
    shapes = [x.shape for x in (start, stop) if isinstance(x, ndarray)]
    shape = (num, *broadcast_shapes(shapes))
    axis = normalize_axis(axis, len(shape))
    # The values are made along the first axis; another is a view of that.
    args = (start, stop, num, bool(endpoint), False, made)
    result = calls.call_one("linspace", args, None, shape, made)
    if axis:
        result = core.view_of(result, np.moveaxis(result._shadow, 0, axis))
    if not retstep:
        return result
    step = (stop - start) / steps if num > 1 else float("nan")
    return result, step


def _floating(value: Any) -> Any:
    """Return an end of an interval as it is, or an array of integers or on the host as floats."""
    if np.isscalar(value) or (isinstance(value, ndarray) and value.dtype.kind == "f"):
        return value
    return _operators.ufuncs.multiply(array(value, copy=None), 1.0)


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


def meshgrid(*xi: Any, **kwargs: Any) -> tuple[ndarray, ...]:
    """Return coordinate arrays from coordinate vectors.

    Args:
        indexing: "xy" (columns first, the default) or "ij".
        sparse: leave axes of length one.
        copy: False returns views.

    Raises:
        ValueError: an unknown `indexing`; something that is not a vector on the device.
        TypeError: an unknown keyword.
    """
    indexing = kwargs.pop("indexing", "xy")
    copy = bool(kwargs.pop("copy", True))
    sparse = bool(kwargs.pop("sparse", False))
    if kwargs:
        raise TypeError(f"meshgrid() got an unexpected keyword argument '{next(iter(kwargs))}'")
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    for x in xi:
        if x.ndim != 1:
            raise ValueError("input has to be 1d")
        if not isinstance(x, ndarray):
            raise ValueError("input has to be cupy.ndarray")
    n = len(xi)
    if n <= 1:
        return tuple(xi)
    meshes = []
    for i, x in enumerate(xi):
        place = 1 - i if indexing == "xy" and i < 2 else i
        meshes.append(views.reshape(x, (1,) * place + (x.size,) + (1,) * (n - place - 1)))
    if not sparse:
        shape = broadcast_shapes([x.shape for x in meshes])
        meshes = [views.broadcast_to(x, shape) for x in meshes]
    return tuple(views.copy(x) if copy else x for x in meshes)


def _points(key: slice) -> tuple[Any, Any, int | None]:
    """Return start and step of a slice, and the number of points if an imaginary step gives it."""
    start = 0 if key.start is None else key.start
    step = 1 if key.step is None else key.step
    if not isinstance(step, complex):
        return start, step, None
    points = int(abs(step))
    return start, (key.stop - start) / float(points - 1) if points != 1 else 1, points


class nd_grid:
    """`mgrid` (dense) and `ogrid` (sparse): index with slices; an imaginary step is a number of
    points, and the end is then included."""

    def __init__(self, sparse: bool = False) -> None:
        self.sparse = sparse

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            start, step, points = _points(key)
            if points is None:
                return arange(start, key.stop, step)
            return arange(0, points, 1, float) * step + start
        rows = [_points(k) for k in key]
        floating = any(
            isinstance(x, (float, complex)) for k in key for x in (k.start, k.stop, k.step)
        )
        dtype = np.dtype(float if floating else int)
        counts = [
            int(np.ceil((k.stop - start) / (step * 1.0))) if points is None else points
            for k, (start, step, points) in zip(key, rows, strict=True)
        ]
        if self.sparse:
            grids: Any = [arange(0, n, 1, dtype) for n in counts]
        else:
            shape = (len(counts), *counts)
            grids = calls.call_one("indices", (tuple(counts), dtype), None, shape, dtype)
        for i, (start, step, _) in enumerate(rows):
            grids[i] = grids[i] * step + start
            if self.sparse:
                place = [np.newaxis] * len(rows)
                place[i] = slice(None)  # type: ignore[call-overload]
                grids[i] = grids[i][tuple(place)]
        return grids

    def __len__(self) -> int:
        return 0


mgrid = nd_grid(sparse=False)
ogrid = nd_grid(sparse=True)
