"""Piecewise polynomials in the Bernstein basis."""

from __future__ import annotations

from math import comb as binomial
from math import perm
from typing import Any

import numpy as np

from cupool.client_shim import cupy
from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupyx.scipy.interpolate._checks import float_dtype, refuse
from cupool.client_shim.cupyx.scipy.interpolate._pieces import Pieces

__all__ = ["BPoly", "binomial"]
ndarray = core.ndarray


class BPoly(Pieces):
    """A piecewise polynomial in the Bernstein basis.

    Args:
        c: coefficients, shape (order + 1, intervals, ...).
        x: breakpoints in order, shape (intervals + 1,).
        extrapolate: beyond the breakpoints: the nearest piece, nan, or "periodic".
        axis: which axis of the values is interpolated.

    Raises:
        ValueError: shapes that do not fit, breakpoints out of order (which waits).
    """

    __slots__ = ()
    _row = "scipy.interpolate.BPoly.evaluate"

    def _evaluate(self, points: ndarray, nu: int, extrapolate: bool) -> ndarray:
        if nu < 0:
            raise NotImplementedError("Cannot do antiderivatives in the B-basis yet.")
        return super()._evaluate(points, nu, extrapolate)

    def derivative(self, nu: int = 1) -> Any:
        """Return the derivative of order `nu` as a new polynomial."""
        if nu < 0:
            return self.antiderivative(-nu)
        c = self.c.copy()
        dx = cupy.diff(self.x).reshape((1, -1) + (1,) * (c.ndim - 2))
        for _ in range(nu):
            if c.shape[0] == 1:
                c = cupy.zeros_like(c)
                break
            c = (c.shape[0] - 1) * cupy.diff(c, axis=0) / dx
        return self.construct_fast(c, self.x, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> Any:
        """Return the antiderivative of order `nu`, which is zero at the first breakpoint."""
        if nu <= 0:
            return self.derivative(-nu)
        c = self.c
        dx = cupy.diff(self.x).reshape((1, -1) + (1,) * (c.ndim - 2))
        for _ in range(nu):
            k = c.shape[0]
            grown = cupy.zeros((k + 1, *c.shape[1:]), dtype=c.dtype)
            grown[1:] = cupy.cumsum(c, axis=0) * (dx / k)
            grown[:, 1:] += cupy.cumsum(grown[k], axis=0)[:-1]
            c = grown
        extrapolate = False if self.extrapolate == "periodic" else self.extrapolate
        return self.construct_fast(c, self.x, extrapolate, self.axis)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """Return the integral from a to b, without the axis that is interpolated."""
        whole = self.antiderivative()
        if extrapolate is None:
            extrapolate = self.extrapolate
        if extrapolate == "periodic":
            first, last = self.x[0], self.x[-1]
            ends = cupy.stack([cupy.asarray(end, dtype=np.float64) for end in (a, b)])
            periods = cupy.floor((ends - first) / (last - first))
            within = cupy.clip(ends - periods * (last - first), first, last)
            once = whole(last) - whole(first)
            return whole(within[1]) - whole(within[0]) + once * (periods[1] - periods[0])
        whole.extrapolate = extrapolate
        return whole(b) - whole(a)

    def extend(self, c: Any, x: Any) -> None:
        """Add pieces before the first breakpoint or after the last; see `PPoly.extend`."""
        c = cupy.asarray(c)
        order = max(self.c.shape[0], c.shape[0])
        self.c = self._raise_degree(self.c, order - self.c.shape[0])
        super().extend(self._raise_degree(c, order - c.shape[0]), x)

    @staticmethod
    def _raise_degree(c: Any, d: int) -> Any:
        """Return the coefficients of the same polynomial for a degree that is higher by d."""
        if d == 0:
            return c
        k = c.shape[0] - 1
        change = np.zeros((k + d + 1, k + 1))
        for a in range(k + 1):
            for j in range(d + 1):
                change[a + j, a] = binomial(k, a) * binomial(d, j) / binomial(k + d, a + j)
        result = cupy.tensordot(cupy.asarray(change), c, 1)
        return result.astype(c.dtype, copy=False)

    @classmethod
    def from_power_basis(cls, pp: Any, extrapolate: Any = None) -> Any:
        """Return the same polynomial of a `PPoly`.

        Raises:
            TypeError: it is none.
        """
        from cupool.client_shim.cupyx.scipy.interpolate._interpolate import PPoly

        if not isinstance(pp, PPoly):
            raise TypeError(f".from_power_basis only accepts PPoly instances, not {type(pp)}")
        k = pp.c.shape[0] - 1
        change = np.zeros((k + 1, k + 1))
        for a in range(k + 1):
            for j in range(k - a, k + 1):
                change[j, a] = binomial(j, k - a) / binomial(k, k - a)
        dx = cupy.diff(pp.x).reshape((1, -1) + (1,) * (pp.c.ndim - 2))
        exponents = cupy.arange(k, -1, -1).reshape((-1,) + (1,) * (pp.c.ndim - 1))
        c = cupy.tensordot(cupy.asarray(change), pp.c * dx**exponents, 1)
        if extrapolate is None:
            extrapolate = pp.extrapolate
        return cls.construct_fast(c, pp.x, extrapolate, pp.axis)

    @classmethod
    def from_derivatives(cls, xi: Any, yi: Any, orders: Any = None, extrapolate: Any = None) -> Any:
        """Return a polynomial of given values and derivatives at the breakpoints; waits.

        Args:
            xi: breakpoints, rising.
            yi: for each breakpoint the value, the first derivative, and so on.
            orders: degree of each piece; as high as the derivatives allow by default.

        Raises:
            ValueError: lengths that do not fit, breakpoints out of order, a degree that the
                derivatives do not determine.
        """
        xi = cupy.asarray(xi)
        if len(xi) != len(yi):
            raise ValueError("xi and yi need to have the same length")
        refuse((xi[1:] - xi[:1] <= 0, "x coordinates are not in increasing order"))
        count = len(xi) - 1
        try:
            k = max(len(yi[i]) + len(yi[i + 1]) for i in range(count))
        except TypeError as exc:
            raise ValueError("Using a 1-D array for y? Please .reshape(-1, 1).") from exc
        degrees = _degrees(orders, count)
        given = [degree for degree in degrees if degree is not None]
        if any(degree <= 0 for degree in given):
            raise ValueError("Orders must be positive.")
        k = max([k, *given])
        pieces = []
        for i, degree in enumerate(degrees):
            left, right = _used(yi[i], yi[i + 1], degree, i)
            piece = cls._construct_from_derivatives(xi[i], xi[i + 1], left, right)
            pieces.append(cls._raise_degree(piece, max(k - len(piece), 0)))
        return cls(cupy.stack(pieces, axis=1), xi, extrapolate)

    @staticmethod
    def _construct_from_derivatives(xa: Any, xb: Any, ya: Any, yb: Any) -> Any:
        """Return the coefficients of one piece from the derivatives at its ends."""
        ya, yb = cupy.asarray(ya), cupy.asarray(yb)
        if ya.shape[1:] != yb.shape[1:]:
            raise ValueError(f"Shapes of ya {ya.shape} and yb {yb.shape} are incompatible")
        na, nb = len(ya), len(yb)
        n = na + nb
        length = cupy.asarray(xb - xa, dtype=np.float64)
        dtype = float_dtype(ya.dtype, yb.dtype)
        c: list[Any] = [None] * n
        # The q-th derivative at an end is a difference of the q + 1 coefficients nearest to it.
        for q in range(na):
            value = ya[q].astype(dtype) / perm(n - 1, q) * length**q
            for j in range(q):
                value = value - (-1) ** (j + q) * binomial(q, j) * c[j]
            c[q] = value
        for q in range(nb):
            value = yb[q].astype(dtype) / perm(n - 1, q) * (-1) ** q * length**q
            for j in range(q):
                value = value - (-1) ** (j + 1) * binomial(q, j + 1) * c[n - q + j]
            c[n - q - 1] = value
        return cupy.stack(c)


def _degrees(orders: Any, count: int) -> list[Any]:
    if orders is None:
        return [None] * count
    if isinstance(orders, (int, np.integer)):
        return [orders] * count
    return list(orders)


def _used(left: Any, right: Any, degree: int | None, index: int) -> tuple[Any, Any]:
    """Return as many derivatives of both ends as a degree needs."""
    n1, n2 = len(left), len(right)
    if degree is not None:
        n = degree + 1
        n1 = min(n // 2, len(left))
        n2 = min(n - n1, len(right))
        n1 = min(n - n2, len(right))
        if n1 + n2 != n:
            raise ValueError(
                f"Point {index} has {len(left)} derivatives, point {index + 1} has {len(right)} "
                f"derivatives, but order {degree} requested"
            )
        if n1 > len(left) or n2 > len(right):
            raise ValueError("`order` input incompatible with length y1 or y2.")
    return left[:n1], right[:n2]
