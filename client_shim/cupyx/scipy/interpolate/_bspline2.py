"""B-splines through points: interpolation and least squares."""

from __future__ import annotations

import operator
from math import prod
from typing import Any

import numpy as np

from cupool.client_shim import cupy
from cupool.client_shim.cupy._core import calls, core
from cupool.client_shim.cupy._core.routines_indexing import normalize_axis
from cupool.client_shim.cupyx.scipy.interpolate._bspline import BSpline
from cupool.client_shim.cupyx.scipy.interpolate._checks import numeric, refuse

__all__ = ["make_interp_spline", "make_lsq_spline", "not_a_knot"]
ndarray = core.ndarray

_NOT_FINITE = "Array must not contain infs or nans."
_ALIASES = ("clamped", "natural")
_FLOAT = np.dtype(np.float64)


def _check_degree(k: int, *others: int) -> None:
    if k % 2 != 1 and k not in others:
        raise ValueError(f"knots are chosen for odd degrees only, this is {k}: give t")


def not_a_knot(x: Any, k: int) -> ndarray:
    """Return the knots of a spline of odd degree through points in order.

    Raises:
        ValueError: an even degree.
    """
    _check_degree(k)
    half = (k - 1) // 2
    x = cupy.asarray(x)
    ends = [cupy.broadcast_to(end, (k + 1,)) for end in (x[:1], x[-1:])]
    return cupy.concatenate([ends[0], x[half + 1 : -half - 1], ends[1]])


_not_a_knot = not_a_knot


def _conditions(side: Any, shape: tuple[int, ...]) -> Any:
    """Return the derivatives that are given at one end: None, an alias, or pairs.

    Raises:
        ValueError: neither, or a value of another shape.
    """
    if side is None:
        return None
    if isinstance(side, str):
        if side not in _ALIASES:
            raise ValueError(f"Unknown boundary condition : {side}")
        return side
    try:
        pairs = [(operator.index(order), value) for order, value in side]
    except TypeError as exc:
        raise ValueError(
            "Derivatives, `bc_type`, should be specified as a pair of iterables of pairs of "
            "(order, value)."
        ) from exc
    count = prod(shape)
    values = [cupy.asarray(value, dtype=None) for _, value in pairs]
    if any(value.size != count for value in values):
        raise ValueError(f"derivatives of shape {shape} are needed")
    return [(order, value.reshape(shape)) for (order, _), value in zip(pairs, values, strict=True)]


def _sides(bc_type: Any, shape: tuple[int, ...]) -> tuple[Any, Any]:
    if bc_type is None or isinstance(bc_type, str):
        if bc_type in (None, "not-a-knot", "periodic"):
            return None, None
        left = right = bc_type
    else:
        try:
            left, right = bc_type
        except TypeError as exc:
            raise ValueError(f"Unknown boundary condition: {bc_type}") from exc
    return _conditions(left, shape), _conditions(right, shape)


def _count(side: Any) -> int:
    return 0 if side is None else 1 if isinstance(side, str) else len(side)


def _knot_count(n: int, k: int, t: Any, bc_type: Any, given: int) -> int:
    if t is not None:
        return int(t.size)
    if bc_type == "periodic":
        return n + 2 * k
    if given:
        return n + 2 * k
    _check_degree(k, 2)
    return n + k + 1


def make_interp_spline(
    x: Any,
    y: Any,
    k: int = 3,
    t: Any = None,
    bc_type: Any = None,
    axis: int = 0,
    check_finite: bool = True,
) -> BSpline:
    """Return the spline through points; waits once, to look at their order.

    Args:
        x: rising, shape (n,).
        y: values, shape (..., n, ...).
        k: degree.
        t: knots; chosen by the degree and `bc_type` by default.
        bc_type: "not-a-knot", "periodic", "clamped", "natural", or for both ends one of the last
            two, None, or a list of (order of derivative, value).
        axis: of `y`.
        check_finite: whether nan and inf are refused.

    Raises:
        ValueError: shapes that do not fit, points out of order, conditions that are too many or
            too few, values that are not finite.
        NotImplementedError: knots of a periodic spline.
    """
    y = cupy.asarray(y)
    axis = normalize_axis(axis, y.ndim)
    x = numeric(x)
    y = cupy.ascontiguousarray(cupy.moveaxis(numeric(y), axis, 0))
    left, right = _sides(bc_type, y.shape[1:])
    periodic = isinstance(bc_type, str) and bc_type == "periodic"
    if x.ndim != 1:
        raise ValueError("Expect x to be a 1D strictly increasing sequence.")
    if x.size != y.shape[0]:
        raise ValueError(f"Shapes of x {x.shape} and y {y.shape} are incompatible")
    _check_points(x, y, periodic, check_finite)
    if k == 0 and any(one is not None for one in (t, left, right)):
        raise ValueError("Too much info for k=0: t and bc_type can only be None.")
    if k == 1 and t is None and not (left is None and right is None):
        raise ValueError("Too much info for k=1: bc_type can only be None.")
    if k == 0 or (k == 1 and t is None and not periodic):
        knots = [x[:1], x, x[-1:]] if k else [x, x[-1:]]
        return BSpline.construct_fast(cupy.concatenate(knots), y, k, axis=axis)  # type: ignore[no-any-return]
    k = operator.index(k)
    if k < 0:
        raise ValueError("Expect non-negative k.")
    if periodic and t is not None:
        raise NotImplementedError("the knots of a periodic spline cannot be given")
    if t is not None:
        t = _checked_knots(t, x, k, check_finite)
    given = _count(left) + _count(right)
    count = _knot_count(x.size, k, t, bc_type, given)
    size = count - k - 1
    if not periodic and size - x.size != given:
        raise ValueError(
            "The number of derivatives at boundaries does not match: "
            f"expected {size - x.size}, got {_count(left)} + {_count(right)}"
        )
    return _fit(x, y, k, t, "periodic" if periodic else (left, right), count, axis)


def _fit(x: ndarray, y: ndarray, k: int, t: Any, bc_type: Any, count: int, axis: int) -> BSpline:
    """Queue the fit."""
    size = count - k - 1
    extrapolate = "periodic" if bc_type == "periodic" else True
    if y.size == 0:
        t = not_a_knot(x, k) if t is None else t
        c = cupy.zeros((size, *y.shape[1:]), dtype=y.dtype)
        return BSpline.construct_fast(t, c, k, extrapolate, axis)  # type: ignore[no-any-return]
    if isinstance(bc_type, tuple):
        bc_type = None if bc_type == (None, None) else bc_type
    specs = (((count,), _FLOAT, "C"), ((size, *y.shape[1:]), y.dtype, "C"))
    args = (x, y, k, t, bc_type)
    t, c = calls.call("scipy.interpolate.make_interp_spline", args, None, *specs)
    return BSpline.construct_fast(t, c, k, extrapolate, axis)  # type: ignore[no-any-return]


def _check_points(x: ndarray, y: ndarray, periodic: bool, check_finite: bool) -> None:
    faults: list[tuple[Any, str]] = []
    if check_finite:
        faults += [(~cupy.isfinite(x), _NOT_FINITE), (~cupy.isfinite(y), _NOT_FINITE)]
    if periodic:
        differ = ~cupy.isclose(y[0], y[-1], atol=1e-15)
        faults.append((differ, "First and last points does not match while periodic case expected"))
    faults.append((x[1:] == x[:-1], "Expect x to not have duplicates"))
    faults.append((x[1:] < x[:-1], "Expect x to be a 1D strictly increasing sequence."))
    refuse(*faults)


def _checked_knots(t: Any, x: ndarray, k: int, check_finite: bool) -> ndarray:
    t = numeric(t)
    if t.ndim != 1:
        raise ValueError("Expect t to be a 1-D sorted array_like.")
    if t.size < x.size + k + 1:
        raise ValueError(f"Got {t.size} knots, need at least {x.size + k + 1}.")
    faults: list[tuple[Any, str]] = [(~cupy.isfinite(t), _NOT_FINITE)] if check_finite else []
    faults.append((t[1:] < t[:-1], "Expect t to be a 1-D sorted array_like."))
    faults.append(((x < t[k]) | (x > t[-k - 1]), f"Out of bounds w/ x = {x.shape}."))
    refuse(*faults)
    return t  # type: ignore[no-any-return]


def make_lsq_spline(
    x: Any,
    y: Any,
    t: Any,
    k: int = 3,
    w: Any = None,
    axis: int = 0,
    check_finite: bool = True,
    *,
    method: str = "qr",
) -> BSpline:
    """Return the spline of given knots that is nearest to points; waits once.

    Args:
        x: rising, shape (n,).
        y: values, shape (..., n, ...).
        t: knots, k + 1 of them at and beyond each end.
        k: degree.
        w: weights, shape (n,); ones by default.
        axis: of `y`.
        check_finite: whether nan and inf are refused.
        method: "qr".

    Raises:
        ValueError: shapes that do not fit, points or knots out of order, another method.
    """
    x, y, t = numeric(x), numeric(y), numeric(t)
    w = cupy.ones_like(x) if w is None else numeric(w)
    k = operator.index(k)
    axis = normalize_axis(axis, y.ndim)
    y = cupy.ascontiguousarray(cupy.moveaxis(y, axis, 0))
    if method != "qr":
        raise ValueError(f"method={method!r} is not supported.")
    _check_least_squares(x, y, t, k, w, check_finite)
    shape = (t.size - k - 1, *y.shape[1:])
    flat = y.reshape(y.shape[0], prod(y.shape[1:]))
    args = (x, flat, t, k, w)
    flat_shape = (shape[0], flat.shape[1])
    c = calls.call_one("scipy.interpolate.make_lsq_spline", args, None, flat_shape, y.dtype)
    return BSpline.construct_fast(t, c.reshape(shape), k, axis=axis)  # type: ignore[no-any-return]


def _check_least_squares(
    x: ndarray, y: ndarray, t: ndarray, k: int, w: ndarray, check_finite: bool
) -> None:
    if x.ndim != 1:
        raise ValueError("Expect x to be a 1-D sequence.")
    if x.shape[0] < k + 1:
        raise ValueError("Need more x points.")
    if k < 0:
        raise ValueError("Expect non-negative k.")
    if t.ndim != 1:
        raise ValueError("Expect t to be a 1-D sorted array_like.")
    if x.size != y.shape[0]:
        raise ValueError(f"Shapes of x {x.shape} and y {y.shape} are incompatible")
    if x.size != w.size:
        raise ValueError(f"Shapes of x {x.shape} and w {w.shape} are incompatible")
    faults: list[tuple[Any, str]] = []
    if check_finite:
        faults += [(~cupy.isfinite(one), _NOT_FINITE) for one in (x, y, t, w)]
    faults += [
        (x[1:] <= x[:-1], "Expect x to be a 1-D sorted array_like."),
        (t[1:] < t[:-1], "Expect t to be a 1-D sorted array_like."),
    ]
    if k > 0:
        faults.append(((x < t[k]) | (x > t[-k]), "Out of bounds: points beyond the knots."))
    refuse(*faults)
