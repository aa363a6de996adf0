"""`packbits`, `unpackbits`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls, core, views

__all__ = ["packbits", "unpackbits"]
ndarray = core.ndarray

_BYTE = np.dtype(np.uint8)


def _check(axis: Any, bitorder: str) -> None:
    if axis is not None:
        raise NotImplementedError("axis option is not supported yet")
    if bitorder not in ("big", "little"):
        raise ValueError("bitorder must be either 'big' or 'little'")


def packbits(a: Any, axis: Any = None, bitorder: str = "big") -> ndarray:
    """Pack the elements, as one bit each, into bytes; the last is filled up with zeros.

    Raises:
        TypeError: neither bool nor integers.
        NotImplementedError: an axis.
        ValueError: `bitorder` is neither "big" nor "little".
    """
    a = views.require(a)
    if a.dtype.kind not in "biu":
        raise TypeError("Expected an input array of integer or boolean data type")
    _check(axis, bitorder)
    return calls.call_one("packbits", (a, None, bitorder), None, ((a.size + 7) // 8,), _BYTE)


def unpackbits(a: Any, axis: Any = None, bitorder: str = "big") -> ndarray:
    """Unpack bytes into elements of 0 and 1.

    Raises:
        TypeError: not uint8.
        NotImplementedError: an axis.
        ValueError: `bitorder` is neither "big" nor "little".
    """
    a = views.require(a)
    if a.dtype != _BYTE:
        raise TypeError("Expected an input array of unsigned byte data type")
    _check(axis, bitorder)
    return calls.call_one("unpackbits", (a, None, bitorder), None, (a.size * 8,), _BYTE)
