"""Labels: finding regions, and what is done for each of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls, core
from cupool.client_shim.cupy._core._kernel import broadcast_shapes
from cupool.client_shim.cupyx.scipy.ndimage import _util

__all__ = ["find_objects", "histogram", "label", "labeled_comprehension", "value_indices"]
ndarray = core.ndarray


def label(input: Any, structure: Any = None, output: Any = None) -> Any:
    """Number the connected regions.

    Args:
        structure: which of the 3 x 3 x ... neighbours are connected.
        output: an array or dtype for the labels; int32 by default.

    Returns:
        labels and their count (a wait); the count alone if `output` is an array.

    Raises:
        TypeError: complex input, no device array.
        RuntimeError: a structure with other axes.
        ValueError: a structure that is not of length 3, an output that does not fit.
    """
    _util.check_array(input)
    if input.dtype.kind == "c":
        raise TypeError("Complex type not supported")
    if structure is not None:
        structure = _util.on_device(structure)
        if structure.ndim != input.ndim:
            raise RuntimeError("structure and input must have equal rank")
        if any(n != 3 for n in structure.shape):
            raise ValueError("structure dimensions must be equal to 3")
    into = isinstance(output, ndarray)
    if into and output.shape != input.shape:
        raise ValueError("output shape not correct")
    kind = np.dtype(np.int32 if output is None else output.dtype if into else output)
    specs = [(input.shape, kind, "C"), ((), np.dtype(np.int64), "C")]
    args = (input, structure, kind)
    labels, count = calls.call("scipy.ndimage.label", args, None, *specs)
    if into:
        calls.call_into("assign", (output, labels))
        return int(count)
    return labels, int(count)


def find_objects(input: Any, max_label: int = 0) -> list[Any]:
    """Return the slices of the smallest box around each label, None for one that is not there.

    Raises:
        TypeError: labels that are no integers.
    """
    from cupool.client_shim import cupy

    if input.dtype.kind not in "bui":
        raise TypeError(f"Input dtype {input.dtype.name} cannot be interpreted as an integer")
    if max_label < 1:
        max_label = int(input.max())
    flat = input.astype(np.int64).ravel()
    rows = cupy.where((flat < 0) | (flat > max_label), 0, flat)
    bounds = []
    for axis, length in enumerate(input.shape):
        along = cupy.arange(length).reshape([-1 if i == axis else 1 for i in range(input.ndim)])
        places = cupy.broadcast_to(along, input.shape).ravel()
        low = cupy.full(max_label + 1, length)
        high = cupy.full(max_label + 1, -1)
        cupy.minimum.at(low, rows, places)
        cupy.maximum.at(high, rows, places)
        bounds += [low, high]
    if not bounds or max_label < 1:
        return []
    host = cupy.stack(bounds).get()[:, 1:].reshape(input.ndim, 2, max_label)
    return [
        None
        if host[0, 1, i] < 0
        else tuple(slice(int(low[i]), int(high[i]) + 1) for low, high in host)
        for i in range(max_label)
    ]


def labeled_comprehension(
    input: Any,
    labels: Any,
    index: Any,
    func: Callable[..., Any],
    out_dtype: Any,
    default: Any,
    pass_positions: bool = False,
) -> Any:
    """Apply a function of the script to the values of each region.

    Args:
        index: the labels wanted, an array or one; None makes one region of those above 0.
        out_dtype: of the result; `object` gives a list.
        default: for labels that are not there.
        pass_positions: call `func(values, positions)`.

    Raises:
        ValueError: an index without labels or that is no label, labels that do not broadcast.
    """
    from cupool.client_shim import cupy

    as_scalar = np.isscalar(index)
    arrays = [input]
    if pass_positions:
        arrays.append(cupy.arange(input.size).reshape(input.shape))
    if labels is None:
        if index is not None:
            raise ValueError("index without defined labels")
        return func(*(a.ravel() for a in arrays))
    try:
        shape = broadcast_shapes([input.shape, labels.shape])
    except ValueError:
        raise ValueError("input and labels must have shapes that broadcast") from None
    labels = cupy.broadcast_to(labels, shape)
    arrays = [cupy.broadcast_to(a, shape) for a in arrays]
    if index is None:
        return func(*(a[labels > 0] for a in arrays))
    index = cupy.atleast_1d(index)
    wanted = index.astype(labels.dtype)
    if cupy.any(wanted.astype(index.dtype) != index):
        raise ValueError(
            f"Cannot convert index values from <{index.dtype}> to <{labels.dtype}> "
            "(labels.dtype) without loss of precision"
        )
    results: list[Any] = []
    for one in wanted.ravel().tolist():
        inside = [a[labels == one] for a in arrays]
        results.append(func(*inside) if inside[0].size else default)
    return _collect(results, index.shape, out_dtype, as_scalar)


def _collect(results: list[Any], shape: tuple[int, ...], dtype: Any, as_scalar: bool) -> Any:
    from cupool.client_shim import cupy

    if dtype is object:
        return results[0] if as_scalar else results
    made = cupy.empty(len(results), dtype)
    for position, value in enumerate(results):
        made[position] = np.nan if value is None and made.dtype.kind in "fc" else value
    return made[0] if as_scalar else made.reshape(shape)


def histogram(
    input: Any, min: Any, max: Any, bins: int, labels: Any = None, index: Any = None
) -> Any:
    """Count the values of each region in `bins` intervals from `min` to `max`.

    Returns:
        an array, or a list of arrays for an array `index`.
    """
    from cupool.client_shim import cupy

    edges = cupy.linspace(min, max, bins + 1)

    def count(values: Any) -> Any:
        return cupy.histogram(values, edges)[0]

    return labeled_comprehension(input, labels, index, count, object, None)


def value_indices(
    arr: Any, *, ignore_value: Any = None, adaptive_index_dtype: bool = False
) -> dict[int, Any]:
    """Return where each value lies: for each, a tuple of coordinate arrays.

    Args:
        ignore_value: one that is left out.
        adaptive_index_dtype: use the smallest integers that hold the coordinates.

    Raises:
        ValueError: no integer array.
    """
    from cupool.client_shim import cupy

    if arr.dtype.kind not in "iu":
        raise ValueError("Parameter 'arr' must be an integer array")
    flat = arr.reshape(-1)
    counts = cupy.bincount(flat).get()
    order = cupy.argsort(flat, axis=None)
    if adaptive_index_dtype:
        order = order.astype(np.min_scalar_type(-(arr.size + 1)), copy=False)
    places = cupy.unravel_index(order, arr.shape)
    if adaptive_index_dtype:
        small = np.min_scalar_type(-(np.max(arr.shape, initial=0) + 1))
        places = tuple(p.astype(small, copy=False) for p in places)
    found: dict[int, Any] = {}
    start = 0
    for value, length in enumerate(counts):
        if length and value != ignore_value:
            found[value] = tuple(p[start : start + length] for p in places)
        start += length
    return found
