"""Advanced indexing, and copying into arrays.

Integer indices out of range wrap around, as on CUDA (CuPy's "difference" page); a boolean mask
costs a wait when it is read through, because the shape depends on data.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import _operators, calls, core, views
from cupool.client_shim.cupy._core._kernel import broadcast_shapes
from cupool.client_shim.cupy._core.foreign import from_cupy_like
from cupool.client_shim.cupy._functions import warn_complex

ndarray = core.ndarray


def host_scalar(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return a host value as a NumPy scalar of a dtype, as `fill` takes it.

    Raises:
        ValueError: an array with axes.
        OverflowError, TypeError, ValueError: what NumPy says of the conversion.
    """
    host = np.asarray(value, dtype=dtype)
    if host.shape != ():
        raise ValueError("non-scalar numpy.ndarray cannot be used for fill")
    return host[()]


def fill(target: ndarray, value: Any) -> None:
    """Set every element to a scalar, or to a 0-d device array.

    Raises:
        ValueError: not a scalar.
    """
    array = from_cupy_like(value)
    if array is None:
        scalar = host_scalar(value, target.dtype)
        calls.call_into("fill", (target, scalar))
        return
    if array.shape != ():
        raise ValueError("non-scalar cupy.ndarray cannot be used for fill")
    if array.dtype.kind == "c" and target.dtype.kind in "iuf":
        warn_complex()
    calls.call_into("assign", (target, array))


def assign(target: ndarray, value: Any) -> None:
    """Do `target[...] = value` with broadcasting and unsafe casting.

    Raises:
        ValueError: the shape does not broadcast into the target, or a host array is no scalar.
    """
    array = from_cupy_like(value)
    if array is None:
        fill(target, value)
        return
    if (
        array.shape == target.shape
        and array._shadow.strides == target._shadow.strides
        and array.dtype == target.dtype
        and _same_memory(array, target)
    ):
        return
    apart = core.session_of(array) is not core.session_of(target)
    if apart and _same_layout(array, target):
        with core.on_device_of(target):
            calls.call_into("assign", (target, core.brought(array)))
        return
    if array.dtype.kind == "c" and target.dtype.kind in "iuf":
        warn_complex()
    calls.call_into("assign", (target, _broadcastable(array, target.shape)))


def _same_layout(a: ndarray, b: ndarray) -> bool:
    """Can bytes be copied as they are? Then CuPy needs no peer access between devices."""
    same = a.shape == b.shape and a.strides == b.strides and a.dtype == b.dtype
    return same and bool(b._shadow.flags.c_contiguous)


def _same_memory(a: ndarray, b: ndarray) -> bool:
    first = a if a._owner is None else a._owner
    second = b if b._owner is None else b._owner
    return first is second and core.offset_of(a) == core.offset_of(b)


def _broadcastable(array: ndarray, shape: tuple[int, ...]) -> ndarray:
    """Return an array that NumPy's rules broadcast into a shape: leading ones are dropped.

    Raises:
        ValueError: it does not fit.
    """
    lengths = array.shape
    while len(lengths) > len(shape) and lengths[0] == 1:
        lengths = lengths[1:]
    try:
        fits = np.broadcast_shapes(lengths, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"could not broadcast input array from shape {array.shape} into shape {shape}"
        )
    return array if lengths == array.shape else views.reshape(array, lengths)


def _stacked(items: Any) -> ndarray | None:
    """Return a list of device arrays (or lists of them) as one array; None if it holds none."""
    parts = [from_cupy_like(x) if not isinstance(x, list) else _stacked(x) for x in items]
    if not any(isinstance(x, ndarray) for x in parts):
        return None
    from cupool.client_shim.cupy._creation.from_data import array

    return array([x if p is None else p for x, p in zip(items, parts, strict=True)])


def _index_array(item: Any) -> Any:
    """Return an index as a device array; lists and NumPy arrays are uploaded.

    Raises:
        IndexError: not integers and not booleans.
    """
    index = from_cupy_like(item)
    if index is None and isinstance(item, (list, tuple)):
        index = _stacked(item)
    if index is None:
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
    if dots and rest:
        items[dots[0] : dots[0] + 1] = rest
    elif not dots:
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
        if item is Ellipsis:
            continue  # of no axes: yet it parts the indices on its sides, as in NumPy
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
                if have not in (0, want):
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


def _scatter(name: str, a: ndarray, key: tuple[Any, ...], value: Any, refusal: str = "") -> None:
    """Queue a scattering; `refusal` is the TypeError for integer indices, if `a` has none."""
    items = prepare(a, key)
    masked = _check_masks(a, items)
    if refusal and not masked:
        raise TypeError(refusal)
    array = from_cupy_like(value)
    if array is None:
        host = np.asarray(value, dtype=a.dtype)
        if host.shape != ():
            from cupool.client_shim.cupy._creation.from_data import upload

            array = upload(host)
        else:
            value = host[()]
    if array is not None:
        value = array
        if array.dtype.kind == "c" and a.dtype.kind in "iuf":
            warn_complex()
        if not masked:
            value = _broadcastable(array, result_shape(a, items))
    elif not masked:
        result_shape(a, items)
    calls.call_into(name, (a, tuple(items), value))


def ufunc_at(name: str, a: ndarray, key: Any, value: Any, refusal: str) -> None:
    """Do `ufunc.at`: the operation `name` at indices, repeated ones included.

    Raises:
        IndexError: bad indices.
        TypeError: with the text `refusal`, if there is one, for integer indices.
        ValueError: `value` does not broadcast to them.
    """
    items = key if isinstance(key, tuple) else (key,)
    if all(isinstance(k, (int, np.integer, slice, type(None), type(Ellipsis))) for k in items):
        target = views.basic_index(a, items)
        _operators.ufuncs.__dict__[name.partition(".")[0]](target, value, target)
        return
    _scatter(name, a, items, value, refusal)


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
    if out is not None and out.dtype != a.dtype:
        raise TypeError("Output dtype mismatch")
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
