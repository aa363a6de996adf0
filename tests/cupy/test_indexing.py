"""Indexing routines: values as NumPy, out of range wraps, waits only where data decides."""

from __future__ import annotations

import cupy as cp
import numpy as np
import pytest

from tests.cupy.agreement import same
from tests.cupy.waits import no_waits, waits


def test_agrees_with_numpy_and_costs_no_wait() -> None:
    def run(xp):
        a = xp.arange(12.0).reshape(3, 4)
        lanes = xp.asarray([[0, 3], [1, 1], [2, 0]])
        return [
            xp.take(a, xp.asarray([[2, 0]]), axis=1),
            xp.take(a, 5),
            xp.take_along_axis(a, lanes, 1),
            xp.take_along_axis(a, xp.asarray([11, 0]), None),
            xp.compress([True, False, True], a, axis=0),
            xp.extract([True] + [False] * 10 + [True], a),
            xp.select([a < 3, a > 8], [a, a * 10], default=-1),
            xp.diagonal(a, 1),
            xp.indices((2, 3)),
            *xp.ix_([0, 2], [True, False, True, False]),
            *xp.tril_indices(4, -1, 3),
            *xp.triu_indices(3, 1, 5),
            *xp.tril_indices_from(xp.zeros((2, 3))),
            *xp.diag_indices(3),
            xp.r_[xp.asarray([1, 2]), 0, 4.5],
            xp.c_[xp.asarray([1, 2]), xp.asarray([3, 4])],
            xp.ravel_multi_index((xp.asarray([5, 1]), xp.asarray([2, 9])), (3, 4), "clip"),
            xp.ravel_multi_index((xp.asarray([5, 1]), xp.asarray([-2, 9])), (3, 4), "wrap", "F"),
        ]

    with no_waits():
        run(cp)
    same(run)


def test_writing_agrees_with_numpy() -> None:
    def run(xp):
        a = xp.arange(12).reshape(3, 4)
        xp.put(a, xp.asarray([0, 5, 7]), xp.asarray([-1, -2]))
        xp.place(a, a > 8, xp.asarray([70, 80]))
        xp.putmask(a, a == 3, 30)
        b = xp.zeros((4, 4))
        xp.fill_diagonal(b, 2)
        xp.fill_diagonal(b[1:], xp.asarray([5.0, 6.0, 7.0]))
        c = xp.zeros((5, 2))
        xp.fill_diagonal(c, 1, wrap=True)
        xp.put_along_axis(c, xp.asarray([[1, 3]]), 8, axis=0)
        return [a, b, c]

    with no_waits():
        run(cp)
    same(run)


def test_out_of_range_wraps() -> None:
    a = cp.arange(4)
    assert cp.take(a, cp.asarray([4, -5])).tolist() == [0, 3]
    assert cp.take_along_axis(a, cp.asarray([9]), 0).tolist() == [1]
    cp.put(a, [6], 20)
    assert a.tolist() == [0, 1, 20, 3]
    cp.put_along_axis(a, cp.asarray([7]), 30, 0)
    assert a[3] == 30
    assert cp.compress(cp.asarray([False] * 5 + [True]), a).tolist() == [1]
    assert cp.choose(cp.asarray([3]), cp.asarray([[1], [2]]), mode="wrap").tolist() == [2]


def test_waits_only_where_data_decides() -> None:
    a = cp.arange(6)
    for call in (
        lambda: cp.nonzero(a),
        lambda: cp.argwhere(a),
        lambda: cp.where(a),
        lambda: cp.compress(a > 2, a),
        lambda: cp.extract(a > 2, a),
        lambda: cp.unravel_index(a, (2, 3)),
        lambda: cp.choose(a, cp.zeros((6, 6))),
    ):
        with waits() as seen:
            call()
        assert len(seen) == 1


def test_data_decides_as_in_numpy() -> None:
    def run(xp):
        a = xp.asarray([[0, 3, 0], [4, 0, 5]])
        return [
            *xp.nonzero(a),
            xp.argwhere(a),
            xp.flatnonzero(a),
            xp.compress(xp.asarray([False, True]), a, axis=0),
            xp.extract(a > 3, a),
            *xp.unravel_index(xp.asarray([5, 2]), (2, 3)),
            *xp.unravel_index(xp.asarray([5, 2]), (2, 3), "F"),
            *xp.mask_indices(3, xp.triu, 1),
            xp.choose(xp.asarray([1, 0]), xp.asarray([[1, 2], [3, 4]])),
        ]

    same(run)


def test_flat_reads_copies_and_writes_through() -> None:
    def run(xp):
        a = xp.arange(12).reshape(3, 4)
        turned = a.T
        read = [turned.flat[1], turned.flat[2:9:3], turned.flat[::-4]]
        turned.flat[0] = 50
        turned.flat[1:5] = xp.asarray([60, 61])
        a.flat[-1:] = 70
        return [*read, a, xp.asarray(len(a.flat)), xp.asarray(list(a[0].flat))]

    same(run)
    with pytest.raises(IndexError):
        cp.arange(3).flat[[0, 1]]
    with pytest.raises(IndexError):
        cp.arange(3).flat[3]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda a: cp.take(a, 12), IndexError),
        (lambda a: cp.take(a, 0, axis=2), np.exceptions.AxisError),
        (lambda a: cp.take_along_axis(a, cp.zeros((1, 1)), 0), IndexError),
        (lambda a: cp.take_along_axis(a, cp.asarray([0]), 0), ValueError),
        (lambda a: cp.compress(True, a), ValueError),
        (lambda a: cp.extract([True], [1]), TypeError),
        (lambda a: cp.select([], []), ValueError),
        (lambda a: cp.select([a], [a]), ValueError),
        (lambda a: cp.select([a > 1], [1]), TypeError),
        (lambda a: cp.put(a, [0], [1], mode="bounce"), ValueError),
        (lambda a: cp.put(a, [99], [1], mode="raise"), IndexError),
        (lambda a: cp.place(a, [True], [1]), ValueError),
        (lambda a: cp.place(a, a > 1, []), ValueError),
        (lambda a: cp.putmask(a, a > 1, cp.ones(3)), TypeError),
        (lambda a: cp.putmask(a, cp.zeros(3, bool), 1), ValueError),
        (lambda a: cp.fill_diagonal(cp.zeros(3), 1), ValueError),
        (lambda a: cp.diag_indices_from(a), ValueError),
        (lambda a: cp.ravel_multi_index((a,), (2, 3)), ValueError),
        (lambda a: cp.ravel_multi_index((a,), (2,), "raise"), ValueError),
        (lambda a: cp.unravel_index(a, (2, 2)), ValueError),
        (lambda a: cp.unravel_index(a * 1.5, (9, 9)), TypeError),
        (lambda a: cp.choose(a, cp.zeros((2, 4))), ValueError),
        (lambda a: cp.nonzero(cp.asarray(1)), ValueError),
        (lambda a: cp.nonzero([1]), TypeError),
        (lambda a: cp.r_[0:3], NotImplementedError),
        (lambda a: cp.ix_(a), ValueError),
    ],
)
def test_argument_errors_come_at_the_call(call, error) -> None:
    with pytest.raises(error):
        call(cp.arange(12).reshape(3, 4))
