"""`cupy.cuda` page-locked memory: ordinary memory of this machine, in whole pages.

No GPU of this machine reads it; uploads copy it like any other. Pools, sizes and addresses
behave as CuPy's.
"""

from __future__ import annotations

import ctypes
import threading
import weakref
from functools import lru_cache
from typing import Any

from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupy.cuda import _runtime_memory, runtime
from cupool.client_shim.handles import ALIGNMENT_BYTES


class PinnedMemory:
    """Page-locked memory, freed with the object.

    Args:
        size: bytes.
        flags: of `runtime.hostAlloc`.

    Attributes:
        ptr: address on this machine.
    """

    __module__ = "cupy.cuda"

    def __init__(self, size: int, flags: int = 0) -> None:
        self.size = size
        self.ptr = runtime.hostAlloc(size, flags)

    def __int__(self) -> int:
        return self.ptr

    def __del__(self) -> None:
        try:
            ptr, self.ptr = self.ptr, 0
            runtime.freeHost(ptr)
        except (AttributeError, TypeError, runtime.CUDARuntimeError):
            return  # never made, or the interpreter goes down


class PinnedMemoryPointer:
    """A place in page-locked memory; NumPy takes it as a buffer from there to the end.

    Args:
        mem: the memory.
        offset: bytes from its beginning.

    Attributes:
        ptr: address on this machine.
    """

    __module__ = "cupy.cuda"
    mem: Any = None
    ptr: int = 0

    def __new__(cls, mem: Any, offset: int) -> PinnedMemoryPointer:
        # Before Python 3.12 only C types can be buffers: hence a ctypes array at the address.
        made: PinnedMemoryPointer = _buffer_type(mem.size - offset).from_address(mem.ptr + offset)
        made.mem = mem
        made.ptr = mem.ptr + offset
        return made

    def __int__(self) -> int:
        return self.ptr

    def __add__(self, offset: int) -> PinnedMemoryPointer:
        return PinnedMemoryPointer(self.mem, self.ptr - self.mem.ptr + offset)

    __radd__ = __add__

    def __sub__(self, offset: int) -> PinnedMemoryPointer:
        return self + (-offset)

    # A buffer's address cannot change: `p += n` gives another pointer.
    __iadd__, __isub__ = __add__, __sub__

    def __rsub__(self, value: object) -> Any:
        return NotImplemented

    def size(self) -> int:
        """Return the bytes from here to the end."""
        return int(self.mem.size - (self.ptr - self.mem.ptr))


@lru_cache(maxsize=256)
def _rounded(size: int) -> int:
    """Round bytes up to what a pool keeps: a power of two."""
    return 1 << (max(size, ALIGNMENT_BYTES) - 1).bit_length()


def _buffer_type(size: int) -> Any:
    body = {"__init__": lambda self, mem, offset: None, "__module__": "cupy.cuda"}
    return type("PinnedMemoryPointer", (PinnedMemoryPointer, ctypes.c_byte * max(size, 0)), body)


def _malloc(size: int) -> PinnedMemoryPointer:
    """Allocate without a pool."""
    return PinnedMemoryPointer(PinnedMemory(size, runtime.hostAllocPortable), 0)


_allocator: Any = _malloc


def alloc_pinned_memory(size: int) -> PinnedMemoryPointer:
    """Allocate page-locked bytes by the current allocator."""
    pointer: PinnedMemoryPointer = _allocator(size)
    return pointer


def set_pinned_memory_allocator(allocator: Any = None) -> None:
    """Let `allocator(size) -> PinnedMemoryPointer` allocate from now on; None: no pool."""
    global _allocator
    _allocator = _malloc if allocator is None else allocator


class PooledPinnedMemory(PinnedMemory):
    """Memory of a pool, to which it goes back with the object."""

    def __init__(self, mem: PinnedMemory, pool: Any) -> None:
        self.ptr = mem.ptr
        self.size = mem.size
        self.pool = pool
        self.mem = mem

    def free(self) -> None:
        """Give it back to the pool now."""
        ptr, self.ptr = self.ptr, 0
        size, self.size = self.size, 0
        pool = self.pool()
        if ptr and pool is not None:
            pool.free(self.mem, size)

    def __del__(self) -> None:
        try:
            self.free()
        except (AttributeError, TypeError):
            return  # never made, or the interpreter goes down


class PinnedMemoryPool:
    """Keeps freed page-locked memory for requests of the same size, a power of two.

    Args:
        allocator: bytes -> PinnedMemoryPointer.
    """

    __module__ = "cupy.cuda"

    def __init__(self, allocator: Any = _malloc) -> None:
        self._allocator = allocator
        self._free: dict[int, list[PinnedMemory]] = {}
        self._lock = threading.RLock()

    def malloc(self, size: int) -> PinnedMemoryPointer:
        """Allocate bytes."""
        size = _runtime_memory.size_t(size)
        if size == 0:
            return PinnedMemoryPointer(PinnedMemory(0), 0)
        rounded = _rounded(size)
        with self._lock:
            kept = self._free.get(rounded)
            memory = kept.pop() if kept else self._allocator(rounded).mem
        return PinnedMemoryPointer(PooledPinnedMemory(memory, weakref.ref(self)), 0)

    def free(self, mem: PinnedMemory, size: int) -> None:
        """Keep memory of `size` bytes for reuse."""
        with self._lock:
            self._free.setdefault(_rounded(size), []).append(mem)

    def free_all_blocks(self) -> None:
        """Free what nobody holds."""
        with self._lock:
            self._free.clear()

    def n_free_blocks(self) -> int:
        """Count what is kept for reuse."""
        with self._lock:
            return sum(len(kept) for kept in self._free.values())


def is_memory_pinned(data: int) -> bool:
    """Return whether an address of this machine is in page-locked memory."""
    return runtime.pointerGetMemoryType(data) == runtime.memoryTypeHost


_default_pool = PinnedMemoryPool()
set_pinned_memory_allocator(_default_pool.malloc)

_unsupported.fill(globals(), "cupy.cuda.pinned_memory")
