"""Interpolation between scattered points by triangles."""

from __future__ import annotations

from math import prod
from typing import Any, ClassVar

import numpy as np

from cupool.client_shim import cupy
from cupool.client_shim.cupy._core import calls, core
from cupool.client_shim.cupyx.scipy.interpolate._checks import float_dtype
from cupool.client_shim.cupyx.scipy.interpolate._pieces import as_grid
from cupool.client_shim.cupyx.scipy.spatial import Delaunay

__all__ = ["CloughTocher2DInterpolator", "LinearNDInterpolator", "Scattered"]
ndarray = core.ndarray


class Scattered:
    """What interpolators between scattered points have in common.

    Attributes:
        points: shape (n, variables), scaled if that was asked for.
        scale: range of each variable, or None.
    """

    points: Any
    scale: Any

    def _set_points(self, points: Any, rescale: bool, contiguous: bool = True) -> None:
        if isinstance(points, Delaunay):
            if rescale:
                raise ValueError(
                    "Rescaling is not supported when passing a Delaunay triangulation as "
                    "``points``."
                )
            points = points.points
        points = as_grid(points)
        if contiguous:
            points = cupy.ascontiguousarray(points, dtype=np.float64)
        self.scale = None
        if rescale:
            self.offset = cupy.mean(points, axis=0)
            points = points - self.offset
            extent = cupy.ptp(points, axis=0)
            self.scale = cupy.where(extent > 0, extent, 1.0)
            points = points / self.scale
        self.points = points

    def _checked(self, args: tuple[Any, ...]) -> ndarray:
        xi = as_grid(args, ndim=self.points.shape[1])
        if xi.shape[-1] != self.points.shape[1]:
            raise ValueError("number of dimensions in xi does not match x")
        return xi

    def _scaled(self, xi: ndarray) -> ndarray:
        return xi if self.scale is None else (xi - self.offset) / self.scale


class _Triangles(Scattered):
    """An interpolator that lives on the device, with its triangulation."""

    _row: ClassVar[str]
    _object: calls.DeviceObject

    def _set(self, points: Any, values: Any, fill_value: Any, rescale: bool, ndim: Any) -> None:
        self._given = points if isinstance(points, Delaunay) else None
        self._set_points(points, rescale)
        values = cupy.asarray(values)
        if values.shape[0] != self.points.shape[0]:
            raise ValueError("different number of values and points")
        if self.points.ndim != 2:
            raise ValueError("invalid shape for input data points")
        if self.points.shape[1] < 2:
            raise ValueError("input data must be at least 2-D")
        if ndim is not None and self.points.shape[1] != ndim:
            raise ValueError(f"this mode of interpolation available only for {ndim}-D data")
        self.values_shape = values.shape[1:]
        dtype = float_dtype(values.dtype)
        flat = values.reshape(values.shape[0], prod(values.shape[1:]))
        self.values = cupy.ascontiguousarray(flat, dtype=dtype)
        self.is_complex = dtype.kind == "c"
        self.fill_value = complex(fill_value) if self.is_complex else float(fill_value)

    @property
    def tri(self) -> Delaunay:
        """The triangulation; asking for it first makes one on the client's side, which waits."""
        if self._given is None:
            self._given = Delaunay(self.points)
        return self._given

    def __call__(self, *args: Any) -> Any:
        """Return the values at points; the fill value outside of all triangles.

        Args:
            args: points, shape (..., variables), or arrays of coordinates.
        """
        xi = self._checked(args)
        points = cupy.ascontiguousarray(xi.reshape(-1, xi.shape[-1]), dtype=np.float64)
        points = cupy.ascontiguousarray(self._scaled(points))
        shape = (points.shape[0], self.values.shape[1])
        row = f"{self._row}.evaluate"
        values = calls.call_one(row, (self._object, points), None, shape, self.values.dtype)
        return values.reshape(xi.shape[:-1] + self.values_shape)


class LinearNDInterpolator(_Triangles):
    """Linear interpolation within the triangles of scattered points.

    Args:
        points: shape (n, 2), a tuple of arrays of coordinates, or a `Delaunay`.
        values: shape (n, ...).
        fill_value: outside of all triangles.
        rescale: whether each variable is brought to the same range first.

    Raises:
        ValueError: shapes that do not fit.
    """

    _row = "scipy.interpolate.LinearNDInterpolator"

    def __init__(
        self, points: Any, values: Any, fill_value: Any = np.nan, rescale: bool = False
    ) -> None:
        self._set(points, values, fill_value, rescale, None)
        args = (self.points, self.values, self.fill_value)
        self._object = calls.call_object("scipy.interpolate.LinearNDInterpolator", args)


class CloughTocher2DInterpolator(_Triangles):
    """Smooth interpolation by a cubic on each triangle of scattered points of the plane.

    Args:
        points, values, fill_value, rescale: as `LinearNDInterpolator`.
        tol, maxiter: of the estimate of the gradients.
    """

    _row = "scipy.interpolate.CloughTocher2DInterpolator"

    def __init__(
        self,
        points: Any,
        values: Any,
        fill_value: Any = np.nan,
        tol: float = 1e-6,
        maxiter: int = 400,
        rescale: bool = False,
    ) -> None:
        self._tol = float(tol)
        self._maxiter = int(maxiter)
        self._set(points, values, fill_value, rescale, 2)
        args = (self.points, self.values, self.fill_value, self._tol, self._maxiter)
        self._object = calls.call_object("scipy.interpolate.CloughTocher2DInterpolator", args)

    @property
    def grad(self) -> Any:
        """The estimated gradients, shape (n, values, 2)."""
        return _gradients(self.points, self.values, self._maxiter, self._tol)


def _gradients(points: Any, values: Any, maxiter: int, tol: float) -> ndarray:
    row = "scipy.interpolate.CloughTocher2DInterpolator.gradients"
    args = (points, values, float(tol), int(maxiter))
    return calls.call_one(row, args, None, (*values.shape, 2), values.dtype)


def estimate_gradients_2d_global(
    tri: Delaunay, y: Any, maxiter: int = 400, tol: float = 1e-6
) -> ndarray:
    """Return the gradients at the points of a triangulation, shape (n, ..., 2)."""
    y = cupy.asarray(y)
    flat = cupy.ascontiguousarray(y.reshape(y.shape[0], -1), dtype=float_dtype(y.dtype))
    found = _gradients(tri.points, flat, maxiter, tol)
    return found.reshape((*y.shape, 2))  # type: ignore[no-any-return]
