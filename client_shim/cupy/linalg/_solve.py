"""`solve`, `inv`, `pinv`, `lstsq`, `tensorsolve`, `tensorinv`."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from cupool.client_shim.cupy._core import calls, core, views
from cupool.client_shim.cupy.linalg._util import (
    assert_2d,
    assert_cupy_array,
    assert_stacked_2d,
    assert_stacked_square,
    linalg_common_type,
    real_of,
    solver,
)

__all__ = ["inv", "lstsq", "pinv", "solve", "tensorinv", "tensorsolve"]
ndarray = core.ndarray


def solve(a: Any, b: Any) -> ndarray:
    """Return x of `a @ x == b`.

    Args:
        a: shape (..., M, M).
        b: shape (M,), or (..., M, K) with the same leading axes as `a`.

    Returns:
        shape (..., M) or (..., M, K); a singular matrix gives values that are not finite, or an
        error under ``cupyx.errstate(linalg="raise")``.

    Raises:
        LinAlgError: `a` is not square.
        ValueError: the shapes do not fit.
        TypeError: float16.
    """
    assert_cupy_array(a, b)
    assert_stacked_2d(a)
    assert_stacked_square(a)
    shape = b.shape
    if b.ndim == 0:
        raise ValueError("b must have at least one dimension")
    if b.ndim == 1:
        if a.shape[-1] != b.size:
            raise ValueError(
                "a must have (..., M, M) shape and b must have (M,) for one-dimensional b"
            )
        shape = a.shape[:-1]
    elif a.shape[:-1] != b.shape[:-1]:
        raise ValueError(
            "a must have (..., M, M) shape and b must have (..., M, K) for multidimensional b"
        )
    order = "F" if a.ndim == 2 and a.size else "C"
    return solver("linalg.solve", (a, b), None, (shape, linalg_common_type(a, b), order))[0]


def inv(a: Any) -> ndarray:
    """Return the inverses of matrices (..., M, M); see `solve` for singular ones.

    Raises:
        LinAlgError: not square matrices.
        TypeError: float16.
    """
    assert_cupy_array(a)
    assert_stacked_2d(a)
    assert_stacked_square(a)
    order = "F" if a.ndim == 2 and a.size and a._shadow.flags.f_contiguous else "C"
    return solver("linalg.inv", (a,), None, (a.shape, linalg_common_type(a), order))[0]


def pinv(a: Any, rcond: Any = 1e-15) -> ndarray:
    """Return the pseudo-inverses (..., N, M) of matrices (..., M, N).

    Args:
        rcond: singular values below this part of the largest count as zero; a number or an array
            of shape (...).

    Raises:
        TypeError: float16.
    """
    assert_cupy_array(a)
    *batch, m, n = a.shape
    shape = (*batch, n, m)
    if a.size == 0:
        made = a.dtype if m == 0 or n == 0 else linalg_common_type(a)
        return calls.call_one("empty", (), None, shape, made)
    return solver("linalg.pinv", (a, rcond), None, (shape, linalg_common_type(a), "C"))[0]


def lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[ndarray, ndarray, ndarray, ndarray]:
    """Return the least-squares solution of `a @ x == b`.

    Costs a wait if M > N: whether there are residuals depends on the rank.

    Args:
        a: shape (M, N).
        b: shape (M,) or (M, K).
        rcond: singular values up to this part of the largest count as zero.

    Returns:
        x (N,) or (N, K); sums of squared residuals (K,) or (1,), empty unless M > N == rank;
        the rank, int32 (); the singular values.

    Raises:
        LinAlgError: not matrices, lengths that differ.
        TypeError: float16.
    """
    assert_cupy_array(a, b)
    assert_2d(a)
    if b.ndim > 2:
        raise LinAlgError(
            f"{b.ndim}-dimensional array given. Array must be at most two-dimensional"
        )
    m, n = a.shape
    if m != b.shape[0]:
        raise LinAlgError("Incompatible dimensions")
    factors = linalg_common_type(a)
    single = real_of(factors)
    dtype = np.result_type(factors, b.dtype)
    if m <= n:
        x, residuals, rank, s = solver(
            "linalg.lstsq",
            (a, b, rcond),
            None,
            ((n, *b.shape[1:]), dtype, "C"),
            ((0,), single, "C"),
            ((), np.dtype(np.int32), "C"),
            ((min(m, n),), single, "C"),
        )
    else:
        x, residuals, rank, s = calls.call_unknown("linalg.lstsq", (a, b, rcond), count=4)
    return x, residuals, rank, s


def tensorsolve(a: Any, b: Any, axes: Any = None) -> ndarray:
    """Return x of `tensordot(a, x, x.ndim) == b`.

    Args:
        axes: axes of `a` to move to the end first.
    """
    assert_cupy_array(a, b)
    if axes is not None:
        order = list(range(a.ndim))
        for axis in axes:
            order.remove(axis)
            order.insert(a.ndim, axis)
        a = views.transpose(a, order)
    shape = a.shape[-(a.ndim - b.ndim) :]
    a = views.reshape(a, (-1, prod(shape)))
    return views.reshape(solve(a, views.ravel(b)), shape)


def tensorinv(a: Any, ind: int = 2) -> ndarray:
    """Return the inverse of a tensor: `tensordot(result, a, ind)` is the identity.

    Raises:
        ValueError: `ind` is not positive.
        LinAlgError: the lengths of the two groups of axes differ.
    """
    assert_cupy_array(a)
    if ind <= 0:
        raise ValueError("Invalid ind argument")
    shape = a.shape[ind:] + a.shape[:ind]
    flat = views.reshape(a, (prod(a.shape[ind:]), -1))
    return views.reshape(inv(flat), shape)
