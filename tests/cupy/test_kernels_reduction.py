"""`cupy.ReductionKernel`, against NumPy doing the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.cupy import kernel_packages

import cupy as cp  # isort: skip

kernel_packages.needed()

NORM = cp.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "l2norm")
SUM = cp.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "plain_sum")


def test_a_norm() -> None:
    x = np.arange(10, dtype=np.float32).reshape(2, 5)
    np.testing.assert_allclose(NORM(cp.array(x)).get(), np.linalg.norm(x), rtol=1e-6)
    y = NORM(cp.array(x), axis=1)
    assert (y.shape, y.dtype) == ((2,), np.float32)
    np.testing.assert_allclose(y.get(), np.linalg.norm(x, axis=1), rtol=1e-6)


@pytest.mark.parametrize("shape", [(1,), (511,), (512,), (513,), (3000,)])
def test_any_number_of_elements(shape: tuple[int, ...]) -> None:
    x = np.arange(np.prod(shape)).reshape(shape)
    assert SUM(cp.array(x)).get() == x.sum()


@pytest.mark.parametrize("axis", [None, 0, 1, 2, (0, 1), (0, 2), (1, 2), (2, 0), (0, 1, 2), -1, ()])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("order", ["C", "F", "mixed"])
def test_axes(axis: Any, keepdims: bool, order: str) -> None:
    x = np.arange(4 * 5 * 70).reshape(4, 5, 70)
    on_device = {"C": lambda: cp.array(x), "F": lambda: cp.array(x, order="F")}.get(
        order, lambda: cp.array(x.transpose(1, 2, 0).copy()).transpose(2, 0, 1)
    )()
    made = SUM(on_device, axis=axis, keepdims=keepdims)
    expected = x.sum(axis=axis, keepdims=keepdims)
    assert made.shape == expected.shape
    np.testing.assert_array_equal(made.get(), expected)


@pytest.mark.parametrize("dtype", "bHiQefdFD")
def test_types(dtype: str) -> None:
    x = np.arange(20).astype(dtype)
    made = SUM(cp.array(x))
    assert made.dtype == x.dtype
    np.testing.assert_allclose(made.get(), x.sum(dtype=x.dtype))


def test_two_inputs_and_scalars() -> None:
    kernel = cp.ReductionKernel("T x, T y, T f", "T z", "x * y * f", "a + b", "z = a", "0", "dot")
    x, y = np.arange(12.0).reshape(3, 4), np.arange(4.0)
    np.testing.assert_array_equal(kernel(cp.array(x), cp.array(y), 2, axis=1).get(), 2 * x @ y)


def test_an_output_of_the_callers() -> None:
    x = cp.arange(6).reshape(2, 3)
    out = cp.empty(3, int)
    assert SUM(x, axis=0, out=out) is out
    assert out.get().tolist() == [3, 5, 7]
    assert SUM(x, out, axis=0) is out
    with pytest.raises(ValueError, match="Out shape is mismatched"):
        SUM(x, out=out, axis=1)
    with pytest.raises(ValueError, match="both"):
        SUM(x, out, out=out, axis=0)


def test_another_type_to_reduce_in() -> None:
    kernel = cp.ReductionKernel(
        "T x",
        "int64 at",
        "Best(x, _J)",
        "better(a, b)",
        "at = a.where",
        "",
        "where_largest",
        reduce_type="Best",
        preamble="""
        struct Best {
            double value; long long where;
            __device__ Best() : value(0), where(-1) {}
            __device__ Best(double v, long long w) : value(v), where(w) {}
        };
        __device__ Best better(const Best& a, const Best& b) {
            if (a.where < 0) return b;
            if (b.where < 0) return a;
            return a.value < b.value ? b : a;
        }""",
    )
    x = np.sin(np.arange(2000.0)).reshape(40, 50)
    np.testing.assert_array_equal(kernel(cp.array(x), axis=1).get(), x.argmax(axis=1))


def test_nothing_to_reduce() -> None:
    assert SUM(cp.zeros((0,))).get() == 0
    assert SUM(cp.zeros((3, 0)), axis=1).get().tolist() == [0, 0, 0]
    kernel = cp.ReductionKernel("T x", "T y", "x", "max(a, b)", "y = a", None, "largest")
    with pytest.raises(ValueError, match="no identity"):
        kernel(cp.zeros((0,)))


def test_sums_are_rounded_as_blocks_of_threads_round_them() -> None:
    x = np.random.default_rng(0).random(5000, np.float32)
    lanes = np.zeros(512, np.float32)
    for begin in range(0, len(x), 512):
        part = x[begin : begin + 512]
        lanes[: len(part)] += part
    while len(lanes) > 1:
        lanes = lanes[: len(lanes) // 2] + lanes[len(lanes) // 2 :]
    assert SUM(cp.array(x)).get() == lanes[0]


@pytest.mark.parametrize(
    ("arguments", "options", "error"),
    [
        (lambda: (), {}, TypeError),
        (lambda: (cp.zeros(3), cp.zeros(()), 1), {}, TypeError),
        (lambda: (np.zeros(3),), {}, TypeError),
        (lambda: (cp.zeros((2, 2)),), {"axis": 2}, np.exceptions.AxisError),
        (lambda: (cp.zeros((2, 2)),), {"axis": (0, 0)}, ValueError),
        (lambda: (1.0,), {}, ValueError),
        (lambda: (cp.zeros(3),), {"size": 3}, TypeError),
    ],
)
def test_arguments_are_checked_at_once(
    arguments: Callable[[], tuple[Any, ...]], options: Any, error: type[Exception]
) -> None:
    given = arguments()
    with pytest.raises(error):
        SUM(*given, **options)
