"""`lschol`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupy.linalg._util import assert_cupy_array, assert_stacked_square
from cupool.client_shim.cupyx.scipy import sparse
from cupool.client_shim.cupyx.scipy.sparse import _kernels

__all__ = ["lschol"]


def lschol(A: Any, b: Any) -> core.ndarray:
    """Solve a symmetric positive definite sparse system.

    CuPy factorizes by Cholesky; here it is the solver by QR, whose x is the same up to rounding.

    Args:
        A: shape (N, N), real; in CSR, or converted.
        b: shape (N,); cast to the dtype of A.

    Returns:
        x as float64, shape (N,).

    Raises:
        LinAlgError: A is not square.
        ValueError: b does not fit.
    """
    if not (sparse.issparse(A) and A.format == "csr"):
        A = sparse.csr_matrix(A)
    assert_stacked_square(A)
    assert_cupy_array(b)
    if b.ndim != 1 or len(b) != A.shape[0]:
        raise ValueError("b must be 1-d array whose size is same as A")
    dtype = A.dtype if A.dtype.char in "fd" else np.promote_types(A.dtype, np.float32)
    x: core.ndarray = _kernels.solve(
        A.astype(dtype, copy=False)._parts, b.astype(dtype, copy=False)
    )
    return x.astype(np.float64)  # type: ignore[no-any-return]
