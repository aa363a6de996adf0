"""From a call with arrays to operations of the session: the shim's functions end here.

`call` is for operations whose results are predicted, `call_unknown` for those whose layout must
be asked for (one wait, counted).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cupool.client_shim import session as _session
from cupool.client_shim import shadow
from cupool.client_shim.cupy._core import core
from cupool.client_shim.handles import Handle
from cupool.proto import values

Spec = tuple[tuple[int, ...], "np.dtype[Any]", Any]
"""Shape, dtype and order of one result; order is "C", "F" or strides in bytes."""


class DeviceObject:
    """Something on the device that is not an array, such as the state of a random generator."""

    __slots__ = ("_handle",)

    def __init__(self, handle: Handle) -> None:
        self._handle = handle


class _Encoder:
    """Writes arguments in the grammar and notes which session their arrays belong to."""

    __slots__ = ("session",)

    def __init__(self) -> None:
        self.session = _session.session()

    def __call__(self, value: Any) -> Any:
        if isinstance(value, core.ndarray):
            handle = core.handle_of(value)
        elif isinstance(value, DeviceObject):
            handle = value._handle
        else:
            raise TypeError(f"Unsupported type {type(value)}")
        if handle.session is not self.session:
            handle.session.check()
            raise_other_device(handle.session.ordinal)
        return handle.ref


def raise_other_device(array_device: int) -> None:
    """Raise CuPy's error for an operand of another device without peer access."""
    raise ValueError(
        "Array device must be same as the current device: "
        f"array device = {array_device} while current = {_session.current.device}. "
        "Peer access is unavailable"
    )


def _encode(
    args: Sequence[Any], kwargs: dict[str, Any] | None
) -> tuple[_session.DeviceSession, list[Any], dict[str, Any] | None]:
    encoder = _Encoder()
    encode = values.encode
    wire_args = [encode(a, encoder) for a in args]
    wire_kwargs = {k: encode(v, encoder) for k, v in kwargs.items()} if kwargs else None
    return encoder.session, wire_args, wire_kwargs


def call(
    name: str, args: Sequence[Any], kwargs: dict[str, Any] | None, *specs: Spec
) -> list[core.ndarray]:
    """Queue an operation with predicted results and return the result arrays at once."""
    session, wire_args, wire_kwargs = _encode(args, kwargs)
    shadows = [shadow.make(*spec) for spec in specs]  # first: an impossible size fails here
    handles = session.emit(name, wire_args, wire_kwargs, specs)
    return [core.wrap(s, h) for s, h in zip(shadows, handles, strict=True)]


def call_one(
    name: str,
    args: Sequence[Any],
    kwargs: dict[str, Any] | None,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    order: Any = "C",
) -> core.ndarray:
    """Queue an operation with one predicted result and return it."""
    return call(name, args, kwargs, (shape, dtype, order))[0]


def call_into(name: str, args: Sequence[Any], kwargs: dict[str, Any] | None = None) -> None:
    """Queue an operation that makes nothing new: it writes into arrays among its arguments."""
    session, wire_args, wire_kwargs = _encode(args, kwargs)
    session.emit(name, wire_args, wire_kwargs, ())


def call_unknown(
    name: str, args: Sequence[Any], kwargs: dict[str, Any] | None = None, count: int = 1
) -> list[core.ndarray]:
    """Run an operation whose results depend on data, and wait for their layouts."""
    session, wire_args, wire_kwargs = _encode(args, kwargs)
    handles, rows = session.emit_unknown(name, wire_args, wire_kwargs, count)
    return [core.wrap(shadow.make(*row), h) for row, h in zip(rows, handles, strict=True)]


def call_object(
    name: str, args: Sequence[Any], kwargs: dict[str, Any] | None = None
) -> DeviceObject:
    """Queue the making of a device object."""
    session, wire_args, wire_kwargs = _encode(args, kwargs)
    return DeviceObject(session.emit_object(name, wire_args, wire_kwargs))


def with_out(result: core.ndarray, out: core.ndarray | None) -> core.ndarray:
    """Copy a result into the caller's `out`, if there is one, and return what the caller gets.

    Raises:
        TypeError: `out` is not a cupy array.
        ValueError: its shape differs.
    """
    if out is None:
        return result
    if not isinstance(out, core.ndarray):
        raise TypeError(f"return arrays must be of ArrayType, not {type(out)}")
    if out.shape != result.shape:
        raise ValueError(
            f"Output shape mismatch: expected {result.shape}, the given array has {out.shape}"
        )
    call_into("assign", (out, result))
    return out
