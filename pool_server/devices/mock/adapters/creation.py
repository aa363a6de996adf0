"""Where CuPy differs from NumPy in the chapter `proto.operations.creation`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.pool_server.devices.mock.calls import adapter
from cupool.pool_server.devices.mock.casts import cast

NpArray = np.ndarray[Any, Any]


@adapter("astype")
def astype(array: NpArray, dtype: Any, order: Any = "K") -> NpArray:
    return cast(array, np.dtype(dtype), order)
