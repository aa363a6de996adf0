"""The value of the nearest point."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim import cupy
from cupool.client_shim.cupyx.scipy.interpolate._interpnd import Scattered
from cupool.client_shim.cupyx.scipy.spatial import KDTree

__all__ = ["NearestNDInterpolator"]


class NearestNDInterpolator(Scattered):
    """Interpolation by the nearest of scattered points.

    Args:
        x: points, shape (n, variables), or a tuple of arrays of coordinates.
        y: values, shape (n, ...).
        rescale: whether each variable is brought to the same range first.
        tree_options: for `KDTree`.
    """

    def __init__(
        self, x: Any, y: Any, rescale: bool = False, tree_options: dict[str, Any] | None = None
    ) -> None:
        self._set_points(x, rescale, contiguous=False)
        self.tree = KDTree(self.points, **(tree_options or {}))
        self.values = cupy.asarray(y)

    def __call__(self, *args: Any, **query_options: Any) -> Any:
        """Return the values at points; nan where no point is near enough.

        Args:
            args: points, shape (..., variables), or arrays of coordinates.
            query_options: for `KDTree.query`.
        """
        xi = self._scaled(self._checked(args))
        flat = cupy.ascontiguousarray(xi.reshape(-1, xi.shape[-1]))
        distances, nodes = self.tree.query(flat, **query_options)
        near = cupy.isfinite(distances)
        dtype = self.values.dtype if self.values.dtype.kind == "c" else np.dtype(np.float64)
        found = self.values[cupy.where(near, nodes, 0)].astype(dtype)
        near = near.reshape(near.shape + (1,) * (found.ndim - near.ndim))
        found = cupy.where(near, found, np.nan)
        return found.reshape(xi.shape[:-1] + self.values.shape[1:])
