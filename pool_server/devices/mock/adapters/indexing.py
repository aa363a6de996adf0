"""Advanced indexing: on a GPU, integer indices out of range wrap around instead of raising."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.pool_server.devices.mock.calls import adapter

NpArray = np.ndarray[Any, Any]


def _wrapped(array: NpArray, key: Any) -> tuple[Any, ...]:
    """Bring the integer arrays of a key into the range of the axes that they index."""
    items = tuple(key) if isinstance(key, (tuple, list)) else (key,)
    taken = sum(_axes(item) for item in items)
    wrapped: list[Any] = []
    axis = 0
    for item in items:
        if item is Ellipsis:
            axis += array.ndim - taken
        elif isinstance(item, np.ndarray) and item.dtype.kind in "iu" and axis < array.ndim:
            wrapped.append(_modulo(item, array.shape[axis]))
            axis += 1
            continue
        else:
            axis += _axes(item)
        wrapped.append(item)
    return tuple(wrapped)


def _axes(item: Any) -> int:
    """Return how many axes an item of a key uses up."""
    if item is None or item is Ellipsis or isinstance(item, (bool, np.bool_)):
        return 0
    if isinstance(item, np.ndarray) and item.dtype.kind == "b":
        return item.ndim
    return 1


def _modulo(indices: NpArray, length: int) -> NpArray:
    if not length:
        return indices
    return np.asarray(indices.astype(np.int64, copy=False) % length)


@adapter("getitem")
def getitem(array: NpArray, key: Any) -> Any:
    return array[_wrapped(array, key)]


@adapter("setitem")
def setitem(array: NpArray, key: Any, value: Any) -> None:
    array[_wrapped(array, key)] = value


@adapter("scatter_add")
def scatter_add(array: NpArray, key: Any, value: Any) -> None:
    np.add.at(array, _wrapped(array, key), _like(array, value))


@adapter("scatter_max")
def scatter_max(array: NpArray, key: Any, value: Any) -> None:
    np.maximum.at(array, _wrapped(array, key), _like(array, value))


@adapter("scatter_min")
def scatter_min(array: NpArray, key: Any, value: Any) -> None:
    np.minimum.at(array, _wrapped(array, key), _like(array, value))


def _like(array: NpArray, value: Any) -> NpArray:
    return np.asarray(value).astype(array.dtype, copy=False)


@adapter("take")
def take(array: NpArray, indices: Any, axis: Any = None, out: Any = None, mode: Any = None) -> Any:
    array = np.asarray(array)
    return np.take(array, indices, axis=axis, out=out, mode="clip" if mode == "clip" else "wrap")
