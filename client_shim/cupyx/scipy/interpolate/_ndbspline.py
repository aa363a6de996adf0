"""Tensor products of B-splines."""

from __future__ import annotations

import operator
from math import prod
from typing import Any

import numpy as np

from cupool.client_shim import cupy
from cupool.client_shim.cupy._core import calls
from cupool.client_shim.cupyx.scipy.interpolate._bspline2 import make_interp_spline, not_a_knot
from cupool.client_shim.cupyx.scipy.interpolate._checks import float_dtype, refuse

__all__ = ["NdBSpline", "make_ndbspl"]


def _degrees(k: Any, ndim: int) -> tuple[int, ...]:
    return tuple(operator.index(one) for one in (k if hasattr(k, "__len__") else (k,) * ndim))


class NdBSpline:
    """A spline of several variables.

    Args:
        t: the knots of each variable.
        c: coefficients, shape (n of each variable, ...).
        k: degree, one for all or one for each.
        extrapolate: beyond the base intervals: the nearest piece, or nan.

    Raises:
        ValueError: shapes that do not fit, knots out of order or not finite (which waits).
    """

    def __init__(self, t: Any, c: Any, k: Any, *, extrapolate: Any = None) -> None:
        ndim = len(t)
        self.k = _degrees(k, ndim)
        if len(self.k) != ndim:
            raise ValueError(f"{len(t)=} != {len(self.k)=}.")
        self.t = tuple(cupy.ascontiguousarray(one, dtype=np.float64) for one in t)
        self.c = cupy.asarray(c)
        self.extrapolate = True if extrapolate is None else bool(extrapolate)
        if self.c.ndim < ndim:
            raise ValueError(f"Coefficients must be at least {ndim}-dimensional.")
        faults: list[tuple[Any, str]] = []
        for d, (knots, degree) in enumerate(zip(self.t, self.k, strict=True)):
            faults += _knot_faults(d, knots, degree)
            n = knots.shape[0] - degree - 1
            if self.c.shape[d] != n:
                raise ValueError(
                    f"Knots, coefficients and degree in dimension {d} are inconsistent: got "
                    f"{self.c.shape[d]} coefficients for {len(knots)} knots, need at least {n} "
                    f"for k={degree}."
                )
        refuse(*faults)
        self.c = cupy.ascontiguousarray(self.c, dtype=float_dtype(self.c.dtype))

    def __call__(self, xi: Any, *, nu: Any = None, extrapolate: Any = None) -> Any:
        """Return the values, or a derivative, at points.

        Args:
            xi: shape (..., variables).
            nu: order of the derivative for each variable.

        Raises:
            ValueError: numbers of variables that differ, orders below zero.
        """
        ndim = len(self.t)
        extrapolate = bool(self.extrapolate if extrapolate is None else extrapolate)
        if nu is None:
            orders = (0,) * ndim
        else:
            given = np.asarray(nu.get() if hasattr(nu, "get") else nu)
            if given.shape != (ndim,):
                raise ValueError(f"invalid number of derivative orders {nu=} for ndim = {ndim}.")
            if (given < 0).any():
                raise ValueError(f"derivatives must be positive, got {nu=}")
            orders = tuple(int(order) for order in given)
        xi = cupy.asarray(xi, dtype=np.float64)
        shape = xi.shape
        if shape[-1] != ndim:
            raise ValueError(f"Shapes: xi.shape={shape} and ndim={ndim}")
        points = cupy.ascontiguousarray(xi.reshape(-1, ndim))
        rest = self.c.shape[ndim:]
        c = cupy.ascontiguousarray(self.c).reshape((*self.c.shape[:ndim], prod(rest)))
        args = (self.t, c, self.k, points, orders, extrapolate)
        row = "scipy.interpolate.NdBSpline.evaluate"
        result = calls.call_one(row, args, None, (points.shape[0], c.shape[-1]), c.dtype)
        return result.reshape(shape[:-1] + rest)

    @classmethod
    def design_matrix(cls, xvals: Any, t: Any, k: Any, extrapolate: Any = True) -> Any:
        """Return the matrix of the basis splines at points; waits once.

        Args:
            xvals: shape (points, variables).
            t, k: knots and degree of each variable.

        Returns:
            `csr_matrix`, a row for each point.

        Raises:
            ValueError: numbers of variables that differ, points that are not finite.
        """
        from cupool.client_shim.cupyx import scipy

        xvals = cupy.ascontiguousarray(xvals, dtype=np.float64)
        ndim = xvals.shape[-1]
        if len(t) != ndim:
            raise ValueError(f"Data and knots are inconsistent: {len(t)=} for {ndim=}.")
        degrees = _degrees(k, ndim)
        knots = tuple(cupy.ascontiguousarray(one, dtype=np.float64) for one in t)
        refuse((~cupy.isfinite(xvals), "Out of bounds"))
        each = prod(degree + 1 for degree in degrees)
        count = xvals.shape[0] * each
        index = np.dtype(np.int64)
        specs = (((count,), np.dtype(np.float64), "C"), ((count,), index, "C"))
        row = "scipy.interpolate.NdBSpline.design_matrix"
        data, indices = calls.call(row, (xvals, knots, degrees), None, *specs)
        indptr = cupy.arange(0, count + 1, each, dtype=index)
        columns = prod(one.size - degree - 1 for one, degree in zip(knots, degrees, strict=True))
        return scipy.sparse.csr_matrix((data, indices, indptr), shape=(xvals.shape[0], columns))


def _knot_faults(d: int, t: Any, k: int) -> list[tuple[Any, str]]:
    """Check the shape of one variable's knots; return what must be looked at."""
    n = t.shape[0] - k - 1
    if k < 0:
        raise ValueError(f"Spline degree in dimension {d} cannot be negative.")
    if t.ndim != 1:
        raise ValueError(f"Knot vector in dimension {d} must be one-dimensional.")
    if n < k + 1:
        raise ValueError(f"Need at least {2 * k + 2} knots for degree {k} in dimension {d}.")
    return [
        (cupy.diff(t) < 0, f"Knots in dimension {d} must be in a non-decreasing order."),
        (t[k : k + 1] == t[n : n + 1], f"Need at least two internal knots in dimension {d}."),
        (~cupy.isfinite(t), f"Knots in dimension {d} should not have nans or infs."),
    ]


def make_ndbspl(points: Any, values: Any, k: Any = 3) -> NdBSpline:
    """Return the spline of several variables through the points of a grid.

    One variable after the other: the tensor product needs no larger system.

    Args:
        points: places of each variable, rising.
        values: shape (places of each variable, ...).
        k: odd degree, one for all or one for each.

    Raises:
        ValueError: too few places for the degree, an even degree.
    """
    degrees = _degrees(k, len(points))
    for d, (place, degree) in enumerate(zip(points, degrees, strict=True)):
        if len(place) <= degree:
            raise ValueError(
                f"There are {len(place)} points in dimension {d}, but order {degree} requires at "
                f"least  {degree + 1} points per dimension."
            )
    c = cupy.asarray(values)
    knots = []
    for d, (place, degree) in enumerate(zip(points, degrees, strict=True)):
        x = cupy.asarray(place, dtype=np.float64)
        t = not_a_knot(x, degree)
        spline = make_interp_spline(x, c, degree, t, axis=d)
        knots.append(t)
        c = cupy.moveaxis(spline.c, 0, d)
    return NdBSpline(tuple(knots), c, degrees)
