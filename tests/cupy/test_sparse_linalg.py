"""`cupyx.scipy.sparse.linalg`, `cupyx.cusparse`, `cupyx.cusolver`."""

from __future__ import annotations

import cupy
import cupyx.linalg
import numpy as np
import pytest
import scipy.sparse.linalg
from cupyx import cusolver, cusparse
from cupyx.scipy import sparse
from cupyx.scipy.sparse import linalg

from tests.cupy.waits import no_waits, waits

N = 40


def laplacian(dtype=np.float64):
    """Return a positive definite matrix of three diagonals, and the same on the host."""
    host = scipy.sparse.diags([-1.0, 2.5, -1.0], [-1, 0, 1], shape=(N, N)).tocsr().astype(dtype)
    return sparse.csr_matrix(host), host


RIGHT = np.cos(np.arange(N))


@pytest.mark.parametrize("solver", ("cg", "cgs", "bicgstab", "gmres"))
def test_iterations_solve_to_the_tolerance(solver: str) -> None:
    a, host = laplacian()
    seen: list[object] = []
    x, info = getattr(linalg, solver)(a, cupy.asarray(RIGHT), rtol=1e-9, callback=seen.append)
    assert info == 0 and seen
    np.testing.assert_allclose(host @ x.get(), RIGHT, atol=1e-7)
    x, info = getattr(linalg, solver)(a, cupy.asarray(RIGHT), rtol=1e-14, atol=0, maxiter=1)
    assert info >= 1


@pytest.mark.parametrize("dense", (False, True))
def test_lschol_solves_positive_definite_systems(dense: bool) -> None:
    a, host = laplacian(np.float32)
    b = cupy.asarray(RIGHT)
    x = cupyx.linalg.sparse.lschol(a.toarray() if dense else a, b)
    assert x.dtype == np.float64
    np.testing.assert_allclose(host @ x.get(), RIGHT, atol=1e-5)
    with pytest.raises(ValueError, match="1-d"):
        cupyx.linalg.sparse.lschol(a, b[:-1])


def test_cg_waits_once_for_each_iteration() -> None:
    a, _ = laplacian()
    steps: list[object] = []
    with waits() as seen:
        linalg.cg(a, cupy.asarray(RIGHT), callback=steps.append)
    assert len(seen) == len(steps) + 1


def test_minres_lsmr_and_lsqr() -> None:
    a, host = laplacian()
    b = cupy.asarray(RIGHT)
    x, info = linalg.minres(a, b, tol=1e-12)
    assert info == 0
    np.testing.assert_allclose(host @ x.get(), RIGHT, atol=1e-8)
    np.testing.assert_allclose(host @ linalg.lsqr(a, b)[0].get(), RIGHT, atol=1e-10)
    tall = scipy.sparse.random(60, 9, 0.5, random_state=1, format="csr")
    right = np.sin(np.arange(60))
    limits = {"atol": 1e-12, "btol": 1e-12, "maxiter": 50}
    found = linalg.lsmr(sparse.csr_matrix(tall), cupy.asarray(right), **limits)
    theirs = scipy.sparse.linalg.lsmr(tall, right, **limits)
    np.testing.assert_allclose(found[0].get(), theirs[0], rtol=1e-6)
    assert found[1:3] == theirs[1:3]
    np.testing.assert_allclose(found[3:], theirs[3:], rtol=1e-4, atol=1e-8)


def test_direct_solvers() -> None:
    a, host = laplacian()
    b = cupy.asarray(np.stack([RIGHT, RIGHT**2], 1))
    with no_waits():
        x = linalg.spsolve(a, b)
    np.testing.assert_allclose(host @ x.get(), b.get(), atol=1e-10)
    np.testing.assert_allclose(linalg.spsolve(a, b[:, :1]).get(), x[:, :1].get(), atol=1e-10)
    lower = sparse.tril(a).tocsr()
    y = linalg.spsolve_triangular(lower, b)
    np.testing.assert_allclose((lower @ y).get(), b.get(), atol=1e-10)
    factors = linalg.splu(a)
    for trans in ("N", "T", "H"):
        np.testing.assert_allclose(factors.solve(b, trans).get(), x.get(), atol=1e-10)
    z = linalg.spilu(a, fill_factor=1).solve(b)  # three diagonals have no fill
    np.testing.assert_allclose(z.get(), x.get(), atol=1e-10)
    np.testing.assert_allclose(linalg.factorized(a)(b).get(), x.get(), atol=1e-10)
    with pytest.warns(sparse.SparseEfficiencyWarning, match="CSR format is required"):
        linalg.spsolve(a.tocsc(), b)
    with pytest.raises(TypeError, match="A must be"):
        linalg.spsolve(cupy.eye(3), cupy.ones(3))
    with pytest.raises(ValueError, match="dimension mismatch"):
        linalg.spsolve(a, cupy.ones(3))


@pytest.mark.parametrize("which", ("LA", "SA", "LM"))
@pytest.mark.parametrize("dtype", (np.float64, np.complex128))
def test_eigsh_finds_eigenvalues_and_vectors(which: str, dtype: type) -> None:
    a, host = laplacian(dtype)
    values, vectors = linalg.eigsh(a, k=3, which=which, ncv=12)
    wanted = np.linalg.eigvalsh(host.toarray())
    wanted = wanted[:3] if which == "SA" else wanted[-3:]
    np.testing.assert_allclose(values.get(), wanted, rtol=1e-9)
    v = vectors.get()
    np.testing.assert_allclose(host @ v, v * values.get(), atol=1e-7)


def test_svds_and_lobpcg() -> None:
    host = scipy.sparse.random(30, 20, 0.4, random_state=3, format="csr")
    u, s, vt = linalg.svds(sparse.csr_matrix(host), k=4)
    np.testing.assert_allclose(s.get(), np.linalg.svd(host.toarray())[1][:4][::-1], rtol=1e-8)
    np.testing.assert_allclose((u * s @ vt).get() @ vt.T.get(), host @ vt.T.get(), atol=1e-8)
    a, small = laplacian()
    start = cupy.asarray(np.random.default_rng(0).random((N, 3)))
    b = sparse.identity(N, format="csr") * 2
    values, vectors, lambdas, norms = linalg.lobpcg(
        a, start, B=b, maxiter=80, tol=1e-8, retLambdaHistory=True, retResidualNormsHistory=True
    )
    wanted = np.linalg.eigvalsh(small.toarray())[::-1][:3] / 2
    np.testing.assert_allclose(values.get(), wanted, rtol=1e-6)
    np.testing.assert_allclose(small @ vectors.get(), 2 * vectors.get() * values.get(), atol=1e-6)
    assert len(lambdas) == len(norms) and lambdas[0].shape == norms[0].shape == (3,)


def test_operators_combine() -> None:
    a, host = laplacian()
    dense, x = host.toarray(), cupy.asarray(RIGHT)
    first = linalg.aslinearoperator(a)
    twice = linalg.LinearOperator((N, N), matvec=lambda v: 2 * v, rmatvec=lambda v: 2 * v)
    for operator, matrix in (
        (first + twice, dense + 2 * np.eye(N)),
        (first @ twice, 2 * dense),
        (first**2, dense @ dense),
        (3 * first, 3 * dense),
        (-first, -dense),
        (first.H, dense.T),
        ((first * twice).T, 2 * dense.T),
    ):
        np.testing.assert_allclose(operator.matvec(x).get(), matrix @ RIGHT)
        np.testing.assert_allclose(operator.rmatvec(x).get(), matrix.T @ RIGHT)
        np.testing.assert_allclose((operator @ x.reshape(N, 1)).get()[:, 0], matrix @ RIGHT)
    assert "dtype=float64" in repr(first)
    with pytest.raises(ValueError, match="dimension mismatch"):
        first.matvec(cupy.ones(3))


def test_norms_and_powers() -> None:
    a, host = laplacian()
    for order in (None, 1, -1, np.inf, -np.inf, "fro"):
        wanted = scipy.sparse.linalg.norm(host, order)
        np.testing.assert_allclose(float(linalg.norm(a, order)), wanted)
    for order in (None, 0, 1, 3, np.inf):
        # SciPy 1.18 gives a matrix of one column.
        wanted = np.asarray(scipy.sparse.linalg.norm(host, order, axis=1)).ravel()
        np.testing.assert_allclose(linalg.norm(a, order, axis=1).get(), wanted)
    power = linalg.matrix_power(a, 3)
    np.testing.assert_allclose(power.toarray().get(), np.linalg.matrix_power(host.toarray(), 3))
    with pytest.raises(TypeError, match="not sparse"):
        linalg.norm(cupy.eye(2))


def test_cusparse_and_cusolver() -> None:
    a, host = laplacian()
    x = cupy.asarray(RIGHT)
    np.testing.assert_allclose(cusparse.spmv(a, x, alpha=2).get(), 2 * host @ RIGHT)
    total = cusparse.csrgeam2(a, a, 2, -1)
    np.testing.assert_allclose(total.toarray().get(), host.toarray())
    back = cusparse.coo2csr(a.tocoo())
    assert back.indptr.tolist() == host.indptr.tolist()
    kept = cusparse.csr2csr_compress(a, 2.0)
    assert kept.nnz == N
    assert not cusparse.check_availability("csrmv")
    with pytest.raises(RuntimeError, match="csrmv is not available"):
        cusparse.csrmv(a, x)
    with pytest.raises(ValueError, match="is missing"):
        cusparse.csrilu02(sparse.csr_matrix(cupy.array([[0, 1.0], [1, 0]])))
    dense = cupy.asarray(host.toarray())
    for solution in (cusolver.gesv(dense, x), cusolver.gels(dense, x), cusolver.csrlsvqr(a, x)):
        np.testing.assert_allclose(host @ solution.get(), RIGHT, atol=1e-10)
    u, s, v = cusolver.gesvdj(dense[:, :5], full_matrices=False)
    np.testing.assert_allclose((u * s @ v.T).get(), dense[:, :5].get(), atol=1e-10)
    values, _ = cusolver.syevj(dense)
    np.testing.assert_allclose(values.get(), np.linalg.eigvalsh(host.toarray()))
