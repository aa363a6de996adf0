"""`solve_triangular`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls, core
from cupool.client_shim.cupy.linalg._util import assert_cupy_array
from cupool.client_shim.cupyx.scipy.linalg._decomp_lu import check_all_finite

__all__ = ["solve_triangular"]


def solve_triangular(
    a: Any,
    b: Any,
    trans: Any = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = False,
) -> core.ndarray:
    """Return x of ``a @ x == b`` for triangular matrices.

    Args:
        a: shape (..., M, M).
        b: shape (..., M) or (..., M, K).
        trans: 0 or "N": a; 1 or "T": its transpose; 2 or "C": its conjugate transpose.
        lower: which triangle holds a.
        unit_diagonal: take the diagonal to be ones.
        overwrite_b: accepted; `b` stays as it is.
        check_finite: whether to look for nan and inf, which waits.

    Raises:
        ValueError: shapes that do not fit, values that are not finite.
    """
    assert_cupy_array(a, b)
    if a.ndim < 2:
        raise ValueError("expected one square matrix or a batch of square matrices")
    if a.shape[-1] != a.shape[-2]:
        raise ValueError("expected a square matrix or a batch of them")
    batch = a.ndim - 2
    if a.shape[:batch] != b.shape[:batch]:
        raise ValueError("incompatible batch count")
    if b.ndim <= batch or (batch and b.ndim > a.ndim) or a.shape[-2] != b.shape[batch]:
        raise ValueError("incompatible dimensions")
    dtype = a.dtype if a.dtype.char in "fd" else np.promote_types(a.dtype.char, "f")
    if check_finite:
        check_all_finite(a, b)
    args = (a, b, trans, bool(lower), bool(unit_diagonal), False, False)
    order = "C" if batch else "F"
    return calls.call_one("scipy.linalg.solve_triangular", args, None, b.shape, dtype, order)
