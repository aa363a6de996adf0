"""Making arrays: shapes, dtypes, layouts, and where host data comes in."""

from __future__ import annotations

import cupy as cp
import numpy as np
import pytest

from tests.cupy.agreement import same
from tests.cupy.waits import no_waits


def test_agrees_with_numpy_and_costs_no_wait() -> None:
    def run(xp):
        v = xp.asarray([1, 2, 3])
        return [
            xp.zeros((2, 3), dtype=xp.int8, order="F"),
            xp.full((2,), 3),
            xp.full_like(v, 1.5),
            xp.ones_like(v, dtype=float, shape=(2, 2)),
            xp.eye(3, 4, k=-1),
            xp.identity(2, dtype=xp.complex64),
            xp.arange(5),
            xp.arange(1, 2, 0.25),
            xp.arange(10, 0, -3, dtype=xp.int16),
            xp.arange(0, 2, dtype=bool),
            xp.linspace(0, 1, 5, endpoint=False),
            xp.linspace(0, 10, 4, dtype=int),
            xp.linspace(xp.arange(3.0), 9, 4, axis=1),
            xp.logspace(0, 2, 3),
            xp.diag(v, 1),
            xp.diag(xp.arange(9).reshape(3, 3), -1),
            xp.diagflat(xp.arange(4).reshape(2, 2)),
            xp.tri(3, 4, 1, dtype=int),
            xp.tril(xp.ones((3, 3)), -1),
            xp.triu(xp.ones((2, 3, 3)), 1),
            xp.vander(v, 4, increasing=True),
            *xp.meshgrid(v, xp.arange(2.0)),
            *xp.meshgrid(v, xp.arange(2.0), indexing="ij", sparse=True),
            xp.mgrid[0:3, 1:2:3j],
            xp.ogrid[0:4:2],
        ]

    with no_waits():
        run(cp)
    same(run)


def test_layouts_follow_the_source() -> None:
    a = cp.zeros((2, 3, 4)).transpose(1, 0, 2)
    host = np.zeros((2, 3, 4)).transpose(1, 0, 2)
    for order in "CFAK":
        assert cp.empty_like(a, order=order).strides == np.empty_like(host, order=order).strides
        assert cp.array(a, order=order).strides == np.array(host, order=order).strides
    assert cp.empty((0, 3)).strides == np.empty((0, 3)).strides
    assert cp.asfortranarray(cp.zeros((2, 3))).flags.f_contiguous
    assert cp.ascontiguousarray(1).shape == (1,)


def test_array_copies_only_where_asked() -> None:
    a = cp.arange(3)
    assert cp.asarray(a) is a
    assert cp.array(a, copy=None) is a
    assert cp.array(a, copy=False) is a
    assert cp.array(a) is not a
    with pytest.raises(ValueError, match="avoid copy"):
        cp.array(a, dtype=float, copy=False)
    with pytest.raises(ValueError, match="avoid copy"):
        cp.array([1, 2], copy=False)


def test_nested_device_arrays_are_stacked_on_the_device() -> None:
    a = cp.arange(3)
    with no_waits():
        made = cp.array([[a, a + 1], [a * 2, a]], dtype=np.float32)
    assert made.shape == (2, 2, 3)
    assert made.dtype == np.float32
    assert made[1, 0].tolist() == [0, 2, 4]


def test_memory_of_the_session_is_accepted_back() -> None:
    a = cp.arange(6.0)

    class Foreign:
        __cuda_array_interface__ = {  # noqa: RUF012
            "shape": (2, 2),
            "typestr": "<f8",
            "data": (a.data.ptr + 8, False),
            "strides": (16, 8),
            "version": 3,
        }

    view = cp.asarray(Foreign())
    view[0, 0] = -1
    assert view.tolist() == [[-1, 2], [3, 4]]
    assert a[1] == -1
    Foreign.__cuda_array_interface__["data"] = (0xDEAD0000000000, False)
    with pytest.raises(NotImplementedError, match="not memory of this session"):
        cp.asarray(Foreign())


def test_host_containers_stay_on_the_host_until_uploaded(tmp_path) -> None:
    np.arange(4.0).tofile(tmp_path / "raw")
    assert cp.fromfile(tmp_path / "raw").tolist() == [0, 1, 2, 3]
    assert cp.frombuffer(b"\1\2", dtype=np.uint8).tolist() == [1, 2]
    assert cp.fromiter(range(3), dtype=int).tolist() == [0, 1, 2]
    assert cp.array(np.arange(3, dtype=">i4")).dtype == np.dtype("<i4")


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: cp.zeros((-1,)), ValueError),
        (lambda: cp.zeros(None), TypeError),
        (lambda: cp.zeros(2.5), TypeError),
        (lambda: cp.zeros(2, dtype=">i4"), ValueError),
        (lambda: cp.zeros(2, dtype="O"), ValueError),
        (lambda: cp.array(["text"]), ValueError),
        (lambda: cp.array([1], subok=True), NotImplementedError),
        (lambda: cp.zeros(2, order="X"), ValueError),
        (lambda: cp.arange(0, 3, dtype=bool), TypeError),
        (lambda: cp.arange(1, 5, 0), ZeroDivisionError),
        (lambda: cp.linspace(0, 1, -1), ValueError),
        (lambda: cp.diag(cp.zeros((2, 2, 2))), ValueError),
        (lambda: cp.vander(cp.zeros((2, 2))), ValueError),
        (lambda: cp.meshgrid(cp.zeros((2, 2))), ValueError),
        (lambda: cp.empty_like([1, 2]), TypeError),
        (lambda: cp.ndarray((2, 3), strides=(100, 8)), ValueError),
        (lambda: cp.ndarray((2, 3), strides=(-24, 8)), ValueError),
    ],
)
def test_argument_errors_come_at_the_call(call, error) -> None:
    with no_waits(), pytest.raises(error):
        call()
