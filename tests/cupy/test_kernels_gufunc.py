"""`cupyx.GeneralizedUFunc` and the filters that take kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.cupy import kernel_packages

import cupy as cp  # isort: skip
import cupyx  # isort: skip
import cupyx.scipy.ndimage  # isort: skip


def _spread(x: Any) -> Any:
    return x.max(axis=-1) - x.min(axis=-1)


def test_core_dimensions_are_the_last_and_others_are_looped_over() -> None:
    spread = cupyx.GeneralizedUFunc(_spread, "(n)->()", name="spread")
    x = np.random.default_rng(0).random((3, 4, 5))
    np.testing.assert_array_equal(spread(cp.array(x)).get(), np.ptp(x, axis=-1))
    np.testing.assert_array_equal(spread(cp.array(x), axis=0).get(), np.ptp(x, axis=0))
    made = spread(cp.array(x), axis=1, keepdims=True)
    np.testing.assert_array_equal(made.get(), np.ptp(x, axis=1, keepdims=True))
    out = cp.empty((3, 4))
    assert spread(cp.array(x), out=out) is out


def test_outer_dimensions_broadcast() -> None:
    product = cupyx.GeneralizedUFunc(lambda a, b: a @ b, "(i,j),(j,k)->(i,k)", name="product")
    a, b = np.random.default_rng(0).random((2, 1, 3, 4)), np.random.default_rng(1).random((5, 4, 2))
    np.testing.assert_allclose(product(cp.array(a), cp.array(b)).get(), a @ b)
    swapped = cp.array(a.swapaxes(2, 3))
    moved = product(swapped, cp.array(b), axes=[(3, 2), (1, 2), (2, 3)])
    np.testing.assert_allclose(moved.get(), a @ b)


def test_loops_by_dtype() -> None:
    twice = cupyx.GeneralizedUFunc(
        lambda x: x * 2,
        "(n)->(n)",
        name="twice",
        signatures=[("l->l", lambda x: x * 2), ("d->d", lambda x: x * 3)],
    )
    assert twice(cp.arange(3)).get().tolist() == [0, 2, 4]
    assert twice(cp.arange(3), dtype="d").get().tolist() == [0, 3, 6]
    with pytest.raises(TypeError, match="No loop"):
        twice(cp.arange(3), signature="D->D")


@pytest.mark.parametrize(
    ("signature", "error"),
    [("", ValueError), ("(i)", ValueError), ("(i)->(i|1)", ValueError), (None, TypeError)],
)
def test_what_is_no_signature(signature: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        cupyx.GeneralizedUFunc(_spread, signature, name="wrong")


def test_mismatches_are_named() -> None:
    dot = cupyx.GeneralizedUFunc(lambda a, b: (a * b).sum(-1), "(n),(n)->()", name="dot")
    with pytest.raises(ValueError, match="mismatch in its core dimension n"):
        dot(cp.zeros(3), cp.zeros(4))
    with pytest.raises(ValueError, match="requires 2 arguments"):
        dot(cp.zeros(3))
    with pytest.raises(ValueError, match="too few dimensions"):
        dot(cp.zeros(()), cp.zeros(4))


# ------------------------------------------------------------------- filters


@pytest.mark.parametrize("mode", ["reflect", "constant", "nearest", "mirror", "wrap"])
def test_a_filter_by_a_reduction(mode: str) -> None:
    kernel_packages.needed()
    ndimage = pytest.importorskip("scipy.ndimage")
    spread = cp.ReductionKernel("X x", "Y y", "x", "max(a, b)", "y = a", "-1e300", "largest")
    a = np.random.default_rng(0).random((6, 7))
    made = cupyx.scipy.ndimage.generic_filter(cp.array(a), spread, (3, 2), mode=mode, cval=0.5)
    expected = ndimage.generic_filter(a, np.max, (3, 2), mode=mode, cval=0.5)
    np.testing.assert_array_equal(made.get(), expected)


def test_filters_by_raw_kernels() -> None:
    kernel_packages.needed()
    ndimage = pytest.importorskip("scipy.ndimage")
    code = """extern "C" __global__ void mean(double* x, int n, double* y) {
        *y = 0; for (int i = 0; i < n; ++i) *y += x[i] / n; }"""
    footprint = np.array([[1, 0, 1], [0, 1, 1]], bool)
    a = np.random.default_rng(0).random((6, 7))
    made = cupyx.scipy.ndimage.generic_filter(
        cp.array(a), cp.RawKernel(code, "mean"), footprint=cp.array(footprint), origin=(0, 1)
    )
    expected = ndimage.generic_filter(a, np.mean, footprint=footprint, origin=(0, 1))
    np.testing.assert_allclose(made.get(), expected)
    lines = """extern "C" __global__
    void sums(const double* x, ptrdiff_t n, double* y, ptrdiff_t m) {
        for (ptrdiff_t i = 0; i < m; ++i) y[i] = x[i] + x[i + 1] + x[i + 2]; }"""
    made = cupyx.scipy.ndimage.generic_filter1d(cp.array(a), cp.RawKernel(lines, "sums"), 3, axis=0)
    np.testing.assert_allclose(made.get(), ndimage.uniform_filter1d(a, 3, axis=0) * 3)
    with pytest.raises(TypeError, match="bad function type"):
        cupyx.scipy.ndimage.generic_filter(cp.array(a), np.mean, 3)
