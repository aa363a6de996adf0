"""What the functions of `cupy.linalg` share: checks of shapes and dtypes, and errors on demand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from cupool.client_shim import session as _session
from cupool.client_shim.cupy._core import calls, core, views
from cupool.client_shim.cupy._core._dtype import real_of
from cupool.client_shim.cupy._creation.basic import zeros

__all__ = [
    "assert_2d",
    "assert_cupy_array",
    "assert_stacked_2d",
    "assert_stacked_square",
    "linalg_common_type",
    "real_of",
    "solver",
    "stacked_identity",
]
DType = np.dtype[Any]
_FLOAT64 = np.dtype(np.float64)


def assert_cupy_array(*arrays: Any) -> None:
    """Raise LinAlgError unless all are device arrays."""
    for a in arrays:
        if not isinstance(a, core.ndarray):
            raise LinAlgError("cupy.linalg only supports cupy.ndarray")


def assert_2d(*arrays: Any) -> None:
    """Raise LinAlgError unless all have two axes."""
    for a in arrays:
        if a.ndim != 2:
            raise LinAlgError(f"{a.ndim}-dimensional array given. Array must be two-dimensional")


def assert_stacked_2d(*arrays: Any) -> None:
    """Raise LinAlgError unless all have at least two axes."""
    for a in arrays:
        if a.ndim < 2:
            raise LinAlgError(
                f"{a.ndim}-dimensional array given. Array must be at least two-dimensional"
            )


def assert_stacked_square(*arrays: Any) -> None:
    """Raise LinAlgError unless the last two axes of all (2 axes or more) are equally long."""
    for a in arrays:
        if a.shape[-1] != a.shape[-2]:
            raise LinAlgError("Last 2 dimensions of the array must be square")


def linalg_common_type(*arrays: Any, reject_float16: bool = True) -> DType:
    """Return the dtype of a routine's results: that of the arrays, float64 for what is not inexact.

    Raises:
        TypeError: float16, which the solver libraries do not have.
    """
    dtypes = [a.dtype for a in arrays]
    if reject_float16 and any(dtype.char == "e" for dtype in dtypes):
        raise TypeError("float16 is unsupported in linalg")
    return np.result_type(*(d if d.kind in "fc" else _FLOAT64 for d in dtypes))


def stacked_identity(batch_shape: tuple[int, ...], n: int, dtype: Any) -> core.ndarray:
    """Return identity matrices of shape (*batch_shape, n, n)."""
    made = zeros((*batch_shape, n, n), dtype)
    if made.size:
        views.diagonal(made, 0, -2, -1)[...] = 1
    return made


def solver(
    name: str, args: Sequence[Any], kwargs: dict[str, Any] | None, *specs: calls.Spec
) -> list[core.ndarray]:
    """Queue an operation that may fail for the values in its arrays.

    By default a failure shows as nan in the results, without a wait. Under
    ``cupyx.errstate(linalg="raise")`` it is waited for and raised here.

    Raises:
        LinAlgError: the operation failed, under "raise" only.
    """
    from cupool.client_shim.cupyx._ufunc_config import get_config_linalg

    if get_config_linalg() == "ignore":
        return calls.call(name, args, kwargs, *specs)
    calls.call_into("linalg.seterr", (), {"linalg": "raise"})
    try:
        results = calls.call(name, args, kwargs, *specs)
    finally:
        calls.call_into("linalg.seterr", (), {"linalg": "ignore"})
    _session.session().synchronize()
    return results
