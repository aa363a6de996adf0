"""Arguments of a launch as bytes, laid out as kernels expect them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from cupool.pool_server.devices.kernel_sources import check_arguments
from cupool.pool_server.devices.mock.kernels.sources import ArrayInfo

NpArray = np.ndarray[Any, Any]

_SHORT_INDEX_BYTES = 1 << 31
_PACKERS = tuple(struct.Struct(f"<{2 + 2 * ndim}q") for ndim in range(66))


class Strided(NamedTuple):
    """An array as a kernel sees it; strides are in bytes."""

    array: NpArray
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def address_of(array: NpArray) -> int:
    """Return where the first element lies."""
    address: int = array.__array_interface__["data"][0]
    return address


def carray(one: Strided) -> bytes:
    """Return a `CArray` structure: data, size, shape, strides."""
    shape = one.shape
    return _PACKERS[len(shape)].pack(address_of(one.array), prod(shape), *shape, *one.strides)


def cindexer(shape: tuple[int, ...]) -> bytes:
    """Return a `CIndexer` structure: size, shape, and room for the index."""
    ndim = len(shape)
    return _PACKERS[ndim].pack(prod(shape), *shape, *(0,) * (ndim + 1))[: 8 + 16 * ndim]


def scalar(value: Any) -> bytes:
    """Return the bytes of a scalar; of a Python one as CuPy passes it.

    Raises:
        TypeError: no scalar.
    """
    kind = type(value)
    if isinstance(value, (np.generic, np.ndarray)):
        return bytes(value.tobytes())
    if kind is bool:
        return b"\1" if value else b"\0"
    if kind is int:
        return int(value).to_bytes(8, "little", signed=value < 0)
    if kind is float:
        return struct.pack("<d", value)
    if kind is complex:
        return struct.pack("<2d", value.real, value.imag)
    if value is None:
        return bytes(8)
    raise TypeError(f"a kernel takes no {kind.__name__}")


def launch_argument(value: Any, is_array: bool) -> bytes:
    """Return the bytes of an argument of `RawKernel`.

    Args:
        value: a device array, a scalar, (array, offset in its memory), or an mdspan as
            [array, bytes of an index].

    Raises:
        TypeError, ValueError: something else; an offset outside of the memory.
    """
    if is_array:
        return carray(Strided(value, value.shape, value.strides))
    if isinstance(value, tuple):
        owner, offset_bytes = value
        if not isinstance(owner, np.ndarray) or type(offset_bytes) is not int:
            raise TypeError("a pointer is an array and an offset in bytes")
        return struct.pack("<q", address_of(owner) + offset_bytes)
    if isinstance(value, list):
        return _mdspan(*value)
    return scalar(value)


def _mdspan(array: Any, index_bytes: Any) -> bytes:
    """Return a `cuda::std::mdspan` structure: data, extents, strides in elements."""
    if not isinstance(array, np.ndarray) or index_bytes not in (4, 8):
        raise TypeError("an mdspan is an array and the size of its indices")
    numbers = (*array.shape, *(s // array.itemsize for s in array.strides))
    letter = "i" if index_bytes == 4 else "q"
    return struct.pack(f"<q{len(numbers)}{letter}", address_of(array), *numbers)


def fit(given: Sequence[bytes], parameters: Sequence[Any]) -> list[bytes]:
    """Cut arguments to what the kernel's parameters take, as the driver reads them.

    Raises:
        CUDADriverError: fewer than the kernel takes, or one that is shorter than its parameter.
    """
    sizes = [parameter.size_bytes for parameter in parameters]
    check_arguments([len(data) for data in given], sizes)
    return [
        data[:size] if len(data) >= size else data.ljust(size, b"\0")
        for data, size in zip(given, sizes, strict=False)
    ]


def info_of(one: Strided) -> ArrayInfo:
    """Return what the generated source depends on."""
    size = prod(one.shape)
    itemsize = one.array.itemsize
    step = itemsize
    contiguous = True
    for length, stride in zip(reversed(one.shape), reversed(one.strides), strict=True):
        if length != 1 and stride != step:
            contiguous = False
            break
        step *= length
    short = size * itemsize <= _SHORT_INDEX_BYTES
    return ArrayInfo(one.array.dtype, len(one.shape), contiguous, short)


def broadcast(array: NpArray, shape: tuple[int, ...]) -> Strided:
    """Return an array as it looks in a larger shape.

    Raises:
        ValueError: it does not broadcast.
    """
    own = array.shape
    if own == shape:
        return Strided(array, shape, array.strides)
    missing = len(shape) - len(own)
    if missing < 0 or any(n not in (1, m) for n, m in zip(own, shape[missing:], strict=True)):
        raise ValueError(f"operands could not be broadcast together with shapes {own} {shape}")
    strides = tuple(
        0 if n != m else s for n, m, s in zip(own, shape[missing:], array.strides, strict=True)
    )
    return Strided(array, shape, (0,) * missing + strides)


def joined(shape: tuple[int, ...], arrays: list[Strided]) -> tuple[tuple[int, ...], list[Strided]]:
    """Join dimensions that all arrays have side by side: the same elements, in the same order."""
    new_shape, strides = _joined(shape, [one.strides for one in arrays])
    pairs = zip(arrays, strides, strict=True)
    return new_shape, [Strided(one.array, new_shape, s) for one, s in pairs]


def _joined(
    shape: tuple[int, ...], strides: Sequence[tuple[int, ...]]
) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    lengths: list[int] = []
    kept: list[list[int]] = [[] for _ in strides]
    for axis, length in enumerate(shape):
        if length == 1:
            continue
        steps = [s[axis] for s in strides]
        if lengths and all(k[-1] == step * length for k, step in zip(kept, steps, strict=True)):
            lengths[-1] *= length
            for k, step in zip(kept, steps, strict=True):
                k[-1] = step
        else:
            lengths.append(length)
            for k, step in zip(kept, steps, strict=True):
                k.append(step)
    if not lengths:
        return (1,), [(one[-1] if one else 0,) for one in strides]
    return tuple(lengths), [tuple(k) for k in kept]
