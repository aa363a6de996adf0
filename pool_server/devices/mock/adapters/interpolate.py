"""Interpolation: SciPy's classes, and where its answers are others than CuPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cupool.pool_server.devices import classes
from cupool.pool_server.devices.mock.calls import ADAPTERS, adapter
from cupool.proto.operations.interpolate import OPERATIONS

NpArray = np.ndarray[Any, Any]


def scipys(operation: str) -> Callable[..., Any]:
    """Return SciPy's way of an operation.

    Raises:
        NotImplementedError: it has none.
    """
    function = classes.find(operation)
    if function is None:
        raise NotImplementedError(f"no class of SciPy does '{operation}'")
    return function


@adapter("scipy.interpolate.RegularGridInterpolator.evaluate", casts=True)
def on_grid(grid: Any, values: NpArray, points: NpArray, method: str, fill_value: Any) -> NpArray:
    """SciPy's monotonic cubics take real numbers only."""
    evaluate = scipys("scipy.interpolate.RegularGridInterpolator.evaluate")
    if method != "pchip" or values.dtype.kind != "c":
        return evaluate(grid, values, points, method, fill_value)  # type: ignore[no-any-return]
    fill = (fill_value, fill_value) if fill_value is None else (fill_value.real, fill_value.imag)
    parts = zip((values.real, values.imag), fill, strict=True)
    real, imag = (evaluate(grid, part, points, method, outside) for part, outside in parts)
    return real + 1j * imag  # type: ignore[no-any-return]


for _row in OPERATIONS:
    if _row.name not in ADAPTERS:
        adapter(_row.name, casts=not _row.has_objects)(scipys(_row.name))
