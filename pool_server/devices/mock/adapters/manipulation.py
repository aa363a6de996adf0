"""Where CuPy differs from NumPy in the chapter `proto.operations.manipulation`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.pool_server.devices.mock.calls import adapter
from cupool.pool_server.devices.mock.casts import cast

NpArray = np.ndarray[Any, Any]


@adapter("concatenate")
def concatenate(arrays: Any, axis: Any = 0, dtype: Any = None, casting: Any = "same_kind") -> Any:
    if dtype is not None:
        arrays = tuple(cast(np.asarray(a), np.dtype(dtype)) for a in arrays)
    return np.concatenate(arrays, axis=axis, dtype=dtype, casting=casting)


@adapter("copyto")
def copyto(target: NpArray, source: Any, casting: Any, where: Any) -> None:
    if isinstance(source, np.ndarray):
        source = cast(source, target.dtype)
    np.copyto(target, source, casting=casting, where=where)


@adapter("poly", casts=True)
def poly(zeros: NpArray) -> Any:
    """Multiply out, in wide precision, as complex where the roots are."""
    made = np.ones(1, np.complex128 if zeros.dtype.kind == "c" else np.float64)
    for zero in zeros:
        made = np.convolve(made, np.array([1, -zero]))
    return made


@adapter("polymul")
def polymul(first: NpArray, second: NpArray) -> NpArray:
    left, right = (np.trim_zeros(a, "f") for a in (first, second))
    left, right = (a if a.size else np.zeros(1, a.dtype) for a in (left, right))
    made: NpArray = np.convolve(left, right)
    return made


@adapter("polyval", casts=True)
def polyval(coefficients: NpArray, x: NpArray) -> Any:
    dtype = np.result_type(coefficients, x)
    if dtype == np.bool_:
        return coefficients.any() * x + coefficients[-1]
    made = np.zeros(x.shape, dtype)
    for coefficient in coefficients.astype(dtype):
        made = made * x.astype(dtype) + coefficient
    return made


@adapter("roots")
def roots(coefficients: NpArray) -> Any:
    """Find the roots where the companion matrix is symmetric, which is all that CuPy can do."""
    series = np.trim_zeros(coefficients, "f")[::-1]
    if series.size < 2:
        return np.zeros(0)
    series = series.astype(
        np.result_type(series, np.float16 if series.dtype.kind in "fc" else float)
    )
    if series.size == 2:
        found = np.asarray([-series[0] / series[1]])
        return found.real.astype(np.float64) if series[0] == 0 else found
    matrix = np.eye(series.size - 1, k=-1, dtype=series.dtype)
    matrix[:, -1] -= series[:-1] / series[-1]
    if not np.array_equal(matrix, matrix.conj().T):
        raise NotImplementedError(
            "Only complex Hermitian and real symmetric 2d arrays are supported currently"
        )
    return np.linalg.eigvalsh(matrix).astype(series.dtype)


@adapter("delete")
def delete(array: NpArray, indices: Any, axis: int) -> NpArray:
    """Remove by index; integers out of range wrap around."""
    if isinstance(indices, np.ndarray) and indices.dtype.kind in "iu" and array.shape[axis]:
        indices = indices.astype(np.int64, copy=False).ravel() % array.shape[axis]
    return np.delete(array, indices, axis)
