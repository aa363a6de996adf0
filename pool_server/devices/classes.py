"""Operations that SciPy and CuPy do by classes: build the object from its arrays, and call it.

Both packages have the same classes, so one function does for both: the CUDA device gives it
CuPy's package (`cupyx.scipy.interpolate`), the mock SciPy's. The table is closed: nothing of it
comes from the wire.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import numpy as np

Method: TypeAlias = Callable[..., Any]
_M = TypeVar("_M", bound=Method)

METHODS: dict[str, Method] = {}
"""By the operation's name; the first argument is the package."""


def find(operation: str, root: str = "") -> Callable[..., Any] | None:
    """Return the function of an operation, or None if classes have nothing to do with it.

    Args:
        operation: its name, e.g. "scipy.interpolate.PPoly.evaluate".
        root: "cupyx" for CuPy's classes, "" for SciPy's.
    """
    method = METHODS.get(operation)
    if method is None:
        return None
    path = ".".join(operation.split(".")[:2])
    name = f"{root}.{path}" if root else path

    def run(*args: Any, **kwargs: Any) -> Any:
        return method(importlib.import_module(name), *args, **kwargs)

    return run


def _method(operation: str) -> Callable[[_M], _M]:
    def register(method: _M) -> _M:
        METHODS[f"scipy.{operation}"] = method
        return method

    return register


# ------------------------------------------------------------------- piecewise polynomials


@_method("interpolate.PPoly.evaluate")
def _ppoly(package: Any, c: Any, x: Any, points: Any, nu: int, extrapolate: Any) -> Any:
    return package.PPoly.construct_fast(c, x, extrapolate)(points, nu, extrapolate)


@_method("interpolate.BPoly.evaluate")
def _bpoly(package: Any, c: Any, x: Any, points: Any, nu: int, extrapolate: Any) -> Any:
    # Not by construct_fast: what that leaves out, SciPy 1.18 needs for its values.
    return package.BPoly(c, x, extrapolate)(points, nu, extrapolate)


@_method("interpolate.NdPPoly.evaluate")
def _ndppoly(package: Any, c: Any, x: Any, points: Any, nu: Any, extrapolate: bool) -> Any:
    return package.NdPPoly.construct_fast(c, x, extrapolate)(points, nu, extrapolate)


# ------------------------------------------------------------------- splines


@_method("interpolate.BSpline.evaluate")
def _bspline(package: Any, t: Any, c: Any, k: int, points: Any, nu: int, extrapolate: Any) -> Any:
    return package.BSpline.construct_fast(t, c, k, extrapolate)(points, nu, extrapolate)


@_method("interpolate.BSpline.design_matrix")
def _design_matrix(package: Any, points: Any, t: Any, k: int, extrapolate: Any) -> Any:
    matrix = package.BSpline.design_matrix(points, t, k, extrapolate)
    return matrix.data, matrix.indices.astype(
        np.int32 if matrix.data.size < 1 << 31 else np.int64, copy=False
    )


@_method("interpolate.NdBSpline.evaluate")
def _ndbspline(
    package: Any, t: Any, c: Any, k: Any, points: Any, nu: Any, extrapolate: bool
) -> Any:
    return package.NdBSpline(t, c, k, extrapolate=extrapolate)(points, nu=nu)


@_method("interpolate.NdBSpline.design_matrix")
def _nd_design_matrix(package: Any, points: Any, t: Any, k: Any) -> Any:
    matrix = package.NdBSpline.design_matrix(points, t, k)
    return matrix.data, matrix.indices.astype(np.int64, copy=False)


@_method("interpolate.make_interp_spline")
def _make_interp_spline(package: Any, x: Any, y: Any, k: int, t: Any, bc_type: Any) -> Any:
    spline = package.make_interp_spline(x, y, k, t, bc_type, check_finite=False)
    return spline.t, spline.c


@_method("interpolate.make_lsq_spline")
def _make_lsq_spline(package: Any, x: Any, y: Any, t: Any, k: int, w: Any) -> Any:
    return package.make_lsq_spline(x, y, t, k, w, check_finite=False).c


@_method("interpolate.UnivariateSpline.fit")
def _fit(package: Any, x: Any, y: Any, bbox: Any, k: int, s: float) -> Any:
    """Return the knots between the ends and at them once, and the coefficients."""
    spline = package.UnivariateSpline(x, y, None, bbox, k, s)
    return spline.get_knots(), spline.get_coeffs()


# ------------------------------------------------------------------- many variables


@_method("interpolate.RegularGridInterpolator.evaluate")
def _grid(package: Any, grid: Any, values: Any, points: Any, method: str, fill_value: Any) -> Any:
    interpolator = package.RegularGridInterpolator(grid, values, method, False, fill_value)
    return interpolator(points)


@_method("interpolate.CloughTocher2DInterpolator.gradients")
def _gradients(package: Any, points: Any, values: Any, tol: float, maxiter: int) -> Any:
    made = package.CloughTocher2DInterpolator(points, values, tol=tol, maxiter=maxiter)
    return made.grad


@_method("interpolate.LinearNDInterpolator")
def _linear(package: Any, points: Any, values: Any, fill_value: Any) -> Any:
    return package.LinearNDInterpolator(points, values, fill_value)


@_method("interpolate.CloughTocher2DInterpolator")
def _clough_tocher(
    package: Any, points: Any, values: Any, fill_value: Any, tol: float, maxiter: int
) -> Any:
    return package.CloughTocher2DInterpolator(points, values, fill_value, tol, maxiter)


@_method("interpolate.LinearNDInterpolator.evaluate")
@_method("interpolate.CloughTocher2DInterpolator.evaluate")
def _evaluate(package: Any, interpolator: Any, points: Any) -> Any:
    return interpolator(points)


# ------------------------------------------------------------------- trees and triangulations


@_method("spatial.KDTree")
def _tree(package: Any, data: Any, leafsize: int, boxsize: Any) -> Any:
    return package.KDTree(data, leafsize=leafsize, boxsize=boxsize)


@_method("spatial.KDTree.query")
def _query(package: Any, tree: Any, points: Any, k: Any, eps: float, p: float, bound: float) -> Any:
    return tree.query(points, k, eps, p, bound)


@_method("spatial.Delaunay")
def _delaunay(package: Any, points: Any) -> Any:
    return package.Delaunay(points)


@_method("spatial.Delaunay.triangles")
def _triangles(package: Any, triangulation: Any) -> Any:
    return triangulation.simplices.copy(), triangulation.neighbors.copy()


@_method("spatial.Delaunay.find_simplex")
def _find_simplex(package: Any, triangulation: Any, points: Any, tol: float | None) -> Any:
    return triangulation.find_simplex(points, tol=tol)


@_method("spatial.KDTree.count_in_ball")
def _count_in_ball(package: Any, tree: Any, points: Any, r: float, p: float, eps: float) -> Any:
    return tree.query_ball_point(points, r, p, eps, return_length=True)


@_method("spatial.KDTree.query_pairs")
def _query_pairs(package: Any, tree: Any, r: float, p: float, eps: float) -> Any:
    return tree.query_pairs(r, p, eps, output_type="ndarray")


@_method("spatial.KDTree.query_ball")
def _query_ball(package: Any, tree: Any, points: Any, r: float, p: float, eps: float) -> Any:
    """Return the neighbours of all points one after the other, and how many each has."""
    counts = tree.query_ball_point(points, r, p, eps, return_length=True)
    # NumPy hands this over to the package of the arrays.
    return np.concatenate(tree.query_ball_point(points, r, p, eps, return_sorted=True)), counts


@_method("spatial.Delaunay.neighbors")
def _neighbors(package: Any, triangulation: Any) -> Any:
    pair = triangulation.vertex_neighbor_vertices
    return pair() if callable(pair) else pair
