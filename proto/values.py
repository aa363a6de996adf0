"""Arguments and results on the wire: a closed grammar over msgpack.

None, bool, float, str and ints of 64 bits stand for themselves. All else is a short list whose
first item is a tag:

    [ARRAY, handle]                        an array or object of the session
    [LIST, [value, ...]]  [TUPLE, [value, ...]]
    [SLICE, start, stop, step]
    [DTYPE, text]                          e.g. "<f4", or "bfloat16"; a structured type is
        [DTYPE, [[[name, dtype, offset], ...], itemsize]]
    [COMPLEX, real, imag]
    [ELLIPSIS]
    [INT, text]                            an int beyond 64 bits, in hexadecimal
    [SCALAR, dtype, bytes]                 a NumPy scalar
    [PAYLOAD, frame, dtype, shape, order]  a host array, bytes in a payload frame of the message
    [TRANSFER, transfer, dtype, shape, order]  a host array, bytes follow in chunks
    [DICT, {str: value}]

Nothing else is sent, and nothing else is accepted: no class names, no pickles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from cupool.errors import ProtocolViolation
from cupool.proto import bfloat16
from cupool.proto.messages import Frame

ARRAY, LIST, TUPLE, SLICE, DTYPE, COMPLEX, ELLIPSIS, INT, SCALAR, PAYLOAD, TRANSFER, DICT = range(
    12
)

MAX_DEPTH = 16
MAX_INT_DIGITS = 1024
MAX_DIMENSIONS = 64

DType: TypeAlias = "np.dtype[Any]"
_KINDS = frozenset("biufcmMSUV")


def dtype_to_wire(dtype: DType) -> Any:
    """Return a dtype's text, or a list of (name, dtype, shape) for a structured one."""
    if dtype.names is None:
        return bfloat16.NAME if bfloat16.is_bfloat16(dtype) else dtype.str
    fields: Any = dtype.fields or {}
    rows = [[n, dtype_to_wire(fields[n][0]), fields[n][1]] for n in dtype.names]
    return [rows, dtype.itemsize]


def dtype_from_wire(wire: Any) -> DType:
    """Return the dtype, or raise ProtocolViolation: object types and unknown text are refused."""
    if isinstance(wire, str):
        return _plain_dtype(wire)
    try:
        rows, size_bytes = wire
        names, formats, offsets = zip(*rows, strict=True)
        dtype = np.dtype(
            {
                "names": list(names),
                "formats": [dtype_from_wire(f) for f in formats],
                "offsets": list(offsets),
                "itemsize": size_bytes,
            }
        )
    except (TypeError, ValueError) as exc:
        raise ProtocolViolation(f"not a dtype: {wire!r:.100}") from exc
    return _checked(dtype)


@lru_cache(maxsize=256)
def _plain_dtype(text: str) -> DType:
    if text == bfloat16.NAME:
        try:
            return bfloat16.bfloat16()
        except ModuleNotFoundError:
            raise ProtocolViolation(
                "bfloat16 needs the package ml_dtypes, which this machine lacks: install it there"
            ) from None
    try:
        dtype = np.dtype(text)
    except (TypeError, ValueError, SyntaxError) as exc:
        raise ProtocolViolation(f"not a dtype: {text!r:.100}") from exc
    return _checked(dtype)


def _checked(dtype: DType) -> DType:
    if dtype.kind not in _KINDS or dtype.hasobject or bfloat16.is_foreign(dtype):
        raise ProtocolViolation(f"dtype {dtype} may not cross the wire")
    return dtype


def encode(value: Any, default: Callable[[Any], Any]) -> Any:
    """Write a value in the grammar; `default` writes what the grammar does not know (arrays).

    Raises:
        whatever `default` raises for a value that it does not know either.
    """
    kind = type(value)
    if value is None or kind in (bool, float, str):
        return value
    if kind is int:
        return value if -(1 << 63) <= value < (1 << 64) else (INT, f"{value:x}")
    if kind is tuple:
        return (TUPLE, [encode(v, default) for v in value])
    if kind is list:
        return (LIST, [encode(v, default) for v in value])
    if kind is complex:
        return (COMPLEX, value.real, value.imag)
    if kind is slice:
        bounds = (value.start, value.stop, value.step)
        return (SLICE, *(encode(v, default) for v in bounds))
    if value is Ellipsis:
        return (ELLIPSIS,)
    if kind is dict:
        return (DICT, {str(k): encode(v, default) for k, v in value.items()})
    if isinstance(value, np.dtype):
        return (DTYPE, dtype_to_wire(value))
    if isinstance(value, np.generic):
        return (SCALAR, dtype_to_wire(value.dtype), value.tobytes())
    if isinstance(value, type) and issubclass(value, np.generic):
        return (DTYPE, dtype_to_wire(np.dtype(value)))
    return default(value)


class Reader:
    """Reads values that the peer wrote.

    Args:
        array: gives the array or object of a handle, or raises.
        payloads: the payload frames of the message.
        transfer: gives the bytes of a chunked transfer; None where none may be named.
    """

    def __init__(
        self,
        array: Callable[[int], Any],
        payloads: Sequence[Frame] = (),
        transfer: Callable[[int, int], Frame] | None = None,
    ) -> None:
        self._array = array
        self._payloads = payloads
        self._transfer = transfer

    def read(self, wire: Any, depth: int = 0) -> Any:
        """Return the value, or raise ProtocolViolation."""
        if not isinstance(wire, (list, tuple)):
            if isinstance(wire, (bytes, dict)):
                raise ProtocolViolation("bytes and maps must be tagged")
            return wire
        if depth > MAX_DEPTH:
            raise ProtocolViolation(f"values are nested deeper than {MAX_DEPTH}")
        try:
            read = _READERS[wire[0]]
        except (IndexError, KeyError, TypeError):
            raise ProtocolViolation(f"unknown value tag in {wire!r:.80}") from None
        try:
            return read(self, wire, depth + 1)
        except (IndexError, TypeError, AttributeError, OverflowError) as exc:
            raise ProtocolViolation(f"malformed value {wire!r:.80}: {exc}") from exc

    def _read_array(self, wire: Any, depth: int) -> Any:
        handle = wire[1]
        if type(handle) is not int:
            raise ProtocolViolation("a handle is an int")
        return self._array(handle)

    def _read_list(self, wire: Any, depth: int) -> list[Any]:
        return [self.read(item, depth) for item in wire[1]]

    def _read_tuple(self, wire: Any, depth: int) -> tuple[Any, ...]:
        return tuple([self.read(item, depth) for item in wire[1]])

    def _read_slice(self, wire: Any, depth: int) -> slice:
        return slice(*(self.read(item, depth) for item in wire[1:4]))

    def _read_dtype(self, wire: Any, depth: int) -> DType:
        return dtype_from_wire(wire[1])

    def _read_complex(self, wire: Any, depth: int) -> complex:
        return complex(wire[1], wire[2])

    def _read_ellipsis(self, wire: Any, depth: int) -> Any:
        return Ellipsis

    def _read_int(self, wire: Any, depth: int) -> int:
        if len(wire[1]) > MAX_INT_DIGITS:
            raise ProtocolViolation("an integer is too long")
        try:
            return int(wire[1], 16)
        except ValueError:
            raise ProtocolViolation("not a hexadecimal integer") from None

    def _read_scalar(self, wire: Any, depth: int) -> Any:
        dtype = dtype_from_wire(wire[1])
        if len(wire[2]) != dtype.itemsize:
            raise ProtocolViolation("a scalar's bytes do not fit its dtype")
        return np.frombuffer(wire[2], dtype)[0]

    def _read_payload(self, wire: Any, depth: int) -> Any:
        frame = memoryview(self._payloads[wire[1]]).cast("B")
        return host_array(frame, dtype_from_wire(wire[2]), wire[3], wire[4])

    def _read_transfer(self, wire: Any, depth: int) -> Any:
        if self._transfer is None:
            raise ProtocolViolation("no transfer is allowed here")
        dtype = dtype_from_wire(wire[2])
        size_bytes = checked_size(wire[3], dtype)
        return host_array(self._transfer(wire[1], size_bytes), dtype, wire[3], wire[4])

    def _read_dict(self, wire: Any, depth: int) -> dict[str, Any]:
        return {str(key): self.read(item, depth) for key, item in wire[1].items()}


_READERS: dict[int, Callable[[Reader, Any, int], Any]] = {
    ARRAY: Reader._read_array,
    LIST: Reader._read_list,
    TUPLE: Reader._read_tuple,
    SLICE: Reader._read_slice,
    DTYPE: Reader._read_dtype,
    COMPLEX: Reader._read_complex,
    ELLIPSIS: Reader._read_ellipsis,
    INT: Reader._read_int,
    SCALAR: Reader._read_scalar,
    PAYLOAD: Reader._read_payload,
    TRANSFER: Reader._read_transfer,
    DICT: Reader._read_dict,
}


def checked_size(shape: Any, dtype: DType) -> int:
    """Return the bytes of an array, or raise ProtocolViolation for a shape that is none."""
    if not isinstance(shape, (list, tuple)) or len(shape) > MAX_DIMENSIONS:
        raise ProtocolViolation(f"not a shape: {shape!r:.80}")
    size_bytes = dtype.itemsize
    for length in shape:
        if type(length) is not int or not 0 <= length < (1 << 48):
            raise ProtocolViolation(f"not a shape: {shape!r:.80}")
        size_bytes *= length
    if size_bytes >= 1 << 62:
        raise ProtocolViolation(f"an array of {size_bytes} bytes")
    return size_bytes


def host_array(data: Frame, dtype: DType, shape: Any, order: Any) -> np.ndarray[Any, Any]:
    """Lay an array over received bytes; `order` is "C" or "F"."""
    if checked_size(shape, dtype) != memoryview(data).nbytes or order not in ("C", "F"):
        raise ProtocolViolation("a payload's bytes do not fit its shape")
    if order == "C":
        return np.ndarray(tuple(shape), dtype, data)
    return np.ndarray(tuple(shape), dtype, data, order="F")
