"""Smoothing splines of one variable."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim import cupy
from cupool.client_shim.cupy._core import calls
from cupool.client_shim.cupyx.scipy.interpolate._bspline import BSpline
from cupool.client_shim.cupyx.scipy.interpolate._bspline2 import (
    make_interp_spline,
    make_lsq_spline,
)
from cupool.client_shim.cupyx.scipy.interpolate._checks import refuse

__all__ = ["InterpolatedUnivariateSpline", "LSQUnivariateSpline", "UnivariateSpline"]

_MODES = {0: 0, "extrapolate": 0, 1: 1, "zeros": 1, 2: 2, "raise": 2, 3: 3, "const": 3}
_TOO_FEW = "Schoenberg-Whitney condition is violated: no point between the knots of a basis spline."


class UnivariateSpline:
    """A spline with as few knots as the smoothing allows; making one waits.

    Args:
        x: rising, shape (n,).
        y: values, shape (n,).
        w: None.
        bbox: ends of the interval; those of `x` by default.
        k: degree.
        s: the greatest sum of squared residuals; n by default, 0 interpolates.
        ext: beyond the interval: 0 or "extrapolate", 1 or "zeros", 2 or "raise", 3 or "const".

    Raises:
        NotImplementedError: weights, as CuPy.
        ValueError: points out of order.
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        w: Any = None,
        bbox: Any = (None, None),
        k: int = 3,
        s: Any = None,
        ext: Any = 0,
    ) -> None:
        self._take(x, y, w, bbox, k, ext)
        self.set_smoothing_factor(len(self._x) if s is None else s)

    def _take(self, x: Any, y: Any, w: Any, bbox: Any, k: int, ext: Any) -> None:
        if w is not None:
            raise NotImplementedError("weighted spline fitting is not implemented")
        self._x = cupy.asarray(x, dtype=np.float64)
        self._y = cupy.asarray(y, dtype=np.float64)
        if self._x.ndim != 1 or self._x.shape != self._y.shape:
            raise ValueError("x and y should have a same length and one axis")
        begin, end = bbox
        self.ext = ext
        self._xb = self._x[0] if begin is None else cupy.asarray(begin, dtype=np.float64)
        self._xe = self._x[-1] if end is None else cupy.asarray(end, dtype=np.float64)
        self._k = k

    @classmethod
    def _of(cls, spline: Any, other: Any, ext: Any) -> Any:
        made = cls.__new__(cls)
        made._spl = spline
        made.ext = ext
        made._residual = other._residual
        made._xb, made._xe = other._xb, other._xe
        return made

    def _set_class(self, kind: type) -> None:
        if type(self) in (UnivariateSpline, InterpolatedUnivariateSpline, LSQUnivariateSpline):
            self.__class__ = kind

    def set_smoothing_factor(self, s: Any, t: Any = None) -> None:
        """Fit again for another smoothing.

        Args:
            s: the greatest sum of squared residuals.
            t: knots that the residual is told for; those of the new fit by default.
        """
        k = self._k
        if s == 0:
            self._spl = make_interp_spline(self._x, self._y, k=k)
            self._residual = cupy.zeros(())
            self._set_class(InterpolatedUnivariateSpline)
            return
        refuse((cupy.diff(self._x) < 0, "Expect `x` to be an ordered 1D sequence."))
        bbox = [float(end) for end in cupy.stack([self._xb, self._xe]).get()]
        args = (self._x, self._y, bbox, k, float(s))
        knots, c = calls.call_unknown("scipy.interpolate.UnivariateSpline.fit", args, None, 2)
        begin, end = (cupy.broadcast_to(one, (k,)) for one in (knots[:1], knots[-1:]))
        full = cupy.concatenate([begin, knots, end])
        self._spl = BSpline.construct_fast(full, c, k)
        nearest = make_lsq_spline(self._x, self._y, full if t is None else t, k)
        self._residual = cupy.square(nearest(self._x) - self._y).sum()
        if full.size == 2 * (k + 1):
            self._set_class(LSQUnivariateSpline)

    def __call__(self, x: Any, nu: int = 0, ext: Any = None) -> Any:
        """Return the values or a derivative at points.

        Args:
            ext: instead of the object's own.

        Raises:
            ValueError: an unknown `ext`; points beyond the interval with "raise" (which waits).
        """
        mode = _MODES.get(self.ext if ext is None else ext)
        if mode is None:
            raise ValueError(f"Unknown extrapolation mode {ext}.")
        result = self._spl(x, nu)
        if mode == 0:
            return result
        x = cupy.asarray(x)
        below, above = x < self._xb, x > self._xe
        if mode == 1:
            return cupy.where(below | above, 0.0, result)
        if mode == 2:
            refuse((below | above, "Out of bounds x with ext='raise'."))
            return result
        ends = self._spl(cupy.stack([self._xb, self._xe]))
        return cupy.where(below, ends[0], cupy.where(above, ends[1], result))

    def get_knots(self) -> Any:
        """Return the knots within the interval, its ends once each."""
        k = self._spl.k
        return self._spl.t[k:-k] if k else self._spl.t

    def get_coeffs(self) -> Any:
        """Return the coefficients."""
        return self._spl.c

    def get_residual(self) -> Any:
        """Return the sum of squared residuals, as an array without axes."""
        return self._residual

    def integral(self, a: Any, b: Any) -> Any:
        """Return the integral from a to b, zero if both are beyond the same end."""
        a, b = cupy.asarray(a, dtype=np.float64), cupy.asarray(b, dtype=np.float64)
        outside = ((a <= self._xb) & (b <= self._xb)) | ((a >= self._xe) & (b >= self._xe))
        return cupy.where(outside, 0.0, self._spl.integrate(a, b))

    def derivatives(self, x: Any) -> Any:
        """Return all derivatives at a point, beginning with the value: shape (k + 1,)."""
        return cupy.stack([self._spl(x, nu) for nu in range(self._spl.k + 1)])

    def derivative(self, n: int = 1) -> Any:
        """Return the derivative of order n as a spline."""
        ext = 1 if _MODES.get(self.ext) == 3 else self.ext
        return UnivariateSpline._of(self._spl.derivative(n), self, ext)

    def antiderivative(self, n: int = 1) -> Any:
        """Return the antiderivative of order n as a spline."""
        return UnivariateSpline._of(self._spl.antiderivative(n), self, self.ext)


class InterpolatedUnivariateSpline(UnivariateSpline):
    """A spline through all points; see `UnivariateSpline`."""

    def __init__(
        self,
        x: Any,
        y: Any,
        w: Any = None,
        bbox: Any = (None, None),
        k: int = 3,
        ext: Any = 0,
    ) -> None:
        super().__init__(x, y, w=w, bbox=bbox, k=k, s=0, ext=ext)


class LSQUnivariateSpline(UnivariateSpline):
    """A smoothing spline that tells its residual for given knots; see `UnivariateSpline`.

    Args:
        t: all knots, k + 1 of them at each end.

    Raises:
        ValueError: knots that do not fit the points (looking at them waits).
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        t: Any,
        w: Any = None,
        bbox: Any = (None, None),
        k: int = 3,
        ext: Any = 0,
    ) -> None:
        self._take(x, y, w, bbox, k, ext)
        _check_knots(self._x, cupy.asarray(t, dtype=np.float64), k)
        self.set_smoothing_factor(len(self._x), t)


def _check_knots(x: Any, t: Any, k: int) -> None:
    """Wait once, and raise ValueError if no least squares spline has these knots."""
    m, n = x.size, t.size
    if t.ndim != 1:
        raise ValueError(f"Expect `x` and `t` be 1D sequences. Got shapes {x.shape} and {t.shape}")
    if not k + 1 <= n - k - 1 <= m:
        raise ValueError(f"Need k+1 <= n-k-1 <= m. Got m={m}, n={n} and k={k}.")
    inner = t[k : n - k]
    faults = [
        (t[: k + 1] > t[1 : k + 2], "First k knots must be ordered."),
        (t[n - k - 1 :] < t[n - k - 2 : -1], "Last k knots must be ordered."),
        (cupy.diff(inner) <= 0, "Internal knots must be distinct."),
        ((x < inner[0]) | (x > inner[-1]), "Out of bounds: points beyond the knots."),
        ((x[:1] >= inner[1]) | (x[-1:] <= inner[-2]), _TOO_FEW),
    ]
    count = n - k - 3
    if count >= 2:
        # Each basis spline needs a point of its own between its first and last knot.
        place = cupy.searchsorted(x, t[1 : count + 1], side="right")
        next_point = x[cupy.clip(place, 0, m - 1)]
        beyond = next_point >= t[k + 2 : k + 2 + count]
        faults.append(((place >= m - 1) | beyond, _TOO_FEW))
    refuse(*faults)
