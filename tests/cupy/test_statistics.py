"""Means, spreads, order statistics, histograms, correlation."""

from __future__ import annotations

import cupy as cp
import numpy as np
import pytest

from tests.cupy.agreement import same
from tests.cupy.waits import no_waits, waits


@pytest.mark.parametrize("dtype", "?bIefdF")
def test_means_and_spreads(dtype: str) -> None:
    def run(xp):
        a = xp.array([[0, 1, 1], [1, 3, 0]]).astype(dtype)
        results = [a.mean(), a.mean(axis=1, keepdims=True), a.var(), a.std(axis=0, ddof=1)]
        results += [xp.median(a, axis=1)] if dtype != "?" else []
        return [*results, xp.nanmean(a, axis=0), xp.nanstd(a), a.max(axis=0), xp.amin(a)]

    same(run, rtol=2e-3)


def test_means_of_other_dtypes_and_empties() -> None:
    def run(xp):
        a = xp.arange(5)
        return [a.mean(dtype=xp.int32), a.mean(dtype=xp.float32), a.var(dtype=xp.float32)]

    same(run)
    assert np.isnan(float(cp.zeros(0).mean()))


def test_nan_is_left_out() -> None:
    def run(xp):
        a = xp.array([[1.0, np.nan, 3], [4, 5, np.nan]])
        return [
            xp.nanmean(a, axis=0),
            xp.nanvar(a, axis=1, ddof=1),
            xp.nanmedian(a, axis=0),
            xp.nanmax(a),
            xp.nanmin(a, axis=1),
            xp.median(a, axis=0),
            a.max(axis=0),
        ]

    same(run)


def test_average() -> None:
    def run(xp):
        a = xp.arange(6.0).reshape(2, 3)
        w = xp.array([1.0, 2, 3])
        both = xp.average(a, axis=1, weights=w, returned=True)
        return [xp.average(a), xp.average(a, weights=a), *both]

    with no_waits():
        run(cp)
    same(run)
    with pytest.raises(TypeError, match="Axis must"):
        cp.average(cp.ones((2, 3)), weights=cp.ones(3))
    with pytest.raises(ZeroDivisionError):
        cp.average(cp.ones(2), weights=cp.zeros(2)).get()


@pytest.mark.parametrize("method", ["linear", "lower", "higher", "midpoint", "nearest"])
def test_percentiles(method: str) -> None:
    def run(xp):
        a = xp.array([[7.0, 1, 5, 3], [2, 8, 6, 4]])
        return [
            xp.percentile(a, 40, method=method),
            xp.percentile(a, [10, 90], axis=1, method=method),
            xp.quantile(a, 0.3, axis=(0, 1), keepdims=True, method=method),
            xp.quantile(a, xp.array([0.25, 0.5]), axis=0, method=method),
            xp.percentile(a.astype(xp.float32), 40, method=method),
        ]

    with no_waits():
        run(cp)
    same(run, rtol=1e-6)


def test_percentiles_check_what_they_can() -> None:
    a = cp.arange(5.0)
    with pytest.raises(ValueError, match="range"):
        cp.percentile(a, 101)
    with pytest.raises(ValueError, match="not yet supported"):
        cp.quantile(a, 0.5, method="hazen")
    with pytest.raises(ValueError, match="Unexpected"):
        cp.quantile(a, 0.5, method="other")
    with pytest.raises(ValueError, match="range"):
        cp.quantile(a, cp.array([2.0])).get()
    with pytest.warns(DeprecationWarning):
        cp.percentile(a, 50, interpolation="lower")


def test_histograms() -> None:
    def run(xp):
        a = xp.array([0.5, 1.5, 1.6, 3.9, 2.0])
        b = xp.array([0.0, 1, 1, 2, 3])
        cells, edges = xp.histogramdd(xp.stack([a, b], axis=1), bins=(2, 3))
        return [
            *xp.histogram(a),
            *xp.histogram(a, bins=4, range=(0, 4), density=True),
            *xp.histogram(a, bins=xp.array([0.0, 1, 4]), weights=b),
            *xp.histogram2d(a, b, bins=3),
            cells,
            *edges,
            xp.digitize(a, xp.array([1.0, 2, 3])),
            xp.digitize(a, xp.array([3.0, 2, 1]), right=True),
        ]

    with waits() as seen:  # CuPy waits for these, too: their values decide whether a call is right
        run(cp)
    assert seen == ["synchronize"] * 4
    same(run)
    bins = cp.array([0.0, 1.0])
    assert cp.histogram(cp.ones(2), bins)[1] is bins
    with pytest.raises(ValueError, match="monotonically"):
        cp.histogram(cp.ones(2), [2, 1])
    with pytest.raises(ValueError, match="positive"):
        cp.histogram(cp.ones(2), 0)
    with pytest.raises(NotImplementedError):
        cp.histogram(cp.ones(2, dtype=complex))


def test_bad_values_for_histograms_are_told_at_the_call_as_cupy_does() -> None:
    a, falling = cp.ones(2), cp.array([2.0, 1.0])
    for call in (
        lambda: cp.histogram(a, falling),
        lambda: cp.histogramdd(a, [falling]),
        lambda: cp.histogram2d(a, a, [falling, falling]),
    ):
        with pytest.raises(ValueError, match="monotonically"):
            call()
    with pytest.raises(ValueError, match="not finite"):
        cp.histogram(cp.array([1.0, np.nan]))
    with no_waits():
        cp.histogram(a, [0, 1, 2])
        cp.histogram(cp.arange(3))
        cp.histogram(a, 3, range=(0, 2))


def test_bincount_waits_once() -> None:
    def run(xp):
        a = xp.array([0, 3, 1, 3])
        return [xp.bincount(a), xp.bincount(a, a * 0.5, minlength=6), xp.bincount(a[:0])]

    same(run)
    with waits() as seen:
        cp.bincount(cp.array([1, 2]))
    assert len(seen) == 1
    with pytest.raises(ValueError, match="non-negative"):
        cp.bincount(cp.array([-1]))
    with pytest.raises(TypeError):
        cp.bincount(cp.ones(2))


def test_correlation() -> None:
    def run(xp):
        a = xp.array([[1.0, 2, 4], [3, 5, 5]])
        weights = xp.array([1, 2, 1])
        return [
            xp.cov(a),
            xp.cov(a[0]),
            xp.cov(a, a[0] * 2, rowvar=True, bias=True),
            xp.cov(a, fweights=weights, aweights=xp.array([0.5, 1, 2])),
            xp.cov(a.astype(xp.float32), rowvar=False, dtype=xp.float32),
            xp.corrcoef(a),
            xp.correlate(a[0], a[1], "full"),
            xp.correlate(a[0], a[1]),
        ]

    with no_waits():
        run(cp)
    same(run, rtol=1e-5)
    with pytest.raises(ValueError, match="2-d"):
        cp.cov(cp.ones((1, 1, 1)))
    with pytest.raises(TypeError, match="integer"):
        cp.cov(cp.ones((2, 3)), fweights=cp.ones(3))
    with pytest.warns(RuntimeWarning, match="Degrees"):
        cp.cov(cp.ones((2, 1)))
