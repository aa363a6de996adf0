"""Where CuPy differs from NumPy in the chapter `proto.operations.logic`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.pool_server.devices.mock.calls import adapter

NpArray = np.ndarray[Any, Any]


@adapter("isclose")
def isclose(a: NpArray, b: NpArray, rtol: Any, atol: Any, equal_nan: bool) -> Any:
    """Compare as floating numbers, also where both are integers."""
    dtype = np.result_type(a, b, np.float16)
    return np.isclose(a.astype(dtype), b.astype(dtype), rtol, atol, equal_nan)


@adapter("allclose")
def allclose(a: NpArray, b: NpArray, rtol: Any, atol: Any, equal_nan: bool) -> Any:
    return np.asarray(isclose(a, b, rtol, atol, equal_nan).all())


@adapter("isin")
def isin(element: NpArray, tests: NpArray, assume_unique: bool, invert: bool) -> Any:
    """Look up without the promise of uniqueness, which CuPy does not use."""
    return np.isin(element, tests, invert=invert)


@adapter("intersect1d")
def intersect1d(first: NpArray, second: NpArray, unique: bool, indices: bool) -> Any:
    options: dict[str, Any] = {"assume_unique": unique, "return_indices": indices}
    return np.intersect1d(first, second, **options)
