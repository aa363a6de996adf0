"""`append`, `delete`, `resize`, `trim_zeros` and the `unique` family."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cupool.client_shim.cupy._core import _operators, calls, core, views
from cupool.client_shim.cupy._core._dtype import check_sortable
from cupool.client_shim.cupy._core._reduction import reduce
from cupool.client_shim.cupy._core.routines_indexing import normalize_axis
from cupool.client_shim.cupy._creation.basic import full, lengths_of, zeros
from cupool.client_shim.cupy._creation.from_data import asarray, upload
from cupool.client_shim.cupy._manipulation.join import concatenate, stack

__all__ = [
    "append",
    "delete",
    "resize",
    "trim_zeros",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]
ndarray = core.ndarray


def append(arr: Any, values: Any, axis: Any = None) -> ndarray:
    """Return `arr` and `values` joined along an axis, flattened for None."""
    return concatenate((asarray(arr), asarray(values)), axis)


def delete(arr: Any, indices: Any, axis: Any = None) -> ndarray:
    """Return `arr` without the elements at indices along an axis, flattened for None.

    Args:
        indices: int, slice, or integers (out of range ones wrap), or booleans that mark what to
            remove. With a device array the length depends on data, which costs a wait.

    Raises:
        ValueError: not a device array; booleans of another length.
        IndexError: an int out of range.
        AxisError: no such axis.
    """
    if not isinstance(arr, ndarray):
        raise ValueError("delete(): arr must be a cupy.ndarray")
    if axis is None:
        arr, axis = views.ravel(arr), 0
    axis = normalize_axis(axis, arr.ndim)
    length = arr.shape[axis]
    if isinstance(indices, ndarray):
        if indices.dtype.kind == "b":
            _check_mask(indices, length)
        return calls.call_unknown("delete", (arr, indices, axis))[0]
    removed = _removed(indices, length)
    rest = length - int(removed.sum())
    shape = (*arr.shape[:axis], rest, *arr.shape[axis + 1 :])
    sent: Any = indices if isinstance(indices, (int, slice)) else upload(removed)
    return calls.call_one("delete", (arr, sent, axis), None, shape, arr.dtype)


def _check_mask(mask: Any, length: int) -> None:
    if mask.ndim != 1 or mask.shape[0] != length:
        raise ValueError(
            "boolean array argument indices to delete must be one dimensional and match the axis"
            f" length of {length}"
        )


def _removed(indices: Any, length: int) -> np.ndarray[Any, Any]:
    """Return the mask of what host indices remove."""
    mask = np.zeros(length, np.bool_)
    if isinstance(indices, slice):
        mask[indices] = True
        return mask
    if isinstance(indices, (int, np.integer)) and not isinstance(indices, bool):
        if not -length <= indices < length:
            raise IndexError(f"Index {indices} is out of bounds for axis 0 with size {length}")
        mask[indices] = True
        return mask
    host = np.asarray(indices)
    if host.dtype.kind == "b":
        _check_mask(host, length)
        return host
    if host.size and length:
        if host.dtype.kind not in "iu":
            raise IndexError(
                "arrays used as indices must be of integer or boolean type. (actual: "
                f"{host.dtype.type})"
            )
        mask[host.ravel() % length] = True
    return mask


def resize(a: Any, new_shape: Any) -> ndarray:
    """Return the elements of `a` in order, repeated as needed to fill another shape."""
    if np.isscalar(a):
        return full(new_shape, a)
    a = asarray(a)
    if a.size == 0:
        return zeros(new_shape, a.dtype)
    shape = lengths_of(new_shape)
    return calls.call_one("resize", (a, shape), None, shape, a.dtype)


def trim_zeros(filt: Any, trim: str = "fb") -> ndarray:
    """Return a vector without its leading and trailing zeros, a view; costs a wait.

    Args:
        trim: "f" for the front, "b" for the back.

    Raises:
        NotImplementedError: more than one axis.
    """
    a = views.require(filt)
    if a.ndim == 0:
        return a
    if a.ndim > 1:
        raise NotImplementedError("Multi-dimensional trim is not supported")
    if not a.size:
        return a
    there = _operators.ufuncs.not_equal(a, 0)
    bounds = stack(
        [
            reduce("argmax", there),
            reduce("argmax", core.view_of(there, there._shadow[::-1])),
            reduce("count_nonzero", there),
        ]
    )
    front, back, count = (int(n) for n in bounds.get())
    if not count:
        front = back = a.size
    sides = trim.upper()
    start = front if "F" in sides else 0
    stop = a.size - back if "B" in sides else a.size
    return core.view_of(a, a._shadow[start:stop])


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
) -> Any:
    """Return the sorted different elements, or slices along an axis; costs a wait.

    Args:
        return_index: also return where each is found first.
        return_inverse: also return what restores the input.
        return_counts: also return how often each occurs.
        equal_nan: take all NaN for one.

    Raises:
        AxisError: no such axis.
        NotImplementedError: elements that cannot be sorted.
    """
    ar = views.require(ar) if axis is not None else asarray(ar)
    kwargs: dict[str, Any] = {}
    for name, wanted in (
        ("return_index", return_index),
        ("return_inverse", return_inverse),
        ("return_counts", return_counts),
    ):
        if wanted:
            kwargs[name] = True
    count = 1 + len(kwargs)
    if axis is not None:
        kwargs["axis"] = normalize_axis(axis, ar.ndim)
    else:
        check_sortable(ar.dtype)
    if not equal_nan:
        kwargs["equal_nan"] = False
    results = calls.call_unknown("unique", (ar,), kwargs, count)
    return results[0] if count == 1 else tuple(results)


class UniqueAllResult(NamedTuple):
    """What `unique_all` returns."""

    values: ndarray
    indices: ndarray
    inverse_indices: ndarray
    counts: ndarray


class UniqueCountsResult(NamedTuple):
    """What `unique_counts` returns."""

    values: ndarray
    counts: ndarray


class UniqueInverseResult(NamedTuple):
    """What `unique_inverse` returns."""

    values: ndarray
    inverse_indices: ndarray


def unique_all(x: Any) -> UniqueAllResult:
    """Return different elements, first places, inverse and counts; each NaN is its own."""
    return UniqueAllResult(*unique(x, True, True, True, equal_nan=False))


def unique_counts(x: Any) -> UniqueCountsResult:
    """Return different elements and how often each occurs; each NaN is its own."""
    return UniqueCountsResult(*unique(x, return_counts=True, equal_nan=False))


def unique_inverse(x: Any) -> UniqueInverseResult:
    """Return different elements and what restores the input; each NaN is its own."""
    return UniqueInverseResult(*unique(x, return_inverse=True, equal_nan=False))


def unique_values(x: Any) -> ndarray:
    """Return different elements; each NaN is its own."""
    made: ndarray = unique(x, equal_nan=False)
    return made
