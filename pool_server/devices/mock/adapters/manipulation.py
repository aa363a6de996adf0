"""Where CuPy differs from NumPy in the chapter `proto.operations.manipulation`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.pool_server.devices.mock.calls import adapter

NpArray = np.ndarray[Any, Any]


@adapter("pad")
def pad(array: NpArray, widths: Any, mode: str, **options: Any) -> NpArray:
    """Pad; an array without axes has no borders."""
    return np.pad(array, widths, mode, **options) if array.ndim else array.copy()  # type: ignore[call-overload,no-any-return]


@adapter("delete")
def delete(array: NpArray, indices: Any, axis: int) -> NpArray:
    """Remove by index; integers out of range wrap around."""
    if isinstance(indices, np.ndarray) and indices.dtype.kind in "iu" and array.shape[axis]:
        indices = indices.astype(np.int64, copy=False).ravel() % array.shape[axis]
    return np.delete(array, indices, axis)
