"""`__cuda_array_interface__` of others: accepted where the memory is the session's own."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from cupool.client_shim import shadow as _shadow
from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupy.cuda import memory
from cupool.errors import OperationNotSupported

ndarray = core.ndarray


def from_interface(described: Mapping[str, Any]) -> ndarray:
    """Return a view of the memory that an interface describes.

    Raises:
        ValueError: a mask, or a dtype of foreign byte order.
        OperationNotSupported: the memory is none of this session.
    """
    if described.get("version", 0) >= 1 and described.get("mask") is not None:
        raise ValueError("CuPy currently does not support masked arrays.")
    shape = tuple(described["shape"])
    dtype = _dtype_of(described)
    strides = described.get("strides")
    if strides is None:
        strides = _shadow.make(shape, dtype).strides
    if not prod(shape):
        return ndarray(shape, dtype)
    address = described["data"][0]
    found = memory.owner_at(address)
    if found is None:
        raise OperationNotSupported(
            f"the address {address:#x} is not memory of this session's GPU",
            remedy="copy the data with cupy.asarray(numpy_array), or make the array with cupy",
        )
    owner, offset = found
    return core.view_of(owner, _shadow.at(shape, dtype, offset, tuple(strides)))


def _dtype_of(described: Mapping[str, Any]) -> np.dtype[Any]:
    dtype: Any = np.dtype(described["typestr"])
    if not dtype.isnative:
        raise ValueError(f"Unsupported dtype {dtype} with big-endian byte-order")
    fields = described.get("descr")
    if dtype.kind == "V" and fields and fields[0][0]:
        dtype = np.dtype(fields)
    made: np.dtype[Any] = dtype
    return made
