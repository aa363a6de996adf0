"""Products of arrays: `dot`, `matmul` and their kin."""

from __future__ import annotations

import warnings

import cupy as cp
import numpy as np
import pytest

from tests.cupy.agreement import same
from tests.cupy.waits import waits


def ramp(xp, *shape, dtype="f8"):
    return xp.arange(int(np.prod(shape))).reshape(shape).astype(dtype)


@pytest.mark.parametrize("dtypes", ["dd", "fd", "ii", "FD", "?i", "ef"])
def test_dot_and_its_kin(dtypes: str) -> None:
    def run(xp):
        a, b = ramp(xp, 3, 4, dtype=dtypes[0]), ramp(xp, 4, 5, dtype=dtypes[1])
        return [
            xp.dot(a, b),
            a @ b,
            a.dot(b),
            xp.inner(a, b.T),
            xp.vdot(a, a[::-1]),
            xp.outer(a[0], b),
            xp.tensordot(a, b, 1),
            xp.kron(a[:2, :2], b[:2]),
            xp.trace(b),
        ]

    same(run, rtol=1e-2 if "e" in dtypes else 1e-6)


def test_shapes_of_dot_and_matmul() -> None:
    shapes = [((3,), (3,)), ((3,), (3, 2)), ((2, 3), (3,)), ((5, 2, 3), (3, 4)), ((2, 0), (0, 3))]

    def run(xp):
        pairs = [(ramp(xp, *a), ramp(xp, *b)) for a, b in shapes]
        stacked = [(ramp(xp, 2, 1, 3, 4), ramp(xp, 5, 4, 2)), (ramp(xp, 4), ramp(xp, 5, 4, 2))]
        return [xp.dot(a, b) for a, b in pairs] + [a @ b for a, b in pairs + stacked]

    same(run)


def test_options_of_matmul() -> None:
    def run(xp):
        a, b = ramp(xp, 2, 3, 4), ramp(xp, 2, 4, 3)
        out = xp.zeros((2, 3, 3))
        xp.matmul(a, b, out=out)
        moved = xp.matmul(a, b, axes=[(1, 2), (-2, -1), (0, 1)])
        return [out, moved, xp.matmul(a, b, dtype="c16"), xp.matmul(a, b, order="F")]

    same(run)


def test_refusals_of_products() -> None:
    a, b = cp.ones((2, 3)), cp.ones((2, 3))
    with waits() as counted:
        with pytest.raises(ValueError, match="mismatch"):
            cp.dot(a, b)
        with pytest.raises(ValueError, match="core dimension"):
            a @ b
        with pytest.raises(ValueError, match="enough dimensions"):
            cp.matmul(a, cp.ones(()))
        with pytest.raises(TypeError):
            cp.matmul(a, np.ones((3, 2)))
        with pytest.raises(TypeError, match="coerced"):
            cp.matmul(a, b.T, out=cp.empty((2, 2), "i4"))
        with pytest.raises(ValueError, match="dtype"):
            cp.dot(a, b.T, out=cp.empty((2, 2), "f4"))
        with pytest.raises(ValueError, match="C-contiguous"):
            cp.dot(a, b.T, out=cp.empty((2, 2), order="F"))
        with pytest.raises(ValueError, match="mismatch"):
            cp.tensordot(a, b, 1)
        with pytest.raises(ValueError, match="mismatch"):
            cp.inner(a, cp.ones(2))
        with pytest.raises(ValueError, match="mismatch"):
            cp.vdot(a, cp.ones(5))
    assert counted == []


def test_tensordot_by_axes() -> None:
    def run(xp):
        a, b = ramp(xp, 2, 3, 4), ramp(xp, 4, 3, 2)
        results = [xp.tensordot(a, b, axes) for axes in (1, ([1, 0], [1, 2]), ([-1], [0]), (0, 2))]
        return [*results, xp.tensordot(a, b, 0), xp.tensordot(a[0, 0, 0], b, 0)]

    same(run)


def test_cross_products() -> None:
    def run(xp):
        a, b = ramp(xp, 4, 3), ramp(xp, 4, 3)[::-1]
        return [xp.cross(a, b), xp.cross(a.T, b, axisa=0, axisc=0), xp.linalg.cross(a, b)]

    same(run)
    with pytest.warns(DeprecationWarning, match="2-dimensional"):
        cp.cross(cp.ones(2), cp.ones(3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for m, n in ((2, 2), (2, 3), (3, 2)):
            a, b = ramp(np, 4, m), ramp(np, 4, n)[::-1] + 0.5
            expected = np.cross(*(np.pad(x, ((0, 0), (0, 3 - x.shape[1]))) for x in (a, b)))
            got = cp.cross(cp.asarray(a), cp.asarray(b)).get()
            np.testing.assert_allclose(got, expected[:, 2] if m == n == 2 else expected)
    with pytest.raises(ValueError, match="dimension must be 2 or 3"):
        cp.cross(cp.ones(4), cp.ones(4))


def test_numbers_in_kron() -> None:
    same(lambda xp: [xp.kron(2, ramp(xp, 3)), xp.kron(ramp(xp, 2), ramp(xp, 2, 1, 2))])
    assert cp.kron(2, 3) == 6


def test_matmul_into_bool_is_true_for_imaginary_numbers() -> None:
    def run(xp):
        a = xp.asarray([[1j, 0], [0, 2]])
        out = xp.zeros((2, 2), bool)
        xp.matmul(a, a * 1j**0.5, out=out, casting="unsafe")
        return out

    same(run)
