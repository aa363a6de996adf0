"""Trees of points for looking up neighbours."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from cupool.client_shim import cupy
from cupool.client_shim.cupy._core import calls, core
from cupool.client_shim.cupyx.scipy.spatial.distance import distance_matrix

__all__ = ["KDTree"]
ndarray = core.ndarray

_FLOAT, _INT = np.dtype(np.float64), np.dtype(np.int64)


class KDTree:
    """A tree of points, which lives on the device.

    Args:
        data: points, shape (n, variables).
        leafsize, compact_nodes: accepted.
        copy_data: whether `data` is copied.
        balanced_tree: True.
        boxsize: length of each variable after which it repeats itself, 0 for never; one for all
            or shape (variables,). Looking whether the points are within waits once.

    Attributes:
        data, n, m: the points, how many, and how many variables.
        boxsize, mins, maxes: shape (variables,).

    Raises:
        ValueError: points outside of the periodic box.
    """

    def __init__(
        self,
        data: Any,
        leafsize: int = 10,
        compact_nodes: bool = True,
        copy_data: bool = False,
        balanced_tree: bool = True,
        boxsize: Any = None,
    ) -> None:
        self.data = data.copy() if copy_data else data
        if not balanced_tree:
            warnings.warn(
                "balanced_tree=False is not supported by the GPU implementation of KDTree, "
                "skipping.",
                stacklevel=2,
            )
        self.n, self.m = self.data.shape
        self._periodic = boxsize is not None
        self.boxsize = cupy.full(self.m, np.inf)
        if self._periodic:
            if self.data.dtype != _FLOAT:
                raise ValueError("periodic KDTree is only available on float64")
            self.boxsize = cupy.zeros(self.m)
            self.boxsize[...] = boxsize
            self._check_box()
        self.mins = cupy.min(self.data, axis=0)
        self.maxes = cupy.max(self.data, axis=0)
        box = self.boxsize if self._periodic else None
        points = cupy.ascontiguousarray(self.data)
        args = (points, max(int(leafsize), 1), box)
        self._object = calls.call_object("scipy.spatial.KDTree", args)

    def _check_box(self) -> None:
        repeats = self.boxsize > 0
        above = ((self.data >= self.boxsize) & repeats).any()
        below = ((self.data < 0) & repeats).any()
        seen = cupy.stack([above, below]).get()
        if seen[0]:
            raise ValueError("Some input data are greater than the size of the periodic box.")
        if seen[1]:
            raise ValueError("Negative input data are outside of the periodic box.")

    def _points(self, x: Any) -> ndarray:
        """Return query points as one axis of points."""
        if self._periodic and x.dtype != _FLOAT:
            raise ValueError("periodic KDTree is only available on float64")
        if x.shape[-1] != self.m:
            raise ValueError(
                "The number of dimensions of the query points must match with the tree ones. "
                f"Expected {self.m}, got: {x.shape[-1]}"
            )
        dtype = np.result_type(self.data.dtype, x.dtype)
        return cupy.ascontiguousarray(x.reshape(-1, self.m), dtype=dtype)

    def query(
        self,
        x: Any,
        k: Any = 1,
        eps: float = 0.0,
        p: float = 2.0,
        distance_upper_bound: float = np.inf,
    ) -> tuple[ndarray, ndarray]:
        """Return the distances to the nearest points of the tree, and which points they are.

        Args:
            x: shape (..., variables).
            k: how many; or a list: the first nearest, the third, ...
            eps: how much farther an answer may be than the right one, relative to it.
            p: of the Minkowski norm.
            distance_upper_bound: how far at most.

        Returns:
            float64 and int64, shape (..., k), without the last axis for k == 1; inf and n where
            there is no point.

        Raises:
            ValueError: another number of variables, a k that is no number.
        """
        points = self._points(x)
        if not isinstance(k, (list, tuple, np.ndarray)):
            try:
                k = int(k)
            except TypeError as exc:
                raise ValueError("k must be an integer or list of integers") from exc
        wanted = list(range(1, k + 1)) if isinstance(k, int) else [int(one) for one in k]
        shape = (points.shape[0], len(wanted))
        args = (
            self._object,
            points,
            wanted,
            float(eps),
            float(p),
            float(distance_upper_bound),
        )
        specs = ((shape, _FLOAT, "C"), (shape, _INT, "C"))
        distances, nodes = calls.call("scipy.spatial.KDTree.query", args, None, *specs)
        shape = x.shape[:-1] if k == 1 and x.ndim > 1 else (*x.shape[:-1], len(wanted))
        return distances.reshape(shape), nodes.reshape(shape)

    def query_ball_point(
        self,
        x: Any,
        r: float,
        p: float = 2.0,
        eps: float = 0,
        return_sorted: Any = None,
        return_length: bool = False,
    ) -> Any:
        """Return the points of the tree within a distance; waits, their number depends on data.

        Args:
            x: shape (..., variables).
            r: the distance.
            return_sorted: accepted, they always are.
            return_length: return only how many, which does not wait.

        Returns:
            a list of arrays of int64, one for each point; or shape (points,).
        """
        points = self._points(x)
        args = (self._object, points, float(r), float(p), float(eps))
        if return_length:
            row, shape = "scipy.spatial.KDTree.count_in_ball", (points.shape[0],)
            return calls.call_one(row, args, None, shape, _INT)
        if not points.shape[0]:
            return []
        nodes, counts = calls.call_unknown("scipy.spatial.KDTree.query_ball", args, None, 2)
        ends = np.cumsum(counts.get())
        return cupy.split(nodes, [int(end) for end in ends[:-1]])

    def query_ball_tree(self, other: Any, r: float, p: float = 2.0, eps: float = 0.0) -> Any:
        """Return, for each point of this tree, those of another within a distance."""
        return other.query_ball_point(self.data, r, p=p, eps=eps, return_sorted=True)

    def query_pairs(
        self, r: float, p: float = 2.0, eps: float = 0, output_type: str = "ndarray"
    ) -> Any:
        """Return all pairs of points within a distance, shape (pairs, 2), int64; waits."""
        if output_type == "set":
            warnings.warn(
                "output_type='set' is not supported by the GPU implementation of KDTree, "
                "resorting back to 'ndarray'.",
                stacklevel=2,
            )
        args = (self._object, float(r), float(p), float(eps))
        return calls.call_unknown("scipy.spatial.KDTree.query_pairs", args)[0]

    def count_neighbors(
        self, other: Any, r: Any, p: float = 2.0, weights: Any = None, cumulative: bool = True
    ) -> Any:
        """Raise NotImplementedError, as CuPy does."""
        raise NotImplementedError("count_neighbors is not available on CuPy")

    def sparse_distance_matrix(
        self, other: Any, max_distance: float, p: float = 2.0, output_type: str = "coo_matrix"
    ) -> Any:
        """Return distances between the points of two trees, zero beyond a distance.

        Args:
            output_type: "coo_matrix" or "ndarray".
        """
        if output_type not in ("coo_matrix", "ndarray"):
            raise ValueError(
                "sparse_distance_matrix only supports 'coo_matrix' and 'ndarray' outputs"
            )
        distances = distance_matrix(self.data, other.data, p)
        distances = cupy.where(distances > max_distance, 0, distances)
        if output_type == "ndarray":
            return distances
        from cupool.client_shim.cupyx import scipy

        return scipy.sparse.coo_matrix(distances)
