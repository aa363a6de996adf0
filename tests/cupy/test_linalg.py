"""`cupy.linalg`: values, dtypes and layouts against NumPy; errors; what waits."""

from __future__ import annotations

import cupy as cp
import cupyx
import numpy as np
import pytest

from tests.cupy.agreement import same
from tests.cupy.waits import waits

LinAlgError = np.linalg.LinAlgError
DTYPES = ["i4", "f4", "f8", "c8", "c16"]


def matrices(xp, shape, dtype="f8"):
    """Well-conditioned, reproducible matrices."""
    rng = np.random.default_rng(sum(shape))
    values = rng.normal(size=shape) * 3
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.normal(size=shape)
    if len(shape) > 1 and shape[-1] == shape[-2]:
        values = values + 10 * np.eye(shape[-1])
    return xp.asarray(values.astype(dtype))


def tolerance(dtype: str) -> float:
    return 1e-4 if np.dtype(dtype).char in "fF" else 1e-10


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (0, 0), (0, 2, 2)])
def test_functions_of_square_matrices(dtype: str, shape: tuple[int, ...]) -> None:
    def run(xp):
        a = matrices(xp, shape, dtype)
        results = [xp.linalg.inv(a), xp.linalg.det(a), *xp.linalg.slogdet(a)]
        results += [xp.linalg.matrix_power(a, n) for n in (0, 1, 2, 5)]
        return results

    same(run, rtol=tolerance(dtype) * 1e3)


@pytest.mark.parametrize("dtype", DTYPES)
def test_solve(dtype: str) -> None:
    def run(xp):
        a, stack = matrices(xp, (3, 3), dtype), matrices(xp, (2, 3, 3), dtype)
        vector, columns = matrices(xp, (3,), dtype), matrices(xp, (2, 3, 4), dtype)
        return [
            xp.linalg.solve(a, vector),
            xp.linalg.solve(a, columns[0]),
            xp.linalg.solve(stack, columns),
            xp.linalg.solve(stack, vector),
        ]

    same(run, rtol=tolerance(dtype))


def test_decompositions_give_the_matrix_back() -> None:
    for shape in [(3, 5), (5, 3), (2, 4, 4), (2, 0, 3)]:
        a = matrices(cp, shape)
        u, s, vh = cp.linalg.svd(a, full_matrices=False)
        np.testing.assert_allclose(((u * s[..., None, :]) @ vh).get(), a.get(), atol=1e-12)
        q, r = cp.linalg.qr(a)
        np.testing.assert_allclose((q @ r).get(), a.get(), atol=1e-12)
    a = matrices(cp, (4, 4))
    positive = a @ a.T
    lower = cp.linalg.cholesky(positive)
    np.testing.assert_allclose((lower @ lower.T).get(), positive.get(), atol=1e-10)


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (4, 4), (2, 3, 5), (0, 3)])
def test_shapes_and_dtypes_of_decompositions(shape: tuple[int, ...]) -> None:
    def layout(results):
        parts = results if isinstance(results, tuple) else (results,)
        return [(p.shape, p.dtype) for p in parts]

    for dtype in DTYPES:
        a = matrices(np, shape, dtype)
        for full in (True, False):
            expected = layout(tuple(np.linalg.svd(a, full)))
            assert layout(cp.linalg.svd(cp.asarray(a), full)) == expected
        for mode in ("reduced", "complete", "r", "raw"):
            expected = layout(np.linalg.qr(a, mode))
            got = cp.linalg.qr(cp.asarray(a), mode)
            assert layout(got) == expected, mode
    cp.cuda.Device().synchronize()


def test_eigenvalues() -> None:
    a = matrices(np, (2, 4, 4), "c16")
    hermitian = a + a.conj().swapaxes(-1, -2)
    w, v = cp.linalg.eigh(cp.asarray(hermitian))
    np.testing.assert_allclose(w.get(), np.linalg.eigvalsh(hermitian), rtol=1e-10)
    np.testing.assert_allclose(
        (cp.asarray(hermitian) @ v).get(), (v * w[:, None, :]).get(), atol=1e-10
    )
    w, v = cp.linalg.eig(cp.asarray(a.real))
    assert w.dtype == v.dtype == np.complex128  # always, as cuSOLVER's
    np.testing.assert_allclose((cp.asarray(a.real) @ v).get(), (v * w[:, None, :]).get(), atol=1e-9)
    half = cp.asarray(hermitian.real.astype("f2"))
    assert [x.dtype.char for x in cp.linalg.eigh(half[0])] == ["e", "e"]


@pytest.mark.parametrize("ord", [None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
def test_matrix_norms_and_condition(ord) -> None:
    def run(xp):
        a = matrices(xp, (3, 4, 4), "f4")
        results = [xp.linalg.norm(a, ord, (0, 2)), xp.linalg.norm(a, ord, (2, 1), keepdims=True)]
        return [*results, xp.linalg.norm(a[0], ord), xp.linalg.cond(a, ord)]

    same(run, rtol=1e-3)


@pytest.mark.parametrize("ord", [None, 0, 1, 2, 3.5, np.inf, -np.inf])
def test_vector_norms(ord) -> None:
    def run(xp):
        a = matrices(xp, (3, 4), "c16")
        integers = xp.arange(6).reshape(2, 3)
        return [xp.linalg.norm(x, ord, axis=1) for x in (a, integers)] + [xp.linalg.norm(a[0], ord)]

    same(run)


def test_ranks_and_pseudo_inverses() -> None:
    def run(xp):
        a = matrices(xp, (2, 3, 5))
        low = xp.asarray([[1.0, 2, 3], [2, 4, 6], [0, 0, 1]])
        ranks = [xp.linalg.matrix_rank(x) for x in (a, low, low[0], xp.zeros(3))]
        return [xp.linalg.pinv(a), xp.linalg.pinv(low, 1e-10), *map(xp.asarray, ranks)]

    same(run, rtol=1e-9)


def test_least_squares() -> None:
    for shape, columns in [((6, 3), (6,)), ((6, 3), (6, 2)), ((3, 6), (3, 2)), ((3, 3), (3,))]:
        a, b = matrices(np, shape), matrices(np, columns)
        x, residuals, rank, s = cp.linalg.lstsq(cp.asarray(a), cp.asarray(b))
        expected = np.linalg.lstsq(a, b, rcond=None)
        for got, want in zip((x, residuals, s), (*expected[:2], expected[3]), strict=True):
            np.testing.assert_allclose(got.get(), want, atol=1e-10)
        assert int(rank) == expected[2] and rank.dtype == np.int32


def test_tensor_equations() -> None:
    def run(xp):
        a, b = matrices(xp, (2, 3, 6)), matrices(xp, (2, 3))
        return [
            xp.linalg.tensorsolve(a, b),
            xp.linalg.tensorsolve(a.transpose(1, 0, 2), b.T, axes=None),
            xp.linalg.tensorinv(matrices(xp, (4, 6, 8, 3)), ind=2),
        ]

    same(run, rtol=1e-8)


def test_bad_arguments_are_refused_at_once() -> None:
    square, wide = cp.ones((3, 3)), cp.ones((2, 3))
    with waits() as counted:
        for function in (cp.linalg.inv, cp.linalg.det, cp.linalg.cholesky, cp.linalg.eigh):
            with pytest.raises(LinAlgError, match="square"):
                function(wide)
            with pytest.raises(LinAlgError, match="1-dimensional"):
                function(cp.ones(3))
        with pytest.raises(LinAlgError, match=r"only supports cupy\.ndarray"):
            cp.linalg.inv(np.eye(2))
        with pytest.raises(TypeError, match="float16"):
            cp.linalg.inv(square.astype("f2"))
        with pytest.raises(ValueError, match="one-dimensional b"):
            cp.linalg.solve(square, cp.ones(2))
        with pytest.raises(ValueError, match="UPLO"):
            cp.linalg.eigh(square, "X")
        with pytest.raises(ValueError, match="mode"):
            cp.linalg.qr(square, "full")
        with pytest.raises(ValueError, match="Invalid norm order"):
            cp.linalg.norm(square, 3)
        with pytest.raises(LinAlgError, match="Incompatible"):
            cp.linalg.lstsq(wide, cp.ones(3))
        with pytest.raises(TypeError, match="integer"):
            cp.linalg.matrix_power(square, 1.5)
    assert counted == []


def test_singular_matrices_do_not_raise_unless_asked() -> None:
    singular = cp.ones((2, 2))
    stack = cp.stack([cp.eye(2), singular])
    assert not np.isfinite(cp.linalg.inv(singular).get()).all()
    good, bad = cp.linalg.inv(stack).get()
    np.testing.assert_array_equal(good, np.eye(2))
    assert not np.isfinite(bad).all()
    assert np.isnan(cp.linalg.cholesky(-cp.eye(2)).get()).any()
    with cupyx.errstate(linalg="raise"):
        assert cupyx.geterr()["linalg"] == "raise"
        with pytest.raises(LinAlgError):
            cp.linalg.inv(singular)
        with pytest.raises(LinAlgError):
            cp.linalg.cholesky(-cp.eye(2))
        cp.linalg.inv(cp.eye(2))
    assert cupyx.geterr()["linalg"] == "ignore"
    cp.linalg.inv(singular).get()
    with pytest.raises(NotImplementedError), cupyx.errstate(divide="raise"):
        pass


def test_nothing_waits_but_residuals_of_tall_systems() -> None:
    a, tall = matrices(cp, (3, 3)), matrices(cp, (5, 3))
    with waits() as counted:
        cp.linalg.inv(a)
        cp.linalg.svd(tall)
        cp.linalg.eig(a)
        cp.linalg.cond(a, 1)
        cp.linalg.matrix_rank(tall)
        cp.linalg.lstsq(a, a)
    assert counted == []
    with waits() as counted:
        cp.linalg.lstsq(tall, tall)
    assert len(counted) == 1
