"""`lu`, `lu_factor`, `lu_solve`."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls, core, views
from cupool.client_shim.cupy._core._dtype import real_of
from cupool.client_shim.cupy._core._ufuncs import ALL
from cupool.client_shim.cupy._creation.from_data import asarray
from cupool.client_shim.cupy._manipulation.join import concatenate
from cupool.client_shim.cupy.linalg._util import assert_2d, assert_cupy_array, assert_stacked_square

__all__ = ["lu", "lu_factor", "lu_solve"]
ndarray = core.ndarray

_NOT_FINITE = "array must not contain infs or NaNs"
_INT = np.dtype(np.intc)


def _bad(arrays: tuple[ndarray, ...]) -> list[ndarray]:
    """Return, for each array of real numbers, whether it holds nan or inf, shape (1,)."""
    return [
        (~ALL["isfinite"](a)).any().reshape(1) for a in arrays if a.dtype.kind == "f" and a.size
    ]


def check_all_finite(*arrays: ndarray) -> None:
    """Wait once, and raise ValueError if any of the arrays of real numbers holds nan or inf."""
    flags = _bad(arrays)
    if flags and bool(concatenate(flags).any()):
        raise ValueError(_NOT_FINITE)


def _prepared(a: Any) -> ndarray:
    a = asarray(a)
    assert_2d(a)
    if a.dtype.char not in "fdFD":
        raise NotImplementedError("Only float32, float64, complex64 and complex128 are supported.")
    return a  # type: ignore[no-any-return]


def _report(a: ndarray, factor: ndarray, check_finite: bool) -> None:
    """Wait once for what CuPy reports: values that are not finite, a singular matrix."""
    flags = _bad((a,)) if check_finite else []
    zeros = ALL["equal"](views.diagonal(factor), 0)
    seen = concatenate([*flags, zeros]).get()
    if flags and seen[0]:
        raise ValueError(_NOT_FINITE)
    if seen.any():
        number = int(seen[len(flags) :].argmax()) + 1
        text = f"Diagonal number {number} is exactly zero. Singular matrix."
        warnings.warn(text, RuntimeWarning, stacklevel=3)


def lu_factor(
    a: Any, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[ndarray, ndarray]:
    """Factor a matrix into P, L and U; waits once.

    Args:
        a: shape (M, N).
        overwrite_a: accepted; `a` stays as it is.
        check_finite: whether to raise for nan and inf.

    Returns:
        L and U in one matrix, and for each row of U with which row it was exchanged, int32.

    Raises:
        NotImplementedError: other dtypes than float32, float64 and the complex ones.
        ValueError: values that are not finite.
    """
    a = _prepared(a)
    specs = ((a.shape, a.dtype, "F"), ((min(a.shape),), _INT, "C"))
    factor, pivots = calls.call("scipy.linalg.lu_factor", (a, False, False), None, *specs)
    _report(a, factor, check_finite)
    return factor, pivots


def lu(
    a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[ndarray, ...]:
    """Factor a matrix ``a == P @ L @ U``; waits once. See `lu_factor`.

    Args:
        permute_l: return (P @ L, U) instead of (P, L, U).
    """
    a = _prepared(a)
    m, n = a.shape
    k = min(m, n)
    specs = [((m, k), a.dtype, "C"), ((k, n), a.dtype, "C")]
    if not permute_l:
        specs.insert(0, ((m, m), real_of(a.dtype), "C"))
    results = calls.call("scipy.linalg.lu", (a, bool(permute_l), False, False), None, *specs)
    _report(a, results[-1], check_finite)
    return tuple(results)


def lu_solve(
    lu_and_piv: Any,
    b: Any,
    trans: int = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> ndarray:
    """Return x of ``a @ x == b`` for what `lu_factor` made of a.

    Args:
        b: shape (M,) or (M, K).
        trans: 0: a; 1: its transpose; 2: its conjugate transpose.
        overwrite_b: accepted; `b` stays as it is.
        check_finite: whether to look for nan and inf, which waits.

    Raises:
        ValueError: shapes that do not fit, values that are not finite, another `trans`.
        NotImplementedError: other dtypes than float32, float64 and the complex ones.
    """
    factor, pivots = lu_and_piv
    assert_cupy_array(factor)
    assert_2d(factor)
    assert_stacked_square(factor)
    if factor.shape[0] != b.shape[0]:
        raise ValueError("incompatible dimensions.")
    _prepared(factor)
    if trans not in (0, 1, 2):
        raise ValueError("unknown trans")
    if check_finite:
        check_all_finite(factor, b)
    args = ((factor, pivots), b, trans, False, False)
    return calls.call_one("scipy.linalg.lu_solve", args, None, b.shape, factor.dtype, "F")
