"""Piecewise cubic interpolation."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim import cupy
from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupyx.scipy.interpolate._bspline2 import make_interp_spline
from cupool.client_shim.cupyx.scipy.interpolate._checks import float_dtype, refuse
from cupool.client_shim.cupyx.scipy.interpolate._interpolate import PPoly, powers_of_spline

__all__ = [
    "Akima1DInterpolator",
    "CubicHermiteSpline",
    "CubicSpline",
    "PchipInterpolator",
    "pchip_interpolate",
]
ndarray = core.ndarray


def _prepared(
    x: Any, y: Any, axis: int, dydx: Any = None
) -> tuple[ndarray, ndarray, ndarray, int, Any]:
    """Check the data, waiting once; return x, its differences, y and dydx with the axis first."""
    x, y = cupy.asarray(x), cupy.asarray(y)
    if x.dtype.kind == "c":
        raise ValueError("`x` must contain real values.")
    x = x.astype(np.float64)
    dtype = float_dtype(y.dtype)
    if dydx is not None:
        dydx = cupy.asarray(dydx)
        if y.shape != dydx.shape:
            raise ValueError("The shapes of `y` and `dydx` must be identical.")
        dtype = float_dtype(y.dtype, dydx.dtype)
        dydx = dydx.astype(dtype, copy=False)
    y = y.astype(dtype, copy=False)
    axis = axis % y.ndim
    if x.ndim != 1:
        raise ValueError("`x` must be 1-dimensional.")
    if x.shape[0] < 2:
        raise ValueError("`x` must contain at least 2 elements.")
    if x.shape[0] != y.shape[axis]:
        raise ValueError(f"The length of `y` along `axis`={axis} doesn't match the length of `x`")
    dx = cupy.diff(x)
    faults = [
        (~cupy.isfinite(x), "`x` must contain only finite values."),
        (~cupy.isfinite(y), "`y` must contain only finite values."),
    ]
    if dydx is not None:
        faults.append((~cupy.isfinite(dydx), "`dydx` must contain only finite values."))
    faults.append((dx <= 0, "`x` must be strictly increasing sequence."))
    refuse(*faults)
    y = cupy.moveaxis(y, axis, 0)
    if dydx is not None:
        dydx = cupy.moveaxis(dydx, axis, 0)
    return x, dx, y, axis, dydx


def _column(x: ndarray, ndim: int) -> ndarray:
    """Give an array of one axis as many as the data has."""
    return x.reshape((-1,) + (1,) * (ndim - 1))  # type: ignore[no-any-return]


class CubicHermiteSpline(PPoly):
    """The piecewise cubic of given values and slopes.

    Args:
        x: rising, shape (n,).
        y, dydx: values and slopes, shape (..., n, ...).
        axis: of `y`.
        extrapolate: beyond the points: the nearest piece, nan, or "periodic".

    Raises:
        ValueError: shapes that do not fit, points out of order, values that are not finite
            (looking at them waits once).
    """

    __slots__ = ()

    def __init__(self, x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: Any = None) -> None:
        x, dx, y, axis, dydx = _prepared(x, y, axis, dydx)
        self._set(x, dx, y, dydx, axis, extrapolate)

    def _set(
        self, x: Any, dx: Any, y: Any, slopes: Any, axis: int, extrapolate: Any = None
    ) -> None:
        """Take data that was checked, its axis first."""
        step = _column(dx, y.ndim)
        rise = cupy.diff(y, axis=0) / step
        bend = (slopes[:-1] + slopes[1:] - 2 * rise) / step
        left = cupy.broadcast_to(slopes[:-1], rise.shape)
        self.c = cupy.stack([bend / step, (rise - left) / step - bend, left, y[:-1]])
        self.x = x
        if extrapolate is None:
            extrapolate = True
        self.extrapolate = extrapolate if extrapolate == "periodic" else bool(extrapolate)
        self.axis = axis


def _sign(a: ndarray) -> ndarray:
    """Return the sign; that of the real part for complex numbers."""
    return cupy.sign(a.real if a.dtype.kind == "c" else a)  # type: ignore[no-any-return]


class PchipInterpolator(CubicHermiteSpline):
    """The piecewise cubic that is monotonic where the data is; see `CubicHermiteSpline`."""

    __slots__ = ()

    def __init__(self, x: Any, y: Any, axis: int = 0, extrapolate: Any = None) -> None:
        x, dx, y, axis, _ = _prepared(x, y, axis)
        slopes = self._find_derivatives(_column(x, y.ndim), y)
        self._set(x, dx, y, slopes, axis, extrapolate)

    @staticmethod
    def _edge_case(h0: Any, h1: Any, m0: Any, m1: Any) -> Any:
        """Return the slope at an end: from three points, but none that overshoots."""
        d = ((2 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
        other_way = _sign(d) != _sign(m0)
        too_steep = (_sign(m0) != _sign(m1)) & (cupy.abs(d) > 3.0 * cupy.abs(m0))
        return cupy.where(other_way, 0.0, cupy.where(too_steep, 3.0 * m0, d))

    @staticmethod
    def _find_derivatives(x: Any, y: Any) -> Any:
        """Return slopes at all points, the harmonic mean of those on both sides."""
        step = x[1:] - x[:-1]
        rise = (y[1:] - y[:-1]) / step
        if y.shape[0] == 2:
            return cupy.concatenate([rise, rise])
        signs = _sign(rise)
        turns = (signs[1:] != signs[:-1]) | (rise[1:] == 0) | (rise[:-1] == 0)
        w1 = 2 * step[1:] + step[:-1]
        w2 = step[1:] + 2 * step[:-1]
        mean = (w1 / rise[:-1] + w2 / rise[1:]) / (w1 + w2)
        inner = cupy.where(turns, 0.0, 1.0 / mean)
        edge = PchipInterpolator._edge_case
        first = edge(step[0], step[1], rise[0], rise[1])
        last = edge(step[-1], step[-2], rise[-1], rise[-2])
        return cupy.concatenate([first[None], inner, last[None]])


def pchip_interpolate(xi: Any, yi: Any, x: Any, der: Any = 0, axis: int = 0) -> Any:
    """Return values, a derivative, or a list of derivatives of `PchipInterpolator(xi, yi)`."""
    made = PchipInterpolator(xi, yi, axis=axis)
    if cupy.isscalar(der) or getattr(der, "shape", None) == ():
        order = int(der)
        return made.derivative(order)(x) if order else made(x)
    return [made.derivative(int(order))(x) for order in der]


class Akima1DInterpolator(CubicHermiteSpline):
    """Akima's piecewise cubic, nan beyond the points; see `CubicHermiteSpline`."""

    __slots__ = ()

    def __init__(self, x: Any, y: Any, axis: int = 0) -> None:
        x, dx, y, axis, _ = _prepared(x, y, axis)
        inner = cupy.diff(y, axis=0) / _column(dx, y.ndim)
        if inner.shape[0] == 1:
            slopes = cupy.concatenate([inner] * 5)  # a straight line
        else:
            before = 2.0 * inner[:1] - inner[1:2]
            after = 2.0 * inner[-1:] - inner[-2:-1]
            slopes = cupy.concatenate(
                [
                    2.0 * before - inner[:1],
                    before,
                    inner,
                    after,
                    2.0 * after - inner[-1:],
                ]
            )
        change = cupy.abs(cupy.diff(slopes, axis=0))
        f1, f2 = change[2:], change[:-2]
        both = f1 + f2
        # Where the slopes on both sides hardly change, their mean is taken.
        least = 1e-9 * (cupy.max(both) if both.size else -np.inf)
        weighed = (f1 * slopes[1:-2] + f2 * slopes[2:-1]) / both
        derivatives = cupy.where(both > least, weighed, 0.5 * (slopes[3:] + slopes[:-3]))
        self._set(x, dx, y, derivatives, axis, extrapolate=False)

    def extend(self, c: Any, x: Any, right: bool = True) -> None:
        """Raise NotImplementedError, as CuPy does."""
        raise NotImplementedError("an Akima interpolator cannot be extended")

    @classmethod
    def from_spline(cls, tck: Any, extrapolate: Any = None) -> Any:
        """Raise NotImplementedError, as CuPy does."""
        raise NotImplementedError("an Akima interpolator is not made of a spline")

    @classmethod
    def from_bernstein_basis(cls, bp: Any, extrapolate: Any = None) -> Any:
        """Raise NotImplementedError, as CuPy does."""
        raise NotImplementedError("an Akima interpolator is not made of a BPoly")


def _conditions(bc_type: Any, y: ndarray, axis: int) -> list[Any]:
    """Return for both ends (order of derivative, value), "not-a-knot" or "periodic"."""
    shape = y.shape[1:]
    if isinstance(bc_type, str):
        if bc_type == "periodic":
            refuse(
                (
                    ~cupy.isclose(y[0], y[-1], rtol=1e-15, atol=1e-15),
                    f"The first and last `y` point along axis {axis} must be identical (within "
                    "machine precision) when bc_type='periodic'.",
                )
            )
        bc_type = (bc_type, bc_type)
    elif len(bc_type) != 2:
        raise ValueError("`bc_type` must contain 2 elements to specify start and end conditions.")
    elif any(isinstance(side, str) and side == "periodic" for side in bc_type):
        raise ValueError("'periodic' `bc_type` is for both ends or for none")
    return [_condition(side, shape) for side in bc_type]


def _condition(side: Any, shape: tuple[int, ...]) -> Any:
    if isinstance(side, str):
        if side in ("clamped", "natural"):
            return (1 if side == "clamped" else 2, cupy.zeros(shape))
        if side in ("not-a-knot", "periodic"):
            return side
        raise ValueError(f"bc_type={side} is not allowed.")
    try:
        order, value = side
    except Exception as exc:
        raise ValueError("A derivative must be given in the form (order, value).") from exc
    if order not in (1, 2):
        raise ValueError("The specified derivative order must be 1 or 2.")
    value = cupy.asarray(value)
    if value.shape != shape:
        raise ValueError(f"`deriv_value` shape {value.shape} is not the expected one {shape}.")
    return order, value


class CubicSpline(CubicHermiteSpline):
    """The piecewise cubic whose second derivative has no steps.

    Args:
        x: rising, shape (n,).
        y: values, shape (..., n, ...).
        axis: of `y`.
        bc_type: "not-a-knot", "periodic", "clamped", "natural"; or for each end one of these or
            (order of derivative, value).
        extrapolate: beyond the points: the nearest piece, nan, or "periodic".

    Raises:
        ValueError: as `CubicHermiteSpline`; ends that do not fit.
    """

    __slots__ = ()

    def __init__(
        self,
        x: Any,
        y: Any,
        axis: int = 0,
        bc_type: Any = "not-a-knot",
        extrapolate: Any = None,
    ) -> None:
        x, y = cupy.asarray(x), cupy.asarray(y)
        if y.size == 0:
            x, dx, y, axis, _ = _prepared(x, y, axis)
            self._set(x, dx, y, cupy.zeros_like(y), axis, extrapolate)
        elif len(x) <= 3:
            x, dx, y, axis, _ = _prepared(x, y, axis)
            ends = _conditions(bc_type, y, axis)
            if any(not isinstance(end, str) and end[1].dtype.kind == "c" for end in ends):
                y = y.astype(np.complex128)
            if extrapolate is None:
                extrapolate = "periodic" if ends[0] == "periodic" else True
            self._set(x, dx, y, _few_slopes(dx, y, ends), axis, extrapolate)
        else:
            self._fit(x, y, axis % y.ndim, bc_type, extrapolate)

    def _fit(self, x: Any, y: Any, axis: int, bc_type: Any, extrapolate: Any) -> None:
        """Take the pieces from the spline of degree 3 through all points."""
        if not isinstance(bc_type, str):
            sides = [side if isinstance(side, str) else [side] for side in bc_type]
            if any(not isinstance(side, str) and cupy.iscomplexobj(side[0][1]) for side in sides):
                y = y.astype(np.complex128)
            bc_type = tuple(sides)
        spline = make_interp_spline(x, y, k=3, axis=axis, bc_type=bc_type)
        self.x = spline.t
        self.c = cupy.ascontiguousarray(powers_of_spline(spline))
        self.axis = axis
        self.extrapolate = True if extrapolate is None else extrapolate


def _few_slopes(dx: ndarray, y: ndarray, ends: list[Any]) -> ndarray:
    """Return the slopes at two or three points."""
    step = _column(dx, y.ndim)
    rise = cupy.diff(y, axis=0) / step
    if y.shape[0] == 2:
        ends = [(1, rise[0]) if isinstance(end, str) else end for end in ends]
    if y.shape[0] == 3 and ends[0] == "not-a-knot" and ends[1] == "not-a-knot":
        # One parabola: the slopes at the ends differ from that in the middle by the bend.
        middle = (step[0] * rise[1] + step[1] * rise[0]) / (step[0] + step[1])
        return cupy.stack([2 * rise[0] - middle, middle, 2 * rise[1] - middle])
    if y.shape[0] == 3 and ends[0] == "periodic":
        same = (rise / step).sum(0) / (1.0 / step).sum(0)
        return cupy.broadcast_to(same, y.shape)
    return _solved_slopes(step, rise, ends)


def _solved_slopes(step: ndarray, rise: ndarray, ends: list[Any]) -> ndarray:
    """Solve for the slopes at two or three points from conditions at both ends."""
    n = rise.shape[0] + 1
    matrix = cupy.zeros((n, n))
    right = cupy.zeros((n, *rise.shape[1:]), dtype=rise.dtype)
    h = step.reshape(-1)
    if n == 3:
        matrix[1, 0], matrix[1, 1], matrix[1, 2] = h[1], 2 * (h[0] + h[1]), h[0]
        right[1] = 3 * (step[0] * rise[1] + step[1] * rise[0])
    for end, row, inner, side in ((ends[0], 0, 1, 0), (ends[1], n - 1, n - 2, n - 2)):
        if end == "not-a-knot":  # of three points: the middle one is none
            both = h[0] + h[1]
            near, far = (0, 1) if row == 0 else (1, 0)
            matrix[row, row] = h[far]
            matrix[row, inner] = both
            right[row] = (
                (h[near] + 2 * both) * h[far] * rise[near] + h[near] ** 2 * rise[far]
            ) / both
            continue
        order, value = end
        if order == 1:
            matrix[row, row] = 1
            right[row] = value
        else:
            sign = -0.5 if row == 0 else 0.5
            matrix[row, row] = 2 * h[side]
            matrix[row, inner] = h[side]
            right[row] = sign * value * step[side] ** 2 + 3 * rise[side] * step[side]
    flat = right.reshape(n, -1)
    return cupy.linalg.solve(matrix, flat).reshape(right.shape)  # type: ignore[no-any-return]
