"""`cupy.ElementwiseKernel`, against NumPy doing the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.cupy import kernel_packages, waits

import cupy as cp  # isort: skip

kernel_packages.needed()

SQUARED = cp.ElementwiseKernel("float32 x, float32 y", "float32 z", "z = (x - y) * (x - y)", "sq")
GENERIC = cp.ElementwiseKernel("T x, T y", "T z", "z = (x - y) * (x - y)", "sq_generic")


def test_fixed_types_and_broadcasting() -> None:
    x = np.arange(10, dtype=np.float32).reshape(2, 5)
    y = np.arange(5, dtype=np.float32)
    z = SQUARED(cp.array(x), cp.array(y))
    np.testing.assert_array_equal(z.get(), (x - y) ** 2)
    np.testing.assert_array_equal(SQUARED(cp.array(x), 5).get(), (x - 5) ** 2)
    out = cp.empty((2, 5), cp.float32)
    assert SQUARED(cp.array(x), cp.array(y), out) is out
    np.testing.assert_array_equal(out.get(), (x - y) ** 2)


@pytest.mark.parametrize("dtype", "bBhHiIqQefdFD")
def test_generic_types(dtype: str) -> None:
    x = np.arange(12).astype(dtype).reshape(3, 4)
    z = GENERIC(cp.array(x), 3)
    assert z.dtype == x.dtype
    np.testing.assert_array_equal(z.get(), ((x - x.dtype.type(3)) ** 2).astype(dtype))


def test_bools() -> None:
    x = np.array([True, False, True])
    kernel = cp.ElementwiseKernel("T x, U y", "T z", "z = x && y > 1")
    assert kernel(cp.array(x), cp.arange(3)).get().tolist() == [False, False, True]


VIEWS: list[Any] = [
    lambda a: a,
    lambda a: a.T,
    lambda a: a[::2, 1::3],
    lambda a: a[::-1],
    lambda a: a[:, :, None].transpose(2, 0, 1),
    lambda a: a[0, 0],
]


@pytest.mark.parametrize("view", VIEWS, ids=range(len(VIEWS)))
@pytest.mark.parametrize("reduce_dims", [True, False])
def test_any_strides(view: Any, reduce_dims: bool) -> None:
    a = np.arange(60.0).reshape(6, 10)
    kernel = cp.ElementwiseKernel("T x", "T y", "y = x * 2 + 1", "k", reduce_dims=reduce_dims)
    np.testing.assert_array_equal(kernel(view(cp.array(a))).get(), view(a) * 2 + 1)
    target = cp.array(a)
    kernel(view(cp.array(a)), view(target))
    expected = a.copy()
    if view(expected).ndim:
        view(expected)[...] = view(a) * 2 + 1
    else:
        expected[0, 0] = 1
    np.testing.assert_array_equal(target.get(), expected)


def test_raw_arguments_are_indexed_by_the_kernel() -> None:
    kernel = cp.ElementwiseKernel(
        "T x, raw T y", "T z", "z = x + y[_ind.size() - i - 1]", "add_reverse"
    )
    x = np.arange(5.0)
    np.testing.assert_array_equal(kernel(cp.array(x), cp.array(x)).get(), np.full(5, 4.0))
    strided = cp.array(np.arange(10.0))[::2]
    np.testing.assert_array_equal(kernel(cp.array(x), strided).get(), x + np.arange(8, -1, -2))


def test_size_is_needed_when_all_are_raw() -> None:
    kernel = cp.ElementwiseKernel("raw T x", "raw T y", "y[i] = x[i] * 2")
    x = cp.arange(4.0)
    assert kernel(x, size=4).get().tolist() == [0, 2, 4, 6]
    with pytest.raises(ValueError, match="Loop size is undecided"):
        kernel(x)
    with pytest.raises(ValueError, match="can be used only"):
        GENERIC(x, x, size=4)


def test_several_outputs_and_none() -> None:
    kernel = cp.ElementwiseKernel("T x", "T y, float32 z", "y = x + 1; z = x * 0.5f")
    y, z = kernel(cp.arange(3))
    assert (y.dtype, z.dtype) == (np.int64, np.float32)
    assert (y.get().tolist(), z.get().tolist()) == ([1, 2, 3], [0, 0.5, 1])
    lone = cp.ElementwiseKernel("T x", "T y", "y = x", return_tuple=True)
    assert isinstance(lone(cp.arange(3)), tuple)
    silent = cp.ElementwiseKernel("T x", "raw T y", "y[i] = x", no_return=True)
    target = cp.zeros(3, int)
    assert silent(cp.arange(3), target) is None
    assert target.get().tolist() == [0, 1, 2]


def test_the_code_around_the_loop() -> None:
    kernel = cp.ElementwiseKernel(
        "T x",
        "raw T total",
        "sum += twice(x)",
        "around",
        preamble="template <typename V> __device__ V twice(V v) { return 2 * v; }",
        loop_prep="T sum = FIRST - FIRST",
        after_loop="atomicAdd(&total[0], sum)",
        options=("-DFIRST=3",),
    )
    total = cp.zeros(1)
    kernel(cp.arange(100.0), total)
    assert total.get()[0] == 9900


def test_threads_are_as_many_as_on_a_gpu_when_the_kernel_looks() -> None:
    kernel = cp.ElementwiseKernel("", "raw int32 y", "y[i] = blockDim.x * 1000 + gridDim.x")
    y = cp.zeros(10, cp.int32)
    kernel(y, size=10, block_size=4)
    assert y.get().tolist() == [4003] * 10


def test_a_call_waits_only_for_the_compiler() -> None:
    x = cp.arange(10.0)
    GENERIC(x, 1)
    with waits.no_waits():
        for _ in range(3):
            x = GENERIC(x, 1)
    assert x.get()[2] == 1


def test_no_elements_no_launch() -> None:
    assert GENERIC(cp.zeros((0, 3)), 1).shape == (0, 3)


def test_the_generated_source_can_be_seen() -> None:
    kernel = cp.ElementwiseKernel("T x", "T y", "y = x * 7")
    with pytest.warns(UserWarning, match="No codes are cached"):
        assert kernel.cached_codes == {}
    kernel(cp.arange(3.0))
    assert "y = x * 7" in kernel.cached_code
    kernel(cp.arange(3))
    assert len(kernel.cached_codes) == 2


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        (lambda: (1.0,), TypeError, "Wrong number of arguments"),
        (lambda: (np.zeros(3), 1), TypeError, "Unsupported type"),
        (lambda: (cp.zeros(3, cp.float64), 1), TypeError, "Type is mismatched"),
        (lambda: (cp.zeros(3, cp.float32), cp.zeros(4, cp.float32)), ValueError, "broadcast"),
        (lambda: (cp.zeros(3, cp.float32), 1, cp.zeros(4, cp.float32)), ValueError, "broadcast"),
        (lambda: (cp.zeros(3, cp.float32), 1, cp.zeros((2, 3), cp.float32)), None, ""),
        (
            lambda: (cp.zeros((2, 3), cp.float32), 1, cp.zeros(3, cp.float32)),
            ValueError,
            "mismatched",
        ),
        (lambda: (cp.zeros(3, cp.float32), 1, 2.0), TypeError, "Output"),
        (lambda: (cp.zeros(3, cp.float32), "1"), TypeError, "Unsupported type"),
    ],
)
def test_arguments_are_checked_at_once(
    arguments: Callable[[], tuple[Any, ...]], error: type[Exception] | None, text: str
) -> None:
    given = arguments()
    if error is None:
        SQUARED(*given)
        return
    with pytest.raises(error, match=text):
        SQUARED(*given)


@pytest.mark.parametrize(
    ("definition", "error"),
    [
        (("T x", "T y", "y = x", "1name"), ValueError),
        (("T i", "T y", "y = i"), ValueError),
        (("T", "T y", "y = 1"), Exception),
        (("big T x", "T y", "y = x"), Exception),
        (("nothing x", "T y", "y = x"), TypeError),
    ],
)
def test_definitions_are_checked_at_once(definition: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        cp.ElementwiseKernel(*definition)


def test_scalars_must_fit_their_type() -> None:
    kernel = cp.ElementwiseKernel("T x, int8 y", "T z", "z = x + y")
    with pytest.raises(OverflowError):
        kernel(cp.zeros(3), 300)


def test_structures_have_fields_by_number() -> None:
    kernel = cp.ElementwiseKernel(
        "T x, U y",
        "T z",
        """static_assert(T::field_count == 2, "of numbers");
        z = x; z.template at<1>() += 10; z.template at<0>() = x == T(y) ? 1 : 0""",
        "fields",
    )
    kind = np.dtype([("a", "i4"), ("b", "f8")], align=True)
    other = np.dtype([("b", "f8"), ("a", "i2")], align=True)
    x = np.array([(1, 2.5), (3, 4.5), (5, 6.5)], kind)
    y = np.array([(1, 2), (3, 4), (5, 6)], other)
    x["b"][1] = 4
    z = kernel(cp.asarray(x), cp.asarray(y))
    assert z.dtype == kind
    assert z.get().tolist() == [(0, 12.5), (1, 14.0), (0, 16.5)]


def test_structures_within_structures_and_bytes_without_a_meaning() -> None:
    inner = np.dtype([("p", "c8"), ("q", "V3")])
    kind = cp.make_aligned_dtype(np.dtype([("n", "i1"), ("inner", inner)]))
    x = np.zeros(4, kind)
    x["inner"]["p"], x["inner"]["q"] = 1 + 2j, b"abc"
    change = cp.ElementwiseKernel(
        "",
        "T x",
        "auto& in = x.template at<1>();in.template at<0>() *= 2; in.template at<1>().data[1] = 'x'",
    )
    made = change(cp.asarray(x)).get()
    assert made["inner"]["p"].tolist() == [2 + 4j] * 4
    assert made["inner"]["q"].tolist() == [b"axc"] * 4


def test_structures_that_are_not_aligned_are_refused() -> None:
    kernel = cp.ElementwiseKernel("T x", "T y", "y = x")
    with pytest.raises(ValueError, match="Field f1 with offset 1 is not aligned"):
        kernel(cp.zeros(2, "?,f8"))
    with pytest.raises(ValueError, match="Itemsize 9 is not a multiple"):
        kernel(cp.zeros(2, "f8,?"))
