"""`cupy.random`, the functions and `RandomState`: distributions, seeds, refusals, no waits."""

from __future__ import annotations

import cupy as cp
import numpy as np
import pytest
import scipy.stats as st

from tests.cupy.waits import no_waits, waits

SIZE = 4000
CONTINUOUS = {
    "beta": ((2.0, 3.0), st.beta(2, 3)),
    "chisquare": ((3.0,), st.chi2(3)),
    "exponential": ((2.0,), st.expon(scale=2)),
    "f": ((5.0, 7.0), st.f(5, 7)),
    "gamma": ((2.0, 1.5), st.gamma(2, scale=1.5)),
    "gumbel": ((1.0, 2.0), st.gumbel_r(1, 2)),
    "laplace": ((1.0, 2.0), st.laplace(1, 2)),
    "logistic": ((1.0, 2.0), st.logistic(1, 2)),
    "lognormal": ((0.5, 0.5), st.lognorm(0.5, scale=np.exp(0.5))),
    "noncentral_chisquare": ((3.0, 2.0), st.ncx2(3, 2)),
    "noncentral_f": ((5.0, 7.0, 2.0), st.ncf(5, 7, 2)),
    "normal": ((1.0, 2.0), st.norm(1, 2)),
    "pareto": ((3.0,), st.lomax(3)),
    "power": ((2.0,), st.powerlaw(2)),
    "rayleigh": ((2.0,), st.rayleigh(scale=2)),
    "standard_cauchy": ((), st.cauchy()),
    "standard_exponential": ((), st.expon()),
    "standard_gamma": ((2.0,), st.gamma(2)),
    "standard_normal": ((), st.norm()),
    "standard_t": ((5.0,), st.t(5)),
    "triangular": ((0.0, 1.0, 4.0), st.triang(0.25, 0, 4)),
    "uniform": ((2.0, 5.0), st.uniform(2, 3)),
    "vonmises": ((0.5, 2.0), st.vonmises(2, loc=0.5)),
    "wald": ((1.0, 2.0), st.invgauss(0.5, scale=2)),
    "weibull": ((2.0,), st.weibull_min(2)),
    "random_sample": ((), st.uniform()),
}
DISCRETE = {
    "binomial": ((10, 0.3), st.binom(10, 0.3)),
    "geometric": ((0.3,), st.geom(0.3)),
    "hypergeometric": ((10, 8, 5), st.hypergeom(18, 10, 5)),
    "logseries": ((0.6,), st.logser(0.6)),
    "negative_binomial": ((4, 0.4), st.nbinom(4, 0.4)),
    "poisson": ((3.0,), st.poisson(3)),
    "zipf": ((5.0,), st.zipf(5)),
    "randint": ((2, 9), st.randint(2, 9)),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_distributions(name: str) -> None:
    parameters, expected = CONTINUOUS[name]
    cp.random.seed(1234)
    drawn = getattr(cp.random, name)(*parameters, size=SIZE)
    assert drawn.shape == (SIZE,) and drawn.dtype == np.float64
    assert st.kstest(drawn.get(), expected.cdf).pvalue > 1e-3
    assert getattr(cp.random, name)(*parameters, size=(2, 1), dtype="f4").get().dtype == "f4"


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete_distributions(name: str) -> None:
    parameters, expected = DISCRETE[name]
    cp.random.seed(1234)
    drawn = getattr(cp.random, name)(*parameters, size=SIZE).get()
    assert drawn.dtype == np.int64
    error = 5 * expected.std() / np.sqrt(SIZE)
    assert abs(drawn.mean() - expected.mean()) < error
    values, counts = np.unique(drawn, return_counts=True)
    chance = expected.pmf(values)
    common = chance * SIZE > 20
    scale = np.sqrt(SIZE * chance[common])
    assert np.all(np.abs(counts[common] - SIZE * chance[common]) < 5 * scale)
    assert getattr(cp.random, name)(*parameters, size=3, dtype="i4").dtype == np.int32


def test_shapes_follow_size_or_parameters() -> None:
    column = cp.ones((3, 1))
    with no_waits():
        assert cp.random.normal().shape == cp.random.randint(5).shape == ()
        assert cp.random.gamma(column, cp.ones(4)).shape == (3, 4)
        assert cp.random.beta(column, [1, 2], size=(5, 3, 2)).shape == (5, 3, 2)
        assert cp.random.rand(2, 3, dtype="f4").dtype == np.float32
        assert cp.random.randn(2, 0).shape == (2, 0)
        assert cp.random.dirichlet([1, 2, 3], (2, 2)).shape == (2, 2, 3)
        assert cp.random.randint(cp.zeros((2, 1), int), cp.full(3, 9)).shape == (2, 3)
        assert cp.random.multivariate_normal([0, 0], [[1, 0], [0, 1]], 5).shape == (5, 2)
        assert cp.random.multinomial(6, [0.5, 0.5], (2, 3)).shape == (2, 3, 2)
        assert cp.random.permutation(4).dtype == np.int64
        assert cp.random.choice(cp.arange(4.0), (2, 2)).dtype == np.float64
        assert cp.random.random_integers(3, size=2).shape == (2,)
        with pytest.raises(ValueError, match="broadcast"):
            cp.random.gamma(column, size=(2, 2))
    cp.cuda.Device().synchronize()


def test_seeds_make_draws_repeat() -> None:
    def draws(state):
        return [state.rand(3).get(), state.randint(0, 1000, 3).get(), state.permutation(9).get()]

    first, second, other = (cp.random.RandomState(n) for n in (7, 7, 8))
    one, two, three = draws(first), draws(second), draws(other)
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
    assert not any(np.array_equal(a, b) for a, b in zip(one, three, strict=True))
    first.seed(7)
    assert np.array_equal(first.rand(3).get(), one[0])
    cp.random.seed(np.array([1, 2]))
    again = cp.random.rand(2).get()
    cp.random.seed(np.array([1, 2]))
    assert np.array_equal(again, cp.random.rand(2).get())


def test_the_state_of_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    old = cp.random.get_random_state()
    try:
        mine = cp.random.RandomState(3)
        cp.random.set_random_state(mine)
        assert cp.random.get_random_state() is mine
        monkeypatch.setenv("CUPY_SEED", "5")
        cp.random.reset_states()
        one = cp.random.rand(2).get()
        cp.random.reset_states()
        assert np.array_equal(one, cp.random.rand(2).get())
        with pytest.raises(TypeError, match="RandomState"):
            cp.random.set_random_state(np.random.RandomState())
    finally:
        cp.random.set_random_state(old)


def test_samples_and_permutations() -> None:
    cp.random.seed(0)
    a = cp.arange(12.0).reshape(6, 2)
    shuffled = a.copy()
    cp.random.shuffle(shuffled)
    assert sorted(map(tuple, shuffled.get())) == sorted(map(tuple, a.get()))
    assert not np.array_equal(shuffled.get(), a.get())
    assert sorted(map(tuple, cp.random.permutation(a).get())) == sorted(map(tuple, a.get()))
    assert sorted(cp.random.permutation(9).get()) == list(range(9))
    assert len(set(cp.random.choice(10, 10, replace=False).get())) == 10
    picked = cp.random.choice(cp.asarray([5, 7, 9]), SIZE, p=[0.7, 0.3, 0.0]).get()
    assert set(picked) == {5, 7} and abs((picked == 5).mean() - 0.7) < 0.04
    counts = cp.random.multinomial(SIZE, [0.2, 0.3, 0.5], 2).get()
    assert counts.sum(axis=1).tolist() == [SIZE, SIZE]
    assert np.all(np.abs(counts / SIZE - [0.2, 0.3, 0.5]) < 0.04)
    assert 0 <= int(cp.random.get_random_state().tomaxint()) < 1 << 63
    assert len(cp.random.bytes(5)) == 5


@pytest.mark.parametrize("method", ["cholesky", "eigh", "svd"])
def test_multivariate_normal(method: str) -> None:
    cp.random.seed(2)
    cov = [[2.0, 0.8], [0.8, 1.0]]
    drawn = cp.random.multivariate_normal([1, -1], cov, SIZE, method=method).get()
    assert np.abs(drawn.mean(axis=0) - [1, -1]).max() < 0.15
    assert np.abs(np.cov(drawn.T) - cov).max() < 0.2
    bad = [[1.0, 2.0], [2.0, 1.0]]
    with pytest.warns(RuntimeWarning, match="positive-semidefinite"):
        cp.random.multivariate_normal([0, 0], bad, check_valid="warn", method=method)
    if method == "cholesky":
        with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
            cp.random.multivariate_normal([0, 0], bad, check_valid="raise")


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda r: r.exponential(-1.0), ValueError),
        (lambda r: r.noncentral_chisquare(1.0, [-1.0, 2.0]), ValueError),
        (lambda r: r.triangular(3, 2, 1), ValueError),
        (lambda r: r.zipf(1.0), ValueError),
        (lambda r: r.logseries(1.0), ValueError),
        (lambda r: r.hypergeometric(-1, 2, 3), ValueError),
        (lambda r: r.normal(dtype="f2"), TypeError),
        (lambda r: r.rand(2, size=3), TypeError),
        (lambda r: r.randint(3, 3), ValueError),
        (lambda r: r.randint(0, 300, dtype="u1"), ValueError),
        (lambda r: r.randint(-1, 3, dtype="u1"), ValueError),
        (lambda r: r.random_sample(-1), ValueError),
        (lambda r: r.random_sample(1.5), TypeError),
        (lambda r: r.choice(3), NotImplementedError),
        (lambda r: r.choice(-1, 3), ValueError),
        (lambda r: r.choice(3, 4, replace=False), ValueError),
        (lambda r: r.choice(3, 4, p=[0.5, 0.5, 0.5]), ValueError),
        (lambda r: r.choice(3, 4, p=[0.5, 0.5]), ValueError),
        (lambda r: r.shuffle([1, 2]), TypeError),
        (lambda r: r.shuffle(cp.ones(())), TypeError),
        (lambda r: r.seed(1.5), TypeError),
        (lambda r: r.seed(-1), ValueError),
        (lambda r: cp.random.RandomState(0, method=7), ValueError),
    ],
)
def test_bad_arguments_are_refused_at_once(call, error) -> None:
    state = cp.random.get_random_state()
    with waits() as counted, pytest.raises(error):
        call(state)
    assert counted == []


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda r: r.exponential(cp.asarray([-1.0])), "scale < 0"),
        (lambda r: r.logseries(cp.zeros(2)), "p <= 0"),
        (lambda r: r.triangular(0, cp.asarray(2.0), 1), "mode > right"),
        (lambda r: r.choice(2, 4, p=cp.asarray([0.5, 0.6])), "do not sum to 1"),
    ],
)
def test_bad_values_on_the_device_are_refused_where_cupy_waits_for_them(draw, message) -> None:
    with pytest.raises(ValueError, match=message):
        draw(cp.random.get_random_state())


def test_only_parameters_on_the_device_cost_a_wait() -> None:
    state = cp.random.get_random_state()
    with no_waits():
        state.exponential([1.0, 2.0])
        state.choice(2, 4, p=[0.5, 0.5])
        state.normal(cp.zeros(2), cp.ones(2))
    with waits() as counted:
        state.exponential(cp.ones(2))
    assert len(counted) == 1
