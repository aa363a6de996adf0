"""`cupyx.scipy.spatial`: trees, triangulations, distances."""

from __future__ import annotations

from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupyx.scipy.spatial import distance
from cupool.client_shim.cupyx.scipy.spatial._delaunay import Delaunay
from cupool.client_shim.cupyx.scipy.spatial._kdtree import KDTree
from cupool.client_shim.cupyx.scipy.spatial.distance import distance_matrix

__all__ = ["Delaunay", "KDTree", "distance", "distance_matrix"]

_unsupported.fill(globals(), "cupyx.scipy.spatial")
