"""What piecewise polynomials have in common, whatever their basis."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, ClassVar

import numpy as np

from cupool.client_shim import cupy
from cupool.client_shim.cupy._core import calls, core
from cupool.client_shim.cupyx.scipy.interpolate._checks import (
    float_dtype,
    points_of,
    refuse,
    restore_axis,
)

__all__ = ["Pieces", "as_grid", "falling_factorials", "join_pieces", "periodic_integral"]
ndarray = core.ndarray


class Pieces:
    """Polynomials between breakpoints; see `PPoly` and `BPoly`.

    Attributes:
        c: coefficients, shape (order + 1, intervals, ...).
        x: breakpoints.
        extrapolate: True, False or "periodic".
        axis: which axis of the values is interpolated.
    """

    __slots__ = ("axis", "c", "extrapolate", "x")
    _row: ClassVar[str]

    c: Any
    x: Any

    def __init__(self, c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> None:
        self.c = cupy.asarray(c)
        self.x = cupy.ascontiguousarray(x, dtype=np.float64)
        if extrapolate is None:
            extrapolate = True
        elif extrapolate != "periodic":
            extrapolate = bool(extrapolate)
        self.extrapolate = extrapolate
        if self.c.ndim < 2:
            raise ValueError("Coefficients array must be at least 2-dimensional.")
        if not 0 <= axis < self.c.ndim - 1:
            raise ValueError(f"axis={axis} must be between 0 and {self.c.ndim - 1}")
        self.axis = axis
        if axis != 0:
            self.c = cupy.moveaxis(self.c, (axis, axis + 1), (0, 1))
        if self.x.ndim != 1:
            raise ValueError("x must be 1-dimensional")
        if self.x.size < 2:
            raise ValueError("at least 2 breakpoints are needed")
        if self.c.shape[0] == 0:
            raise ValueError("polynomial must be at least of order 0")
        if self.c.shape[1] != self.x.size - 1:
            raise ValueError("number of coefficients != len(x)-1")
        refuse((_out_of_order(self.x), "`x` must be strictly increasing or decreasing."))
        self.c = cupy.ascontiguousarray(self.c, dtype=self._get_dtype(self.c.dtype))

    def _get_dtype(self, dtype: Any) -> np.dtype[Any]:
        return float_dtype(dtype, self.c.dtype)

    @classmethod
    def construct_fast(cls, c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> Any:
        """Return an object of arrays that fit, without looking at them."""
        made = object.__new__(cls)
        made.c = c
        made.x = x
        made.axis = axis
        made.extrapolate = True if extrapolate is None else extrapolate
        return made

    def extend(self, c: Any, x: Any) -> None:
        """Add pieces before the first breakpoint or after the last; waits once.

        Args:
            c: shape (order + 1, pieces, ...).
            x: their breakpoints, shape (pieces,): without the one that is there.

        Raises:
            ValueError: shapes that do not fit, breakpoints out of order or in between.
        """
        c, x = cupy.asarray(c), cupy.asarray(x)
        if c.ndim < 2:
            raise ValueError("invalid dimensions for c")
        if x.ndim != 1:
            raise ValueError("invalid dimensions for x")
        if x.shape[0] != c.shape[1]:
            raise ValueError(f"Shapes of x {x.shape} and c {c.shape} are incompatible")
        if c.shape[2:] != self.c.shape[2:] or c.ndim != self.c.ndim:
            raise ValueError(f"Shapes of c {c.shape} and self.c {self.c.shape} are incompatible")
        if c.size == 0:
            return
        order = max(c.shape[0], self.c.shape[0])
        dtype = self._get_dtype(c.dtype)
        parts = [_of_order(one, order, dtype) for one in (self.c, c)]
        points = [self.x, x]
        if not _comes_after(self.x, x):
            parts.reverse()
            points.reverse()
        self.c = cupy.concatenate(parts, axis=1)
        self.x = cupy.concatenate(points)

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """Return the values or a derivative at points.

        Args:
            x: of any shape, which replaces the interpolated axis.
            nu: order of the derivative.
            extrapolate: instead of the object's own.
        """
        if extrapolate is None:
            extrapolate = self.extrapolate
        points, shape = points_of(x)
        if extrapolate == "periodic":
            first, last = self.x[0], self.x[-1]
            points = first + (points - first) % (last - first)
            extrapolate = False
        values = self._evaluate(points, nu, bool(extrapolate))
        return restore_axis(values, shape, self.c.shape[2:], self.axis)

    def _evaluate(self, points: ndarray, nu: int, extrapolate: bool) -> ndarray:
        c = cupy.ascontiguousarray(self.c)
        c = c.reshape(c.shape[0], c.shape[1], prod(c.shape[2:]))
        args = (c, cupy.ascontiguousarray(self.x), points, int(nu), extrapolate)
        return calls.call_one(self._row, args, None, (points.shape[0], c.shape[2]), c.dtype)


def _out_of_order(x: ndarray) -> ndarray:
    """Return a bool: the values neither rise nor fall."""
    steps = cupy.diff(x)
    return cupy.logical_not((steps >= 0).all() | (steps <= 0).all())  # type: ignore[no-any-return]


def _of_order(c: ndarray, order: int, dtype: Any) -> ndarray:
    """Add zeros for higher powers."""
    result = cupy.zeros((order, *c.shape[1:]), dtype=dtype)
    result[order - c.shape[0] :] = c
    return result


def _comes_after(old: ndarray, new: ndarray) -> bool:
    """Wait, and say whether new breakpoints continue the old ones rather than precede them."""
    ends = cupy.stack([old[0], old[-1], new[0], new[-1], _out_of_order(new)]).get()
    first, last, start, stop, unsorted = ends.tolist()
    if unsorted:
        raise ValueError("`x` is not sorted.")
    sign = 1 if last >= first else -1
    if sign * (stop - start) < 0:
        raise ValueError("`x` is in the different order than `self.x`.")
    if sign * (start - last) >= 0:
        return True
    if sign * (first - stop) >= 0:
        return False
    raise ValueError("`x` is neither on the left or on the right from `self.x`.")


def falling_factorials(count: int, nu: int, ndim: int) -> ndarray:
    """Return what differentiating `nu` times multiplies powers by, for the lowest `count` powers.

    Returns:
        shape (count, 1, ...) of `ndim` axes: of x**(count - 1 + nu) first.
    """
    factors = [float(prod(range(p, p + nu))) for p in range(count, 0, -1)]
    return cupy.asarray(factors).reshape((count,) + (1,) * (ndim - 1))  # type: ignore[no-any-return]


def join_pieces(c: ndarray, x: ndarray, order: int) -> None:
    """Change the lowest coefficients in place so that derivatives up to `order` have no steps.

    Args:
        c: shape (k, intervals, ...), highest power first; the lowest `order` + 1 powers are taken
            from the first interval and made anew in the others.
        x: breakpoints.
    """
    k = c.shape[0]
    dx = cupy.diff(x)[:-1].reshape((-1,) + (1,) * (c.ndim - 2))
    for nu in range(min(order, k - 1), -1, -1):
        row = k - 1 - nu
        # How much the derivative grows along each interval: all terms but the constant one.
        growth = cupy.zeros(c[0, :-1].shape, dtype=c.dtype)
        for i in range(row):
            power = k - 1 - i
            factor = float(prod(range(power - nu + 1, power + 1)))
            growth = (growth + c[i, :-1] * factor) * dx
        scale = float(prod(range(1, nu + 1)))
        c[row, 1:] = c[row, :1] + cupy.cumsum(growth, axis=0) / scale


def periodic_integral(
    antiderivative: Callable[[Any, bool], Any], x: ndarray, a: Any, b: Any
) -> Any:
    """Return the integral from a to b of what repeats itself beyond the breakpoints.

    Args:
        antiderivative: its values at points, within the breakpoints.
        x: breakpoints.
    """
    first, last = x[0], x[-1]
    ends = cupy.stack([cupy.asarray(end, dtype=np.float64) for end in (a, b)])
    periods = cupy.floor((ends - first) / (last - first))
    within = ends - periods * (last - first)
    within = cupy.clip(within, first, last)
    values = antiderivative(cupy.concatenate([within, cupy.stack([first, last])]), False)
    return values[1] - values[0] + (values[3] - values[2]) * (periods[1] - periods[0])


def as_grid(points: Any, ndim: int | None = None) -> ndarray:
    """Return points as one array whose last axis are their coordinates.

    Args:
        points: an array, or a tuple of arrays of coordinates, which are broadcast.
        ndim: coordinates of a point; 1 by default.
    """
    if isinstance(points, tuple) and len(points) == 1:
        points = points[0]
    if isinstance(points, tuple):
        parts = cupy.broadcast_arrays(*[cupy.asarray(part) for part in points])
        return cupy.stack(parts, axis=-1)
    points = cupy.asarray(points)
    if points.ndim == 1:
        points = points.reshape(-1, 1 if ndim is None else ndim)
    return points  # type: ignore[no-any-return]
