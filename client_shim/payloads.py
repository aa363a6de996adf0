"""Host arrays of messages: their bytes, where a fetch puts them, the numbers of payload frames."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.proto import values


def bytes_of(array: np.ndarray[Any, Any]) -> memoryview:
    """Return the memory of a contiguous array."""
    flat = array.reshape(-1) if array.flags.c_contiguous else array.T.reshape(-1)
    return flat.view(np.uint8).data


def destination_of(
    given: np.ndarray[Any, Any] | None, dtype: np.dtype[Any], shape: Any, order: Any
) -> np.ndarray[Any, Any]:
    """Return the array that a fetch fills: the caller's own where it fits as it lies, else new."""
    values.checked_size(shape, dtype)
    if given is not None and given.dtype == dtype and list(given.shape) == list(shape):
        if given.flags.c_contiguous if order == "C" else given.flags.f_contiguous:
            return given
    return np.empty(tuple(shape), dtype, "F" if order == "F" else "C")


def shift_payloads(record: Any, by: int) -> Any:
    """Renumber the payload frames of a record within its batch."""
    if by == 0:
        return record

    def shift(value: Any) -> Any:
        if isinstance(value, (tuple, list)):
            if len(value) == 5 and value[0] == values.PAYLOAD:
                return (values.PAYLOAD, value[1] + by, *value[2:])
            return [shift(v) for v in value]
        return value

    name, outs, args, *rest = record
    return (name, outs, [shift(a) for a in args], *rest)
