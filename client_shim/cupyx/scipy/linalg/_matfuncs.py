"""`khatri_rao` and `expm`."""

from __future__ import annotations

from typing import Any

from cupool.client_shim.cupy._core import calls, core
from cupool.client_shim.cupy._core._dtype import to_inexact
from cupool.client_shim.cupy._creation.basic import zeros
from cupool.client_shim.cupy.linalg._util import assert_2d, linalg_common_type

__all__ = ["expm", "khatri_rao"]
ndarray = core.ndarray


def khatri_rao(a: Any, b: Any) -> ndarray:
    """Return the column-wise Kronecker product of matrices (N, K) and (M, K): (N * M, K).

    Raises:
        LinAlgError: not matrices.
        ValueError: different numbers of columns.
    """
    assert_2d(a)
    assert_2d(b)
    if a.shape[1] != b.shape[1]:
        raise ValueError("The number of columns for both arrays should be equal.")
    return (a[:, None, :] * b[None, :, :]).reshape((-1, a.shape[1]))  # type: ignore[no-any-return]


def expm(a: Any) -> ndarray:
    """Return the exponential of a square matrix.

    Raises:
        TypeError: float16.
        ValueError: not a square matrix.
    """
    if a.size == 0:
        return zeros((0, 0), a.dtype)
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ValueError("expected a square matrix")
    linalg_common_type(a)
    return calls.call_one("scipy.linalg.expm", (a,), None, a.shape, to_inexact(a.dtype))
