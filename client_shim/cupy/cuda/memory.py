"""`cupy.cuda` memory: allocations, pointers into them, and who allocates.

Addresses are the device's own, and are asked for when somebody looks at one. The memory of
arrays comes from the session's pool on the server (`_session_pool.SessionPool`).
"""

from __future__ import annotations

import weakref
from typing import Any

from cupool.client_shim import session as _session
from cupool.client_shim import shadow as _shadow
from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupy.cuda import _allocators, _runtime_memory, runtime
from cupool.client_shim.handles import ALIGNMENT_BYTES, Handle, PlacedHandle
from cupool.client_shim.placement import address as _address_of
from cupool.errors import OperationNotSupported
from cupool.proto import failures

_allocation_unit_size = ALIGNMENT_BYTES
CUDARuntimeError = runtime.CUDARuntimeError


class OutOfMemoryError(MemoryError):
    """The device has no room for an allocation (cupy.cuda.memory.OutOfMemoryError).

    Args:
        size, total, limit: bytes wanted, allocated so far, and the limit if one is set.
        note: what cupool adds, e.g. that the session has a share of the device.
    """

    __module__ = "cupy.cuda.memory"

    def __init__(self, size: int, total: int, limit: int = 0, note: str = "") -> None:
        self._size, self._total, self._limit, self._note = size, total, limit, note
        text = f"Out of memory allocating {size:,} bytes (allocated so far: {total:,} bytes"
        text += f", limit set to: {limit:,} bytes)." if limit else ")."
        super().__init__(f"{text} {note}" if note else text)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._size, self._total, self._limit, self._note)


failures.register("OutOfMemoryError", OutOfMemoryError, OutOfMemoryError)


def _too_large(size_bytes: int) -> MemoryError:
    """Make the error for an array larger than any device, of which none is asked."""
    used_bytes = _session.session().used_bytes if _session.opened() else 0
    limit = f"Shapes of up to {_shadow.REGION_BYTES:,} bytes can be worked out here."
    return OutOfMemoryError(size_bytes, max(0, used_bytes), 0, limit)


_shadow.too_large = _too_large


# ---------------------------------------------------------------- memory


class BaseMemory:
    """Memory on a device.

    Attributes:
        ptr: address of its first byte; 0 if there is none.
        size: bytes.
        device_id: number of the device.
    """

    __module__ = "cupy.cuda"
    ptr: int
    size: int
    device_id: int

    def __int__(self) -> int:
        return self.ptr

    @property
    def device(self) -> Any:
        """The device that the memory is on."""
        from cupool.client_shim.cupy.cuda.device import Device

        return Device(self.device_id)

    def _place(self) -> tuple[Handle, int]:
        """Return the allocation of which this is a part, and where in it this begins."""
        return _runtime_memory.place_of(self.ptr, self.device_id)


class Memory(BaseMemory):
    """Bytes that are taken from the device itself and go back to it with the object.

    Args:
        size: bytes.

    Raises:
        CUDARuntimeError: there is no room.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.device_id = _session.current.device
        self.ptr = runtime.malloc(size)

    def __del__(self) -> None:
        _free(self)


class MemoryAsync(BaseMemory):
    """Bytes that a stream allocates and frees.

    Args:
        size: bytes.
        stream: the stream.
    """

    def __init__(self, size: int, stream: Any) -> None:
        self.size = size
        self.device_id = _session.current.device
        self.stream_ref = weakref.ref(stream)
        self.ptr = runtime.mallocAsync(size, stream.ptr)

    def __del__(self) -> None:
        _free(self)


class ManagedMemory(BaseMemory):
    """Bytes of unified memory. The host they are unified with is the server, not this machine.

    Args:
        size: bytes.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.device_id = _session.current.device
        self.ptr = runtime.mallocManaged(size)

    def prefetch(self, stream: Any, *, device_id: int = runtime.cudaInvalidDeviceId) -> None:
        """Say where the memory will be used next; it lies on its device anyway."""
        if device_id == runtime.cudaInvalidDeviceId:
            device_id = self.device_id
        runtime.memPrefetchAsync(self.ptr, self.size, device_id, stream.ptr)

    def advise(self, advise: int, dev: Any) -> None:
        """Say how the memory will be used."""
        runtime.memAdvise(self.ptr, self.size, advise, dev.id)

    def __del__(self) -> None:
        _free(self)


class SystemMemory(BaseMemory):
    """Memory of `malloc` that a GPU reaches by itself: no GPU reaches this machine's.

    Raises:
        OperationNotSupported: always.
    """

    def __init__(self, size: int) -> None:
        raise OperationNotSupported(
            "system memory (HMM, ATS) is shared by a CPU and its own GPU; the pool's GPU is not"
            " of this machine",
            remedy="use cupy.cuda.malloc_managed, or leave the allocator as it is",
        )


class UnownedMemory(BaseMemory):
    """Memory that somebody else owns.

    Args:
        ptr: its address.
        size: bytes.
        owner: kept alive as long as this.
        device_id: the device; found by the address if not given.

    Raises:
        RuntimeError: a null pointer without a device.
    """

    def __init__(self, ptr: int, size: int, owner: Any, device_id: int = -1) -> None:
        if device_id < 0:
            if ptr == 0:
                raise RuntimeError("UnownedMemory requires explicit device ID for a null pointer.")
            device_id = runtime.pointerGetAttributes(ptr).device
        self.size = size
        self.device_id = device_id
        self.ptr = ptr
        self._owner = owner


def _free(memory: BaseMemory) -> None:
    """Give an allocation back, also while the interpreter goes down."""
    try:
        ptr, memory.ptr = memory.ptr, 0
        if ptr:
            _runtime_memory.release(ptr, memory.device_id)
    except AttributeError:
        return  # interrupted in __init__, or the session goes with the interpreter


# ---------------------------------------------------------------- pointers


class MemoryPointer:
    """A place in memory.

    Args:
        mem: the memory.
        offset: bytes from its beginning.

    Attributes:
        ptr: the address.
    """

    __module__ = "cupy.cuda"

    def __init__(self, mem: BaseMemory, offset: int) -> None:
        self.mem = mem
        self._offset = offset

    @property
    def ptr(self) -> int:
        return self.mem.ptr + self._offset

    @property
    def device_id(self) -> int:
        return self.mem.device_id

    @property
    def device(self) -> Any:
        return self.mem.device

    def __int__(self) -> int:
        return self.ptr

    def __repr__(self) -> str:
        kind = type(self).__name__
        return f"<{kind} {self.ptr:#x} device={self.device_id} mem={self.mem!r}>"

    def __add__(self, offset: int) -> MemoryPointer:
        return MemoryPointer(self.mem, self._offset + offset)

    __radd__ = __add__

    def __iadd__(self, offset: int) -> MemoryPointer:
        self._offset += offset
        return self

    def __sub__(self, offset: int) -> MemoryPointer:
        return self + (-offset)

    def __rsub__(self, value: object) -> Any:
        return NotImplemented

    def __isub__(self, offset: int) -> MemoryPointer:
        self._offset -= offset
        return self

    # Copies

    def copy_from_device(self, src: MemoryPointer, size: int) -> None:
        """Copy bytes from memory of this or another device."""
        self.copy_from_device_async(src, size)

    def copy_from_device_async(self, src: MemoryPointer, size: int, stream: Any = None) -> None:
        """Copy bytes from memory of this or another device, in a stream."""
        if _runtime_memory.size_t(size):
            _runtime_memory.copy_device(self, src, size, stream)

    def copy_from_host(self, mem: Any, size: int) -> None:
        """Copy bytes from an address of this machine (int or `ctypes.c_void_p`)."""
        self.copy_from_host_async(mem, size)

    def copy_from_host_async(self, mem: Any, size: int, stream: Any = None) -> None:
        """Copy bytes from an address of this machine, in a stream; they are read at once."""
        if _runtime_memory.size_t(size):
            _runtime_memory.copy_in(self, _host_address(mem), size, stream)

    def copy_from(self, mem: Any, size: int) -> None:
        """Copy bytes from a `MemoryPointer` or from this machine."""
        self.copy_from_async(mem, size)

    def copy_from_async(self, mem: Any, size: int, stream: Any = None) -> None:
        """Copy bytes from a `MemoryPointer` or from this machine, in a stream."""
        if isinstance(mem, MemoryPointer):
            self.copy_from_device_async(mem, size, stream)
        else:
            self.copy_from_host_async(mem, size, stream)

    def copy_to_host(self, mem: Any, size: int) -> None:
        """Copy bytes to an address of this machine (int or `ctypes.c_void_p`)."""
        self.copy_to_host_async(mem, size)

    def copy_to_host_async(self, mem: Any, size: int, stream: Any = None) -> None:
        """Copy bytes to an address of this machine, behind the work of a stream.

        They are there on return, earlier than CUDA promises.
        """
        if _runtime_memory.size_t(size):
            _runtime_memory.copy_out(_host_address(mem), self, size, stream)

    def memset(self, value: int, size: int) -> None:
        """Set bytes to a value."""
        self.memset_async(value, size)

    def memset_async(self, value: int, size: int, stream: Any = None) -> None:
        """Set bytes to a value, in a stream."""
        if _runtime_memory.size_t(size):
            _runtime_memory.set_bytes(self, value, size, stream)


def _host_address(mem: Any) -> int:
    return int(mem if isinstance(mem, int) else mem.value or 0)


def pointer_to(array: Any) -> MemoryPointer:
    """Return where an array begins in the memory that it is a view of."""
    from cupool.client_shim.cupy.cuda._session_pool import ArrayMemory

    owner = array if array._owner is None else array._owner
    offset = _shadow.offset_bytes(array._shadow) if array.size else 0
    handle = owner._handle
    if type(handle) is PlacedHandle:
        pointer: MemoryPointer = handle.memory  # type: ignore[assignment]
        begin = handle.origin_bytes - pointer.mem._place()[1]
        return MemoryPointer(pointer.mem, begin + offset)
    return MemoryPointer(ArrayMemory(owner), offset)


def owner_at(address: int) -> tuple[Handle, int] | None:
    """Return what lies at an address of the current device, and the offset in it; None if nothing
    whose address was asked for."""
    found = _session.session().addresses.find(address)
    handle = None if found is None else found.owner()
    return None if found is None or handle is None else (handle, address - found.start)


def address_of(handle: Handle, size_bytes: int) -> int:
    """Return the address of an array that owns its memory, and remember what is there."""
    address = getattr(handle, "address", None)
    if address is None:
        address = _address_of(handle.session, handle)
        handle.session.addresses.add(address, size_bytes, "array", handle)
    return address


# ---------------------------------------------------------------- allocators


def _malloc(size: int) -> MemoryPointer:
    """Take bytes from the device itself: the allocator without a pool."""
    return MemoryPointer(Memory(size), 0)


def malloc_managed(size: int) -> MemoryPointer:
    """Allocate unified memory; an allocator for `set_allocator` and `MemoryPool`."""
    return MemoryPointer(ManagedMemory(size), 0)


def malloc_async(size: int) -> MemoryPointer:
    """Allocate in the current stream; an allocator for `set_allocator`."""
    from cupool.client_shim.cupy.cuda.stream import get_current_stream

    return MemoryPointer(MemoryAsync(size, get_current_stream()), 0)


def malloc_system(size: int) -> MemoryPointer:
    """Refuse: see `SystemMemory`."""
    return MemoryPointer(SystemMemory(size), 0)


def alloc(size: int) -> MemoryPointer:
    """Allocate bytes by the thread's current allocator."""
    pointer: MemoryPointer = _allocators.get()(size)
    return pointer


def set_allocator(allocator: Any = None) -> None:
    """Let `allocator(size) -> MemoryPointer` allocate from now on; None: no pool.

    Raises:
        ValueError: within `using_allocator`.
    """
    if _allocators.of_thread() is not None:
        raise ValueError(
            "Can't change the global allocator inside `using_allocator` context manager"
        )
    _allocators.set_current(_malloc if allocator is None else allocator)


def get_allocator() -> Any:
    """Return the thread's current allocator."""
    return _allocators.get()


_get_thread_local_allocator = _allocators.of_thread
_set_thread_local_allocator = _allocators.set_of_thread


class PythonFunctionAllocatorMemory(BaseMemory):
    """Memory of a `PythonFunctionAllocator`."""

    def __init__(self, size: int, malloc_func: Any, free_func: Any, device_id: int) -> None:
        self._free_func = free_func
        self.device_id = device_id
        self.size = size
        self.ptr = malloc_func(size, device_id) if size > 0 else 0

    def __del__(self) -> None:
        ptr = getattr(self, "ptr", 0)
        if ptr:
            self._free_func(ptr, self.device_id)


class PythonFunctionAllocator:
    """An allocator of two functions.

    Args:
        malloc_func: (bytes, device) -> address, of memory that `cupy.cuda.runtime` allocated.
        free_func: (address, device).
    """

    __module__ = "cupy.cuda"

    def __init__(self, malloc_func: Any, free_func: Any) -> None:
        self._malloc_func = malloc_func
        self._free_func = free_func

    def malloc(self, size: int) -> MemoryPointer:
        """Allocate bytes."""
        device = _session.current.device
        memory = PythonFunctionAllocatorMemory(size, self._malloc_func, self._free_func, device)
        return MemoryPointer(memory, 0)


class CFunctionAllocator:
    """An allocator of C functions: they would run on this machine, where no device is.

    Raises:
        OperationNotSupported: always.
    """

    __module__ = "cupy.cuda"

    def __init__(self, param: int, malloc_func: int, free_func: int, owner: Any) -> None:
        raise OperationNotSupported(
            "C functions of this machine cannot allocate memory of a GPU that is elsewhere",
            remedy="use cupy.cuda.PythonFunctionAllocator with cupy.cuda.runtime.malloc and free",
        )


from cupool.client_shim.cupy.cuda._async_pool import MemoryAsyncPool  # noqa: E402
from cupool.client_shim.cupy.cuda._pools import (  # noqa: E402  (it needs what is above)
    MemoryPool,
    PooledMemory,
    SingleDeviceMemoryPool,
    _Chunk,
    _parse_limit_string,
    _round_size,
)
from cupool.client_shim.cupy.cuda._session_pool import _default_pool  # noqa: E402

__all__ = [
    "MemoryAsyncPool",
    "MemoryPool",
    "PooledMemory",
    "SingleDeviceMemoryPool",
    "_Chunk",
    "_default_pool",
    "_parse_limit_string",
    "_round_size",
]
_unsupported.fill(globals(), "cupy.cuda.memory")
