"""Where CuPy differs from NumPy in the chapter `proto.operations.sorting`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.pool_server.devices.mock.calls import adapter

NpArray = np.ndarray[Any, Any]


@adapter("sort")
def sort(array: NpArray, axis: int) -> NpArray:
    return np.sort(array, axis, kind="stable")


@adapter("sort_in_place")
def sort_in_place(array: NpArray, axis: int) -> None:
    array.sort(axis, kind="stable")


@adapter("argsort")
def argsort(array: NpArray, axis: int) -> NpArray:
    return np.argsort(array, axis, kind="stable")


@adapter("searchsorted")
def searchsorted(array: NpArray, values: Any, side: Any, sorter: Any) -> Any:
    if sorter is not None:
        array = array.take(sorter, mode="wrap")
    return np.searchsorted(array, values, side)
