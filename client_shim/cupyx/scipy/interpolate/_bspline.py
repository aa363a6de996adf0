"""B-splines of one variable."""

from __future__ import annotations

import operator
from math import prod
from typing import Any

import numpy as np

from cupool.client_shim import cupy
from cupool.client_shim.cupy._core import calls, core
from cupool.client_shim.cupy._core.routines_indexing import normalize_axis
from cupool.client_shim.cupyx.scipy.interpolate._checks import (
    float_dtype,
    numeric,
    points_of,
    refuse,
    restore_axis,
)
from cupool.client_shim.cupyx.scipy.interpolate._pieces import periodic_integral

__all__ = ["BSpline", "splantider", "splder"]
ndarray = core.ndarray

_get_dtype = float_dtype


def _as_float_array(x: Any, check_finite: bool = False) -> ndarray:
    x = numeric(x)
    if check_finite:
        refuse((~cupy.isfinite(x), "Array must not contain infs or nans."))
    return x  # type: ignore[no-any-return]


def _zeros_like_rows(c: ndarray, count: int) -> ndarray:
    return cupy.zeros((count, *c.shape[1:]), dtype=c.dtype)


def splder(tck: Any, n: int = 1) -> Any:
    """Return knots, coefficients and degree of a spline's derivative.

    Args:
        tck: knots, coefficients (as many as knots, or fewer), degree.
        n: order of the derivative.

    Raises:
        ValueError: a higher order than the degree.
    """
    if n < 0:
        return splantider(tck, -n)
    t, c, k = tck
    if n > k:
        raise ValueError(f"Order of derivative (n = {n!r}) must be <= order of spline (k = {k!r})")
    for _ in range(n):
        dt = (t[k + 1 : -1] - t[1 : -k - 1]).reshape((-1,) + (1,) * (c.ndim - 1))
        c = (c[1 : -1 - k] - c[: -2 - k]) * k / dt
        c = cupy.concatenate([c, _zeros_like_rows(c, k)])
        t = t[1:-1]
        k -= 1
    return t, c, k


def splantider(tck: Any, n: int = 1) -> Any:
    """Return knots, coefficients and degree of a spline's antiderivative of order n."""
    if n < 0:
        return splder(tck, -n)
    t, c, k = tck
    for _ in range(n):
        dt = (t[k + 1 :] - t[: -k - 1]).reshape((-1,) + (1,) * (c.ndim - 1))
        c = cupy.cumsum(c[: -k - 1] * dt, axis=0) / (k + 1)
        last = cupy.broadcast_to(c[-1:], (k + 2, *c.shape[1:]))
        c = cupy.concatenate([_zeros_like_rows(c, 1), c, last])
        t = cupy.concatenate([t[:1], t, t[-1:]])
        k += 1
    return t, c, k


def evaluate(t: Any, c: Any, k: int, points: Any, nu: int, extrapolate: bool) -> ndarray:
    """Queue the evaluation of a spline: `c` of shape (n, ...); shape (points, values)."""
    flat = cupy.ascontiguousarray(c)
    flat = flat.reshape(c.shape[0], prod(c.shape[1:]))
    args = (cupy.ascontiguousarray(t), flat, k, points, int(nu), extrapolate)
    shape = (points.shape[0], flat.shape[1])
    return calls.call_one("scipy.interpolate.BSpline.evaluate", args, None, shape, flat.dtype)


class BSpline:
    """A spline of one variable.

    Args:
        t: knots, shape (n + k + 1,).
        c: coefficients, shape (at least n, ...).
        k: degree.
        extrapolate: beyond the base interval: the nearest piece, nan, or "periodic".
        axis: which axis of the values is interpolated.

    Attributes:
        t, c, k, extrapolate, axis: as given; `c` with its axis moved to the front.

    Raises:
        ValueError: shapes that do not fit, knots out of order or not finite (which waits).
    """

    t: Any
    c: Any
    k: int

    def __init__(self, t: Any, c: Any, k: Any, extrapolate: Any = True, axis: int = 0) -> None:
        self.k = k = operator.index(k)
        self.c = cupy.asarray(c)
        self.t = cupy.ascontiguousarray(t, dtype=np.float64)
        self.extrapolate = extrapolate if extrapolate == "periodic" else bool(extrapolate)
        n = self.t.shape[0] - k - 1
        self.axis = normalize_axis(axis, self.c.ndim)
        if self.axis != 0:
            self.c = cupy.moveaxis(self.c, self.axis, 0)
        if k < 0:
            raise ValueError("Spline order cannot be negative.")
        if self.t.ndim != 1:
            raise ValueError("Knot vector must be one-dimensional.")
        if n < k + 1:
            raise ValueError(f"Need at least {2 * k + 2} knots for degree {k}")
        refuse(
            (cupy.diff(self.t) < 0, "Knots must be in a non-decreasing order."),
            (self.t[k : k + 1] == self.t[n : n + 1], "Need at least two internal knots."),
            (~cupy.isfinite(self.t), "Knots should not have nans or infs."),
        )
        if self.c.ndim < 1:
            raise ValueError("Coefficients must be at least 1-dimensional.")
        if self.c.shape[0] < n:
            raise ValueError("Knots, coefficients and degree are inconsistent.")
        self.c = cupy.ascontiguousarray(self.c, dtype=float_dtype(self.c.dtype))

    @classmethod
    def construct_fast(cls, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> Any:
        """Return an object of arrays that fit, without looking at them."""
        made = object.__new__(cls)
        made.t, made.c, made.k = t, c, k
        made.extrapolate = extrapolate
        made.axis = axis
        return made

    @property
    def tck(self) -> tuple[Any, Any, int]:
        """Knots, coefficients, degree."""
        return self.t, self.c, self.k

    @classmethod
    def basis_element(cls, t: Any, extrapolate: Any = True) -> Any:
        """Return the one basis spline over knots of shape (k + 2,)."""
        k = len(t) - 2
        t = numeric(t)
        before = cupy.broadcast_to(t[:1] - 1, (k,))
        after = cupy.broadcast_to(t[-1:] + 1, (k,))
        t = cupy.concatenate([before, t, after])
        c = cupy.zeros_like(t)
        c[k] = 1.0
        return cls.construct_fast(t, c, k, extrapolate)

    @classmethod
    def design_matrix(cls, x: Any, t: Any, k: int, extrapolate: Any = False) -> Any:
        """Return the matrix of the basis splines at points; waits once.

        Returns:
            `csr_matrix` of shape (points, knots - k - 1), k + 1 elements in each row.

        Raises:
            ValueError: knots out of order, points beyond them, values that are not finite.
        """
        from cupool.client_shim.cupyx import scipy

        x, t = numeric(x), numeric(t)
        if extrapolate != "periodic":
            extrapolate = bool(extrapolate)
        if k < 0:
            raise ValueError("Spline order cannot be negative.")
        if t.ndim != 1:
            raise ValueError(f"Expect t to be a 1-D sorted array_like, but got t={t}.")
        if len(t) < 2 * k + 2:
            raise ValueError(f"Length t is not enough for k={k}.")
        n = t.size - k - 1
        bad = "Array must not contain infs or nans."
        faults = [
            (~cupy.isfinite(x), bad),
            (~cupy.isfinite(t), bad),
            (t[1:] < t[:-1], "Expect t to be a 1-D sorted array_like."),
        ]
        if not extrapolate:
            faults.append(((x < t[k]) | (x > t[n]), "Out of bounds: points beyond the knots."))
        refuse(*faults)
        if extrapolate == "periodic":
            x = t[k] + (x - t[k]) % (t[n] - t[k])
            extrapolate = False
        count = x.shape[0] * (k + 1)
        index = np.dtype(np.int32 if count < 1 << 31 else np.int64)
        row = "scipy.interpolate.BSpline.design_matrix"
        specs = (((count,), np.dtype(np.float64), "C"), ((count,), index, "C"))
        data, indices = calls.call(row, (x, t, k, extrapolate), None, *specs)
        indptr = cupy.arange(0, count + 1, k + 1, dtype=index)
        return scipy.sparse.csr_matrix((data, indices, indptr), shape=(x.shape[0], n))

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
            first, last = self._base_interval()
            points = first + (points - first) % (last - first)
            extrapolate = False
        values = evaluate(self.t, self.c, self.k, points, nu, bool(extrapolate))
        return restore_axis(values, shape, self.c.shape[1:], self.axis)

    def _base_interval(self) -> tuple[Any, Any]:
        return self.t[self.k], self.t[self.t.size - self.k - 1]

    def _padded(self) -> tuple[Any, Any, int]:
        """Return `tck` with as many coefficients as knots."""
        missing = len(self.t) - len(self.c)
        c = self.c
        if missing > 0:
            c = cupy.concatenate([c, _zeros_like_rows(c, missing)])
        return self.t, c, self.k

    def derivative(self, nu: int = 1) -> Any:
        """Return the derivative of order `nu` as a new spline."""
        t, c, k = splder(self._padded(), nu)
        return self.construct_fast(t, c, k, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> Any:
        """Return the antiderivative of order `nu`, which is zero at the first knot."""
        t, c, k = splantider(self._padded(), nu)
        extrapolate = False if self.extrapolate == "periodic" else self.extrapolate
        return self.construct_fast(t, c, k, extrapolate, self.axis)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """Return the integral from a to b, without the axis that is interpolated.

        Args:
            extrapolate: instead of the object's own; False counts nothing beyond the base
                interval.
        """
        if extrapolate is None:
            extrapolate = self.extrapolate
        t, c, k = splantider(self._padded(), 1)

        def whole(points: Any, beyond: Any) -> Any:
            return evaluate(t, c, k, points, 0, bool(beyond))

        first, last = self._base_interval()
        if extrapolate == "periodic":
            base = cupy.stack([first, last])
            result = periodic_integral(whole, base, a, b)
        else:
            ends = cupy.stack([cupy.asarray(end, dtype=np.float64) for end in (a, b)])
            if not extrapolate:
                ends = cupy.clip(ends, first, last)
            values = whole(ends, extrapolate)
            result = values[1] - values[0]
        return result.reshape(c.shape[1:])
