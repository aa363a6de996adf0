"""The descriptors of `cupyx.cusparse`, in the calls by address that scripts make with them."""

from __future__ import annotations

import gc
import pickle
from typing import Any

import cupy as cp
import numpy as np
import pytest
from cupy.cuda import cusparse as library
from cupy.cuda import device
from cupyx import cusparse
from cupyx.scipy import sparse


@pytest.fixture
def dense() -> Any:
    return np.array([[0, 1, 2], [0, 0, 0], [3, 0, 4], [0, 5, 0]], float)


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_a_product_by_descriptors(format: str, dense: Any) -> None:
    a = getattr(sparse, f"{format}_matrix")(sparse.csr_matrix(cp.asarray(dense)))
    x, y = cp.asarray([1.0, 2.0, 3.0]), cp.zeros(4)
    mat = cusparse.SpMatDescriptor.create(a)
    vec_x, vec_y = (cusparse.DnVecDescriptor.create(one) for one in (x, y))
    one, zero = np.ones(()), np.zeros(())
    where = (0, one.ctypes.data, mat.desc, vec_x.desc, zero.ctypes.data, vec_y.desc, 1, 0)
    handle = device.get_cusparse_handle()
    size = library.spMV_bufferSize(handle, *where)
    library.spMV(handle, *where, cp.empty(size, "u1").data.ptr)
    np.testing.assert_allclose(y.get(), dense @ [1, 2, 3])
    if format != "csc":
        assert (mat.rows, mat.cols, mat.nnz) == (4, 3, 5)
    with pytest.raises(AttributeError):
        _ = mat.nothing


def test_a_descriptor_goes_with_its_object(dense: Any) -> None:
    a = cp.asarray(dense, order="F")
    mat = cusparse.DnMatDescriptor.create(a)
    assert (mat.rows, mat.cols, mat.ld, mat.order) == (4, 3, 4, library.CUSPARSE_ORDER_COL)
    number = mat.desc
    del mat
    gc.collect()
    with pytest.raises(library.CuSparseError, match="INVALID_VALUE"):
        library.dnMatGet(number)
    vector = cusparse.SpVecDescriptor.create(cp.arange(3, dtype="i"), cp.ones(3))
    assert (vector.nnz, vector.idxType, vector.valueType) == (3, 2, 1)


def test_what_cannot_be_described_is_refused(dense: Any) -> None:
    with pytest.raises(TypeError):
        cusparse.SpMatDescriptor.create(cp.asarray(dense))
    with pytest.raises(ValueError, match="dia"):
        cusparse.SpMatDescriptor.create(sparse.eye(3, format="dia"))
    with pytest.raises(ValueError, match="F-contiguous"):
        cusparse.DnMatDescriptor.create(cp.asarray(dense))
    with pytest.raises(TypeError, match="bool"):
        cusparse.DnVecDescriptor.create(cp.zeros(3, bool))


def test_the_old_descriptor_of_a_matrix_is_its_own(dense: Any) -> None:
    a = sparse.csr_matrix(cp.asarray(dense))
    made = pickle.loads(pickle.dumps(a))
    assert made._descr.descriptor != a._descr.descriptor
    again = pickle.loads(pickle.dumps(a))  # now with a descriptor
    assert again._descr.descriptor != a._descr.descriptor
    np.testing.assert_array_equal(again.toarray().get(), dense)
    descr = cusparse.MatDescriptor.create()
    descr.set_mat_type(library.CUSPARSE_MATRIX_TYPE_GENERAL)
    descr.set_mat_index_base(library.CUSPARSE_INDEX_BASE_ONE)
    descr.set_mat_fill_mode(library.CUSPARSE_FILL_MODE_UPPER)
    descr.set_mat_diag_type(library.CUSPARSE_DIAG_TYPE_UNIT)
    with pytest.raises(library.CuSparseError, match="INVALID_VALUE"):
        descr.set_mat_index_base(2)
