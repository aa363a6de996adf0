"""`MemoryAsyncPool`: CUDA's own stream-ordered pool."""

from __future__ import annotations

from typing import Any

from cupool.client_shim import session as _session
from cupool.client_shim.cupy.cuda import _pools, runtime
from cupool.client_shim.cupy.cuda import memory as _memory


class MemoryAsyncPool:
    """The device's own stream-ordered pool (`cudaMallocAsync`).

    Args:
        pool_handles: "default", "current", or a pool that `cupy.cuda.runtime` made.

    Raises:
        ValueError, NotImplementedError: another handle.
    """

    __module__ = "cupy.cuda"
    memoryAsyncHasStat = True

    def __init__(self, pool_handles: Any = "current") -> None:
        count = _session.device_count()
        if isinstance(pool_handles, (str, int)):
            pool_handles = [pool_handles] * count
        self._pools = [_pool_of(handle, n) for n, handle in enumerate(pool_handles)]
        limit = _pools._parse_limit_string()
        if limit != {"size": None, "fraction": None}:
            self.set_limit(**limit)

    def _handle(self) -> int:
        return self._pools[_session.current.device]

    def malloc(self, size: int) -> _memory.MemoryPointer:
        """Allocate bytes in the current stream; an allocator for `set_allocator`.

        Raises:
            OutOfMemoryError: they do not fit.
        """
        rounded = _pools._round_size(size)
        total, limit = self.total_bytes(), self.get_limit()
        if self.used_bytes() + rounded > limit:
            raise _memory.OutOfMemoryError(size, total, limit)
        try:
            return _memory.malloc_async(rounded)
        except runtime.CUDARuntimeError as exc:
            if exc.status != _pools._OUT_OF_MEMORY:
                raise
            raise _memory.OutOfMemoryError(size, total, 0) from exc

    def free_all_blocks(self, stream: Any = None) -> None:
        """Wait for a stream, then give back what is free."""
        from cupool.client_shim.cupy.cuda.stream import get_current_stream

        (get_current_stream() if stream is None else stream).synchronize()
        runtime.memPoolTrimTo(self._handle(), 0)

    def n_free_blocks(self) -> int:
        raise NotImplementedError("This function is not supported in MemoryAsyncPool")

    def used_bytes(self) -> int:
        """Bytes that are held."""
        return runtime.memPoolGetAttribute(self._handle(), runtime.cudaMemPoolAttrUsedMemCurrent)

    def free_bytes(self) -> int:
        """Bytes that are kept for reuse."""
        return self.total_bytes() - self.used_bytes()

    def total_bytes(self) -> int:
        """Bytes that the pool has taken from the device."""
        attribute = runtime.cudaMemPoolAttrReservedMemCurrent
        return runtime.memPoolGetAttribute(self._handle(), attribute)

    def set_limit(self, size: int | None = None, fraction: float | None = None) -> None:
        """Limit what is taken from the pool, in bytes or as a fraction of the device."""
        limit = _pools._limit_bytes(size, fraction) or _pools._UNLIMITED
        attribute = runtime.cudaMemPoolAttrReleaseThreshold
        runtime.memPoolSetAttribute(self._handle(), attribute, limit)

    def get_limit(self) -> int:
        """Return the limit in bytes, 2**64 - 1 if there is none."""
        return runtime.memPoolGetAttribute(self._handle(), runtime.cudaMemPoolAttrReleaseThreshold)


def _pool_of(handle: Any, device: int) -> int:
    if handle == "default":
        pool = runtime.deviceGetDefaultMemPool(device)
    elif handle == "current":
        pool = runtime.deviceGetMemPool(device)
    elif handle == "create":
        raise NotImplementedError("cudaMemPoolCreate is not yet supported")
    elif isinstance(handle, int):
        pool = handle
    else:
        raise ValueError("handle must be 'default', 'current', or int (a pointer to cudaMemPool_t)")
    runtime.deviceSetMemPool(device, pool)
    return pool
