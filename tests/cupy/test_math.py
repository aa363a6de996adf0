"""Sums and products, differences, rounding, special functions, windows, bits."""

from __future__ import annotations

import cupy as cp
import numpy as np
import pytest

from tests.cupy.agreement import same
from tests.cupy.waits import no_waits

DTYPES = [np.dtype(c) for c in "?bBhHiIqQefdFD"]


@pytest.mark.parametrize("name", ["sum", "prod", "cumsum", "cumprod", "nansum", "nanprod"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_accumulators(name: str, dtype: np.dtype) -> None:
    def run(xp):
        a = xp.array([[1, 0, 2], [1, 1, 1]]).astype(dtype)
        return [getattr(xp, name)(a), getattr(xp, name)(a, axis=1), getattr(xp, name)(a, axis=-2)]

    same(run, rtol=1e-3)


def test_reductions_take_axes_dtype_out_and_keepdims() -> None:
    def run(xp):
        a = xp.arange(24, dtype=xp.int16).reshape(2, 3, 4)
        out = xp.zeros((2, 4), dtype=xp.float32)
        made = a.sum(axis=1, out=out)
        return [
            made,
            out,
            a.sum(axis=(0, 2), keepdims=True),
            a.sum(axis=()),
            a.prod(axis=2, dtype=xp.float64),
            a.max(axis=(0, 1)),
            xp.sum(a[:, :0], axis=1),
            xp.zeros((0, 3)).max(axis=1),
        ]

    same(run)
    with pytest.raises(np.exceptions.AxisError):
        cp.ones(2).sum(axis=1)
    with pytest.raises(ValueError, match="duplicate"):
        cp.ones((2, 2)).sum(axis=(0, 0))
    with pytest.raises(ValueError, match="no identity"):
        cp.ones((0, 2)).max()
    with pytest.raises(TypeError):
        cp.nansum([1, 2])
    with pytest.warns(np.exceptions.ComplexWarning):
        cp.ones(2, dtype=complex).sum(dtype=float)


def test_sums_of_float16_do_not_lose_count() -> None:
    assert float(cp.ones(4096, dtype=np.float16).sum()) == 4096


def test_running_sums() -> None:
    def run(xp):
        a = xp.array([[1.0, np.nan], [2.0, 3.0]])
        return [
            xp.nancumsum(a),
            xp.nancumprod(a, axis=0),
            xp.cumulative_sum(a[1], include_initial=True),
            xp.cumulative_prod(a, axis=1),
        ]

    same(run)
    out = cp.zeros(3, dtype=np.float32)
    assert cp.cumsum(cp.arange(3), out=out) is out
    with pytest.raises(ValueError, match="required"):
        cp.cumulative_sum(cp.ones((2, 2)))


def test_differences() -> None:
    def run(xp):
        a = xp.array([[1.0, 4, 9, 16], [2, 3, 5, 7]])
        x = xp.array([0.0, 1, 3, 6])
        return [
            xp.diff(a),
            xp.diff(a, 2, axis=-1),
            xp.diff(a, axis=0, prepend=0),
            xp.diff(a > 3),
            xp.ediff1d(a, to_begin=xp.array([0.0])),
            xp.gradient(a[0]),
            *xp.gradient(a),
            *xp.gradient(a, 2.0, x, edge_order=1),
            xp.trapezoid(a, x),
            xp.trapezoid(a, dx=0.5, axis=0),
            xp.unwrap(a * 3),
        ]

    with no_waits():
        run(cp)
    same(run)
    with pytest.raises(ValueError, match="non-negative"):
        cp.diff(cp.ones(3), -1)
    with pytest.raises(ValueError, match="too small"):
        cp.gradient(cp.ones(1))
    with pytest.raises(TypeError):
        cp.ediff1d([1, 2])


def test_rounding() -> None:
    def fix(xp, a):
        return np.trunc(a) if xp is np else cp.fix(a)  # NumPy 2.5 deprecates `fix`

    def run(xp):
        a = xp.array([-2.5, -0.125, 1.675, 1234.5])
        n = xp.array([15, 25, 149])
        return [xp.around(a, 1), a.round(-2), xp.round(n, -1), xp.rint(a), fix(xp, a), xp.trunc(n)]

    same(run)
    assert cp.around(cp.array([True])).dtype == np.float16


def test_clip() -> None:
    def run(xp):
        a = xp.arange(6, dtype=xp.int16)
        return [
            a.clip(1, 4),
            xp.clip(a, None, 3),
            xp.clip(a, xp.array([2] * 6), 4),
            xp.clip(a.astype(xp.float32), 1.5, None),
        ]

    same(run)
    with pytest.raises(TypeError):
        cp.clip(cp.ones(2), 1)


def test_misc_functions() -> None:
    def run(xp):
        a = xp.array([1.0, np.nan, np.inf, -np.inf, 2.0])
        z = xp.array([1 + 1j, -2.0, 3j])
        return [
            xp.nan_to_num(a),
            xp.nan_to_num(a, nan=7.0, posinf=8.0, neginf=-8.0),
            xp.angle(z),
            xp.angle(z, deg=True),
            xp.real(z),
            xp.imag(z),
            xp.convolve(z, a[[0, 4]], "same"),
            xp.convolve(xp.arange(5), xp.arange(3)),
            xp.interp(xp.array([-1.0, 0.5, 9]), xp.arange(4.0), xp.array([0, 1, 4, 9]), left=-5),
            xp.sinc(xp.array([0.0, 0.5])),
            xp.i0(xp.array([0.0, 0.5])),
        ]

    with no_waits():
        run(cp)
    same(run)
    a = cp.array([np.nan, 1.0])
    assert cp.nan_to_num(a, copy=False) is a
    assert a.get().tolist() == [0.0, 1.0]
    assert cp.real_if_close(cp.array([1 + 1e-20j])).dtype == float
    with pytest.raises(ValueError, match="mode"):
        cp.convolve(a, a, "other")
    with pytest.raises(ValueError, match="same length"):
        cp.interp(a, a, cp.ones(3))


@pytest.mark.parametrize("name", ["bartlett", "blackman", "hamming", "hanning"])
def test_windows(name: str) -> None:
    for length in (-1, 0, 1, 2, 7):
        same(lambda xp, length=length: getattr(xp, name)(length), rtol=1e-6)
    same(lambda xp: xp.kaiser(8, 3.5), rtol=1e-6)


def test_bits() -> None:
    def run(xp):
        a = xp.array([1, 0, 3, 0, 0, 1, 1, 0, 1])
        packed = xp.packbits(a, bitorder="little")
        return [packed, xp.unpackbits(packed), xp.bitwise_count(a), xp.gcd(a, 6), xp.lcm(a, 4)]

    same(run)
    with pytest.raises(TypeError):
        cp.packbits(cp.ones(3))
    with pytest.raises(NotImplementedError):
        cp.unpackbits(cp.ones(3, np.uint8), axis=0)
    with pytest.raises(TypeError, match="boolean"):
        cp.gcd(cp.array([True]), cp.array([True]))


def test_functional() -> None:
    def run(xp):
        a = xp.arange(6.0).reshape(2, 3)
        return [
            xp.piecewise(a, [a < 2, a > 3], [-1.0, 1.0, 7.0]),
            xp.apply_along_axis(lambda v: v * v.sum(), 0, a),
            xp.apply_along_axis(lambda v: v.max(), 1, a),
            xp.apply_over_axes(xp.sum, a, [0, 1]),
        ]

    same(run)
    with pytest.raises(NotImplementedError):
        cp.piecewise(cp.ones(2), [cp.array([True, False])], [lambda x: x])


def test_the_sign_of_complex_numbers_is_cupys() -> None:
    a = np.array([0, 3 - 4j, -2, 1j], dtype=np.complex64)
    assert np.allclose(cp.sign(cp.array(a)).get(), np.sign(a))
    assert cp.sign(cp.array(3 + 4j)).item() == 0.6 + 0.8j
    zero = cp.sign(cp.array([complex(-0.0, -0.0)])).get()
    assert not np.signbit(zero.real) and not np.signbit(zero.imag)
    endless = cp.sign(cp.array([complex(np.inf, 1)])).get()
    assert np.isnan(endless.real) and endless.imag == 0  # NumPy has 1
