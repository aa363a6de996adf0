"""What the modules of CUDA's libraries share: handles, errors, and how the rest is refused.

The libraries are where the GPU is. CuPy's functions use them there; a script that calls them by
address has what is simple to do by CuPy's own functions, and is told of the rest.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

_FIRST = 0x5E00_0000_0000
_numbers = itertools.count(1)
_handles: dict[int, Handle] = {}


class Handle:
    """A handle of a library.

    Attributes:
        device: the device that was current when it was made.
        settings: what was set, by name.
    """

    def __init__(self, library: str, device: int) -> None:
        self.library = library
        self.device = device
        self.settings: dict[str, Any] = {}


def create(library: str, device: int) -> int:
    """Return a number that stands for a new handle of a library on a device."""
    number = _FIRST + 0x100 * next(_numbers)
    _handles[number] = Handle(library, device)
    return number


def destroy(number: int, library: str) -> bool:
    """Forget a handle; return whether there was one."""
    found = find(number, library) is not None
    if found:
        del _handles[number]
    return found


def find(number: int, library: str) -> Handle | None:
    """Return the handle of a number, None if there is none of this library."""
    handle = _handles.get(number)
    return handle if handle is not None and handle.library == library else None


def error_class(name: str, module: str, texts: Mapping[int, str]) -> Any:
    """Make a library's error: `status`, and the status' text."""

    def __init__(self: Any, status: int) -> None:
        self.status = status
        RuntimeError.__init__(self, texts.get(status, f"status {status}"))

    body = {
        "__init__": __init__,
        "__reduce__": lambda self: (type(self), (self.status,)),
        "__module__": module,
        "__doc__": f"An error of the library, with its `status` ({module}).",
    }
    return type(name, (RuntimeError,), body)
