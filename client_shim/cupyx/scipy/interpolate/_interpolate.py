"""Piecewise polynomials: `PPoly`; with it the names of `BPoly` and `NdPPoly`."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from cupool.client_shim import cupy
from cupool.client_shim.cupyx.scipy.interpolate._bpoly import BPoly, binomial
from cupool.client_shim.cupyx.scipy.interpolate._bspline import BSpline
from cupool.client_shim.cupyx.scipy.interpolate._ndppoly import NdPPoly
from cupool.client_shim.cupyx.scipy.interpolate._pieces import (
    Pieces,
    as_grid,
    falling_factorials,
    join_pieces,
    periodic_integral,
)

__all__ = ["BPoly", "NdPPoly", "PPoly"]

_ndim_coords_from_arrays = as_grid
_fix_continuity = join_pieces


class PPoly(Pieces):
    """A piecewise polynomial in powers of the distance from each interval's left end.

    Args:
        c: coefficients, highest power first, shape (order + 1, intervals, ...).
        x: breakpoints in order, shape (intervals + 1,).
        extrapolate: beyond the breakpoints: the nearest piece, nan, or "periodic".
        axis: which axis of the values is interpolated.

    Raises:
        ValueError: shapes that do not fit, breakpoints out of order (which waits).
    """

    __slots__ = ()
    _row = "scipy.interpolate.PPoly.evaluate"

    def derivative(self, nu: int = 1) -> Any:
        """Return the derivative of order `nu` as a new polynomial."""
        if nu < 0:
            return self.antiderivative(-nu)
        c = self.c[: max(self.c.shape[0] - nu, 0)].copy()
        if not c.shape[0]:
            c = cupy.zeros((1, *self.c.shape[1:]), dtype=c.dtype)
        c *= falling_factorials(c.shape[0], nu, c.ndim)
        return self.construct_fast(c, self.x, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> Any:
        """Return the antiderivative of order `nu`, which is zero at the first breakpoint."""
        if nu <= 0:
            return self.derivative(-nu)
        k = self.c.shape[0]
        c = cupy.zeros((k + nu, *self.c.shape[1:]), dtype=self.c.dtype)
        c[:-nu] = self.c / falling_factorials(k, nu, c.ndim)
        join_pieces(c, self.x, nu - 1)
        extrapolate = False if self.extrapolate == "periodic" else self.extrapolate
        return self.construct_fast(c, self.x, extrapolate, self.axis)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """Return the integral from a to b, without the axis that is interpolated."""
        if extrapolate is None:
            extrapolate = self.extrapolate
        whole = self.antiderivative()
        shape = self.c.shape[2:]
        if extrapolate == "periodic":
            result = periodic_integral(whole._flat, self.x, a, b)
        else:
            ends = cupy.stack([cupy.asarray(end, dtype=np.float64) for end in (a, b)])
            values = whole._flat(ends, bool(extrapolate))
            result = values[1] - values[0]
        return result.reshape(shape)

    def _flat(self, points: Any, extrapolate: Any) -> Any:
        """Evaluate without regard to the data's axes: shape (points, values)."""
        return self._evaluate(points, 0, extrapolate)

    def solve(self, y: float = 0.0, discontinuity: bool = True, extrapolate: Any = None) -> Any:
        """Raise NotImplementedError, as CuPy does."""
        raise NotImplementedError("CuPy does not solve piecewise polynomials on the GPU")

    def roots(self, discontinuity: bool = True, extrapolate: Any = None) -> Any:
        """Raise NotImplementedError, as CuPy does."""
        return self.solve(0, discontinuity, extrapolate)

    @classmethod
    def from_spline(cls, tck: Any, extrapolate: Any = None) -> Any:
        """Return the polynomial of a spline: a `BSpline`, or its knots, coefficients, degree."""
        if isinstance(tck, BSpline):
            t, c, k = tck.tck
            if extrapolate is None:
                extrapolate = tck.extrapolate
        else:
            t, c, k = tck
        spline = BSpline(t, c, k, extrapolate=extrapolate)
        return cls.construct_fast(powers_of_spline(spline), t, extrapolate)

    @classmethod
    def from_bernstein_basis(cls, bp: Any, extrapolate: Any = None) -> Any:
        """Return the same polynomial of a `BPoly`.

        Raises:
            TypeError: it is none.
        """
        if not isinstance(bp, BPoly):
            raise TypeError(f".from_bernstein_basis only accepts BPoly instances, not {type(bp)}")
        k = bp.c.shape[0] - 1
        change = np.zeros((k + 1, k + 1))
        for a in range(k + 1):
            for s in range(a, k + 1):
                change[k - s, a] = (-1) ** (a + s) * binomial(k, a) * binomial(k - a, s - a)
        c = cupy.tensordot(cupy.asarray(change), bp.c, 1)
        dx = cupy.diff(bp.x).reshape((1, -1) + (1,) * (c.ndim - 2))
        exponents = cupy.arange(k, -1, -1).reshape((-1,) + (1,) * (c.ndim - 1))
        if extrapolate is None:
            extrapolate = bp.extrapolate
        return cls.construct_fast(c / dx**exponents, bp.x, extrapolate, bp.axis)


def powers_of_spline(spline: BSpline) -> Any:
    """Return a spline's coefficients in powers, between each knot and the next.

    Returns:
        shape (k + 1, knots - 1, ...), the spline's axis moved to the second place.
    """
    t, _, k = spline.tck
    rows = []
    for power in range(k, -1, -1):
        values = spline(t[:-1], nu=power)
        rows.append(cupy.moveaxis(values, spline.axis, 0) / float(prod(range(1, power + 1))))
    return cupy.stack(rows)
