"""Handles of CUDA's libraries: numbers that stand for one, since the libraries are elsewhere."""

from __future__ import annotations

import itertools

_FIRST = 0x5E00_0000_0000
_numbers = itertools.count(1)
_handles: dict[int, tuple[str, int]] = {}


def create(library: str, device: int) -> int:
    """Return a new handle of a library on a device."""
    handle = _FIRST + 0x100 * next(_numbers)
    _handles[handle] = (library, device)
    return handle


def destroy(handle: int) -> bool:
    """Forget a handle; return whether there was one."""
    return _handles.pop(handle, None) is not None


def is_of(handle: int, library: str) -> bool:
    """Is it a handle of the library?"""
    return _handles.get(handle, ("", 0))[0] == library
