"""Advanced indexing, and copying into arrays.

Integer indices out of range wrap around, as on CUDA (CuPy's "difference" page); a boolean mask
costs a wait when it is read through, because the shape depends on data.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls, core, views
from cupool.client_shim.cupy._core._kernel import broadcast_shapes

ndarray = core.ndarray


def assign(target: ndarray, value: Any) -> None:
    """Do `target[...] = value` with broadcasting and unsafe casting.

    Raises:
        ValueError: the shape does not broadcast into the target.
        TypeError: not an array or scalar.
    """
    if isinstance(value, np.ndarray):
        if value.ndim == 0:
            value = value.item()
        elif value.shape == target.shape and value.dtype == target.dtype:
            target.set(value)
            return
        else:
            raise TypeError(f"Unsupported type {type(value)}")
    if isinstance(value, ndarray):
        if value.dtype.kind == "c" and target.dtype.kind not in "c":
            _warn_complex()
        shape = value.shape
        while len(shape) > target.ndim and shape[0] == 1:
            shape = shape[1:]
        if shape != value.shape:
            value = value.reshape(shape)
        if shape != target.shape:
            try:
                fits = np.broadcast_shapes(shape, target.shape) == target.shape
            except ValueError:
                fits = False
            if not fits:
                raise ValueError(
                    f"could not broadcast input array from shape {value.shape}"
                    f" into shape {target.shape}"
                )
        calls.call_into("assign", (target, value))
        return
    if not isinstance(value, (bool, int, float, complex, np.generic)):
        if hasattr(value, "__cupy_get_ndarray__"):
            return assign(target, value.__cupy_get_ndarray__())
        raise TypeError(f"Unsupported type {type(value)}")
    calls.call_into("fill", (target, value))


def _warn_complex() -> None:
    import warnings

    warnings.warn(
        "Casting complex values to real discards the imaginary part",
        np.exceptions.ComplexWarning,
        stacklevel=4,
    )


def _index_array(item: Any) -> Any:
    """Return an index as a device array; lists and NumPy arrays are uploaded.

    Raises:
        IndexError: not integers and not booleans.
    """
    if isinstance(item, ndarray):
        index = item
    else:
        host = np.asarray(item)
        if host.size == 0 and not isinstance(item, np.ndarray):
            host = host.astype(np.intp)
        if host.dtype.kind not in "biu":
            raise IndexError(
                "arrays used as indices must be of integer or boolean type. (actual: "
                f"{host.dtype.type})"
            )
        from cupool.client_shim.cupy._creation.from_data import array

        index = array(host)
    if index.dtype.kind not in "biu":
        raise IndexError(
            "arrays used as indices must be of integer or boolean type. (actual: "
            f"{index.dtype.type})"
        )
    return index


def prepare(a: ndarray, key: tuple[Any, ...]) -> list[Any]:
    """Return the key with every axis of `a` accounted for: slices, None, ints, device arrays."""
    items = [
        item if isinstance(item, (slice, type(None), type(Ellipsis))) else _scalar_or_array(item)
        for item in key
    ]
    taken = sum(_axes_taken(item) for item in items)
    if taken > a.ndim:
        raise IndexError("too many indices for array")
    dots = [i for i, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    rest: list[Any] = [slice(None)] * (a.ndim - taken)
    if dots:
        items[dots[0] : dots[0] + 1] = rest
    else:
        items += rest
    return items


def _scalar_or_array(item: Any) -> Any:
    if isinstance(item, (int, np.integer)) and not isinstance(item, (bool, np.bool_)):
        return int(item)
    return _index_array(item)


def _axes_taken(item: Any) -> int:
    if item is None or item is Ellipsis:
        return 0
    if isinstance(item, ndarray) and item.dtype.kind == "b":
        return item.ndim
    return 1


def result_shape(a: ndarray, items: list[Any]) -> tuple[int, ...]:
    """Return the shape of `a[items]` for integer arrays; NumPy's placement rule.

    Raises:
        IndexError: an int out of range, indices that do not broadcast.
    """
    shape: list[int] = []
    arrays: list[tuple[int, ...]] = []
    positions: list[int] = []
    insert_at = 0
    axis = 0
    for position, item in enumerate(items):
        if item is None:
            shape.append(1)
            continue
        length = a.shape[axis]
        axis += 1
        if isinstance(item, slice):
            shape.append(len(range(*item.indices(length))))
            continue
        if isinstance(item, int):
            if not -length <= item < length:
                raise IndexError(
                    f"Index {item} is out of bounds for axis {axis - 1} with size {length}"
                )
            arrays.append(())
        else:
            arrays.append(item.shape)
        if not positions:
            insert_at = len(shape)
        positions.append(position)
    try:
        common = broadcast_shapes(arrays)
    except ValueError:
        text = " ".join(str(s) for s in arrays)
        raise IndexError(
            f"shape mismatch: indexing arrays could not be broadcast together with shapes {text}"
        ) from None
    together = positions[-1] - positions[0] + 1 == len(positions)
    start = insert_at if together else 0
    return (*shape[:start], *common, *shape[start:])


def _check_masks(a: ndarray, items: list[Any]) -> bool:
    """Return whether a boolean mask is among the indices; its shape must be that of its axes."""
    axis = 0
    found = False
    for item in items:
        if isinstance(item, ndarray) and item.dtype.kind == "b":
            found = True
            axes = a.shape[axis : axis + item.ndim]
            for i, (have, want) in enumerate(zip(item.shape, axes, strict=True)):
                if have != want:
                    raise IndexError(
                        f"boolean index did not match indexed array along dimension {axis + i}; "
                        f"dimension is {want} but corresponding boolean dimension is {have}"
                    )
        axis += _axes_taken(item)
    return found


def getitem(a: ndarray, key: tuple[Any, ...]) -> ndarray:
    """Return `a[key]` where arrays, lists or booleans are among the indices: always a copy."""
    items = prepare(a, key)
    if _check_masks(a, items):
        return calls.call_unknown("getitem", (a, tuple(items)))[0]
    shape = result_shape(a, items)
    if 0 in a.shape and 0 not in shape:
        raise IndexError("cannot do a non-empty take from an empty axes.")
    return calls.call_one("getitem", (a, tuple(items)), None, shape, a.dtype)


def setitem(a: ndarray, key: tuple[Any, ...], value: Any) -> None:
    """Do `a[key] = value` where arrays, lists or booleans are among the indices."""
    _scatter("setitem", a, key, value)


def _scatter(name: str, a: ndarray, key: tuple[Any, ...], value: Any) -> None:
    items = prepare(a, key)
    masked = _check_masks(a, items)
    if isinstance(value, np.ndarray):
        if value.ndim:
            raise TypeError(f"Unsupported type {type(value)}")
        value = value.item()
    if isinstance(value, ndarray):
        if not masked:
            shape = result_shape(a, items)
            lead = value.shape
            while len(lead) > len(shape) and lead[0] == 1:
                lead = lead[1:]
            value = value.reshape(lead)
            try:
                fits = np.broadcast_shapes(lead, shape) == shape
            except ValueError:
                fits = False
            if not fits:
                raise ValueError(
                    f"shape mismatch: value array of shape {value.shape} could not be broadcast"
                    f" to indexing result of shape {shape}"
                )
    elif not isinstance(value, (bool, int, float, complex, np.generic)):
        raise TypeError(f"Unsupported type {type(value)}")
    elif not masked:
        result_shape(a, items)
    calls.call_into(name, (a, tuple(items), value))


def scatter_add(a: ndarray, key: Any, value: Any) -> None:
    """Add at indices; repeated indices add repeatedly."""
    _scatter("scatter_add", a, key if isinstance(key, tuple) else (key,), value)


def scatter_max(a: ndarray, key: Any, value: Any) -> None:
    """Take the maximum at indices."""
    _scatter("scatter_max", a, key if isinstance(key, tuple) else (key,), value)


def scatter_min(a: ndarray, key: Any, value: Any) -> None:
    """Take the minimum at indices."""
    _scatter("scatter_min", a, key if isinstance(key, tuple) else (key,), value)


def take(a: ndarray, indices: Any, axis: Any = None, out: Any = None) -> ndarray:
    """Return elements at indices along an axis (of the flattened array for None); indices wrap."""
    if axis is None:
        flat = views.ravel(a)
        axis = 0
    else:
        flat = a
        if a.ndim == 0:
            flat = views.ravel(a)
        axis = normalize_axis(axis, flat.ndim)
    if isinstance(indices, (int, np.integer)):
        index_shape: tuple[int, ...] = ()
        index: Any = int(indices)
        length = flat.shape[axis]
        if not -length <= index < length:
            raise IndexError(f"Index {index} is out of bounds for axis {axis} with size {length}")
    else:
        index = _index_array(indices)
        index_shape = index.shape
    shape = flat.shape[:axis] + index_shape + flat.shape[axis + 1 :]
    if flat.size == 0 and 0 not in shape:
        raise IndexError("cannot do a non-empty take from an empty axes.")
    result = calls.call_one("take", (flat, index, axis), None, shape, a.dtype)
    return calls.with_out(result, out)


def normalize_axis(axis: Any, ndim: int) -> int:
    """Return an axis as a non-negative int.

    Raises:
        AxisError: out of range.
        TypeError: not an integer.
    """
    axis = operator.index(axis)
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return int(axis % ndim)


def normalize_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return axes as sorted-as-given non-negative ints; all of them for None.

    Raises:
        AxisError, or ValueError for an axis named twice.
    """
    if axis is None:
        return tuple(range(ndim))
    if not isinstance(axis, (tuple, list)):
        return (normalize_axis(axis, ndim),)
    axes = tuple(normalize_axis(x, ndim) for x in axis)
    if len(set(axes)) != len(axes):
        raise ValueError("duplicate value in 'axis'")
    return axes
