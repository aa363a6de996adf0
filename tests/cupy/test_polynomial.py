"""Polynomials: coefficients as NumPy has them, waits only where leading zeros decide."""

from __future__ import annotations

import cupy as cp
import numpy as np
import pytest

from tests.cupy.agreement import same
from tests.cupy.waits import no_waits, waits


def test_agrees_with_numpy() -> None:
    def run(xp):
        a, b = xp.asarray([1.0, 2.0, 3.0]), xp.asarray([0.0, 4.0])
        x = xp.arange(6.0)
        return [
            xp.polyadd(a, b),
            xp.polysub(b, a),
            xp.polymul(a, b),
            xp.poly(xp.asarray([1, -2, 3])),
            xp.polyval(a, x),
            xp.polyval(xp.asarray([1, 2]), xp.asarray([[1, 2], [3, 4]], dtype=xp.int8)),
            xp.roots(xp.asarray([0.0, 2.0, -4.0])),
            xp.polynomial.polynomial.polyvander(x, 2),
            xp.polynomial.polynomial.polycompanion(xp.asarray([1.0, 2.0, 3.0])),
            xp.polynomial.polynomial.polyval(x, xp.asarray([1, 2, 3])),
            xp.polynomial.polyutils.trimcoef(xp.asarray([1.0, 0.5, 0.0]), 0.5),
        ]

    same(run)


def test_fit_recovers_the_coefficients() -> None:
    x = np.arange(8.0)
    y = 3 * x**2 - x + 0.5
    fitted = cp.polyfit(cp.asarray(x), cp.asarray(y), 2)
    np.testing.assert_allclose(fitted.get(), [3, -1, 0.5], rtol=1e-9)
    weighted = cp.polyfit(cp.asarray(x), cp.asarray(y), 2, w=cp.ones(8))
    np.testing.assert_allclose(weighted.get(), [3, -1, 0.5], rtol=1e-9)


def test_waits_only_for_leading_zeros() -> None:
    a = cp.asarray([0.0, 1.0, 2.0])
    with no_waits():
        p = cp.poly1d(a)
        q = cp.polyadd(a, a)
        p[0] = 5
        cp.polyval(a, q)
    with waits() as seen:
        assert p.order == 1
        assert p.order == 1
    assert len(seen) == 1


def test_poly1d_counts_as_numpys() -> None:
    p, q = cp.poly1d(cp.asarray([0, 1, 2])), cp.poly1d([3.0, 1.0])
    host_p, host_q = np.poly1d([0, 1, 2]), np.poly1d([3.0, 1.0])
    assert (p * q + p - 2 * q).get() == host_p * host_q + host_p - 2 * host_q
    assert (q**3).get() == host_q**3
    assert p(q).get() == host_p(host_q)
    assert str(p) == str(host_p)
    assert p == cp.poly1d([1, 2])
    assert p != q
    with pytest.raises(TypeError, match="Implicit conversion"):
        np.asarray(p)
    with pytest.raises(NotImplementedError):
        p.deriv()


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: cp.polyadd([1], cp.ones(2)), TypeError),
        (lambda: cp.polyadd(cp.ones((2, 2)), cp.ones(2)), ValueError),
        (lambda: cp.polyval([1, 2], 3), TypeError),
        (lambda: cp.polyval(cp.ones((2, 2)), 3), ValueError),
        (lambda: cp.poly(cp.ones((2, 3))), ValueError),
        (lambda: cp.roots(cp.asarray([True, True])), NotImplementedError),
        (lambda: cp.roots(cp.asarray([1.0, 2.0, 3.0])), NotImplementedError),
        (lambda: cp.polyfit(cp.ones(3), cp.ones(4), 1), TypeError),
        (lambda: cp.polyfit(cp.ones(3), cp.ones(3), -1), ValueError),
        (lambda: cp.polynomial.polynomial.polyvander(cp.ones(3), 1.5), TypeError),
        (lambda: cp.polynomial.polyutils.as_series([cp.ones(0)]), ValueError),
    ],
)
def test_argument_errors_come_at_the_call(call, error) -> None:
    with pytest.raises(error):
        call()
