"""Sorting and searching: stable, in place where asked, no waits."""

from __future__ import annotations

import cupy as cp
import numpy as np
import pytest

from tests.cupy.agreement import same
from tests.cupy.waits import no_waits


def test_agrees_with_numpy_and_costs_no_wait() -> None:
    def run(xp):
        a = xp.asarray([[3.0, 1.0, np.nan, 1.0], [0.0, -2.0, 7.0, np.inf]])
        whole = xp.asarray([[2, 1, 2], [0, 5, 5]])
        return [
            xp.sort(a),
            xp.sort(a, axis=None),
            xp.sort(whole, axis=0),
            xp.argsort(whole, axis=0, kind="stable"),
            xp.argsort(whole, kind="stable"),
            xp.lexsort(whole),
            xp.sort_complex(xp.asarray([2, 1, 3], dtype=xp.int8)),
            xp.partition(whole, 1),
            xp.argmax(a, axis=1),
            xp.argmin(whole),
            xp.argmax(whole, axis=1, keepdims=True),
            xp.nanargmax(a, axis=1),
            xp.count_nonzero(whole, axis=1),
            xp.where(whole > 1, whole, -1),
            xp.where(whole > 1, xp.float32(2), whole.astype(xp.int8)),
            xp.searchsorted(xp.asarray([1, 3, 5]), xp.asarray([[0, 3], [5, 9]])),
            xp.searchsorted(xp.asarray([1, 3, 5]), 3, side="right"),
            xp.searchsorted(xp.asarray([5, 1, 3]), xp.asarray([2]), sorter=xp.asarray([1, 2, 0])),
        ]

    with no_waits():
        run(cp)
    same(run)


def test_in_place() -> None:
    def run(xp):
        a = xp.asarray([[3, 1, 2], [0, 5, 4]])
        b = a.copy()
        a.sort()
        b.sort(axis=0)
        c = xp.asarray([4, 2, 3, 1])
        c.partition(0)
        return [a, b, c[0]]

    same(run)
    with pytest.raises(NotImplementedError):
        cp.zeros((3, 4))[:, ::2].sort()


def test_several_axes_and_all_nan_as_in_cupy() -> None:
    a = cp.asarray([[1, 5], [7, 2]])
    assert cp.argmax(a, axis=(0, 1)) == 2
    assert cp.argmax(a, dtype=np.int32).dtype == np.int32
    assert cp.nanargmax(cp.asarray([np.nan, np.nan])) == -1
    assert cp.nanargmin(cp.asarray([np.nan, np.inf])) == 1  # NumPy 2 says 0
    assert cp.count_nonzero(a).shape == ()
    out = cp.zeros(2, dtype=np.int64)
    assert cp.argmin(a, axis=1, out=out) is out
    assert out.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda a: cp.sort(a, axis=3), np.exceptions.AxisError),
        (lambda a: cp.sort(cp.asarray(1)), np.exceptions.AxisError),
        (lambda a: cp.sort(a, kind="quicksort"), ValueError),
        (lambda a: cp.argsort(a, kind="heapsort"), ValueError),
        (lambda a: cp.lexsort(cp.zeros((2, 2, 2))), NotImplementedError),
        (lambda a: cp.lexsort(cp.asarray(1)), TypeError),
        (lambda a: cp.partition(a, 4), ValueError),
        (lambda a: cp.argpartition(a, -5), ValueError),
        (lambda a: cp.argmax(cp.zeros(0)), ValueError),
        (lambda a: cp.where(a, 1), ValueError),
        (lambda a: cp.where(a, a, cp.zeros(3)), ValueError),
        (lambda a: cp.where(a, [1], 2), TypeError),
        (lambda a: cp.where(a > 0, a.astype(np.int8), 300), OverflowError),
        (lambda a: cp.searchsorted([1, 2], 1), NotImplementedError),
        (lambda a: cp.searchsorted(a, 1), ValueError),
        (lambda a: cp.searchsorted(a[0], 1, sorter=a[0] * 1.0), TypeError),
    ],
)
def test_argument_errors_come_at_the_call(call, error) -> None:
    a = cp.arange(8).reshape(2, 4)
    with no_waits(), pytest.raises(error):
        call(a)
