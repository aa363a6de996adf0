"""Reductions of distributed arrays along an axis, chunk by chunk."""

from __future__ import annotations

from typing import Any

from cupool.client_shim.cupy._core.routines_indexing import normalize_axis
from cupool.client_shim.cupyx.distributed.array import _array, _modes
from cupool.client_shim.cupyx.distributed.array._chunk import _Chunk

_MODES = {
    "cupy_max": _modes.MAX,
    "cupy_min": _modes.MIN,
    "cupy_sum": _modes.SUM,
    "cupy_prod": _modes.PROD,
}


class Reduction:
    """A reduction of `cupy.ndarray` by its method's name, as a kernel."""

    def __init__(self, method: str) -> None:
        self.method = method
        self.name = f"cupy_{method}"

    def __call__(self, array: Any, axis: int, dtype: Any) -> Any:
        options = {} if dtype is None else {"dtype": dtype}
        return getattr(array, self.method)(axis=axis, **options)


def _execute(array: Any, kernel: Any, axis: int, dtype: Any) -> Any:
    """Reduce each chunk; the parts of an element's result lie in several chunks, as the mode says.

    Raises:
        RuntimeError: a kernel that is none of sum, prod, max and min.
        AxisError: no such axis.
    """
    mode = _MODES.get(kernel.name)
    if mode is None:
        raise RuntimeError(
            f"Unsupported kernel: {kernel.name}: a distributed array does not support it"
        )
    axis = normalize_axis(axis, array.ndim)
    if array._mode is not mode:
        array = array._to_op_mode(_modes.REPLICA if mode.idempotent else mode)
    chunks_map: dict[int, list[_Chunk]] = {}
    made: Any = None
    for device, chunks in array._chunks_map.items():
        chunks_map[device] = []
        for chunk in chunks:
            with chunk.on_ready():
                made = kernel(chunk.array, axis=axis, dtype=dtype)
                index = chunk.index[:axis] + chunk.index[axis + 1 :]
                chunks_map[device].append(_Chunk.of(made, index))
    shape = array.shape[:axis] + array.shape[axis + 1 :]
    return _array.DistributedArray(shape, made.dtype, chunks_map, mode)
