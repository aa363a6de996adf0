"""Logic: comparison with tolerance, arrays as sets, questions about types."""

from __future__ import annotations

import cupy as cp
import numpy as np
import pytest

from tests.cupy.agreement import same
from tests.cupy.waits import no_waits, waits


def test_agrees_with_numpy_and_costs_no_wait() -> None:
    def run(xp):
        a = xp.asarray([1.0, np.nan, np.inf, -np.inf, 1e-9])
        b = xp.asarray([1.0 + 1e-7, np.nan, np.inf, np.inf, 0.0])
        c = xp.asarray([1 + 2j, 3 + 0j])
        return [
            xp.isclose(a, b),
            xp.isclose(a, b, equal_nan=True, rtol=0),
            xp.isclose(xp.arange(3), 1),
            xp.isneginf(a),
            xp.isposinf(a),
            xp.isin(xp.arange(6).reshape(2, 3), xp.asarray([1, 5])),
            xp.isin(xp.arange(3), xp.asarray([1]), invert=True),
            xp.all(a > -5, axis=0),
            xp.any(xp.zeros((2, 3)), axis=1, keepdims=True),
            xp.iscomplex(c),
            xp.isreal(c),
            xp.iscomplex(a),
        ]

    with no_waits():
        run(cp)
    same(run)


def test_whole_array_comparisons_stay_on_the_device() -> None:
    a = cp.asarray([1.0, np.nan])
    with no_waits():
        answers = [
            cp.array_equal(a, a),
            cp.array_equal(a, a, equal_nan=True),
            cp.array_equal(a, a[:1]),
            cp.array_equiv(cp.ones((2, 2)), cp.ones(2)),
            cp.array_equiv(cp.ones(2), cp.ones(3)),
            cp.allclose(cp.ones(3), 1 + 1e-9),
            cp.allclose(a, a),
        ]
    assert [bool(x) for x in answers] == [False, True, False, True, False, True, False]
    assert all(x.shape == () and x.dtype == np.bool_ for x in answers)


def test_sets_agree_with_numpy_for_one_wait_each() -> None:
    def run(xp):
        a, b = xp.asarray([3, 1, 2, 3]), xp.asarray([[3, 4], [1, 3]])
        return [
            xp.intersect1d(a, b),
            *xp.intersect1d(a, b, return_indices=True),
            xp.setdiff1d(a, b),
            xp.setxor1d(a, b),
            xp.union1d(a, b * 1.0),
        ]

    with waits() as seen:
        run(cp)
    assert len(seen) == 5
    same(run)


def test_questions_about_types() -> None:
    a = cp.zeros((2, 3), order="F")
    assert cp.isfortran(a)
    assert not cp.iscomplexobj(a)
    assert cp.isrealobj(a)
    assert cp.isscalar(1.5)
    assert not cp.isscalar(cp.asarray(1.5))
    assert cp.iscomplex(1j)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: cp.all([True]), TypeError),
        (lambda: cp.any(np.zeros(2)), TypeError),
        (lambda: cp.all(cp.zeros(2), axis=1), np.exceptions.AxisError),
        (lambda: cp.isclose(cp.zeros(2), cp.zeros(3)), ValueError),
        (lambda: cp.isneginf(cp.zeros(2, complex)), TypeError),
        (lambda: cp.isin([1], cp.zeros(2)), TypeError),
    ],
)
def test_argument_errors_come_at_the_call(call, error) -> None:
    with no_waits(), pytest.raises(error):
        call()
