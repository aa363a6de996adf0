"""`cupyx.scipy.sparse`: formats, conversions, indexing, and how often they wait."""

from __future__ import annotations

import pickle
import warnings

import cupy
import numpy as np
import pytest
import scipy.sparse
from cupyx.scipy import sparse

from tests.cupy.waits import no_waits, waits

DENSE = np.array([[0, 4.0, 1, 0], [2, 0, 0, 0], [0, 3, 5, -1]])
FORMATS = ("csr", "csc", "coo")


def made(fmt: str = "csr", dense: np.ndarray = DENSE):
    return sparse.csr_matrix(cupy.asarray(dense)).asformat(fmt)


def check(actual, expected) -> None:
    dense = actual.toarray() if sparse.issparse(actual) else actual
    np.testing.assert_allclose(dense.get(), expected)


@pytest.mark.parametrize("source", [*FORMATS, "dia"])
@pytest.mark.parametrize("target", FORMATS)
def test_every_format_converts_to_every_other(source: str, target: str) -> None:
    host = scipy.sparse.csr_matrix(DENSE).asformat(source)
    matrix = getattr(sparse, f"{source}_matrix")(host)
    result = matrix.asformat(target)
    assert (result.format, result.shape, result.dtype) == (target, (3, 4), np.float64)
    check(result, DENSE)
    back = result.get()
    assert back.format == target and (back.toarray() == DENSE).all()


def test_arrays_are_shared_and_of_32_bits() -> None:
    matrix = made()
    assert matrix.indices.dtype == matrix.indptr.dtype == np.int32
    transposed = matrix.T
    assert transposed.format == "csc" and transposed.data is matrix.data
    matrix.data[0] = 9
    assert float(transposed[1, 0]) == 9


def test_making_a_matrix_waits_once_to_look_at_its_indices() -> None:
    coo = made("coo")
    for make, given in (
        (sparse.coo_matrix, (coo.data, (coo.row, coo.col))),
        (sparse.csr_matrix, made()._parts),
    ):
        with waits() as seen:
            matrix = make(given, shape=(3, 4))
        assert len(seen) == 1
        check(matrix, DENSE)


def test_parts_that_do_not_fit_are_refused() -> None:
    data, indices = cupy.ones(2), cupy.array([0, 1], dtype="i")
    for indptr in ([1, 2], [0, 3]):
        with pytest.raises(ValueError, match="index pointer"):
            sparse.csr_matrix((data, indices, cupy.array(indptr, dtype="i")), shape=(1, 2))
    with pytest.raises(ValueError, match="Only bool, float32"):
        sparse.csr_matrix(cupy.array([[1, 0]]))
    with pytest.raises(ValueError, match="column index exceeds"):
        sparse.coo_matrix((data, (indices, indices + 1)), shape=(2, 2))


@pytest.mark.parametrize("fmt", FORMATS)
def test_duplicates_are_summed_in_place(fmt: str) -> None:
    at = cupy.array([1, 0, 1], dtype="i")
    matrix = sparse.coo_matrix((cupy.array([1.0, 2, 3]), (at, at)), shape=(2, 3))
    if fmt != "coo":
        parts = (matrix.data, at, cupy.array([0, 3, 3], dtype="i"))
        matrix = getattr(sparse, f"{fmt}_matrix")(parts, shape=(2, 2))
    assert not matrix.has_canonical_format
    expected = matrix.get().toarray()
    check(matrix, expected)
    with waits() as seen:
        matrix.sum_duplicates()
    assert len(seen) <= 1
    assert matrix.has_canonical_format and matrix.nnz == 2
    check(matrix, expected)


KEYS = [
    (1, 2),
    (-1, -1),
    (0, slice(None)),
    (slice(None), 1),
    (slice(1, 3), slice(1, None)),
    (slice(None, None, -1), slice(0, 4, 2)),
    ([0, 2], slice(None)),
    ([0, 2, 0], [1, 3, 1]),
    (slice(None), [3, 0, 3]),
    2,
]


@pytest.mark.parametrize("fmt", ("csr", "csc"))
@pytest.mark.parametrize("key", KEYS, ids=str)
def test_indexing_waits_once_at_most(fmt: str, key: object) -> None:
    matrix = made(fmt)
    expected = scipy.sparse.csr_matrix(DENSE)[key]
    expected = expected.toarray() if scipy.sparse.issparse(expected) else np.asarray(expected)
    with waits() as seen:
        result = matrix[key]
    assert len(seen) <= 1
    check(result, expected)


def test_one_element_and_pairs_do_not_wait() -> None:
    matrix = made()
    with no_waits():
        one, pairs = matrix[2, 1], matrix[cupy.array([0, 2]), cupy.array([1, 0])]
    assert float(one) == 3
    check(pairs, [[4, 0]])


@pytest.mark.parametrize("fmt", ("csr", "csc"))
def test_assignment_writes_in_place_or_changes_the_structure(fmt: str) -> None:
    matrix, expected = made(fmt), DENSE.copy()
    data = matrix.data
    matrix[0, 1] = expected[0, 1] = 8
    assert matrix.data is data
    with pytest.warns(sparse.SparseEfficiencyWarning, match="Changing the sparsity"):
        matrix[[0, 1], [0, 3]] = cupy.array([6.0, 7.0])
    expected[[0, 1], [0, 3]] = 6, 7
    check(matrix, expected)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        matrix[:2] = made("csr")[1:]
    expected[:2] = DENSE[1:]
    check(matrix, expected)
    with pytest.raises(IndexError, match="out of range"):
        matrix[3, 0] = 1


def test_masks_and_wrong_keys() -> None:
    matrix = made()
    check(matrix[cupy.asarray(DENSE > 3)], [DENSE[DENSE > 3]])
    check(matrix[np.array([True, False, True])], DENSE[[0, 2]])
    with pytest.raises(IndexError):
        matrix[0, 0, 0]
    with pytest.raises(IndexError, match=r"row \(3\) out of range"):
        matrix[3, 0]
    with pytest.raises(TypeError, match="not subscriptable"):
        made("coo")[0]


def test_vectors_are_sparse_arrays_of_one_dimension() -> None:
    vector = sparse.coo_array(cupy.array([0, 3.0, 0, 1]))
    assert (vector.shape, vector.ndim, vector.nnz) == ((4,), 1, 2)
    assert float(vector[1]) == 3 and float(vector @ vector) == 10
    check(vector.tocsr()[1:], [3, 0, 1])
    check(vector.reshape((2, 2)), [[0, 3], [0, 1]])
    with pytest.raises(ValueError, match="1-D sparse array to csc"):
        vector.tocsc()
    with pytest.raises(ValueError, match="does not support 1D"):
        sparse.csc_array(cupy.ones(3))


def test_pickles_and_prints() -> None:
    matrix = made("csc")
    again = pickle.loads(pickle.dumps(matrix))
    assert type(again) is sparse.csc_matrix
    check(again, DENSE)
    assert repr(matrix) == repr(matrix.get())
    assert str(sparse.eye(3)) == str(scipy.sparse.eye(3))
    assert len(list(made())) == 3
    with pytest.raises(ValueError, match="truth value"):
        bool(matrix)
    with pytest.raises(TypeError, match="ambiguous"):
        len(matrix)


@pytest.mark.parametrize("fmt", FORMATS)
def test_diagonals(fmt: str) -> None:
    matrix, host = made(fmt), scipy.sparse.lil_matrix(DENSE)
    for k in (-2, 0, 1):
        check(matrix.diagonal(k), DENSE.diagonal(k))
    matrix.setdiag(cupy.array([7.0, 8.0]), k=1)
    host.setdiag([7, 8], k=1)
    check(matrix, host.toarray())
    with pytest.raises(ValueError, match="k exceeds"):
        matrix.setdiag(1, k=4)
