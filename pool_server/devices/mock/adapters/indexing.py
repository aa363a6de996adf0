"""Advanced indexing: on a GPU, integer indices out of range wrap around instead of raising."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.pool_server.devices.mock.calls import adapter
from cupool.pool_server.devices.mock.casts import cast

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
    if isinstance(value, np.ndarray) and value.dtype.kind == "f" and array.dtype.kind in "iu":
        value = _like(array, value)
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
    return cast(np.asarray(value), array.dtype)


@adapter("take")
def take(array: NpArray, indices: Any, axis: Any = None, out: Any = None, mode: Any = None) -> Any:
    array = np.asarray(array)
    return np.take(array, indices, axis=axis, out=out, mode="clip" if mode == "clip" else "wrap")


@adapter("take_along_axis")
def take_along_axis(array: NpArray, indices: NpArray, axis: int) -> Any:
    return array[_lanes(array, indices, axis)]


@adapter("put_along_axis")
def put_along_axis(array: NpArray, indices: NpArray, values: Any, axis: int) -> None:
    array[_lanes(array, indices, axis)] = values


def _lanes(array: NpArray, indices: NpArray, axis: int) -> tuple[Any, ...]:
    """Return the key that picks along an axis, lane by lane."""
    key: list[Any] = list(np.ix_(*(range(n) for n in array.shape)))
    key[axis] = _modulo(indices, array.shape[axis])
    return tuple(key)


@adapter("choose", casts=True)
def choose(a: NpArray, choices: NpArray, out: Any, mode: str) -> Any:
    if mode == "raise" and not ((a >= 0) & (a < len(choices))).all():
        raise ValueError("invalid entry in choice array")
    index = a.astype(np.int64)
    index = np.clip(index, 0, len(choices) - 1) if mode == "clip" else index % len(choices)
    lanes = np.broadcast_arrays(index, *choices)
    stacked = np.stack(lanes[1:])
    return np.take_along_axis(stacked, lanes[0][np.newaxis], 0)[0]


@adapter("compress")
def compress(condition: NpArray, array: NpArray, axis: int | None) -> Any:
    """Conditions longer than the axis wrap around, as the indices that they become."""
    return take(np.atleast_1d(array), np.nonzero(condition)[0], axis)


@adapter("place")
def place(array: NpArray, mask: NpArray, values: NpArray) -> None:
    places = np.flatnonzero(mask)
    if places.size and not values.size:
        raise ValueError("Cannot insert from an empty array.")
    if places.size:
        put(array, places, values)


@adapter("put")
def put(array: NpArray, indices: NpArray, values: NpArray, mode: str = "wrap") -> None:
    index = indices.ravel().astype(np.int64)
    if mode == "raise":
        if ((index < -array.size) | (index >= array.size)).any():
            raise IndexError("invalid entry in indices array")
        mode = "wrap"
    index = np.clip(index, 0, array.size - 1) if mode == "clip" else _modulo(index, array.size)
    array.flat[index] = np.resize(_cast(values, array.dtype), index.shape)


def _cast(values: NpArray, dtype: np.dtype[Any]) -> NpArray:
    if values.dtype.kind == "c" and dtype.kind in "iuf":
        values = values.real
    return cast(values, dtype)


@adapter("ravel_multi_index")
def ravel_multi_index(
    parts: tuple[NpArray, ...], dims: tuple[int, ...], modes: Any, order: str
) -> Any:
    bounded = []
    for part, length, mode in zip(parts, dims, modes, strict=True):
        index = part.astype(np.int64)
        if mode == "raise" and ((index < 0) | (index >= length)).any():
            raise ValueError("invalid entry in coordinates array")
        bounded.append(np.clip(index, 0, length - 1) if mode == "clip" else index % length)
    flat = np.zeros(np.broadcast_shapes(*(b.shape for b in bounded)), np.int64)
    rows = list(zip(bounded, dims, strict=True))
    for index, length in rows if order == "C" else reversed(rows):
        flat = flat * length + index
    return flat


@adapter("unravel_index", casts=True)
def unravel_index(indices: NpArray, dims: tuple[int, ...], order: str) -> Any:
    rest = indices.astype(np.int64)
    if (rest < 0).any():
        raise ValueError("invalid entry in index array")
    parts = []
    for length in reversed(dims) if order == "C" else dims:
        parts.append(rest % length if length else rest)
        rest = rest // length if length else rest
    if (rest > 0).any():
        raise ValueError("invalid entry in index array")
    return parts[::-1] if order == "C" else parts
