"""`cupyx.scipy.linalg`, `stats`, `cupyx.linalg` and `lapack` against SciPy."""

from __future__ import annotations

import cupy as cp
import cupyx
import cupyx.lapack
import cupyx.scipy.linalg
import cupyx.scipy.stats
import numpy as np
import pytest
import scipy.linalg
import scipy.stats
from numpy.linalg import LinAlgError

from cupool.proto.operations.api import listing
from tests.cupy.agreement import same
from tests.cupy.waits import no_waits, waits


def parts(xp):
    return cupyx.scipy if xp is cp else scipy


def matrix(xp, *shape, dtype="d"):
    rng = np.random.default_rng(sum(shape))
    values = rng.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.normal(size=shape)
    return xp.asarray(values.astype(dtype))


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)])
@pytest.mark.parametrize("dtype", ["f", "d", "F", "D"])
def test_lu(shape, dtype: str) -> None:
    def run(xp):
        linalg = parts(xp).linalg
        a = matrix(xp, *shape, dtype=dtype)
        factors, pivots = linalg.lu_factor(a)
        results = [*linalg.lu(a), *linalg.lu(a, permute_l=True), factors, pivots.astype("i8")]
        if shape[0] == shape[1]:
            b = matrix(xp, shape[0], 2, dtype=dtype)
            results += [linalg.lu_solve((factors, pivots), b, trans) for trans in (0, 1, 2)]
            results.append(linalg.lu_solve((factors, pivots), b[:, 0]))
        return results

    same(run, rtol=1e-4 if dtype in "fF" else 1e-10)
    assert cupyx.scipy.linalg.lu_factor(matrix(cp, *shape))[0].flags.f_contiguous


def test_lu_reports_what_cupy_reports() -> None:
    linalg = cupyx.scipy.linalg
    with waits() as counted:
        factor = linalg.lu_factor(matrix(cp, 3, 3))
    assert counted == ["fetch"]
    with no_waits():
        linalg.lu_solve(factor, cp.ones(3), check_finite=False)
    with pytest.warns(RuntimeWarning, match="Diagonal number 1 is exactly zero"):
        linalg.lu(cp.zeros((2, 2)))
    with pytest.raises(ValueError, match="infs or NaNs"):
        linalg.lu_factor(cp.full((2, 2), np.nan))
    with pytest.raises(ValueError, match="infs or NaNs"):
        linalg.lu_solve(factor, cp.full(3, np.inf))
    with pytest.raises(NotImplementedError, match="float32"):
        linalg.lu(cp.ones((2, 2), "i"))
    with pytest.raises(LinAlgError):
        linalg.lu(cp.ones(3))
    with pytest.raises(ValueError, match="trans"):
        linalg.lu_solve(factor, cp.ones(3), 3)


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("trans", [0, 1, 2, "N", "T", "C"])
def test_solve_triangular(lower: bool, trans) -> None:
    def run(xp):
        solve = parts(xp).linalg.solve_triangular
        a = matrix(xp, 4, 4, dtype="D") + 3 * xp.eye(4)
        b = matrix(xp, 4, 2, dtype="D")
        options = {"trans": trans, "lower": lower}
        return [solve(a, b, **options), solve(a, b[:, 0], unit_diagonal=True, **options)]

    with no_waits():
        run(cp)
    same(run, rtol=1e-10)


def test_stacks_of_triangles() -> None:
    a, b = matrix(cp, 3, 4, 4), matrix(cp, 3, 4)
    got = cupyx.scipy.linalg.solve_triangular(a, b, lower=True)
    for index in range(3):
        expected = scipy.linalg.solve_triangular(a[index].get(), b[index].get(), lower=True)
        np.testing.assert_allclose(got[index].get(), expected)
    for bad in (cp.ones((3, 4, 5)), cp.ones(4)):
        with pytest.raises(ValueError, match="square"):
            cupyx.scipy.linalg.solve_triangular(bad, b)


@pytest.mark.parametrize("dtype", ["i", "f", "d", "D"])
def test_special_matrices(dtype: str) -> None:
    def run(xp):
        linalg = parts(xp).linalg
        c, r = (matrix(xp, n, dtype="D" if dtype == "D" else "d") for n in (4, 5))
        c, r = ((x * 10).astype(dtype) for x in (c, r))
        made = [linalg.toeplitz(c), linalg.toeplitz(c, r), linalg.hankel(c), linalg.hankel(c, r)]
        made += [linalg.circulant(c), linalg.leslie(r, c), linalg.block_diag(c, r[:, None], c)]
        made += [linalg.companion(r.astype("D" if dtype == "D" else "d"))]
        made += [linalg.convolution_matrix(c, n, m) for n in (3, 6) for m in ("full", "same")]
        if dtype != "D":
            made += [linalg.fiedler(c), linalg.fiedler_companion(r.astype("d"))]
        return [*made, linalg.convolution_matrix(c, 3, "valid")]

    with no_waits():
        run(cp)
    same(run)


def test_matrices_of_a_size() -> None:
    def run(xp):
        linalg = parts(xp).linalg
        made = [linalg.hadamard(4), linalg.hadamard(8, "f"), linalg.hilbert(5), linalg.dft(5)]
        made += [linalg.helmert(4), linalg.helmert(4, full=True), linalg.dft(4, "sqrtn")]
        return [*made, linalg.dft(4, "n")]

    same(run, rtol=1e-14)
    for call in (
        lambda x: x.hadamard(3),
        lambda x: x.dft(3, "m"),
        lambda x: x.leslie(cp.ones(3), cp.ones(3)),
        lambda x: x.companion(cp.ones(1)),
        lambda x: x.convolution_matrix(cp.ones(3), 0),
        lambda x: x.block_diag(cp.ones((2, 2, 2))),
        lambda x: x.khatri_rao(cp.ones((2, 2)), cp.ones((2, 3))),
        lambda x: x.expm(cp.ones((2, 3))),
    ):
        with no_waits(), pytest.raises(ValueError, match=r"\w"):
            call(cupyx.scipy.linalg)


def test_functions_of_matrices() -> None:
    def run(xp):
        linalg = parts(xp).linalg
        a, b = matrix(xp, 3, 3), matrix(xp, 2, 3)
        return [linalg.khatri_rao(a, b), linalg.expm(a), linalg.expm(matrix(xp, 4, 4, dtype="D"))]

    with no_waits():
        run(cp)
    same(run, rtol=1e-11)
    band = np.triu(np.tril(np.ones((5, 6)), 2), -1)
    assert cupyx.scipy.linalg.bandwidth(cp.asarray(band)) == (1, 2)
    with pytest.warns(DeprecationWarning, match="kron"):
        got = cupyx.scipy.linalg.kron(cp.ones((2, 2)), cp.eye(2))
    np.testing.assert_array_equal(got.get(), np.kron(np.ones((2, 2)), np.eye(2)))


@pytest.mark.parametrize("shape", [(5, 5), (3, 4, 4)])
def test_cholesky_solvers(shape) -> None:
    a = matrix(cp, *shape, dtype="D")
    a = a @ a.swapaxes(-1, -2).conj() + shape[-1] * cp.eye(shape[-1])
    b = matrix(cp, *shape[:-1], 2, dtype="D")
    expected = np.linalg.solve(a.get(), b.get())
    np.testing.assert_allclose(cupyx.lapack.posv(a, b).get(), expected)
    lower = cp.linalg.cholesky(a)
    np.testing.assert_allclose(cupyx.linalg.cho_solve((lower, True), b).get(), expected)
    upper = lower.swapaxes(-1, -2).conj()
    np.testing.assert_allclose(cupyx.linalg.cho_solve((upper, False), b).get(), expected)
    with pytest.raises(ValueError, match="NaN"):
        cupyx.linalg.cho_solve((lower, True), b * np.nan)


def test_lapack() -> None:
    a = matrix(cp, 3, 3)
    np.testing.assert_allclose(cupyx.linalg.invh(a @ a.T).get(), np.linalg.inv((a @ a.T).get()))
    b = cp.asfortranarray(matrix(cp, 3, 2))
    expected = np.linalg.solve(a.get(), b.get())
    least = cupyx.lapack.gels(a, b)
    cupyx.lapack.gesv(a, b)
    np.testing.assert_allclose(b.get(), expected)
    np.testing.assert_allclose(least.get(), expected)
    with cupyx.errstate(linalg="raise"), pytest.raises(LinAlgError):
        cupyx.linalg.invh(-cp.eye(3))
    with pytest.raises(TypeError):
        cupyx.lapack.gesv(a, b.astype("f"))


@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_statistics(axis) -> None:
    def run(xp):
        stats = parts(xp).stats
        a = xp.abs(matrix(xp, 4, 6)) + 0.1
        p = a / a.sum(axis=axis, keepdims=True)
        q = xp.ones((4, 6))
        made = [stats.zscore(a, axis), stats.zmap(a * 2, a, axis, 1), stats.entropy(a, axis=axis)]
        made += [stats.entropy(p, q, 2, axis), stats.trim_mean(a, 0.2, axis)]
        return [*made, stats.boxcox_llf(0.5, a), stats.boxcox_llf(0, a[:, 0])]

    with no_waits():
        run(cp)
    same(run, rtol=1e-10)


def test_statistics_of_special_values() -> None:
    stats = cupyx.scipy.stats
    assert np.isnan(stats.zscore(cp.ones(3)).get()).all()
    a = cp.array([1.0, np.nan, 3.0])
    np.testing.assert_allclose(stats.zscore(a, nan_policy="omit").get(), [-1, np.nan, 1])
    with pytest.raises(ValueError, match="nan"):
        stats.zscore(a, nan_policy="raise")
    with pytest.raises(ValueError, match="nan_policy"):
        stats.zscore(a, nan_policy="drop")
    with pytest.raises(ValueError, match="too big"):
        stats.trim_mean(a, 0.7)
    with pytest.raises(TypeError, match="complex"):
        stats.entropy(a + 1j)
    assert stats.zscore(cp.arange(4)).dtype == np.float64


def test_backend_of_scipy_linalg() -> None:
    linalg = cupyx.scipy.linalg
    a = matrix(cp, 3, 3)
    marked = type("Marked", (), {"value": a, "type": np.ndarray, "coercible": True})
    assert linalg.__ua_domain__ == "numpy.scipy.linalg"
    assert linalg.__ua_convert__([marked], False) == [a]
    got = linalg.__ua_function__(scipy.linalg.det, (a,), {})
    np.testing.assert_allclose(got.get(), np.linalg.det(a.get()))
    assert linalg.__ua_function__(scipy.linalg.schur, (a,), {}) is NotImplemented


def test_every_name_is_there() -> None:
    for module in ("scipy.linalg", "scipy.stats", "linalg", "lapack", "profiler", "optimizing"):
        home = cupyx
        for part in module.split("."):
            home = getattr(home, part)
        assert set(listing().members(f"cupyx.{module}")) <= set(dir(home))
