"""`cupyx.scipy.spatial` against SciPy: trees, triangulations, distances."""

from __future__ import annotations

import cupy as cp
import cupyx.scipy.spatial
import numpy as np
import pytest
import scipy.spatial
import scipy.spatial.distance

from tests.cupy.agreement import same
from tests.cupy.waits import no_waits, waits


def part(xp):
    return cupyx.scipy.spatial if xp is cp else scipy.spatial


def points(xp, *shape, seed: int = 0):
    return xp.asarray(np.random.default_rng(seed).uniform(size=shape))


@pytest.mark.parametrize("k", [1, 3, [1, 4]])
@pytest.mark.parametrize("p", [1, 2, np.inf])
@pytest.mark.parametrize("boxsize", [None, 1.0])
def test_nearest(k, p, boxsize) -> None:
    def run(xp):
        tree = part(xp).KDTree(points(xp, 50, 2), boxsize=boxsize)
        where = points(xp, 3, 4, 2, seed=1)
        return [
            *tree.query(where, k, p=p),
            *tree.query(where[0, 0], k, p=p, distance_upper_bound=0.1),
        ]

    def shaped(xp):
        results = run(xp)
        # CuPy keeps the axis of a single neighbour of a single point.
        return [xp.asarray(one).reshape(-1) for one in results]

    same(shaped)


def test_within_a_distance() -> None:
    def run(xp):
        tree, other = part(xp).KDTree(points(xp, 40, 3)), part(xp).KDTree(points(xp, 9, 3, seed=2))
        found = tree.query_ball_point(other.data, 0.4, return_sorted=True)
        between = other.query_ball_tree(tree, 0.3)
        pairs = tree.query_pairs(0.2, output_type="ndarray")
        if xp is np:
            pairs = pairs[np.lexsort(pairs.T[::-1])]
        lists = [xp.asarray(one, dtype="i8") for one in [*found, *between]]
        counts = tree.query_ball_point(other.data, 0.4, return_length=True)
        return [*lists, pairs.astype("i8"), counts.astype("i8")]

    same(run)


def test_trees_wait_only_where_they_must() -> None:
    data = points(cp, 40, 2)
    with no_waits():
        tree = cupyx.scipy.spatial.KDTree(data)
        tree.query(data[:5], 3)
        tree.query_ball_point(data, 0.1, return_length=True)
    with waits() as counted:
        tree.query_pairs(0.1)
    assert counted == ["describe"]
    with pytest.raises(ValueError, match="greater than the size"):
        cupyx.scipy.spatial.KDTree(data, boxsize=0.5)
    with pytest.raises(ValueError, match="number of dimensions"):
        tree.query(points(cp, 3, 3))
    with pytest.raises(NotImplementedError, match="count_neighbors"):
        tree.count_neighbors(tree, 0.1)


def test_triangulation() -> None:
    def run(xp):
        made = part(xp).Delaunay(points(xp, 30, 2))
        where = points(xp, 2, 5, 2, seed=3) * 1.3
        pair = made.vertex_neighbor_vertices
        starts, around = pair() if callable(pair) else pair
        return [made.simplices, made.neighbors, made.find_simplex(where), starts, around]

    same(run)
    with pytest.raises(ValueError, match="2D"):
        cupyx.scipy.spatial.Delaunay(points(cp, 9, 3))


METRICS = (
    "canberra chebyshev cityblock correlation cosine euclidean hamming jensenshannon minkowski "
    "sqeuclidean"
).split()


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", ["f", "d"])
def test_distances(metric: str, dtype: str) -> None:
    def run(xp):
        distance = part(xp).distance
        a, b = (points(xp, n, 6, seed=n).astype(dtype) for n in (4, 5))
        keywords = {"p": 3.0} if metric == "minkowski" else {}
        one = getattr(distance, metric)(a[0], b[0], *keywords.values())
        every = distance.cdist(a, b, metric, **keywords), distance.pdist(a, metric, **keywords)
        return [xp.asarray(each).astype(dtype) for each in (one, *every)]

    same(run, rtol=1e-5 if dtype == "f" else 1e-10)


def test_distances_of_distributions() -> None:
    u, v = np.asarray([0.2, 0.3, 0.5]), np.asarray([0.1, 0.6, 0.3])
    distance = cupyx.scipy.spatial.distance
    hellinger = distance.hellinger(cp.asarray(u), cp.asarray(v))
    divergence = distance.kl_divergence(cp.asarray(u), cp.asarray(v))
    expected = np.linalg.norm(np.sqrt(u) - np.sqrt(v)) / np.sqrt(2)
    np.testing.assert_allclose(hellinger.get(), expected)
    np.testing.assert_allclose(divergence.get(), (u * np.log(u / v)).sum())


def test_distances_refuse() -> None:
    distance = cupyx.scipy.spatial.distance
    a = points(cp, 4, 3)
    with pytest.raises(ValueError, match="same layout"):
        distance.cdist(a, cp.asfortranarray(a))
    with pytest.raises(ValueError, match="Unknown Distance Metric"):
        distance.cdist(a, a, "far")
    with pytest.raises(TypeError, match="string identifier"):
        distance.cdist(a, a, max)
    with pytest.raises(ValueError, match="3-dimensional vectors"):
        distance.distance_matrix(a, a[:, :2])
    out = cp.empty((4, 4))
    assert distance.cdist(a, a, out=out) is out
    assert cp.asfortranarray(a).flags.f_contiguous
    assert distance.cdist(cp.asfortranarray(a), cp.asfortranarray(a)).flags.f_contiguous
