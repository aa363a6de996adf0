"""Rearranging: views that write through, copies of the right shape and dtype, errors at once."""

from __future__ import annotations

import cupy as cp
import numpy as np
import pytest

from tests.cupy.agreement import same
from tests.cupy.waits import no_waits


def test_views_agree_with_numpy() -> None:
    def run(xp):
        a = xp.arange(24.0).reshape(2, 3, 4)
        return [
            xp.reshape(a, (4, -1)),
            xp.reshape(a, (4, 6), order="F"),
            xp.ravel(a.transpose(2, 0, 1), "K"),
            xp.expand_dims(a, (0, 2)),
            xp.squeeze(a[:, :1], 1),
            xp.flip(a, (0, 2)),
            xp.fliplr(a),
            xp.flipud(a),
            xp.rot90(a, 3, (1, 2)),
            xp.broadcast_to(a[:, :1], (5, 2, 3, 4)),
            *xp.broadcast_arrays(a, xp.arange(4.0)),
            *xp.array_split(a, 3, axis=2),
            *xp.split(a, [1, 2], axis=1),
            *xp.hsplit(a, 3),
            *xp.dsplit(a, 2),
            xp.atleast_3d(xp.arange(3)),
            xp.moveaxis(a, 0, -1),
        ]

    with no_waits():
        run(cp)
    same(run)


def test_views_write_through() -> None:
    def run(xp):
        a = xp.zeros((3, 4))
        xp.split(a, 2, axis=1)[1][...] = 1
        xp.flip(a)[0, 0] = 2
        xp.rot90(a)[0, 0] = 3
        xp.atleast_3d(a)[1, 1] = 4
        xp.expand_dims(a, 0)[0, 2] += 5
        return a

    same(run)


def test_copies_agree_with_numpy_and_cost_no_wait() -> None:
    def run(xp):
        a = xp.arange(12, dtype=xp.int16).reshape(3, 4)
        return [
            xp.tile(a, (2, 1, 2)),
            xp.tile(a, 1),
            xp.repeat(a, 2),
            xp.repeat(a, [1, 0, 2], axis=0),
            xp.roll(a, (1, -2), (0, 1)),
            xp.roll(a, 5),
            xp.append(a, a[:1], axis=0),
            xp.append(a, a),
            xp.resize(a, (5, 4)),
            xp.delete(a, 1, axis=1),
            xp.delete(a, slice(None, None, 2)),
            xp.delete(a, [0, 2, 2], axis=0),
            xp.concatenate((a, a * 1.5), axis=1),
            xp.concatenate((a, a), axis=None, dtype=xp.float32),
            xp.stack((a, a), axis=-1),
            xp.vstack((a[0], a)),
            xp.column_stack((a[0], a[1])),
            xp.pad(a, ((1, 2), (0, 3)), constant_values=7),
            xp.pad(a, 2, "reflect", reflect_type="odd"),
            xp.pad(a, 1, "mean", stat_length=2),
        ]

    with no_waits():
        run(cp)
    same(run)


def test_copyto_casts_and_masks() -> None:
    def run(xp):
        a = xp.zeros((2, 3))
        xp.copyto(a, xp.arange(3))
        xp.copyto(a, 9, where=a > 1)
        b = xp.zeros(3, dtype=xp.int32)
        xp.copyto(b, xp.asarray([1.7, 2.2, -3.9]), casting="unsafe")
        return [a, b]

    same(run)
    with pytest.raises(TypeError, match="Cannot cast"):
        cp.copyto(cp.zeros(3, dtype=int), cp.zeros(3))
    with pytest.raises(ValueError, match="could not broadcast"):
        cp.copyto(cp.zeros(3), cp.zeros(4))


def test_unique_agrees_with_numpy() -> None:
    def run(xp):
        a = xp.asarray([[3.0, 1.0, np.nan], [3.0, 2.0, np.nan]])
        rows = xp.asarray([[1, 2], [0, 3], [1, 2]])
        return [
            *xp.unique(a, return_index=True, return_inverse=True, return_counts=True),
            *xp.unique(rows, axis=0, return_counts=True),
            *xp.unique_counts(a),
        ]

    same(run)


def test_trim_zeros_is_a_view() -> None:
    a = cp.asarray([0, 0, 1, 0, 2, 0])
    trimmed = cp.trim_zeros(a)
    trimmed[0] = 9
    assert a.tolist() == [0, 0, 9, 0, 2, 0]
    same(lambda xp: [xp.trim_zeros(xp.asarray([0, 1, 0]), t) for t in ("f", "b", "fb")])
    assert cp.trim_zeros(cp.zeros(4)).shape == (0,)


def test_device_counts_and_indices() -> None:
    a = cp.arange(4)
    assert cp.repeat(a, cp.asarray([0, 1, 2, 0])).tolist() == [1, 2, 2]
    assert cp.delete(a, cp.asarray([5])).tolist() == [0, 2, 3]  # wraps
    assert cp.roll(a, cp.asarray(1)).tolist() == [3, 0, 1, 2]


def test_require_and_finite() -> None:
    a = cp.zeros((2, 3))
    assert cp.require(a, requirements="C") is a
    assert cp.require(a, np.float32, ["F"]).flags.f_contiguous
    assert cp.require(a[0], requirements=["O"]).flags.owndata
    with pytest.raises(ValueError, match="Incorrect flag"):
        cp.require(a, requirements="W")
    with pytest.raises(ValueError, match="Infs or NaNs"):
        cp.asarray_chkfinite([1.0, np.inf])


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda a: cp.reshape(a, (5, 5)), ValueError),
        (lambda a: cp.reshape(a.T, 12, copy=False), ValueError),
        (lambda a: cp.split(a, 5), ValueError),
        (lambda a: cp.split(a, 2, axis=7), IndexError),
        (lambda a: cp.dsplit(a, 2), ValueError),
        (lambda a: cp.flip(a, 2), np.exceptions.AxisError),
        (lambda a: cp.rot90(a, axes=(0, 0)), ValueError),
        (lambda a: cp.broadcast_to(a, (3, 5)), ValueError),
        (lambda a: cp.broadcast_arrays(a, cp.zeros(5)), ValueError),
        (lambda a: cp.repeat(a, -1), ValueError),
        (lambda a: cp.repeat(a, [1, 2], axis=0), ValueError),
        (lambda a: cp.repeat(a, np.asarray(2)), TypeError),
        (lambda a: cp.roll(a, 1, axis="x"), TypeError),
        (lambda a: cp.delete([1, 2], 0), ValueError),
        (lambda a: cp.delete(a, 12), IndexError),
        (lambda a: cp.concatenate((a, a[0])), ValueError),
        (lambda a: cp.concatenate((a, np.zeros((3, 4)))), TypeError),
        (lambda a: cp.pad(a, 1.5), TypeError),
        (lambda a: cp.pad(a, -1), ValueError),
        (lambda a: cp.pad(a, 1, "median"), ValueError),
        (lambda a: cp.pad(a, 1, "edge", constant_values=1), ValueError),
    ],
)
def test_argument_errors_come_at_the_call(call, error) -> None:
    a = cp.arange(12).reshape(3, 4)
    with no_waits(), pytest.raises(error):
        call(a)


def test_pad_calls_a_function_in_place() -> None:
    def run(xp):
        def borders(vector, width, axis, options):
            vector[: width[0]] = options["value"]
            vector[vector.shape[0] - width[1] :] = axis

        return xp.pad(xp.arange(6).reshape(2, 3), ((1, 2), (2, 1)), borders, value=8)

    same(run)


def test_functions_along_axes() -> None:
    def run(xp):
        a = xp.arange(24.0).reshape(2, 3, 4)
        return [
            xp.apply_along_axis(lambda v: v[::-1] * 2, 1, a),
            xp.apply_along_axis(lambda v: v.sum(), 0, a),
            xp.apply_over_axes(xp.sum, a, (0, 2)),
            xp.lib.stride_tricks.sliding_window_view(xp.arange(6), 3),
        ]

    same(run)
