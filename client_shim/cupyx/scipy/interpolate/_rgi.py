"""Interpolation on rectangular grids."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from cupool.client_shim import cupy
from cupool.client_shim.cupy._core import calls, core
from cupool.client_shim.cupyx.scipy.interpolate._checks import refuse
from cupool.client_shim.cupyx.scipy.interpolate._ndbspline import make_ndbspl
from cupool.client_shim.cupyx.scipy.interpolate._pieces import as_grid

__all__ = ["RegularGridInterpolator", "interpn"]
ndarray = core.ndarray

_TOO_MANY = "There are {} point arrays, but values has {} dimensions"


def _check_dimensionality(points: Any, values: Any) -> None:
    if len(points) > values.ndim:
        raise ValueError(_TOO_MANY.format(len(points), values.ndim))
    for i, place in enumerate(points):
        if cupy.asarray(place).ndim != 1:
            raise ValueError(f"The points in dimension {i} must be 1-dimensional")
        if values.shape[i] != len(place):
            raise ValueError(
                f"There are {len(place)} points and {values.shape[i]} values in dimension {i}"
            )


def _check_points(points: Any) -> tuple[tuple[ndarray, ...], tuple[int, ...]]:
    """Return the places of each variable, rising, and which of them fell; waits once.

    Raises:
        ValueError: they do neither.
    """
    grid = [cupy.asarray(place, dtype=np.float64) for place in points]
    flags = []
    for place in grid:
        steps = cupy.diff(place, axis=-1)
        flags += [(steps > 0).all().reshape(1), (steps < 0).all().reshape(1)]
    seen = cupy.concatenate(flags).get().reshape(-1, 2) if flags else np.zeros((0, 2))
    falling = []
    for i, (rises, falls) in enumerate(seen.tolist()):
        if not rises and not falls:
            raise ValueError(
                f"The points in dimension {i} must be strictly ascending or descending"
            )
        if not rises:
            falling.append(i)
            grid[i] = cupy.ascontiguousarray(cupy.flip(grid[i]))
    return tuple(grid), tuple(falling)


class RegularGridInterpolator:
    """Interpolation of values on a rectangular grid; making one waits once.

    Args:
        points: places of each variable, rising or falling.
        values: shape (places of each variable, ...).
        method: "linear", "nearest", "slinear", "cubic", "quintic", "pchip"; also
            "slinear_legacy", "cubic_legacy", "quintic_legacy".
        bounds_error: whether points beyond the grid are an error (seeing that waits at every
            call).
        fill_value: what stands there otherwise; None extrapolates.

    Raises:
        ValueError: an unknown method, shapes that do not fit, places out of order, too few of
            them.
    """

    _SPLINE_DEGREE_MAP: ClassVar[dict[str, int]] = {
        "slinear": 1,
        "cubic": 3,
        "quintic": 5,
        "pchip": 3,
        "slinear_legacy": 1,
        "cubic_legacy": 3,
        "quintic_legacy": 5,
    }
    _SPLINE_METHODS_ndbspl = frozenset(("slinear", "cubic", "quintic"))
    _SPLINE_METHODS: ClassVar[list[str]] = list(_SPLINE_DEGREE_MAP)
    _ALL_METHODS: ClassVar[list[str]] = ["linear", "nearest", *_SPLINE_METHODS]

    def __init__(
        self,
        points: Any,
        values: Any,
        method: str = "linear",
        bounds_error: bool = True,
        fill_value: Any = np.nan,
    ) -> None:
        if method not in self._ALL_METHODS:
            raise ValueError(f"Method '{method}' is not defined")
        if method in self._SPLINE_METHODS:
            self._validate_grid_dimensions(points, method)
        self.method = method
        self.bounds_error = bounds_error
        self.grid, self._descending_dimensions = _check_points(points)
        self.values = values if values.dtype.kind in "fc" else values.astype(np.float64)
        _check_dimensionality(self.grid, self.values)
        if fill_value is not None:
            kind = cupy.asarray(fill_value).dtype
            if not np.can_cast(kind, self.values.dtype, casting="same_kind"):
                raise ValueError(
                    "fill_value must be either 'None' or of a type compatible with values"
                )
        self.fill_value = fill_value
        if self._descending_dimensions:
            self.values = cupy.flip(self.values, axis=self._descending_dimensions)
        self._splines: dict[str, Any] = {}
        if method in self._SPLINE_METHODS_ndbspl:
            self._spline_of(method)

    def _spline_of(self, method: str) -> Any:
        if method not in self._splines:
            degree = self._SPLINE_DEGREE_MAP[method]
            self._splines[method] = make_ndbspl(self.grid, self.values, degree)
        return self._splines[method]

    def _validate_grid_dimensions(self, points: Any, method: str) -> None:
        k = self._SPLINE_DEGREE_MAP[method]
        for i, place in enumerate(points):
            count = len(cupy.atleast_1d(place))
            if count <= k:
                raise ValueError(
                    f"There are {count} points in dimension {i}, but method {method} requires at "
                    f"least  {k + 1} points per dimension."
                )

    def __call__(self, xi: Any, method: str | None = None, *, nu: Any = None) -> Any:
        """Return the values at points.

        Args:
            xi: shape (..., variables), or a tuple of arrays of coordinates.
            method: instead of the object's own.
            nu: order of the derivative for each variable, for splines.

        Raises:
            ValueError: an unknown method, points beyond the grid, derivatives without spline.
        """
        changed = method is not None and method != self.method
        method = self.method if method is None else method
        if method not in self._ALL_METHODS:
            raise ValueError(f"Method '{method}' is not defined")
        if nu is not None and method not in self._SPLINE_METHODS_ndbspl:
            raise ValueError(
                "Can only compute derivatives for methods "
                f"{sorted(self._SPLINE_METHODS_ndbspl)}, got {method=}."
            )
        if changed and method in self._SPLINE_METHODS:
            self._validate_grid_dimensions(self.grid, method)
        points, shape = self._points(xi)
        if self.bounds_error:
            refuse(
                *(
                    (
                        ~((place[0] <= x) & (x <= place[-1])),
                        f"One of the requested xi is out of bounds in dimension {i}",
                    )
                    for i, (place, x) in enumerate(zip(self.grid, points.T, strict=True))
                )
            )
        fill_value = None if self.bounds_error else self.fill_value
        if method in self._SPLINE_METHODS_ndbspl:
            result = self._by_spline(points, method, nu, fill_value)
        else:
            result = self._by_grid(points, method, fill_value)
        return result.reshape(shape[:-1] + self.values.shape[len(self.grid) :])

    def _points(self, xi: Any) -> tuple[ndarray, tuple[int, ...]]:
        ndim = len(self.grid)
        xi = as_grid(xi, ndim=ndim)
        if xi.shape[-1] != ndim:
            raise ValueError(
                f"The requested sample points xi have dimension {xi.shape[-1]} but this "
                f"RegularGridInterpolator has dimension {ndim}"
            )
        points = cupy.ascontiguousarray(xi.reshape(-1, ndim), dtype=np.float64)
        return points, xi.shape

    def _by_grid(self, points: ndarray, method: str, fill_value: Any) -> Any:
        values = self.values
        dtype = values.dtype
        if method == "linear":
            dtype = np.result_type(values.dtype, np.float64)
        if fill_value is not None:
            fill_value = cupy.asarray(fill_value).astype(values.dtype)
        shape = (points.shape[0], *values.shape[len(self.grid) :])
        args = (self.grid, values, points, method, fill_value)
        row = "scipy.interpolate.RegularGridInterpolator.evaluate"
        return calls.call_one(row, args, None, shape, dtype)

    def _by_spline(self, points: ndarray, method: str, nu: Any, fill_value: Any) -> Any:
        result = self._spline_of(method)(points, nu=nu)
        lost = cupy.isnan(points).any(axis=1)
        column = (-1,) + (1,) * (result.ndim - 1)
        if fill_value is not None:
            low = cupy.stack([place[0] for place in self.grid])
            high = cupy.stack([place[-1] for place in self.grid])
            outside = ((points < low) | (points > high)).any(axis=1)
            result = cupy.where(outside.reshape(column), fill_value, result)
        return cupy.where(lost.reshape(column), np.nan, result)


def interpn(
    points: Any,
    values: Any,
    xi: Any,
    method: str = "linear",
    bounds_error: bool = True,
    fill_value: Any = np.nan,
) -> Any:
    """Return `RegularGridInterpolator(points, values, ...)(xi)`.

    Raises:
        ValueError: as there.
    """
    if method not in RegularGridInterpolator._ALL_METHODS:
        raise ValueError(
            "interpn only understands the methods 'linear', 'nearest', 'slinear', 'cubic', "
            f"'quintic' and 'pchip'. You provided {method}."
        )
    if len(points) > values.ndim:
        raise ValueError(_TOO_MANY.format(len(points), values.ndim))
    made = RegularGridInterpolator(points, values, method, bounds_error, fill_value)
    xi = as_grid(xi, ndim=len(made.grid))
    if xi.shape[-1] != len(made.grid):
        raise ValueError(
            f"The requested sample points xi have dimension {xi.shape[-1]}, but this "
            f"RegularGridInterpolator has dimension {len(made.grid)}"
        )
    return made(xi)
