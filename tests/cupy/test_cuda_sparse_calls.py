"""Sparse matrices as the CUDA device does them, with the shim in the place of CuPy: values agree
with SciPy's only if what it calls means the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy as cp
import numpy as np
import pytest
import scipy.sparse

from cupool.pool_server.devices.cuda_sparse import SparseOperations

TYPES = ["f", "d", "F", "D"]


@pytest.fixture(scope="module")
def table() -> dict[str, Callable[..., Any]]:
    return SparseOperations(cp).table()


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def drawn(rng: np.random.Generator, shape: tuple[int, int], dtype: str) -> Any:
    made = rng.standard_normal(shape)
    if dtype in "FD":
        made = made + 1j * rng.standard_normal(shape)
    return (made * (rng.random(shape) < 0.4)).astype(dtype)


def parts(a: Any) -> tuple[Any, Any, Any]:
    made = scipy.sparse.csr_array(a)
    return cp.asarray(made.data), cp.asarray(made.indices), cp.asarray(made.indptr)


def whole(made: Any, shape: tuple[int, int]) -> Any:
    host = tuple(one.get() for one in made)
    return scipy.sparse.csr_array(host, shape=shape).toarray()


def close(a: Any, b: Any) -> None:
    tolerance = 2e-4 if np.asarray(a).dtype.char in "fF" else 1e-10
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("alpha", "beta"), [(1, 1), (1, -1), (-1, 1), (2, -3), (0.5, 1)])
def test_sums_have_their_factors(
    dtype: str, alpha: float, beta: float, table: Any, rng: Any
) -> None:
    a, b = drawn(rng, (5, 4), dtype), drawn(rng, (5, 4), dtype)
    made = table["sparse.add"](parts(a), alpha, parts(b), beta, (5, 4))
    assert made[0].dtype == dtype
    close(whole(made, (5, 4)), alpha * a + beta * b)


def test_complex_factors(table: Any, rng: Any) -> None:
    a, b = drawn(rng, (5, 4), "D"), drawn(rng, (5, 4), "D")
    made = table["sparse.add"](parts(a), 2j, parts(b), 1 - 1j, (5, 4))
    close(whole(made, (5, 4)), 2j * a + (1 - 1j) * b)


@pytest.mark.parametrize("dtype", TYPES)
def test_products(dtype: str, table: Any, rng: Any) -> None:
    a, b, x = drawn(rng, (5, 4), dtype), drawn(rng, (4, 6), dtype), drawn(rng, (5, 2), dtype)
    made = table["sparse.matmul"](parts(a), (5, 4), parts(b), (4, 6))
    close(whole(made, (5, 6)), a @ b)
    product = table["sparse.matmul_dense"]
    close(product(parts(a), (5, 4), cp.asarray(b), False).get(), a @ b)
    close(product(parts(a), (5, 4), cp.asarray(x), True).get(), a.T @ x)
    close(product(parts(a), (5, 4), cp.asarray(x[:, 0]), True).get(), a.T @ x[:, 0])


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("trans", ["N", "T", "H"])
@pytest.mark.parametrize(("lower", "unit"), [(True, False), (False, True)])
def test_triangular_systems(
    dtype: str, trans: str, lower: bool, unit: bool, table: Any, rng: Any
) -> None:
    a = drawn(rng, (5, 5), dtype)
    np.fill_diagonal(a, 3)
    b = drawn(rng, (5, 2), dtype)
    x = table["sparse.solve_triangular"](parts(a), cp.asarray(b), lower, unit, trans)
    triangle = np.tril(a) if lower else np.triu(a)
    if unit:
        np.fill_diagonal(triangle, 1)
    close({"N": triangle, "T": triangle.T, "H": triangle.conj().T}[trans] @ x.get(), b)


@pytest.mark.parametrize("dtype", TYPES)
def test_formats(dtype: str, table: Any, rng: Any) -> None:
    a = drawn(rng, (5, 4), dtype)
    close(table["sparse.to_dense"](parts(a), (5, 4)).get(), a)
    close(whole(table["sparse.from_dense"](cp.asarray(a), np.int32), (5, 4)), a)
    close(whole(table["sparse.transpose"](parts(a), 4), (4, 5)), a.T)
    coordinates = scipy.sparse.coo_array(a)
    rows = table["sparse.expand"](parts(a)[2], coordinates.nnz)
    np.testing.assert_array_equal(rows.get(), coordinates.row)
    offsets = table["sparse.condense"](rows, 5)
    np.testing.assert_array_equal(offsets.get(), scipy.sparse.csr_array(a).indptr)
    close(table["sparse.diagonal"](parts(a), (5, 4), 1).get(), a.diagonal(1))
