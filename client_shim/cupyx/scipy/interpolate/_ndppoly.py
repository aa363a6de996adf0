"""Piecewise polynomials of several variables."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from cupool.client_shim import cupy
from cupool.client_shim.cupy._core import calls
from cupool.client_shim.cupyx.scipy.interpolate._checks import float_dtype, refuse
from cupool.client_shim.cupyx.scipy.interpolate._pieces import (
    as_grid,
    falling_factorials,
    join_pieces,
)

__all__ = ["NdPPoly"]


class NdPPoly:
    """A piecewise polynomial of several variables, on a rectangular grid.

    Args:
        c: coefficients, shape (order + 1 for each variable, intervals for each, ...).
        x: the breakpoints of each variable, rising.
        extrapolate: beyond the breakpoints: the nearest piece, or nan.

    Raises:
        ValueError: shapes that do not fit, breakpoints out of order (which waits).
    """

    c: Any
    x: Any
    extrapolate: bool

    def __init__(self, c: Any, x: Any, extrapolate: Any = None) -> None:
        self.x = tuple(cupy.ascontiguousarray(v, dtype=np.float64) for v in x)
        self.c = cupy.asarray(c)
        self.extrapolate = True if extrapolate is None else bool(extrapolate)
        ndim = len(self.x)
        if any(v.ndim != 1 for v in self.x):
            raise ValueError("x arrays must all be 1-dimensional")
        if any(v.size < 2 for v in self.x):
            raise ValueError("x arrays must all contain at least 2 points")
        if self.c.ndim < 2 * ndim:
            raise ValueError("c must have at least 2*len(x) dimensions")
        text = "x-coordinates are not in increasing order"
        refuse(*((cupy.diff(v) < 0, text) for v in self.x))
        if any(a != b.size - 1 for a, b in zip(self.c.shape[ndim:], self.x, strict=False)):
            raise ValueError("x and c do not agree on the number of intervals")
        self.c = cupy.ascontiguousarray(self.c, dtype=float_dtype(self.c.dtype))

    @classmethod
    def construct_fast(cls, c: Any, x: Any, extrapolate: Any = None) -> Any:
        """Return an object of arrays that fit, without looking at them."""
        made = object.__new__(cls)
        made.c = c
        made.x = x
        made.extrapolate = True if extrapolate is None else extrapolate
        return made

    def __call__(self, x: Any, nu: Any = None, extrapolate: Any = None) -> Any:
        """Return the values, or a derivative, at points.

        Args:
            x: shape (..., variables).
            nu: order of the derivative for each variable.
        """
        extrapolate = bool(self.extrapolate if extrapolate is None else extrapolate)
        ndim = len(self.x)
        x = as_grid(x)
        shape = x.shape
        points = cupy.ascontiguousarray(x.reshape(-1, shape[-1]), dtype=np.float64)
        orders = tuple(int(order) for order in ((0,) * ndim if nu is None else nu))
        if len(orders) != ndim:
            raise ValueError("invalid number of derivative orders nu")
        c = cupy.ascontiguousarray(self.c)
        rest = c.shape[2 * ndim :]
        c = c.reshape((*c.shape[: 2 * ndim], prod(rest)))
        grid = tuple(cupy.ascontiguousarray(v) for v in self.x)
        args = (c, grid, points, orders, extrapolate)
        row = "scipy.interpolate.NdPPoly.evaluate"
        result = calls.call_one(row, args, None, (points.shape[0], c.shape[-1]), c.dtype)
        return result.reshape(shape[:-1] + rest)

    def _differentiated(self, c: Any, nu: int, axis: int) -> Any:
        if nu < 0:
            return self._integrated(c, -nu, axis)
        if nu == 0:
            return c
        c = cupy.moveaxis(c, axis, 0)
        c = c[: max(c.shape[0] - nu, 0)]
        if not c.shape[0]:
            c = cupy.zeros((1, *c.shape[1:]), dtype=c.dtype)
        return cupy.moveaxis(c * falling_factorials(c.shape[0], nu, c.ndim), 0, axis)

    def _integrated(self, c: Any, nu: int, axis: int) -> Any:
        if nu <= 0:
            return self._differentiated(c, -nu, axis)
        pair = (axis, len(self.x) + axis)
        c = cupy.moveaxis(c, pair, (0, 1))
        grown = cupy.zeros((c.shape[0] + nu, *c.shape[1:]), dtype=c.dtype)
        grown[:-nu] = c / falling_factorials(c.shape[0], nu, c.ndim)
        join_pieces(grown, self.x[axis], nu - 1)
        return cupy.moveaxis(grown, (0, 1), pair)

    def derivative(self, nu: Any) -> Any:
        """Return a derivative as a new polynomial; `nu`: the order for each variable."""
        c = self.c
        for axis, order in enumerate(nu):
            c = self._differentiated(c, order, axis)
        return self.construct_fast(cupy.array(c, order="C"), self.x, self.extrapolate)

    def antiderivative(self, nu: Any) -> Any:
        """Return an antiderivative as a new polynomial; `nu`: the order for each variable."""
        return self.derivative([-order for order in nu])

    def integrate_1d(self, a: Any, b: Any, axis: Any, extrapolate: Any = None) -> Any:
        """Return the integral over one variable: of the others, or numbers if it was the only."""
        from cupool.client_shim.cupyx.scipy.interpolate._interpolate import PPoly

        extrapolate = bool(self.extrapolate if extrapolate is None else extrapolate)
        ndim = len(self.x)
        axis = int(axis) % ndim
        c = cupy.moveaxis(self.c, (axis, ndim + axis), (0, 1))
        line = PPoly.construct_fast(c, self.x[axis], extrapolate)
        result = line.integrate(a, b, extrapolate)
        if ndim == 1:
            return result
        others = self.x[:axis] + self.x[axis + 1 :]
        return self.construct_fast(result, others, extrapolate)

    def integrate(self, ranges: Any, extrapolate: Any = None) -> Any:
        """Return the integral over a box.

        Args:
            ranges: (a, b) for each variable.
        """
        extrapolate = bool(self.extrapolate if extrapolate is None else extrapolate)
        if not hasattr(ranges, "__len__") or len(ranges) != len(self.x):
            raise ValueError("Range not a sequence of correct length")
        rest: Any = self
        for a, b in ranges:
            rest = rest.integrate_1d(a, b, 0, extrapolate)
        return rest
