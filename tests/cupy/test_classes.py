"""The table of `pool_server.devices.classes` does the same with CuPy's classes and SciPy's.

`cupyx` is the client's here: it has CuPy's signatures, so what the CUDA device calls is called.
"""

from __future__ import annotations

from typing import Any

import cupy as cp
import cupyx.scipy.interpolate
import cupyx.scipy.spatial
import numpy as np
import pytest

from cupool.pool_server.devices import classes
from cupool.proto.operations import TABLE

RNG = np.random.default_rng(0)
X = np.arange(8.0)
GRID = (np.arange(5.0), np.arange(4.0))
POINTS = RNG.uniform(0.5, 2.5, (6, 2))
SCATTERED = RNG.uniform(size=(20, 2))
VALUES = RNG.normal(size=(20, 2))
T = np.asarray([0.0, 0, 0, 0, 2, 3, 7, 7, 7, 7])
KNOTS = (np.arange(-3.0, 6.0), np.arange(-2.0, 5.0))
C = RNG.normal(size=(5, 4))

CASES: dict[str, tuple[Any, ...]] = {
    "interpolate.PPoly.evaluate": (RNG.normal(size=(3, 7, 2)), X, POINTS[:, 0], 1, True),
    "interpolate.BPoly.evaluate": (RNG.normal(size=(3, 7, 2)), X, POINTS[:, 0], 0, False),
    "interpolate.NdPPoly.evaluate": (RNG.normal(size=(2, 3, 4, 3, 2)), GRID, POINTS, (0, 1), True),
    "interpolate.BSpline.evaluate": (T, RNG.normal(size=(6, 2)), 3, POINTS[:, 0], 1, True),
    "interpolate.NdBSpline.evaluate": (KNOTS, C, (3, 2), POINTS, (0, 1), True),
    "interpolate.make_interp_spline": (X, RNG.normal(size=(8, 2)), 3, None, ("natural", "clamped")),
    "interpolate.make_lsq_spline": (X, RNG.normal(size=(8, 2)), T, 3, np.ones(8)),
    "interpolate.UnivariateSpline.fit": (X, X**2, [0.0, 7.0], 3, 1e-3),
    "interpolate.RegularGridInterpolator.evaluate": (
        GRID, RNG.normal(size=(5, 4)), POINTS, "linear", np.asarray(-1.0)
    ),
    "interpolate.CloughTocher2DInterpolator.gradients": (SCATTERED, VALUES, 1e-6, 400),
}  # fmt: skip


def moved(value: Any, change: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(moved(one, change) for one in value)
    return change(value)


def both(name: str, *args: Any) -> tuple[list[Any], list[Any]]:
    """Return the results of the device's function, and of SciPy's."""
    to_device = moved(args, lambda one: cp.asarray(one) if isinstance(one, np.ndarray) else one)
    ours = classes.find(f"scipy.{name}", "cupyx")
    scipys = classes.find(f"scipy.{name}")
    assert ours is not None
    assert scipys is not None
    results = ours(*to_device), scipys(*args)
    flat = [list(one) if isinstance(one, tuple) else [one] for one in results]
    return [one.get() for one in flat[0]], flat[1]


@pytest.mark.parametrize("name", sorted(CASES))
def test_both_packages_do_the_same(name: str) -> None:
    got, expected = both(name, *CASES[name])
    assert len(got) == TABLE[f"scipy.{name}"].outputs
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)


def objects(name: str, *args: Any) -> tuple[Any, Any]:
    device = [cp.asarray(one) if isinstance(one, np.ndarray) else one for one in args]
    ours, scipys = classes.find(f"scipy.{name}", "cupyx"), classes.find(f"scipy.{name}")
    assert ours is not None
    assert scipys is not None
    return ours(*device), scipys(*args)


METHODS: list[tuple[str, tuple[Any, ...], str, tuple[Any, ...]]] = [
    (
        "interpolate.LinearNDInterpolator",
        (SCATTERED, VALUES, -1.0),
        "evaluate",
        (SCATTERED + 0.01,),
    ),
    (
        "interpolate.CloughTocher2DInterpolator",
        (SCATTERED, VALUES, -1.0, 1e-6, 400),
        "evaluate",
        (SCATTERED + 0.01,),
    ),
    ("spatial.KDTree", (SCATTERED, 10, None), "query", (POINTS, [1, 3], 0.0, 2.0, np.inf)),
    ("spatial.KDTree", (SCATTERED, 10, None), "count_in_ball", (SCATTERED, 0.3, 2.0, 0.0)),
    ("spatial.Delaunay", (SCATTERED,), "triangles", ()),
    ("spatial.Delaunay", (SCATTERED,), "find_simplex", (SCATTERED + 0.01, 1e-9)),
    ("spatial.Delaunay", (SCATTERED,), "neighbors", ()),
]


@pytest.mark.parametrize(("name", "made_of", "method", "args"), METHODS)
def test_objects_of_both_packages_do_the_same(name, made_of, method, args) -> None:
    ours, scipys = objects(name, *made_of)
    device = [cp.asarray(one) if isinstance(one, np.ndarray) else one for one in args]
    got = classes.find(f"scipy.{name}.{method}", "cupyx")(ours, *device)  # type: ignore[misc]
    expected = classes.find(f"scipy.{name}.{method}")(scipys, *args)  # type: ignore[misc]
    got = got if isinstance(got, tuple) else (got,)
    expected = expected if isinstance(expected, tuple) else (expected,)
    assert len(got) == TABLE[f"scipy.{name}.{method}"].outputs
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_allclose(one.get(), other, rtol=1e-6, atol=1e-9)


def test_neighbours_in_a_ball() -> None:
    """SciPy's come as lists; CuPy's as the arrays that the table puts together."""
    tree = cupyx.scipy.spatial.KDTree(cp.asarray(SCATTERED))
    find = classes.find("scipy.spatial.KDTree.query_ball", "cupyx")
    assert find is not None
    nodes, counts = find(tree, cp.asarray(SCATTERED[:4]), 0.4, 2.0, 0.0)
    distances = np.linalg.norm(SCATTERED[:4, None] - SCATTERED, axis=-1)
    assert counts.get().tolist() == (distances <= 0.4).sum(axis=1).tolist()
    assert nodes.get().tolist() == np.nonzero(distances <= 0.4)[1].tolist()


def test_every_operation_of_a_class_is_in_the_table() -> None:
    assert set(classes.METHODS) <= set(TABLE)
    assert classes.find("add") is None
