"""Trees, triangulations and distances of SciPy, and where its answers are others than CuPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.pool_server.devices import classes
from cupool.pool_server.devices.mock.calls import ADAPTERS, adapter, named
from cupool.proto.operations.spatial import OPERATIONS

NpArray = np.ndarray[Any, Any]


@adapter("scipy.spatial.KDTree")
def tree(data: NpArray, leafsize: int, boxsize: Any) -> Any:
    """An infinite box is none."""
    if boxsize is not None:
        boxsize = np.where(np.isfinite(boxsize), boxsize, 0)
    return named("scipy.spatial.KDTree")(data, leafsize, boxsize=boxsize)


@adapter("scipy.spatial.KDTree.query")
def query(
    tree: Any, points: NpArray, k: Any, eps: float, p: float, bound: float
) -> tuple[NpArray, NpArray]:
    distances, nodes = tree.query(points, k, eps, p, bound)
    return distances, nodes.astype(np.int64)


@adapter("scipy.spatial.KDTree.count_in_ball")
def count_in_ball(tree: Any, points: NpArray, r: float, p: float, eps: float) -> NpArray:
    counts = tree.query_ball_point(points, r, p, eps, return_length=True)
    return np.asarray(counts, np.int64)


@adapter("scipy.spatial.KDTree.query_ball")
def query_ball(
    tree: Any, points: NpArray, r: float, p: float, eps: float
) -> tuple[NpArray, NpArray]:
    """SciPy gives lists."""
    found = tree.query_ball_point(points, r, p, eps, return_sorted=True)
    counts = np.asarray([len(one) for one in found], np.int64)
    return np.asarray([node for one in found for node in one], np.int64), counts


@adapter("scipy.spatial.KDTree.query_pairs")
def query_pairs(tree: Any, r: float, p: float, eps: float) -> NpArray:
    """CuPy's come in order."""
    pairs = tree.query_pairs(r, p, eps, output_type="ndarray").astype(np.int64)
    order: NpArray = np.lexsort((pairs[:, 1], pairs[:, 0]))
    return pairs[order]  # type: ignore[no-any-return]


@adapter("scipy.spatial.Delaunay.find_simplex")
def find_simplex(triangulation: Any, points: NpArray, tol: float | None) -> NpArray:
    return np.asarray(triangulation.find_simplex(points, tol=tol), np.int32)


def _kl_divergence(u: NpArray, v: NpArray) -> Any:
    return named("scipy.special.rel_entr")(u, v).sum()


def _hellinger(u: NpArray, v: NpArray) -> Any:
    return np.sqrt(np.square(np.sqrt(u) - np.sqrt(v)).sum() / 2)


@adapter("scipy.spatial.distance.cdist", wants_outs=True)
def cdist(a: NpArray, b: NpArray, metric: str, p: float, outs: Any) -> NpArray:
    """SciPy computes with float64, and has no distances between distributions."""
    own: Any = {"kl_divergence": _kl_divergence, "hellinger": _hellinger}.get(metric, metric)
    keywords = {"p": p} if metric == "minkowski" else {}
    left, right = (one.astype(np.float64) for one in (a, b))
    if metric == "russellrao":
        left, right = left.astype(bool), right.astype(bool)
    result = named("scipy.spatial.distance.cdist")(left, right, own, **keywords)
    return np.asarray(result, outs[0].dtype, order=outs[0].order)


for _row in OPERATIONS:
    _found = classes.find(_row.name)
    if _found is not None and _row.name not in ADAPTERS:
        adapter(_row.name)(_found)
