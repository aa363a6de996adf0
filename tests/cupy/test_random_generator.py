"""`cupy.random.Generator` and the bit generators."""

from __future__ import annotations

import cupy as cp
import numpy as np
import pytest
import scipy.stats as st

from cupool.errors import OperationNotSupported
from tests.cupy.waits import no_waits

SIZE = 4000
KINDS = (cp.random.XORWOW, cp.random.MRG32k3a, cp.random.Philox4x3210)
CONTINUOUS = {
    "beta": ((2.0, 3.0), st.beta(2, 3)),
    "chisquare": ((3.0,), st.chi2(3)),
    "exponential": ((2.0,), st.expon(scale=2)),
    "f": ((5.0, 7.0), st.f(5, 7)),
    "gamma": ((2.0, 1.5), st.gamma(2, scale=1.5)),
    "power": ((2.0,), st.powerlaw(2)),
    "random": ((), st.uniform()),
    "standard_exponential": ((), st.expon()),
    "standard_gamma": ((2.0,), st.gamma(2)),
    "standard_normal": ((), st.norm()),
    "uniform": ((2.0, 5.0), st.uniform(2, 3)),
}
DISCRETE = {
    "binomial": ((10, 0.3), st.binom(10, 0.3)),
    "geometric": ((0.3,), st.geom(0.3)),
    "hypergeometric": ((10, 8, 5), st.hypergeom(18, 10, 5)),
    "integers": ((2, 9), st.randint(2, 9)),
    "logseries": ((0.6,), st.logser(0.6)),
    "poisson": ((3.0,), st.poisson(3)),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_distributions(name: str) -> None:
    parameters, expected = CONTINUOUS[name]
    drawn = getattr(cp.random.default_rng(42), name)(*parameters, size=SIZE)
    assert drawn.dtype == np.float64
    assert st.kstest(drawn.get(), expected.cdf).pvalue > 1e-3


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete_distributions(name: str) -> None:
    parameters, expected = DISCRETE[name]
    drawn = getattr(cp.random.default_rng(42), name)(*parameters, size=SIZE).get()
    assert drawn.dtype == np.int64
    assert abs(drawn.mean() - expected.mean()) < 5 * expected.std() / np.sqrt(SIZE)


@pytest.mark.parametrize("kind", KINDS)
def test_seeds_and_shared_states(kind) -> None:
    first, second = (cp.random.Generator(kind(5)).random(4).get() for _ in range(2))
    assert np.array_equal(first, second)
    bits = kind(5)
    one, two = cp.random.Generator(bits), cp.random.default_rng(bits)
    assert np.array_equal(one.random(2).get(), first[:2])
    assert not np.array_equal(two.random(2).get(), first[:2])  # the state has advanced
    raw = bits.random_raw((2, 2))
    assert raw.dtype == np.int32 and raw.shape == (2, 2)
    assert bits.random_raw(3, output=False) is None
    with pytest.raises(OperationNotSupported, match="state"):
        bits.state()


def test_default_rng_takes_generators_and_seed_sequences() -> None:
    made = cp.random.default_rng(np.random.SeedSequence(3))
    assert cp.random.default_rng(made) is made
    assert isinstance(made.bit_generator, cp.random.XORWOW)
    assert isinstance(made.bit_generator._seed_seq, np.random.SeedSequence)
    with pytest.raises(NotImplementedError):
        cp.random.BitGenerator(1).random_raw()


def test_shapes_dtypes_and_out_do_not_wait() -> None:
    rng = cp.random.default_rng(1)
    out = cp.zeros((2, 3), "f4")
    with no_waits():
        assert rng.random().shape == rng.integers(3).shape == ()
        assert rng.random(3, dtype="f4").dtype == np.float32
        assert rng.random(dtype="f4", out=out) is out
        assert rng.standard_normal((2, 3), "f4", out) is out
        assert rng.integers(0, 5, (2, 2), "u1", endpoint=True).dtype == np.uint8
        assert rng.gamma(cp.ones((3, 1)), cp.ones(2)).shape == (3, 2)
        assert rng.binomial(cp.full(4, 5), 0.5).shape == (4,)
        assert rng.dirichlet(cp.ones(3), 2).shape == (2, 3)
        assert rng.uniform(cp.zeros(2), 1.0, (3, 2), "f4").dtype == np.float32
    assert np.all(out.get() != 0)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda g: g.integers(3, 3), ValueError),
        (lambda g: g.integers(0, 300, dtype="u1"), ValueError),
        (lambda g: g.beta([1], 2), TypeError),
        (lambda g: g.binomial(1, 1), TypeError),
        (lambda g: g.hypergeometric(-1, 1, 1), ValueError),
        (lambda g: g.standard_gamma(None), TypeError),
        (lambda g: g.standard_gamma([1]), ValueError),
        (lambda g: g.standard_normal(dtype="i4"), TypeError),
        (lambda g: g.standard_exponential(method="zig"), NotImplementedError),
        (lambda g: g.random(out=cp.zeros(2, "f4")), TypeError),
        (lambda g: g.random(3, out=cp.zeros(2)), ValueError),
        (lambda g: g.random(out=cp.zeros((4, 4))[::2, ::2]), ValueError),
    ],
)
def test_bad_arguments_are_refused_at_once(call, error) -> None:
    rng = cp.random.default_rng(1)
    with no_waits(), pytest.raises(error):
        call(rng)
