"""Triangulations of the plane."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim import cupy
from cupool.client_shim.cupy._core import calls

__all__ = ["Delaunay"]


class Delaunay:
    """The Delaunay triangulation of points of the plane, which lives on the device.

    Args:
        points: shape (n, 2).
        furthest_site, incremental: False.

    Attributes:
        points: as given.
        simplices: the corners of each triangle, shape (triangles, 2 + 1), int32.
        neighbors: the triangle opposite to each corner, -1 for none; same shape.

    Raises:
        ValueError: another number of variables, other options.
    """

    def __init__(self, points: Any, furthest_site: bool = False, incremental: bool = False) -> None:
        if points.shape[-1] != 2:
            raise ValueError("Delaunay only supports 2D inputs at the moment.")
        if furthest_site:
            raise ValueError("furthest_site argument is not supported by CuPy.")
        if incremental:
            raise ValueError("incremental argument is not supported by CuPy.")
        self.points = points
        self._object = calls.call_object("scipy.spatial.Delaunay", (points,))
        # How many triangles there are depends on the points.
        row = "scipy.spatial.Delaunay.triangles"
        self.simplices, self.neighbors = calls.call_unknown(row, (self._object,), None, 2)

    def find_simplex(self, xi: Any, bruteforce: bool = False, tol: Any = None) -> Any:
        """Return the number of the triangle around each point, -1 outside; int32.

        Args:
            xi: shape (..., 2).
            bruteforce: accepted.
            tol: how far outside a point may be.
        """
        if xi.shape[-1] != 2:
            raise ValueError("Delaunay only supports 2D inputs at the moment.")
        tol = 100 * np.finfo(np.float64).eps if tol is None else float(tol)
        points = cupy.ascontiguousarray(xi.reshape(-1, 2), dtype=np.float64)
        args = (self._object, points, tol)
        row = "scipy.spatial.Delaunay.find_simplex"
        found = calls.call_one(row, args, None, (points.shape[0],), np.dtype(np.int32))
        return found.reshape(xi.shape[:-1])

    def vertex_neighbor_vertices(self) -> Any:
        """Return where each point's neighbours begin, and the neighbours of all points."""
        row = "scipy.spatial.Delaunay.neighbors"
        return tuple(calls.call_unknown(row, (self._object,), None, 2))
