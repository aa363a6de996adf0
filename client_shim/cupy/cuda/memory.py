"""`cupy.cuda` memory: the session's pool, and pointers as opaque addresses."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from cupool.client_shim import session as _session
from cupool.client_shim import shadow as _shadow
from cupool.client_shim.cupy import _unsupported
from cupool.proto import failures


class OutOfMemoryError(MemoryError):
    """The device has no room for an allocation (cupy.cuda.memory.OutOfMemoryError).

    Args:
        size, total, limit: bytes wanted, allocated so far, and the limit if one is set.
    """

    __module__ = "cupy.cuda.memory"

    def __init__(self, size: int, total: int, limit: int = 0) -> None:
        self._size, self._total, self._limit = size, total, limit
        text = f"Out of memory allocating {size:,} bytes (allocated so far: {total:,} bytes"
        text += f", limit set to: {limit:,} bytes)." if limit else ")."
        super().__init__(text)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._size, self._total, self._limit)


failures.register("OutOfMemoryError", OutOfMemoryError, OutOfMemoryError)


_OFFSET_BITS = 40
_owners: weakref.WeakValueDictionary[tuple[int, int], Any] = weakref.WeakValueDictionary()
"""Arrays whose address was asked for, by device and address."""


def owner_at(address: int) -> tuple[Any, int] | None:
    """Return the array on the current device in whose memory an address lies, and the offset.

    None if no array that is still there was ever asked for such an address.
    """
    offset = address & ((1 << _OFFSET_BITS) - 1)
    owner = _owners.get((_session.current.device, address - offset))
    return None if owner is None else (owner, offset)


class Memory:
    """The memory of an owner array, as a whole.

    Args:
        owner: the device array that the memory was allocated for.

    Attributes:
        ptr: an opaque address: unique to the memory, meaningless on this machine.
        size: bytes.
    """

    __module__ = "cupy.cuda"

    def __init__(self, owner: Any) -> None:
        self._owner = owner
        self.size = int(owner.nbytes)

    @property
    def ptr(self) -> int:
        if not self.size:
            return 0
        base: int = self._owner._handle.ref[1] << _OFFSET_BITS
        _owners[self._owner._handle.session.ordinal, base] = self._owner
        return base

    @property
    def device_id(self) -> int:
        return int(self._owner.device.id)

    @property
    def device(self) -> Any:
        return self._owner.device


class MemoryPointer:
    """A place in the memory of an array.

    Args:
        mem: the memory.
        offset: bytes from its beginning.

    Attributes:
        ptr: an opaque address: meaningless on this machine, yet `ptr` arithmetic holds.
    """

    __module__ = "cupy.cuda"

    def __init__(self, mem: Memory, offset: int) -> None:
        self.mem = mem
        self._offset = offset

    @property
    def ptr(self) -> int:
        return self.mem.ptr + self._offset if self.mem.size else 0

    @property
    def device_id(self) -> int:
        return self.mem.device_id

    @property
    def device(self) -> Any:
        return self.mem.device

    def __int__(self) -> int:
        return self.ptr

    def __add__(self, offset: int) -> MemoryPointer:
        return MemoryPointer(self.mem, self._offset + offset)

    def __sub__(self, offset: int) -> MemoryPointer:
        return self + (-offset)

    def _view_as(self, shape: Any, dtype: Any, strides: Any, order: str) -> Any:
        """Lay another array over the same memory, for `ndarray(memptr=)`."""
        from cupool.client_shim.cupy._core import core

        if strides is None:
            strides = _shadow.make(shape, dtype, order).strides
        made = _shadow.at(shape, dtype, self._offset, tuple(strides))
        return core.view_of(self.mem._owner, made)


def pointer_to(array: Any) -> MemoryPointer:
    """Return where an array begins in the memory that it is a view of."""
    owner = array if array._owner is None else array._owner
    offset = _shadow.offset_bytes(array._shadow) if array.size else 0
    return MemoryPointer(Memory(owner), offset)


class MemoryPool:
    """The session's memory pool on the current device (cupy.cuda.MemoryPool)."""

    __module__ = "cupy.cuda"

    def _use(self) -> dict[str, int]:
        use: dict[str, int] = _session.session().ask("memory", ())
        return use

    def used_bytes(self) -> int:
        """Bytes that arrays hold; releases that are queued are counted as done."""
        return self._use()["used"]

    def free_bytes(self) -> int:
        """Bytes that the pool keeps for reuse."""
        return self._use()["free"]

    def total_bytes(self) -> int:
        """Bytes that the pool has taken from the device."""
        return self._use()["total"]

    def n_free_blocks(self) -> int:
        """Number of blocks kept for reuse: known as one or none."""
        return int(self.free_bytes() > 0)

    def get_limit(self) -> int:
        """Return the limit in bytes, 0 if there is none."""
        return self._use()["limit"]

    def set_limit(self, size: int | None = None, fraction: float | None = None) -> None:
        """Limit what the pool may take, in bytes or as a fraction of the device.

        Raises:
            ValueError: both or a value out of range.
        """
        if size is not None and fraction is not None:
            raise ValueError("size and fraction cannot be specified at one time")
        session = _session.session()
        if fraction is not None:
            if not 0 <= fraction <= 1:
                raise ValueError(f"memory limit fraction out of range: {fraction}")
            size = int(fraction * session.info.memory_bytes)
        size = 0 if size is None else int(size)
        if size < 0:
            raise ValueError(f"memory limit size out of range: {size}")
        session.limit_bytes = min(size or session.info.memory_bytes, session.info.memory_bytes)
        session.submit(("set_limit", (), (size,), None))

    def free_all_blocks(self, stream: Any = None) -> None:
        """Give memory that no array holds back to the device."""
        _session.session().submit(("release_blocks", (), (), None))

    def malloc(self, size: int) -> MemoryPointer:
        """Allocate bytes and return their address."""
        from cupool.client_shim.cupy._core import core

        return pointer_to(core.ndarray((int(size),), np.uint8))


class PinnedMemoryPool:
    """The host's pinned memory: nothing is pinned on this machine, so it is always empty."""

    __module__ = "cupy.cuda"

    def n_free_blocks(self) -> int:
        return 0

    def free_all_blocks(self) -> None:
        """There is nothing to free."""


_default_pool = MemoryPool()
_default_pinned_pool = PinnedMemoryPool()


def alloc(size: int) -> MemoryPointer:
    """Allocate bytes on the current device."""
    return _default_pool.malloc(size)


_unsupported.fill(globals(), "cupy.cuda.memory")
