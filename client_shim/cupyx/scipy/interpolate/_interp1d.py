"""`interp1d`: interpolation along one axis in many ways."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim import cupy
from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupyx.scipy.interpolate._bspline2 import make_interp_spline
from cupool.client_shim.cupyx.scipy.interpolate._checks import refuse
from cupool.client_shim.cupyx.scipy.interpolate._polyint import Interpolator

__all__ = ["interp1d"]
ndarray = core.ndarray

_ORDERS = {"zero": 0, "slinear": 1, "quadratic": 2, "cubic": 3}
_STEPS = ("nearest", "nearest-up", "previous", "next")


def _extrapolates(fill_value: Any) -> bool:
    return isinstance(fill_value, str) and fill_value == "extrapolate"


class interp1d(Interpolator):
    """A function of one variable through points.

    Args:
        x: places, shape (n,).
        y: values, shape (..., n, ...).
        kind: "linear", "nearest", "nearest-up", "previous", "next", "zero", "slinear",
            "quadratic", "cubic", or the degree of a spline.
        axis: of `y`.
        copy: whether the data is copied.
        bounds_error: whether places beyond those of `x` are an error (seeing that waits at every
            call); True unless there is something to fill in.
        fill_value: what stands there; one for each side as a tuple, or "extrapolate".
        assume_sorted: `x` rises.

    Raises:
        NotImplementedError: another kind.
        ValueError: shapes that do not fit, too few points.
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        kind: Any = "linear",
        axis: int = -1,
        copy: bool = True,
        bounds_error: Any = None,
        fill_value: Any = np.nan,
        assume_sorted: bool = False,
    ) -> None:
        super().__init__(x, y, axis=axis)
        self.bounds_error = bounds_error
        self.copy = copy
        order: int | None = None
        if isinstance(kind, str) and kind in _ORDERS:
            order = _ORDERS[kind]
        elif isinstance(kind, int):
            order = kind
        elif kind not in ("linear", *_STEPS):
            raise NotImplementedError(
                f"{kind} is unsupported: Use fitpack routines for other types."
            )
        x = cupy.array(x, copy=copy)
        y = cupy.array(y, copy=copy)
        if not assume_sorted:
            places = cupy.argsort(x, kind="stable")
            x = x[places]
            y = cupy.take(y, places, axis=axis)
        if x.ndim != 1:
            raise ValueError("the x array must have exactly one dimension.")
        if y.ndim == 0:
            raise ValueError("the y array must have at least one dimension.")
        if y.dtype.kind not in "fc":
            y = y.astype(np.float64)
        self.axis = axis % y.ndim
        self.y = y
        self._y = self._reshape_yi(y)
        self.x = x
        self._kind = "spline" if order is not None else kind
        fill_value = self._prepare(order, fill_value)
        least = 1 if order is None else order + 1
        if len(self.x) < least:
            raise ValueError(f"x and y arrays must have at least {least} entries")
        self.fill_value = fill_value

    def _prepare(self, order: int | None, fill_value: Any) -> Any:
        """Make what the kind needs; return what fills the outside."""
        kind = self._kind
        if kind == "spline" and order is not None:
            self._set_spline(order)
        elif kind in ("nearest", "nearest-up"):
            half = self.x / 2.0
            self._bounds = half[1:] + half[:-1]
        elif kind in ("previous", "next"):
            away = -np.inf if kind == "previous" else np.inf
            self._bounds = cupy.nextafter(self.x, away)
            if _extrapolates(fill_value):
                self._no_bounds_error()
                end = -1 if kind == "previous" else 0
                inner = cupy.take(self.y, end, self.axis)
                return (np.nan, inner) if kind == "previous" else (inner, np.nan)
        return fill_value

    def _set_spline(self, order: int) -> None:
        """Make the spline; nan in the data, which it looks for, makes all values nan."""
        x, y = self.x, self._y
        self._nan = False
        if order > 1 and len(x) > order:
            lost = cupy.isnan(x)
            nan_y = cupy.isnan(y).any().reshape(1)
            seen = cupy.concatenate([lost.any().reshape(1), lost.all().reshape(1), nan_y]).get()
            if seen[1]:
                raise ValueError("`x` array is all-nan")
            if seen[0]:
                x = cupy.linspace(cupy.nanmin(self.x), cupy.nanmax(self.x), len(self.x))
            if seen[2]:
                y = cupy.ones_like(y)
            self._nan = bool(seen[0] or seen[2])
        if len(x) > order:
            self._spline = make_interp_spline(x, y, k=order, check_finite=False)

    @property
    def fill_value(self) -> Any:
        """What stands beyond the places."""
        return self._fill_value

    @fill_value.setter
    def fill_value(self, fill_value: Any) -> None:
        if _extrapolates(fill_value):
            self._no_bounds_error()
            self._extrapolate = True
        else:
            shape = self.y.shape[: self.axis] + self.y.shape[self.axis + 1 :] or (1,)
            if isinstance(fill_value, tuple) and len(fill_value) == 2:
                names = ("fill_value (below)", "fill_value (above)")
                below, above = (
                    _broadcast_up_to(cupy.asarray(one), shape, name)
                    for one, name in zip(fill_value, names, strict=True)
                )
            else:
                below = above = _broadcast_up_to(cupy.asarray(fill_value), shape, "fill_value")
            self._below, self._above = below, above
            self._extrapolate = False
            if self.bounds_error is None:
                self.bounds_error = True
        self._fill_value = fill_value

    def _no_bounds_error(self) -> None:
        if self.bounds_error:
            raise ValueError("Cannot extrapolate and raise at the same time.")
        self.bounds_error = False

    def _evaluate(self, x: Any) -> Any:
        if self._extrapolate:
            return self._values(x)
        below, above = x < self.x[0], x > self.x[-1]
        if self.bounds_error:
            refuse(
                (below, "A value in x_new is below the interpolation range's minimum value."),
                (above, "A value in x_new is above the interpolation range's maximum value."),
            )
        y = self._values(x)
        y = y.reshape(len(x), -1) if y.size else y
        if len(x):
            dtype = y.dtype
            y = cupy.where(below[:, None], self._below, y)
            y = cupy.where(above[:, None], self._above, y).astype(dtype, copy=False)
        return y

    def _values(self, x: Any) -> Any:
        kind = self._kind
        if kind == "spline":
            values = self._spline(x)
            return cupy.full_like(values, np.nan) if self._nan else values
        if kind == "linear":
            return self._linear(x)
        if kind in ("nearest", "nearest-up"):
            side = "left" if kind == "nearest" else "right"
            places = cupy.searchsorted(self._bounds, x, side=side)
            return self._y[cupy.clip(places, 0, len(self.x) - 1)]
        ahead = 0 if kind == "previous" else 1
        side = "left" if kind == "previous" else "right"
        places = cupy.searchsorted(self._bounds, x, side=side)
        places = cupy.clip(places, 1 - ahead, len(self.x) - ahead)
        return self._y[places + ahead - 1]

    def _linear(self, x: Any) -> Any:
        usual = (np.dtype(np.float64), np.dtype(int))
        if (
            self.x.dtype in usual
            and self.y.dtype in usual
            and self.y.ndim == 1
            and not self._extrapolate
        ):
            return cupy.interp(x, self.x, self.y)
        high = cupy.clip(cupy.searchsorted(self.x, x), 1, len(self.x) - 1)
        low = high - 1
        x0, x1, y0, y1 = self.x[low], self.x[high], self._y[low], self._y[high]
        slope = (y1 - y0) / (x1 - x0)[:, None]
        return slope * (x - x0)[:, None] + y0


def _broadcast_up_to(a: ndarray, shape: tuple[int, ...], name: str) -> ndarray:
    """Return `a` flat, broadcast to a shape if it has more than one element.

    Raises:
        ValueError: it cannot be.
    """
    fits = len(shape) >= a.ndim and all(
        own in (1, wanted) for own, wanted in zip(reversed(a.shape), reversed(shape), strict=False)
    )
    if not fits:
        raise ValueError(
            f"{name} argument must be able to broadcast up to shape {shape} but had shape {a.shape}"
        )
    if a.size != 1 and a.shape != shape:
        a = cupy.broadcast_to(a, shape)
    return a.ravel()  # type: ignore[no-any-return]
