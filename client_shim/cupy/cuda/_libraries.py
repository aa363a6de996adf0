"""What the modules of CUDA's libraries share: handles, errors, and how the rest is refused.

The libraries are where the GPU is. CuPy's functions use them there; a script that calls them by
address has the functions that scripts call, on views over its addresses, and is told of the rest.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from cupool.client_shim.cupy.cuda import memory

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


# ------------------------------------------------------------------- what lies at an address

LETTERS: dict[str, np.dtype[Any]] = {
    "s": np.dtype("f"),
    "d": np.dtype("d"),
    "c": np.dtype("F"),
    "z": np.dtype("D"),
}
"""By the letter of a function's name."""
REAL = {"s": "s", "d": "d", "c": "s", "z": "d"}
INT32 = np.dtype(np.int32)


def _place(pointer: int, size_bytes: int, begin: int = 0) -> memory.MemoryPointer:
    """Return the memory at an address.

    Raises:
        ValueError: it is not of a device's memory, or that memory has been freed; fewer bytes
            are allocated there.
    """
    from cupool.client_shim.cupy.cuda import _runtime_memory, runtime

    device = runtime.pointerGetAttributes(pointer).device if pointer else -1
    if device < 0:
        raise ValueError(
            f"{pointer:#x} is no address in a device's memory, or that memory has been freed"
        )
    found = _runtime_memory.find(pointer, device)
    if found is not None:
        left = found[1].start + found[1].size_bytes - pointer
        if size_bytes > left:
            raise ValueError(
                f"{size_bytes} bytes at {pointer:#x}: what leaves its owner's memory is refused, "
                f"and {left} bytes are allocated there"
            )
    return memory.MemoryPointer(memory.UnownedMemory(pointer, size_bytes, None, device), begin)


def matrix(pointer: int, shape: tuple[int, int], ld: int, dtype: np.dtype[Any]) -> Any:
    """Return a matrix at an address, in columns that lie `ld` elements apart."""
    from cupool.client_shim.cupy._core.core import ndarray

    size_bytes = ((shape[1] - 1) * ld + shape[0]) * dtype.itemsize if all(shape) else 0
    place = _place(pointer, size_bytes)
    return ndarray(shape, dtype, place, (dtype.itemsize, ld * dtype.itemsize))


def stack(
    pointer: int, shape: tuple[int, int], ld: int, stride: int, count: int, dtype: np.dtype[Any]
) -> Any:
    """Return `count` matrices at an address that lie `stride` elements apart, by their last axis.

    Shape: (rows, columns, count); columns lie `ld` elements apart.
    """
    from cupool.client_shim.cupy._core.core import ndarray

    whole = (*shape, count)
    steps = tuple(one * dtype.itemsize for one in (1, ld, stride))
    reach = sum((n - 1) * step for n, step in zip(whole, steps, strict=True))
    size_bytes = reach + dtype.itemsize if all(whole) else 0
    place = _place(pointer, size_bytes)
    return ndarray(whole, dtype, place, steps)


def vectors(pointer: int, size: int, stride: int, count: int, dtype: np.dtype[Any]) -> Any:
    """Return vectors that lie `stride` elements apart, as the columns of (size, count)."""
    return matrix(pointer, (size, count), stride, dtype)


def vector(pointer: int, size: int, inc: int, dtype: np.dtype[Any]) -> Any:
    """Return a vector at an address, `inc` elements apart; negative: from the end, as BLAS has."""
    from cupool.client_shim.cupy._core.core import ndarray

    reach = max(0, size - 1) * abs(inc)
    size_bytes = (reach + 1) * dtype.itemsize
    begin = reach * dtype.itemsize if inc < 0 else 0
    place = _place(pointer, size_bytes, begin)
    return ndarray((size,), dtype, place, (inc * dtype.itemsize,))


def read(pointer: int, size: int, inc: int, dtype: np.dtype[Any]) -> Any:
    """Return a vector at an address to read: CuPy's functions take it to have no gaps."""
    found = vector(pointer, size, inc, dtype)
    return found if inc == 1 else found.copy()


@contextmanager
def written(pointer: int, size: int, inc: int, dtype: np.dtype[Any]) -> Iterator[Any]:
    """Give a vector at an address to read and write, without gaps; it is put back with them."""
    found = vector(pointer, size, inc, dtype)
    whole = found if inc == 1 else found.copy()
    yield whole
    if inc != 1:
        found[...] = whole


def on_host(pointer: int, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return the number at an address of this machine, as an array of no axes over it."""
    buffer: Any = (ctypes.c_char * dtype.itemsize).from_address(pointer)
    return np.frombuffer(buffer, dtype).reshape(())


def addresses(pointer: int, count: int) -> list[int]:
    """Return the addresses in an array at an address: this waits for it."""
    return [int(one) for one in vector(pointer, count, 1, np.dtype(np.uint64)).get()]
