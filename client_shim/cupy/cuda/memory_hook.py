"""`cupy.cuda.MemoryHook`: functions that are called around each allocation of a thread."""

from __future__ import annotations

import threading
from typing import Any

from cupool.client_shim.cupy.cuda import _allocators


class _Hooks(threading.local):
    def __init__(self) -> None:
        self.hooks: dict[str, MemoryHook] = {}


_thread = _Hooks()


def get_memory_hooks() -> dict[str, MemoryHook]:
    """Return the thread's hooks by name, in the order in which they were entered."""
    return _thread.hooks


class MemoryHook:
    """Base of memory hooks: a context manager within which its methods are called.

    While a thread has hooks, its arrays are allocated one by one, and each allocation waits for
    its address. All methods take keyword arguments only; by default they do nothing.
    """

    __module__ = "cupy.cuda.memory_hook"
    name = "MemoryHook"

    def __enter__(self) -> MemoryHook:
        if self.name in _thread.hooks:
            raise KeyError(f"memory hook {self.name} already exists")
        _thread.hooks[self.name] = self
        _allocators.change(1)
        return self

    def __exit__(self, *exc: object) -> None:
        del _thread.hooks[self.name]
        _allocators.change(-1)

    def alloc_preprocess(self, **kwargs: Any) -> None:
        """Before memory is taken from the device: `device_id`, `mem_size`."""

    def alloc_postprocess(self, **kwargs: Any) -> None:
        """After it: `device_id`, `mem_size`, `mem_ptr` (0 if it failed)."""

    def malloc_preprocess(self, **kwargs: Any) -> None:
        """Before memory is taken from a pool: `device_id`, `size`, `mem_size`."""

    def malloc_postprocess(self, **kwargs: Any) -> None:
        """After it: `device_id`, `size`, `mem_size`, `mem_ptr`, `pmem_id` (0 if it failed)."""

    def free_preprocess(self, **kwargs: Any) -> None:
        """Before memory goes back to its pool: `device_id`, `mem_size`, `mem_ptr`, `pmem_id`."""

    def free_postprocess(self, **kwargs: Any) -> None:
        """After it: the same arguments."""
