"""Memory by address, and results in memory of another pool than the session's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from cupool.client_shim import shadow
from cupool.client_shim.handles import Handle, PlacedHandle
from cupool.proto.values import dtype_to_wire

if TYPE_CHECKING:
    from cupool.client_shim.session import DeviceSession

OutLayout: TypeAlias = "tuple[tuple[int, ...], np.dtype[Any], shadow.Order]"


def emit_at(
    session: DeviceSession,
    pointer: Any,
    shape: tuple[int, ...],
    dtype: Any,
    order: Any,
    origin_bytes: int = 0,
) -> Handle:
    """Queue an array at a `MemoryPointer`; its shadow begins `origin_bytes` into its region."""
    root, offset = pointer.mem._place()
    offset += pointer._offset - origin_bytes
    handle = PlacedHandle(session, pointer, root, offset)
    spec = (handle.ref[1], dtype_to_wire(dtype), shape, order)
    session.submit(("view", (spec,), (root.ref, offset + origin_bytes), None))
    return handle


def emit_placed(
    session: DeviceSession,
    place: Callable[[int], Any],
    name: str,
    args: Sequence[Any],
    kwargs: dict[str, Any] | None,
    outs: Sequence[OutLayout],
) -> list[Handle]:
    """Queue an operation and put its results where the current allocator says."""
    pointers = [place(dtype.itemsize * prod(shape)) for shape, dtype, _ in outs]
    if name == "empty" and pointers[0] is not None:
        return [emit_at(session, pointers[0], *outs[0])]
    made = session.emit_plain(name, args, kwargs, outs)
    return [moved(session, h, p, o) for h, p, o in zip(made, pointers, outs, strict=True)]


def moved(session: DeviceSession, handle: Handle, pointer: Any, out: OutLayout) -> Handle:
    """Copy a result to a `MemoryPointer` and return it there; None leaves it where it is."""
    if pointer is None:
        return handle
    target = emit_at(session, pointer, *out)
    session.submit(("assign", (), (target.ref, handle.ref), None))
    return target


def allocate(session: DeviceSession, size_bytes: int, kind: str) -> tuple[Handle, int]:
    """Allocate bytes outside the memory pool, and wait for their address.

    Args:
        kind: "device", "managed" or "async".

    Raises:
        CUDARuntimeError: there is no room.
    """
    session.check()
    handle = Handle(session, size_bytes)
    spec = (handle.ref[1], "|u1", (size_bytes,), "C")
    session.submit(("malloc", (spec,), (kind,), None))
    return handle, address(session, handle)


def address(session: DeviceSession, handle: Handle) -> int:
    """Return the device address of an array, which is asked for once."""
    try:
        return handle.address
    except AttributeError:
        (handle.address,) = session.ask("address", (handle.ref,), quiet=True)
        return handle.address
