"""`cupyx.scipy.special`: every function against SciPy, dtypes by CuPy's loops, no waits."""

from __future__ import annotations

import pickle

import cupy as cp
import cupyx
import cupyx.scipy.special as own
import numpy as np
import pytest
import scipy.special as reference

from cupool.proto.operations.api import listing
from tests.cupy.agreement import same
from tests.cupy.waits import no_waits, waits

API = listing()
UFUNCS = sorted(
    n for n in API.members("cupyx.scipy.special") if isinstance(getattr(own, n), cp.ufunc)
)
_COUNTS = {"bdtr": 2, "bdtrc": 2, "bdtri": 2, "nbdtr": 2, "nbdtrc": 2, "nbdtri": 2, "pdtri": 1}


def arguments(name: str, char: str = "d"):
    """Whole numbers where counts are wanted, else values between 0 and 1."""
    ufunc = getattr(own, name)
    counts = _COUNTS.get(name, 1 if name in ("yn", "lpmv", "expn") else 0)
    rng = np.random.default_rng(len(name))
    values = [np.sort(rng.uniform(0.05, 0.95, 7)).astype(char) for _ in range(ufunc.nin)]
    values[:counts] = [np.full(7, 3 + i, np.int64 if char == "d" else char) for i in range(counts)]
    return values


@pytest.mark.parametrize("name", UFUNCS)
@pytest.mark.parametrize("char", ["f", "d"])
def test_ufuncs_agree_with_scipy(name: str, char: str) -> None:
    if char == "f" and (name == "yn" or name in _COUNTS):
        pytest.skip("SciPy warns of counts in floating point; CuPy has no such loop of yn")
    values = arguments(name, char)
    function = getattr(reference, name, None) or getattr(np, name)
    with no_waits():
        got = getattr(own, name)(*(cp.asarray(v) for v in values))
    expected = function(*values)
    for g, e in zip(
        got if isinstance(got, tuple) else (got,),
        expected if isinstance(expected, tuple) else (expected,),
        strict=True,
    ):
        assert g.dtype == e.dtype == char
        np.testing.assert_array_equal(g.get(), e)


@pytest.mark.parametrize("name", UFUNCS)
def test_results_have_the_dtypes_of_the_list(name: str) -> None:
    ufunc = getattr(own, name)
    assert ufunc.types
    for text in ufunc.types:
        ins = text.partition("->")[0]
        arrays = [cp.ones(2, np.dtype(c)) for c in ins]
        made = ufunc(*arrays)
        made = made if isinstance(made, tuple) else (made,)
        first = ufunc._loops.by_inputs(tuple(a.dtype for a in arrays), (None,) * len(ins))
        assert tuple(m.dtype for m in made) == first.outs
    cp.cuda.Device().synchronize()


def test_small_types_are_computed_in_the_precision_of_the_result() -> None:
    x = np.array([0.1, 0.5, 2], np.float16)
    np.testing.assert_array_equal(own.erf(cp.asarray(x)).get(), reference.erf(x.astype("d")))
    k = np.arange(1, 5, dtype=np.int8)
    assert own.gamma(cp.asarray(k)).dtype == np.float64
    np.testing.assert_array_equal(own.gamma(cp.asarray(k)).get(), [1, 1, 2, 6])


def test_exprel_of_complex_numbers() -> None:
    z = np.array([0, 1e-9, 1 + 2j, -3j])
    expected = [1, 1 + 5e-10, np.expm1(1 + 2j) / (1 + 2j), np.expm1(-3j) / -3j]
    np.testing.assert_allclose(own.exprel(cp.asarray(z)).get(), expected, rtol=1e-12)


def test_ufunc_keywords() -> None:
    x = cp.linspace(-1, 1, 5)
    out = cp.zeros(5)
    assert own.erf(x, out=out) is out
    np.testing.assert_array_equal(out.get(), reference.erf(x.get()))
    assert own.erf(x, dtype="f").dtype == np.float32
    single = own.xlogy(np.nan, x.astype("f"))
    assert single.dtype == np.float32
    assert np.isnan(single.get()).all()
    assert np.isnan(own.xlogy(np.nan, x.astype("F")).get()).all()
    out[...] = 7
    own.erf(x, out=out, where=x > 0)
    assert (out.get() == 7).sum() == 3
    with pytest.raises(TypeError, match="Unsupported type"):
        own.erf(np.ones(3))
    with pytest.raises(TypeError, match="Wrong type"):
        own.erf(cp.ones(3, "F"))
    with pytest.raises(ValueError, match="broadcast"):
        own.beta(cp.ones(3), cp.ones(4))


def test_names_and_identity() -> None:
    assert own.psi is own.digamma
    assert own.erf.__module__ == "cupyx.scipy.special"
    assert pickle.loads(pickle.dumps(own.erf)) is own.erf
    assert cupyx.scipy.special is own
    assert set(API.members("cupyx.scipy.special")) <= set(dir(own))


def test_scipy_ufuncs_take_device_arrays() -> None:
    x = cp.linspace(0.1, 0.9, 5)
    got = reference.erfinv(x)
    assert isinstance(got, cp.ndarray)
    np.testing.assert_array_equal(got.get(), reference.erfinv(x.get()))


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1)])
def test_sums_of_exponentials(axis) -> None:
    def run(xp):
        scipy = own if xp is cp else reference
        a = xp.asarray(np.random.default_rng(0).normal(size=(3, 4)) * 10)
        b = xp.asarray([1.0, -2, 0.5, 3])
        return [
            scipy.softmax(a, axis),
            scipy.log_softmax(a, axis),
            scipy.logsumexp(a, axis),
            scipy.logsumexp(a, axis, keepdims=True),
            *scipy.logsumexp(a, axis, b=b, return_sign=True),
            *scipy.logsumexp(a + 1j, axis, b=b, return_sign=True),
        ]

    with no_waits():
        run(cp)
    same(run)


def test_other_functions() -> None:
    def run(xp):
        scipy = own if xp is cp else reference
        z = xp.asarray([0.2, 1.5, 3.0])
        n = xp.asarray([1, 2, 3])
        return [
            scipy.lambertw(z),
            scipy.lambertw(z, -1),
            scipy.polygamma(n, z),
            scipy.polygamma(0, z),
            scipy.spherical_yn(n, z),
            scipy.spherical_yn(n, z, True),
            scipy.sph_harm_y(n, n - 1, z, z / 2),
            scipy.multigammaln(z + 3, 3),
        ]

    same(run)
    with waits() as counted:
        own.multigammaln(cp.ones(3) * 5, 2)
    assert counted == ["fetch"]


def test_deprecated_and_refused() -> None:
    a, x = cp.ones(3), cp.full(3, 0.25)
    with pytest.warns(DeprecationWarning):
        np.testing.assert_allclose(own.btdtr(a, a, x).get(), 0.25)
    with pytest.warns(DeprecationWarning):
        np.testing.assert_allclose(own.btdtri(a, a, x).get(), 0.25)
    with pytest.warns(DeprecationWarning):
        got = own.sph_harm(cp.array([1]), cp.array([2]), x[:1], a[:1])
    np.testing.assert_allclose(got.get(), reference.sph_harm_y(2, 1, 1.0, 0.25)[None])
    with pytest.raises(ValueError, match="condition"):
        own.multigammaln(a, 5)
    with pytest.raises(NotImplementedError):
        own.spherical_yn(1, cp.ones(2, "D"))
    with pytest.raises(NotImplementedError):
        own.sph_harm_y(1, 1, a, a, diff_n=1)


def test_rsqrt() -> None:
    x = cp.array([1, 4, 16], "f")
    with no_waits():
        got = cupyx.rsqrt(x)
    np.testing.assert_array_equal(got.get(), np.array([1, 0.5, 0.25], "f"))
