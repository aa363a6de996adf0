"""The session's memory pool, from which arrays come by default: it is on the server.

The server allocates results by itself, in the order of the operations; here are the questions
about it, and memory that a script takes from it.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from cupool.client_shim import session as _session
from cupool.client_shim import shadow as _shadow
from cupool.client_shim.cupy.cuda import _allocators, _pools, memory_hook
from cupool.client_shim.cupy.cuda import memory as _memory
from cupool.client_shim.handles import Handle, PlacedHandle


class ArrayMemory(_pools.PooledMemory):
    """Memory of the session's pool, as a whole: it goes back when its array does.

    Args:
        owner: the array that it was allocated for.
    """

    def __init__(self, owner: Any) -> None:
        self._owner = owner
        self.size = _pools._round_size(int(owner._shadow.nbytes))

    @property
    def ptr(self) -> int:  # type: ignore[override]
        if not self.size:
            return 0
        return _memory.address_of(self._handle(), int(self._owner._shadow.nbytes))

    @property
    def device_id(self) -> int:  # type: ignore[override]
        return self._handle().session.ordinal

    @property
    def pool(self) -> Any:
        return weakref.ref(_default_pool)

    def _handle(self) -> Handle:
        from cupool.client_shim.cupy._core import core

        return core.handle_of(self._owner)

    def _place(self) -> tuple[Handle, int]:
        handle = self._handle()
        if type(handle) is PlacedHandle:
            return handle.root, handle.origin_bytes
        return handle, 0

    def free(self) -> None:
        """Nothing to do: it is the array's."""

    def __del__(self) -> None:
        """Nothing to do."""


class _HookedMemory(ArrayMemory):
    """Memory of the session's pool whose end a thread's hooks hear of."""

    def __del__(self) -> None:
        try:
            if memory_hook.get_memory_hooks():
                told = {"device_id": self.device_id, "mem_size": self.size}
                told |= {"mem_ptr": self.ptr, "pmem_id": id(self)}
                _pools._around("free", lambda: None, **told)
        except (AttributeError, TypeError):
            return  # the interpreter goes down


class _SessionDevicePool:
    """The pool of one device: it is on the server, which is asked."""

    def __init__(self, ordinal: int) -> None:
        self._session = _session.sessions()[ordinal]

    def _use(self) -> dict[str, int]:
        use: dict[str, int] = self._session.ask("memory", (), quiet=True)
        return use

    def malloc(self, size: int) -> _memory.MemoryPointer:
        rounded = _pools._round_size(size)
        told = {"device_id": self._session.ordinal, "mem_size": rounded}
        pointer: _memory.MemoryPointer = _pools._around(
            "malloc", lambda: self._malloc(size, told), **told, size=size
        )
        return pointer

    def _malloc(self, size: int, told: dict[str, int]) -> _memory.MemoryPointer:
        if size == 0:
            return _memory.MemoryPointer(_memory.Memory(0), 0)
        if not memory_hook.get_memory_hooks():
            return _memory.MemoryPointer(ArrayMemory(self._array(told["mem_size"])), 0)
        before = self._use()["total"]
        pointer = _memory.MemoryPointer(_HookedMemory(self._array(told["mem_size"])), 0)
        if self._use()["total"] > before:
            _pools._around("alloc", lambda: pointer, **told)
        return pointer

    def _array(self, size: int) -> Any:
        from cupool.client_shim.cupy._core import core

        out = ((size,), np.dtype(np.uint8), "C")
        made = _shadow.make(*out)  # refuses what is larger than any device
        handle = self._session.emit_plain("empty", (), None, (out,))[0]
        return core.wrap(made, handle)

    def free_all_blocks(self, stream: Any = None) -> None:
        self._session.submit(("release_blocks", (), (), None))

    def n_free_blocks(self) -> int:
        return self._use()["blocks"]

    def used_bytes(self) -> int:
        return self._use()["used"]

    def free_bytes(self) -> int:
        return self._use()["free"]

    def total_bytes(self) -> int:
        return self._use()["total"]

    def get_limit(self) -> int:
        return self._use()["limit"]

    def set_limit(self, size: int | None = None, fraction: float | None = None) -> None:
        limit = _pools._limit_bytes(size, fraction)
        granted = self._session.info.memory_bytes
        self._session.limit_to(min(limit or granted, granted))
        self._session.submit(("set_limit", (), (limit,), None))


class SessionPool(_pools.MemoryPool):
    """The pool that arrays come from by default.

    Releases that are queued are counted as done: they are, before the question is answered.
    """

    __module__ = "cupy.cuda"

    def _pool(self) -> Any:
        device = _session.current.device
        pool = self._pools.get(device)
        if pool is None or not pool._session.open:
            pool = self._pools[device] = _SessionDevicePool(device)
        return pool


_default_pool = SessionPool()
_allocators.default.malloc = _default_pool.malloc
_allocators.default.has_hooks = lambda: bool(memory_hook.get_memory_hooks())


def _apply_limit(session: _session.DeviceSession) -> None:
    limit = _pools._parse_limit_string()
    if limit != {"size": None, "fraction": None}:
        _SessionDevicePool(session.ordinal).set_limit(**limit)


_session.on_open(_apply_limit)
