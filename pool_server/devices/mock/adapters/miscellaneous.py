"""Functional programming and the rest, as CuPy does it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cupool.pool_server.devices.mock.calls import adapter

NpArray = np.ndarray[Any, Any]


@adapter("piecewise")
def piecewise(x: NpArray, conditions: Sequence[Any], values: Sequence[Any]) -> Any:
    made = np.zeros(x.shape, x.dtype)
    if len(values) > len(conditions):
        np.copyto(made, values[-1], casting="unsafe")
    for condition, value in zip(conditions, values, strict=False):
        np.copyto(made, value, casting="unsafe", where=np.asarray(condition, np.bool_))
    return made
