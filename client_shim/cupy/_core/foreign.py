"""Objects that stand for a device array: `__cuda_array_interface__`, `__cupy_get_ndarray__`.

An address means nothing on this machine, so the interface leads from our arrays to our arrays
only: another library's wrapper of a `cupy.ndarray` is found again by the address it shows.
"""

from __future__ import annotations

import os
import sys
from math import prod
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupy.cuda import memory, stream
from cupool.errors import OperationNotSupported

_DEFAULT_STREAM = 1
_LIBRARIES = frozenset(
    {"jax", "jaxlib", "mxnet", "numba", "paddle", "tensorflow", "torch", "tvm", "tvm_ffi", "warp"}
)
"""What would take an address for one of a GPU of this machine."""
VERSION = int(os.environ.get("CUPY_CUDA_ARRAY_INTERFACE_EXPORT_VERSION", "3"))


def refuse_library() -> None:
    """Raise if the code that called our caller is of a library with GPU arrays of its own.

    It would not get far, but its message would be about CUDA on this machine. Libraries in C are
    not seen; they refuse the device that a capsule shows.

    Raises:
        BufferError: what an array raises that cannot be exported, with the reason.
    """
    asking = sys._getframe(2).f_globals.get("__name__", "").partition(".")[0]
    if asking in _LIBRARIES:
        raise BufferError(
            f"{asking} asks for this array's GPU memory, which is on a GPU of the pool and not of"
            f" this machine. Copy it by way of the host: give {asking} the NumPy array x.get(), or"
            " numpy.from_dlpack(x, device='cpu')."
        )


def export(a: core.ndarray, version: int) -> dict[str, Any]:
    """Return `a.__cuda_array_interface__`, of protocol version 2 or 3.

    Raises:
        ValueError: another version.
    """
    if version not in (2, 3):
        raise ValueError(
            "CUPY_CUDA_ARRAY_INTERFACE_EXPORT_VERSION can only be set to 3 (default) or 2"
        )
    shown: dict[str, Any] = {
        "shape": a.shape,
        "typestr": a.dtype.str,
        "descr": a.dtype.descr,
        "version": version,
        "strides": None if a.flags.c_contiguous else a.strides,
        "data": (memory.pointer_to(a).ptr if a.size else 0, False),
    }
    if version == 3:
        shown["stream"] = int(stream.get_current_stream().ptr) or _DEFAULT_STREAM
    return shown


def _structured(rows: list[Any]) -> np.dtype[Any]:
    """Return the dtype of an interface's "descr"; fields without a name are padding."""
    names, formats, offsets, end = [], [], [], 0
    for name, kind, *shape in rows:
        described = _structured(kind) if isinstance(kind, list) else np.dtype(kind)
        field: np.dtype[Any] = np.dtype((described, *shape)) if shape else described
        if name != "":
            names.append(name)
            formats.append(field)
            offsets.append(end)
        end += field.itemsize
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": end})


def _dtype(interface: dict[str, Any]) -> np.dtype[Any]:
    dtype: np.dtype[Any] = np.dtype(interface["typestr"])
    if dtype.kind == "V" and interface.get("descr"):
        described = _structured(interface["descr"])
        if described.names and described.itemsize == dtype.itemsize:
            dtype = described
    if dtype.hasobject:
        raise ValueError(f"Unsupported dtype {dtype}")
    if dtype.byteorder == ">":
        raise ValueError("CuPy does not support the big-endian byte-order")
    return dtype


def from_interface(interface: dict[str, Any], keep: Any = None) -> core.ndarray:
    """Return an array over the memory whose address an interface shows; `keep` is kept alive.

    Raises:
        ValueError: a mask, or big-endian data.
        OperationNotSupported: the address is of no array of this session.
    """
    dtype = _dtype(interface)
    if interface.get("mask") is not None:
        raise ValueError("CuPy currently does not support masked arrays.")
    shape = tuple(interface["shape"])
    if 0 in shape:
        return core.ndarray(shape, dtype)
    address = int(interface["data"][0])
    try:
        found = memory.UnownedMemory(address, 0, keep, -1)
        pointer = memory.MemoryPointer(found, 0)
        found._place()
    except memory.CUDARuntimeError:
        raise OperationNotSupported(
            f"the address {address:#x} is not memory of this session's GPU",
            remedy="copy the data with cupy.asarray(numpy_array), or make the array with cupy",
        ) from None
    found.size = dtype.itemsize * prod(shape)
    return core.ndarray(shape, dtype, pointer, interface.get("strides"))


def from_cupy_like(value: Any) -> core.ndarray | None:
    """Return a device array as it is, or what an object gives that stands for one; else None.

    Raises:
        ValueError, OperationNotSupported: it stands for memory that is not ours.
    """
    if isinstance(value, core.ndarray):
        return value
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is not None:
        return from_interface(interface, value)
    convert = getattr(value, "__cupy_get_ndarray__", None)
    made: core.ndarray | None = None if convert is None else convert()
    return made
