"""Memory pools: the session's own, which is on the server, and those that a script makes.

A pool that a script makes is here: it takes large pieces from an allocator and gives parts of
them out, for each stream from pieces that were freed in that stream.
"""

from __future__ import annotations

import gc
import os
import threading
import warnings
import weakref
from bisect import bisect_left, insort
from typing import Any

from cupool.client_shim import session as _session
from cupool.client_shim.cupy.cuda import _runtime_memory, _runtime_streams, memory_hook, runtime
from cupool.client_shim.cupy.cuda import memory as _memory
from cupool.client_shim.handles import ALIGNMENT_BYTES, Handle

_OUT_OF_MEMORY = 2
_UNLIMITED = (1 << 64) - 1


def _round_size(size: int) -> int:
    """Round bytes up to the unit in which CUDA allocates."""
    return -(-_runtime_memory.size_t(size) // ALIGNMENT_BYTES) * ALIGNMENT_BYTES


def _parse_limit_string(limit: str | None = None) -> dict[str, Any]:
    """Read CUPY_GPU_MEMORY_LIMIT: bytes, or percent of the device."""
    if limit is None:
        limit = os.environ.get("CUPY_GPU_MEMORY_LIMIT")
    if limit is None:
        return {"size": None, "fraction": None}
    if limit.endswith("%"):
        return {"size": None, "fraction": float(limit[:-1]) / 100.0}
    return {"size": int(limit), "fraction": None}


def _limit_bytes(size: int | None, fraction: float | None) -> int:
    """Return a limit in bytes, 0 for none.

    Raises:
        ValueError: both are given, or one is out of range.
    """
    if size is None:
        if fraction is None:
            return 0
        if not 0 <= fraction <= 1:
            raise ValueError(f"memory limit fraction out of range: {fraction}")
        return int(fraction * runtime.memGetInfo()[1])
    if fraction is not None:
        raise ValueError("size and fraction cannot be specified at one time")
    if size < 0:
        raise ValueError(f"memory limit size out of range: {size}")
    return int(size)


# ---------------------------------------------------------------- pieces of memory


class _Chunk:
    """A part of an allocation; its neighbours were split from the same one.

    Args:
        mem: the allocation.
        offset, size: in bytes.
        arena: where it goes when it is freed; None for one that was merged into another.
    """

    __slots__ = ("arena", "mem", "next", "offset", "prev", "size")

    def __init__(self, mem: _memory.BaseMemory, offset: int, size: int, arena: Any) -> None:
        self.mem = mem
        self.offset = offset
        self.size = size
        self.arena = arena
        self.prev: _Chunk | None = None
        self.next: _Chunk | None = None

    def ptr(self) -> int:
        """Return the address."""
        return self.mem.ptr + self.offset

    def split(self, size: int) -> _Chunk | None:
        """Keep `size` bytes and return the rest as a new chunk, None if there is no rest."""
        if self.size == size:
            return None
        rest = _Chunk(self.mem, self.offset + size, self.size - size, self.arena)
        self.size = size
        rest.prev, rest.next = self, self.next
        if rest.next is not None:
            rest.next.prev = rest
        self.next = rest
        return rest

    def merge_next(self) -> None:
        """Take the following chunk in."""
        taken = self.next
        assert taken is not None
        taken.arena = None
        self.size += taken.size
        self.next = taken.next
        if self.next is not None:
            self.next.prev = self


class _Arena:
    """Free chunks of one stream."""

    def __init__(self) -> None:
        self._rows: list[tuple[int, int]] = []  # size and key, sorted
        self._chunks: dict[int, _Chunk] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def put(self, chunk: _Chunk) -> None:
        """Take a chunk and merge it with free neighbours."""
        while chunk.next is not None and self._take(chunk.next):
            chunk.merge_next()
        while chunk.prev is not None and self._take(chunk.prev):
            chunk = chunk.prev
            chunk.merge_next()
        self._insert(chunk)

    def get(self, size: int) -> _Chunk | None:
        """Return the smallest chunk of at least `size` bytes, cut to that size."""
        index = bisect_left(self._rows, (size, 0))
        if index == len(self._rows):
            return None
        chunk = self._chunks[self._rows[index][1]]
        self._take(chunk)
        rest = chunk.split(size)
        if rest is not None:
            self._insert(rest)
        return chunk

    def free_all(self) -> int:
        """Drop the chunks that are whole allocations; return their bytes."""
        whole = [c for c in self._chunks.values() if c.next is None and c.prev is None]
        for chunk in whole:
            self._take(chunk)
            chunk.arena = None
        return sum(chunk.size for chunk in whole)

    def _insert(self, chunk: _Chunk) -> None:
        self._chunks[id(chunk)] = chunk
        insort(self._rows, (chunk.size, id(chunk)))

    def _take(self, chunk: _Chunk) -> bool:
        if self._chunks.pop(id(chunk), None) is None:
            return False
        del self._rows[bisect_left(self._rows, (chunk.size, id(chunk)))]
        return True


class PooledMemory(_memory.BaseMemory):
    """Memory of a pool, to which it goes back with the object.

    Attributes:
        identity: name of the class of the allocation that it is a part of.
    """

    __module__ = "cupy.cuda.memory"
    identity = "Memory"

    def __init__(self, chunk: _Chunk, pool: Any) -> None:
        self._chunk = chunk
        self.ptr = chunk.ptr()
        self.size = chunk.size
        self.device_id = chunk.mem.device_id
        self.pool = pool
        self.identity = type(chunk.mem).__name__
        if isinstance(chunk.mem, _memory.ManagedMemory):
            self.prefetch, self.advise = chunk.mem.prefetch, chunk.mem.advise

    def _place(self) -> tuple[Handle, int]:
        root, offset = self._chunk.mem._place()
        return root, offset + self._chunk.offset

    def free(self) -> None:
        """Give it back to the pool now."""
        ptr, self.ptr = self.ptr, 0
        pool = self.pool()
        if ptr and pool is not None:
            _around(
                "free",
                lambda: pool._free(self._chunk),
                device_id=self.device_id,
                mem_size=self.size,
                mem_ptr=ptr,
                pmem_id=id(self),
            )

    def __del__(self) -> None:
        try:
            self.free()
        except (AttributeError, TypeError):
            return  # interrupted in __init__, or the interpreter goes down


def _around(step: str, action: Any, **told: Any) -> Any:
    """Do something between two calls of each of the thread's memory hooks."""
    hooks = list(memory_hook.get_memory_hooks().values())
    for hook in hooks:
        getattr(hook, f"{step}_preprocess")(**told)
    pointer = None
    try:
        pointer = action()
    finally:
        if hooks and step != "free":
            told["mem_ptr"] = 0 if pointer is None else pointer.ptr
        if hooks and step == "malloc":
            told["pmem_id"] = 0 if pointer is None else id(pointer.mem)
        for hook in hooks:
            getattr(hook, f"{step}_postprocess")(**told)
    return pointer


# ---------------------------------------------------------------- pools of a script


class SingleDeviceMemoryPool:
    """A pool of one device, that which is current when it is made.

    Args:
        allocator: bytes -> MemoryPointer; from the device by default.
    """

    __module__ = "cupy.cuda.memory"

    def __init__(self, allocator: Any = None) -> None:
        self._allocator = _memory._malloc if allocator is None else allocator
        self._arenas: dict[int, _Arena] = {}
        self._lock = threading.RLock()
        self._used_bytes = self._total_bytes = self._limit = 0
        self._device_id = _session.current.device
        self._weakref = weakref.ref(self)
        self.set_limit(**_parse_limit_string())

    def _arena(self, stream: int) -> _Arena:
        return self._arenas.setdefault(stream, _Arena())

    def malloc(self, size: int) -> _memory.MemoryPointer:
        """Allocate bytes.

        Raises:
            OutOfMemoryError: they do not fit, and giving back what is free did not help.
        """
        rounded = _round_size(size)
        pointer: _memory.MemoryPointer = _around(
            "malloc",
            lambda: self._malloc(rounded),
            device_id=self._device_id,
            size=size,
            mem_size=rounded,
        )
        return pointer

    def _malloc(self, size: int) -> _memory.MemoryPointer:
        if size == 0:
            return _memory.MemoryPointer(_memory.Memory(0), 0)
        with self._lock:
            arena = self._arena(_runtime_streams.current_stream_key())
            chunk = arena.get(size)
            if chunk is None:
                chunk = _Chunk(self._take(size), 0, size, arena)
            self._used_bytes += chunk.size
        return _memory.MemoryPointer(PooledMemory(chunk, self._weakref), 0)

    def _take(self, size: int) -> _memory.BaseMemory:
        """Allocate a new piece, after giving back free ones if there is no room."""
        for attempt in range(3):
            if attempt:
                if attempt == 2:
                    gc.collect()
                self.free_all_blocks()
            if self._limit and self._total_bytes + size > self._limit:
                continue
            try:
                taken = _around(
                    "alloc",
                    lambda: self._allocator(size),
                    device_id=self._device_id,
                    mem_size=size,
                )
            except runtime.CUDARuntimeError as exc:
                if exc.status != _OUT_OF_MEMORY:
                    raise
                continue
            self._total_bytes += size
            memory: _memory.BaseMemory = taken.mem
            return memory
        raise _memory.OutOfMemoryError(size, self._total_bytes, self._limit)

    def _free(self, chunk: _Chunk) -> None:
        with self._lock:
            self._used_bytes -= chunk.size
            chunk.arena.put(chunk)

    def free_all_blocks(self, stream: Any = None) -> None:
        """Give free pieces back that were not split, of one stream or of all."""
        with self._lock:
            if stream is None:
                arenas = list(self._arenas.values())
            else:
                arenas = [self._arena(_runtime_streams.stream_key(stream.ptr))]
            self._total_bytes -= sum(arena.free_all() for arena in arenas)

    def free_all_free(self) -> None:
        """Old name of `free_all_blocks`."""
        _warn_free_all_free()
        self.free_all_blocks()

    def n_free_blocks(self) -> int:
        """Count the free pieces."""
        with self._lock:
            return sum(len(arena) for arena in self._arenas.values())

    def used_bytes(self) -> int:
        """Bytes that were given out."""
        return self._used_bytes

    def free_bytes(self) -> int:
        """Bytes that are kept for reuse."""
        return self._total_bytes - self._used_bytes

    def total_bytes(self) -> int:
        """Bytes that were taken from the allocator."""
        return self._total_bytes

    def set_limit(self, size: int | None = None, fraction: float | None = None) -> None:
        """Limit `total_bytes`, in bytes or as a fraction of the device; 0 = no limit."""
        self._limit = _limit_bytes(size, fraction)

    def get_limit(self) -> int:
        """Return the limit in bytes, 0 if there is none."""
        return self._limit


def _warn_free_all_free() -> None:
    warnings.warn(
        "free_all_free is deprecated. Use free_all_blocks instead.",
        DeprecationWarning,
        stacklevel=3,
    )


class MemoryPool:
    """A pool for all devices, one `SingleDeviceMemoryPool` for each.

    Args:
        allocator: bytes -> MemoryPointer; from the device by default.
    """

    __module__ = "cupy.cuda"

    def __init__(self, allocator: Any = None) -> None:
        self._allocator = allocator
        self._pools: dict[int, Any] = {}

    def _pool(self) -> Any:
        device = _session.current.device
        pool = self._pools.get(device)
        if pool is None:
            pool = self._pools.setdefault(device, SingleDeviceMemoryPool(self._allocator))
        return pool

    device_pool = _pool

    def malloc(self, size: int) -> _memory.MemoryPointer:
        """Allocate bytes on the current device; an allocator for `set_allocator`.

        Raises:
            OutOfMemoryError: they do not fit.
        """
        pointer: _memory.MemoryPointer = self._pool().malloc(size)
        return pointer

    def free_all_blocks(self, stream: Any = None) -> None:
        """Give memory that nobody holds back to the device, of one stream or of all."""
        self._pool().free_all_blocks(stream=stream)

    def free_all_free(self) -> None:
        """Old name of `free_all_blocks`."""
        _warn_free_all_free()
        self.free_all_blocks()

    def n_free_blocks(self) -> int:
        """Count the blocks that are kept for reuse."""
        return int(self._pool().n_free_blocks())

    def used_bytes(self) -> int:
        """Bytes that are held."""
        return int(self._pool().used_bytes())

    def free_bytes(self) -> int:
        """Bytes that are kept for reuse."""
        return int(self._pool().free_bytes())

    def total_bytes(self) -> int:
        """Bytes that were taken from the device."""
        return int(self._pool().total_bytes())

    def set_limit(self, size: int | None = None, fraction: float | None = None) -> None:
        """Limit what the pool may take on the current device, in bytes or as a fraction of it.

        Raises:
            ValueError: both are given, or one is out of range.
        """
        self._pool().set_limit(size, fraction)

    def get_limit(self) -> int:
        """Return the limit in bytes, 0 if there is none."""
        return int(self._pool().get_limit())
