"""`cupyx.scipy.sparse`: sums, products, comparisons, reductions, and how often they wait."""

from __future__ import annotations

import warnings

import cupy
import numpy as np
import pytest
import scipy.sparse
from cupyx.scipy import sparse

from tests.cupy.waits import no_waits, waits

A = np.array([[0, 4.0, -1, 0], [2, 0, 0, 0], [0, 3, 5, 0]])
B = np.array([[1.0, 4, 0, 0], [0, 0, 0, 2], [0, -3, 6, 0]])
FORMATS = ("csr", "csc", "coo")


def made(dense: np.ndarray, fmt: str = "csr"):
    return sparse.csr_matrix(cupy.asarray(dense)).asformat(fmt)


def check(actual, expected) -> None:
    dense = actual.toarray() if sparse.issparse(actual) else actual
    np.testing.assert_allclose(dense.get(), np.asarray(expected))


def quietly(run):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sparse.SparseEfficiencyWarning)
        return run()


@pytest.mark.parametrize("left", FORMATS)
@pytest.mark.parametrize("right", FORMATS)
def test_sums_and_products_of_all_formats(left: str, right: str) -> None:
    a, b = made(A, left), made(B, right)
    check(a + b, A + B)
    check(a - b, A - B)
    check(a @ b.T, A @ B.T)
    check(a.multiply(b), A * B)
    check(a.maximum(b), np.maximum(A, B))
    check(a.minimum(b), np.minimum(A, B))
    check(a != b, A != B)
    check(a > b, A > B)
    check(quietly(lambda: a <= b), A <= B)


@pytest.mark.parametrize("fmt", ("csr", "csc"))
def test_results_whose_structure_is_known_do_not_wait(fmt: str) -> None:
    a = made(A, fmt)
    x, y = cupy.arange(4.0), cupy.arange(8.0).reshape(4, 2)
    with no_waits():
        results = [a @ x, a @ y, a.T @ cupy.ones(3), a * 2, -a, abs(a), a.sum(axis=0), a.sum()]
        results += [a.toarray(), a.diagonal(), a.tocsc(), a.tocsr(), a.mean(axis=1), a.power(2)]
        results += [a.astype(np.complex64).conj(), a.T, cupy.ones(3) @ a]
    wanted = [A @ x.get(), A @ y.get(), A.sum(0), 2 * A, -A, abs(A), A.sum(0, keepdims=True)]
    wanted += [A.sum(), A, A.diagonal(), A, A, A.mean(1, keepdims=True), A**2, A, A.T, A.sum(0)]
    for result, expected in zip(results, wanted, strict=True):
        check(result, expected)
    assert results[1].flags.f_contiguous


@pytest.mark.parametrize(
    "run",
    [
        lambda a, b: a + b,
        lambda a, b: a @ b.T,
        lambda a, b: a.multiply(b),
        lambda a, b: a.maximum(b),
        lambda a, b: a != b,
        lambda a, b: sparse.csr_matrix(a.toarray()),
        lambda a, b: a.tocoo().T.tocsr(),
        lambda a, b: a.eliminate_zeros(),
        lambda a, b: a.max(axis=0),
        lambda a, b: sparse.triu(a),
    ],
)
def test_a_result_of_unknown_structure_waits_once(run) -> None:
    a, b = made(A), made(B)
    with waits() as seen:
        run(a, b)
    assert len(seen) == 1


def test_broadcasting_and_dense_operands() -> None:
    a, row, column = made(A), B[:1], B[:, :1]
    for other in (row, column, B):
        check(a.multiply(cupy.asarray(other)), A * other)
        check(a.multiply(made(other)), A * other)
        check(made(other).multiply(cupy.asarray(A)), A * other)
        check(a + cupy.asarray(B), A + B)
    check(a / 2, A / 2)
    check(a / cupy.asarray(B + 9), A / (B + 9))
    check(a.multiply(3), 3 * A)
    with pytest.raises(ValueError, match="inconsistent shape"):
        a.multiply(made(B[:2]))
    with pytest.raises(ValueError, match="inconsistent shapes"):
        a + made(B[:2])
    with pytest.raises(ValueError, match="mismatch"):
        a @ cupy.ones(3)
    with pytest.raises(NotImplementedError):
        a + 1
    with pytest.raises(ValueError, match="Scalar operands"):
        a @ 2


def test_scalars_compare_sparsely_where_zeros_do_not_count() -> None:
    a = made(A)
    check(a > 1, A > 1)
    check(a != 0, A != 0)
    with pytest.warns(sparse.SparseEfficiencyWarning, match="Try using"):
        check(a < 1, A < 1)
    check(quietly(lambda: a != float("nan")), np.ones(A.shape))


def test_matrices_multiply_and_arrays_multiply_element_by_element() -> None:
    matrix, array = made(A[:, :3]), sparse.csr_array(cupy.asarray(A[:, :3]))
    check(matrix * matrix, A[:, :3] @ A[:, :3])
    check(array * array, A[:, :3] ** 2)
    check(matrix**3, np.linalg.matrix_power(A[:, :3], 3))
    check(array**2, A[:, :3] ** 2)
    assert array.sum(axis=0).shape == (3,) and matrix.sum(axis=0).shape == (1, 3)
    assert isinstance(array + array, sparse.csr_array)


@pytest.mark.parametrize("name", ("max", "min"))
@pytest.mark.parametrize("fmt", ("csr", "csc"))
def test_extremes_count_what_is_not_stored(name: str, fmt: str) -> None:
    a, host = made(A, fmt), scipy.sparse.csr_matrix(A).asformat(fmt)
    for axis in (0, 1):
        check(getattr(a, name)(axis=axis), getattr(A, name)(axis, keepdims=True))
        check(getattr(a, f"arg{name}")(axis=axis), getattr(host, f"arg{name}")(axis=axis))
    assert float(getattr(a, name)()) == getattr(A, name)()
    assert int(getattr(a, f"arg{name}")()) == getattr(host, f"arg{name}")()
    with pytest.raises(ValueError, match="out"):
        getattr(a, name)(out=cupy.zeros(3))


def test_truth_values_and_complex_numbers() -> None:
    truth = made(A != 0)
    assert truth.dtype == bool and int(truth.sum()) == 5
    check(truth.sum(axis=1), (A != 0).sum(1, keepdims=True))
    z = made(A * (1 + 2j))
    check(z.conj(), A * (1 - 2j))
    check(z.real, A)
    check(z @ z.T.conj(), A @ A.T * 5)
    assert (z * np.float32(2)).dtype == np.complex128
    with pytest.raises(NotImplementedError, match="boolean"):
        _ = -truth


def test_construction_of_the_usual_matrices() -> None:
    host = scipy.sparse
    a, b = host.coo_matrix(A), host.coo_matrix(B)
    for ours, theirs in (
        (sparse.eye(4, k=1, format="csr"), host.eye(4, k=1)),
        (sparse.identity(3, format="coo"), host.identity(3)),
        (
            sparse.diags([cupy.ones(3), cupy.arange(4.0)], [-1, 0]),
            host.diags([np.ones(3), np.arange(4.0)], [-1, 0]),
        ),
        (sparse.kron(made(A), made(B)), host.kron(a, b)),
        (
            sparse.kronsum(made(A[:, :3]), made(B[:, :3])),
            host.kronsum(host.coo_matrix(A[:, :3]), host.coo_matrix(B[:, :3])),
        ),
        (sparse.vstack([made(A), made(B)]), host.vstack([a, b])),
        (sparse.hstack([made(A, "csc"), made(B, "csc")]), host.hstack([a, b])),
        (
            sparse.bmat([[made(A), None], [None, made(B, "coo")]]),
            host.bmat([[a, None], [None, b]]),
        ),
        (sparse.block_diag([made(A), cupy.asarray(B)]), host.block_diag([a, b])),
        (sparse.tril(made(A)), host.tril(a)),
        (sparse.triu(made(A), k=1), host.triu(a, k=1)),
    ):
        check(ours, theirs.toarray())
    row, col, value = sparse.find(made(A, "csc"))
    assert [row.tolist(), col.tolist()] == [a.tolist() for a in np.nonzero(A)]
    assert value.tolist() == A[A != 0].tolist()
    drawn = sparse.random(20, 30, density=0.1, format="csr", random_state=0)
    assert drawn.nnz == 60 and drawn.dtype == np.float64
    with pytest.raises(ValueError, match="incompatible row dimensions"):
        sparse.bmat([[made(A), made(B[:2])]])


def test_what_cupy_refuses() -> None:
    for name in ("todia", "tolil", "todok", "tobsr"):
        with pytest.raises(NotImplementedError):
            getattr(made(A), name)()
    with pytest.raises(TypeError, match="cannot instantiate"):
        sparse.spmatrix(1)
    with pytest.raises(RuntimeError, match="pylibcugraph is not available"):
        from cupyx.scipy.sparse import csgraph

        csgraph.connected_components(made(A[:, :3]))
