"""Products of distributed matrices, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise, product
from typing import Any

from cupool.client_shim import cupy
from cupool.client_shim.cupyx.distributed.array import _array, _index_arith, _modes
from cupool.client_shim.cupyx.distributed.array._chunk import _Chunk
from cupool.client_shim.cupyx.distributed.array._index_arith import Index, IndexMap

_Span = tuple[int, int]
_Blocks = dict[tuple[_Span, _Span], dict[int, _Chunk]]
"""Rows and columns of a block -> the chunks that hold it, by device."""


def make_2d_index_map(
    i_partitions: list[int], j_partitions: list[int], devices: list[list[set[int]]]
) -> IndexMap:
    """Return the index map of a matrix in blocks.

    Args:
        i_partitions, j_partitions: boundaries of the blocks' rows and columns, from 0 on.
        devices: for each block, in rows and columns of blocks, the devices that hold it.

    Raises:
        ValueError: boundaries that do not rise from 0, or another number of blocks.
    """
    for name, bounds in (("i_partitions", i_partitions), ("j_partitions", j_partitions)):
        if bounds[:1] != [0] or sorted(set(bounds)) != list(bounds):
            raise ValueError(f"{name} must rise from 0, but is {bounds}")
    rows, columns = len(i_partitions) - 1, len(j_partitions) - 1
    if len(devices) != rows or any(len(row) != columns for row in devices):
        raise ValueError(f"devices must have {rows} rows with {columns} sets of devices each")
    index_map: IndexMap = {}
    for row, i_span in zip(devices, pairwise(i_partitions), strict=True):
        for owners, j_span in zip(row, pairwise(j_partitions), strict=True):
            for device in owners:
                index_map.setdefault(device, []).append((slice(*i_span), slice(*j_span)))
    return index_map


def _by_batch(array: Any) -> dict[Any, _Blocks]:
    """Return the blocks of each batch (the index of the axes before the last two).

    Raises:
        RuntimeError: rows or columns of a block that are not neighbours.
    """
    batches: dict[Any, _Blocks] = {}
    for device, chunks in array._chunks_map.items():
        for chunk in chunks:
            if any(axis.step != 1 for axis in chunk.index[-2:]):
                raise RuntimeError("Step other than 1 is not supported")
            rows, columns = ((axis.start, axis.stop) for axis in chunk.index[-2:])
            blocks = batches.setdefault(_index_arith._key(chunk.index[:-2]), {})
            blocks.setdefault((rows, columns), {})[device] = chunk
    return batches


def _spans(found: Iterable[_Span]) -> list[_Span]:
    """Return the spans in order.

    Raises:
        RuntimeError: they overlap, or there are gaps between them.
    """
    spans = sorted(set(found))
    if any(one[1] != next_[0] for one, next_ in pairwise(spans)):
        raise RuntimeError(f"Inconsistent index mapping: blocks at {spans} do not fit together")
    return spans


def _plan(a: _Blocks, b: _Blocks) -> list[tuple[_Chunk, _Chunk]]:
    """Return the products of blocks to make, each of two chunks on one device.

    Raises:
        RuntimeError: the blocks do not fit, or no device holds both of two.
    """
    rows = _spans(i for i, _ in a)
    columns = _spans(j for _, j in b)
    inner = _spans([k for _, k in a] + [k for k, _ in b])
    plan = []
    for i, j, k in product(rows, columns, inner):
        if (i, k) not in a or (k, j) not in b:
            raise RuntimeError(f"Inconsistent index mapping: no chunk holds {(i, k)} or {(k, j)}")
        both = a[i, k].keys() & b[k, j].keys()
        if not both:
            raise RuntimeError(
                "There is no device that can perform multiplication between block"
                f" {(i, k)} and {(k, j)}"
            )
        plan.append((a[i, k][min(both)], b[k, j][min(both)]))
    return plan


def _reshaped(array: Any, change: Callable[[tuple[Any, ...], Any], tuple[Any, ...]]) -> Any:
    """Return the array with an axis of length one more or less, in the same memory.

    Args:
        change: gets a tuple with an item for each axis, and the item of a new axis.
    """

    def chunk_of(chunk: _Chunk) -> _Chunk:
        with chunk.array.device:
            view = chunk.array.reshape(change(chunk.array.shape, 1))
        return _Chunk(view, chunk.ready, change(chunk.index, slice(0, 1, 1)))

    chunks_map = {d: [chunk_of(chunk) for chunk in own] for d, own in array._chunks_map.items()}
    shape = change(array.shape, 1)
    return _array.DistributedArray(shape, array.dtype, chunks_map, array._mode)


def matmul(a: Any, b: Any, out: Any = None, **kwargs: Any) -> Any:
    """Return the matrix product of distributed arrays, in the mode `SUM`.

    The blocks must fit: those of `a` end between columns where those of `b` end between rows, and
    for each product of two blocks there is a device that holds both. Nothing moves.

    Args:
        a, b: arrays of equal axes before the last two, or of one axis.
        out: not supported, as in CuPy.
        kwargs: of `cupy.matmul`, such as `dtype`.

    Raises:
        ValueError: shapes that do not fit.
        RuntimeError: blocks that do not fit, or an operand that is not distributed.
    """
    if out is not None:
        raise RuntimeError("Argument `out` is not supported")
    for name in ("subok", "axes", "axis"):
        if name in kwargs:
            raise RuntimeError(f"Argument `{name}` is not supported")
    if not all(isinstance(one, _array.DistributedArray) for one in (a, b)):
        raise RuntimeError(
            "Mixing a distributed array with a non-distributed array is not supported"
        )
    a, b = a._to_op_mode(_modes.REPLICA), b._to_op_mode(_modes.REPLICA)
    vectors = a.ndim == 1, b.ndim == 1
    if vectors[0]:
        a = _reshaped(a, lambda axes, new: (new, *axes))
    if vectors[1]:
        b = _reshaped(b, lambda axes, new: (*axes, new))
    result = _product(a, b, kwargs)
    if vectors[0]:
        result = _reshaped(result, lambda axes, _: (*axes[:-2], axes[-1]))
    if vectors[1]:
        result = _reshaped(result, lambda axes, _: axes[:-1])
    return result


def _product(a: Any, b: Any, kwargs: dict[str, Any]) -> Any:
    """Return the product of two arrays of at least two axes, and as many."""
    if 0 in (a.ndim, b.ndim) or a.shape[-1] != b.shape[-2] or a.shape[:-2] != b.shape[:-2]:
        raise ValueError(f"Shapes are incompatible: {a.shape} and {b.shape}")
    batches_a, batches_b = _by_batch(a), _by_batch(b)
    if batches_a.keys() != batches_b.keys():
        raise RuntimeError("Mismatched batch shapes")
    chunks_map: dict[int, list[_Chunk]] = {device: [] for device in a.devices}
    dtype: Any = None
    for key, blocks in batches_a.items():
        batch: Index = tuple(slice(*one) for one in key)
        for left, right in _plan(blocks, batches_b[key]):
            with left.on_ready() as stream:
                stream.wait_event(right.ready)
                made = cupy.matmul(left.array, right.array, **kwargs)
                index = (*batch, left.index[-2], right.index[-1])
                chunks_map[left.device_id].append(_Chunk.of(made, index))
                dtype = made.dtype
    shape = (*a.shape[:-1], b.shape[-1])
    return _array.DistributedArray(shape, dtype, chunks_map, _modes.SUM)
