"""Ufuncs and element-wise kernels on distributed arrays, chunk by chunk."""

from __future__ import annotations

from itertools import chain
from typing import Any

from cupool.client_shim.cupy._core.core import ndarray
from cupool.client_shim.cupy.cuda import Device, get_current_stream
from cupool.client_shim.cupyx.distributed.array import _array, _modes
from cupool.client_shim.cupyx.distributed.array._chunk import _Chunk


def _aligned(args: list[Any], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return the operands as replicas, in the chunks of the first.

    Raises:
        ValueError: shapes that differ.
        RuntimeError: chunks that differ, of more than two operands or of keyword arguments.
    """
    operands = [*args, *kwargs.values()]
    first = operands[0]
    if any(one.shape != first.shape for one in operands):
        shapes = " ".join(str(one.shape) for one in operands)
        raise ValueError(f"distributed arrays of different shapes do not broadcast: {shapes}")
    if any(one.index_map != first.index_map for one in operands):
        if len(args) > 2:
            raise RuntimeError(
                "Element-wise operation over more than two distributed arrays is not supported"
                " unless they share the same index_map."
            )
        if kwargs:
            raise RuntimeError(
                "Keyword argument is not supported unless arguments share the same index_map."
            )
    made = [one._to_op_mode(_modes.REPLICA).reshard(first.index_map) for one in operands]
    return made[: len(args)], dict(zip(kwargs, made[len(args) :], strict=True))


def _piece(operand: Any, device: int, position: int, stream: Any) -> Any:
    """Return the array of an operand's chunk, for use in a stream of its device."""
    chunk = operand._chunks_map[device][position]
    stream.wait_event(chunk.ready)
    return chunk.array


def _execute(kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a kernel for each chunk of its operands; the result is a replica.

    Raises:
        RuntimeError: an operand that is not distributed, or a kernel without exactly one result.
    """
    if any(not isinstance(one, _array.DistributedArray) for one in chain(args, kwargs.values())):
        raise RuntimeError("Mixing a distributed array with a non-distributed one is not supported")
    operands, named = _aligned(list(args), kwargs)
    first = next(chain(operands, named.values()))
    chunks_map: dict[int, list[_Chunk]] = {}
    dtype: Any = first.dtype
    for device, chunks in first._chunks_map.items():
        chunks_map[device] = []
        with Device(device):
            stream = get_current_stream()
            for position, chunk in enumerate(chunks):
                at = device, position, stream
                pieces = {name: _piece(one, *at) for name, one in named.items()}
                made = kernel(*(_piece(one, *at) for one in operands), **pieces)
                if not isinstance(made, ndarray):
                    raise RuntimeError(
                        "Kernels returning other than single array are not supported"
                    )
                dtype = made.dtype
                chunks_map[device].append(_Chunk.of(made, chunk.index))
    return _array.DistributedArray(first.shape, dtype, chunks_map, _modes.REPLICA)
