"""Memory of `cupy.cuda.runtime`: allocations and copies by address.

A device address is looked up among those that were handed out; an address that nobody was told
of is an invalid value. Host addresses are this machine's.
"""

from __future__ import annotations

import ctypes
import mmap
import operator
import threading
from typing import Any

import numpy as np

from cupool.client_shim import exchange, placement
from cupool.client_shim import session as _session
from cupool.client_shim import shadow as _shadow
from cupool.client_shim.addresses import Range
from cupool.client_shim.cupy.cuda import _runtime_errors as errors
from cupool.client_shim.cupy.cuda._runtime_devices import check_device
from cupool.client_shim.cupy.cuda._runtime_errors import fail
from cupool.client_shim.cupy.cuda._runtime_streams import entry_of, on_stream
from cupool.client_shim.handles import Handle

__all__ = [
    "PointerAttributes",
    "cudaCpuDeviceId",
    "cudaInvalidDeviceId",
    "cudaMemAttachGlobal",
    "free",
    "freeAsync",
    "freeHost",
    "hostAlloc",
    "hostAllocDefault",
    "hostAllocMapped",
    "hostAllocPortable",
    "hostAllocWriteCombined",
    "hostRegister",
    "hostUnregister",
    "malloc",
    "mallocAsync",
    "mallocFromPoolAsync",
    "mallocManaged",
    "memAdvise",
    "memGetInfo",
    "memPrefetchAsync",
    "memcpy",
    "memcpy2D",
    "memcpy2DAsync",
    "memcpyAsync",
    "memcpyDefault",
    "memcpyDeviceToDevice",
    "memcpyDeviceToHost",
    "memcpyHostToDevice",
    "memcpyHostToHost",
    "memcpyPeer",
    "memcpyPeerAsync",
    "memoryTypeDevice",
    "memoryTypeHost",
    "memoryTypeManaged",
    "memoryTypeUnregistered",
    "memset",
    "memsetAsync",
    "pointerGetAttributes",
    "pointerGetMemoryType",
]

memcpyHostToHost, memcpyHostToDevice, memcpyDeviceToHost = 0, 1, 2
memcpyDeviceToDevice, memcpyDefault = 3, 4
memoryTypeUnregistered, memoryTypeHost, memoryTypeDevice, memoryTypeManaged = 0, 1, 2, 3
cudaCpuDeviceId, cudaInvalidDeviceId = -1, -2
cudaMemAttachGlobal = 1
hostAllocDefault, hostAllocPortable, hostAllocMapped, hostAllocWriteCombined = 0, 1, 2, 4
_BYTE = np.dtype(np.uint8)
_ADVICE = range(1, 7)
_TYPES = {"managed": memoryTypeManaged}

_host: dict[int, tuple[int, Any]] = {}  # page-locked memory of this machine: address -> size, map
_host_lock = threading.Lock()


class PointerAttributes:
    """What is known of an address.

    Attributes:
        device: the device it belongs to.
        devicePointer, hostPointer: how it is reached from there and from here; 0 where it is not.
        type: one of `memoryType...`.
    """

    __module__ = "cupy_backends.cuda.api.runtime"

    def __init__(self, device: int, devicePointer: int, hostPointer: int, type: int = -1) -> None:
        self.device = device
        self.devicePointer = devicePointer
        self.hostPointer = hostPointer
        self.type = type


# ---------------------------------------------------------------- allocations


def size_t(size: int) -> int:
    """Return a number of bytes as C takes it.

    Raises:
        TypeError, OverflowError: it is no whole number, or none of a `size_t`.
    """
    size = operator.index(size)
    if size < 0:
        raise OverflowError("can't convert negative value to size_t")
    if size >= 1 << 64:
        raise OverflowError("Python int too large to convert to C size_t")
    return size


def _allocate(size: int, kind: str) -> int:
    size = size_t(size)
    if size == 0:
        return 0
    if size > _shadow.REGION_BYTES:  # more than any device has
        fail(errors.MEMORY_ALLOCATION)
    session = _session.session()
    handle, address = placement.allocate(session, size, kind)
    session.addresses.add(address, size, kind, handle)
    return address


def malloc(size: int) -> int:
    """Allocate bytes on the current device and return their address.

    Raises:
        CUDARuntimeError: there is no room.
    """
    return _allocate(size, "device")


def mallocManaged(size: int, flags: int = cudaMemAttachGlobal) -> int:
    """Allocate unified memory; the host that shares it is the server."""
    return _allocate(size, "managed")


def mallocAsync(size: int, stream: int) -> int:
    """Allocate bytes in a stream."""
    with on_stream(stream):
        return _allocate(size, "async")


def mallocFromPoolAsync(size: int, pool: int, stream: int) -> int:
    """Allocate bytes of a device's stream-ordered pool."""
    return mallocAsync(size, stream)


def release(ptr: int, device: int) -> None:
    """Free an allocation of a device; it is queued behind what uses the memory."""
    if device < len(_session._sessions):
        _session._sessions[device].addresses.drop(ptr)


def free(ptr: int) -> None:
    """Free what `malloc` allocated.

    Raises:
        CUDARuntimeError: nothing was allocated at that address.
    """
    if ptr == 0:
        return
    for session in [_session.session(), *_session.sessions()]:
        if session.addresses.drop(ptr) is not None:
            return
    fail(errors.INVALID_VALUE)


def freeAsync(ptr: int, stream: int) -> None:
    """Free an allocation in a stream."""
    entry_of(stream)
    free(ptr)


def hostAlloc(size: int, flags: int) -> int:
    """Allocate bytes of this machine's memory, in whole pages; return their address."""
    size = size_t(size)
    if size == 0:
        return 0
    try:
        pages = mmap.mmap(-1, size)
    except (OSError, OverflowError):
        fail(errors.MEMORY_ALLOCATION)
    address = ctypes.addressof((ctypes.c_char * size).from_buffer(pages))
    with _host_lock:
        _host[address] = (size, pages)
    return address


def freeHost(ptr: int) -> None:
    """Free what `hostAlloc` allocated."""
    if ptr and _host.pop(ptr, None) is None:
        fail(errors.INVALID_VALUE)


def hostRegister(ptr: int, size: int, flags: int) -> None:
    """Count memory of this machine as page-locked."""
    if size <= 0 or not ptr:
        fail(errors.INVALID_VALUE)
    if _on_host(ptr):
        fail(712)
    _host[ptr] = (size, None)


def hostUnregister(ptr: int) -> None:
    """Undo `hostRegister`."""
    if _host.get(ptr, (0, b""))[1] is not None:
        fail(713)
    del _host[ptr]


# ---------------------------------------------------------------- addresses


def _on_host(ptr: int) -> bool:
    with _host_lock:
        return any(start <= ptr < start + size for start, (size, _) in _host.items())


def find(ptr: int, device: int | None = None) -> tuple[_session.DeviceSession, Range] | None:
    """Return what lies at a device address: of one device, or of the current one before others."""
    opened = _session.sessions()
    if device is not None and device >= 0:
        candidates = [opened[device]]
    else:
        candidates = [_session.session(), *opened]
    for session in candidates:
        found = session.addresses.find(ptr)
        if found is not None:
            return session, found
    return None


def place_of(ptr: int, device: int | None = None) -> tuple[Handle, int]:
    """Return the allocation or array at an address, and the offset in it.

    Raises:
        CUDARuntimeError: none is there.
    """
    found = find(ptr, device)
    handle = None if found is None else found[1].owner()
    if found is None or handle is None:
        fail(errors.INVALID_VALUE)
    return handle, ptr - found[1].start


def pointerGetAttributes(ptr: int) -> PointerAttributes:
    """Return what is known of an address, of this machine or of a device."""
    if _on_host(ptr):
        return PointerAttributes(_session.current.device, ptr, ptr, memoryTypeHost)
    found = find(ptr)
    if found is None:
        return PointerAttributes(cudaInvalidDeviceId, 0, ptr, memoryTypeUnregistered)
    kind = _TYPES.get(found[1].kind, memoryTypeDevice)
    return PointerAttributes(found[0].ordinal, ptr, 0, kind)


def pointerGetMemoryType(ptr: int) -> int:
    """Return the type of an address, one of `memoryType...`."""
    return pointerGetAttributes(ptr).type


def memory_info(session: _session.DeviceSession) -> tuple[int, int]:
    """Return free and total bytes of a session's share."""
    granted = session.info.memory_bytes
    use = session.ask("memory", (), quiet=True)
    return granted - use["total"] - use["outside"], granted


def memGetInfo() -> tuple[int, int]:
    """Return free and total bytes of the current device: the granted share is the total."""
    return memory_info(_session.session())


# ---------------------------------------------------------------- copies


def _bytes_at(place: tuple[Handle, int], size: int) -> Handle:
    """Return bytes of an allocation as an array of the session.

    Raises:
        CUDARuntimeError: they are not all in it.
    """
    root, offset = place
    if offset < 0 or (root.charged_bytes and offset + size > root.charged_bytes):
        fail(errors.INVALID_VALUE)
    return root.session.emit_view(root, offset, (size,), _BYTE, "C")


def _place(pointer: Any) -> tuple[Handle, int]:
    """Return where a `MemoryPointer` or an address points to."""
    if isinstance(pointer, int):
        return place_of(pointer)
    root, begin = pointer.mem._place()
    return root, begin + pointer._offset


def copy_in(target: Any, source: int, size: int, stream: Any = None) -> None:
    """Copy bytes from an address of this machine to a device."""
    host = np.frombuffer(ctypes.string_at(source, size), np.uint8)
    with on_stream(stream):
        view = _bytes_at(_place(target), size)
        view.session.upload("write", (view.ref,), host, None)


def copy_out(target: int, source: Any, size: int, stream: Any = None) -> None:
    """Copy bytes from a device to an address of this machine, and wait for them."""
    host = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(target))
    with on_stream(stream):
        view = _bytes_at(_place(source), size)
        made = view.session.fetch(view, host)
    if made is not host:
        host[...] = made


def copy_device(target: Any, source: Any, size: int, stream: Any = None) -> None:
    """Copy bytes on a device, or to another."""
    with on_stream(stream):
        to, of = _bytes_at(_place(target), size), _bytes_at(_place(source), size)
        if to.session is of.session:
            to.session.emit("assign", (to.ref, of.ref), None, ())
        else:
            layout = ((size,), _BYTE, "C")
            made = exchange.copy(of, layout, to.session)
            to.session.emit("assign", (to.ref, made.ref), None, ())


def set_bytes(target: Any, value: int, size: int, stream: Any = None) -> None:
    """Set bytes on a device to a value."""
    with on_stream(stream):
        view = _bytes_at(_place(target), size)
        view.session.emit("fill", (view.ref, value & 0xFF), None, ())


def memcpy(dst: int, src: int, size: int, kind: int) -> None:
    """Copy bytes between addresses; `memcpyDefault` finds out whose they are.

    Raises:
        CUDARuntimeError: an address that nobody handed out, or an unknown kind.
    """
    memcpyAsync(dst, src, size, kind, None)


def memcpyAsync(dst: int, src: int, size: int, kind: int, stream: int | None) -> None:
    """Copy bytes between addresses, in a stream."""
    if size_t(size) == 0:
        return
    if kind == memcpyDefault:
        to_device = not _on_host(dst) and find(dst) is not None
        of_device = not _on_host(src) and find(src) is not None
        kind = to_device + 2 * of_device
    if kind == memcpyHostToHost:
        ctypes.memmove(dst, src, size)
    elif kind == memcpyHostToDevice:
        copy_in(dst, src, size, stream)
    elif kind == memcpyDeviceToHost:
        copy_out(dst, src, size, stream)
    elif kind == memcpyDeviceToDevice:
        copy_device(dst, src, size, stream)
    else:
        fail(21)


def memcpyPeer(dst: int, dstDevice: int, src: int, srcDevice: int, size: int) -> None:
    """Copy bytes from one device to another, by way of this machine."""
    memcpyPeerAsync(dst, dstDevice, src, srcDevice, size, None)


def memcpyPeerAsync(
    dst: int, dstDevice: int, src: int, srcDevice: int, size: int, stream: int | None
) -> None:
    """Copy bytes from one device to another, in a stream."""
    check_device(dstDevice)
    check_device(srcDevice)
    if size_t(size):
        of = _bytes_at(place_of(src, srcDevice), size)
        to = _bytes_at(place_of(dst, dstDevice), size)
        with on_stream(stream):
            to.session.upload("write", (to.ref,), of.session.fetch(of), None)


def memcpy2D(
    dst: int, dpitch: int, src: int, spitch: int, width: int, height: int, kind: int
) -> None:
    """Copy `height` rows of `width` bytes that lie `dpitch` and `spitch` bytes apart."""
    memcpy2DAsync(dst, dpitch, src, spitch, width, height, kind, None)


def memcpy2DAsync(
    dst: int,
    dpitch: int,
    src: int,
    spitch: int,
    width: int,
    height: int,
    kind: int,
    stream: int | None,
) -> None:
    """Copy rows in a stream; see `memcpy2D`."""
    if width > dpitch or width > spitch:
        fail(12)
    for row in range(height):
        memcpyAsync(dst + row * dpitch, src + row * spitch, width, kind, stream)


def memset(ptr: int, value: int, size: int) -> None:
    """Set bytes on a device to a value."""
    memsetAsync(ptr, value, size, None)


def memsetAsync(ptr: int, value: int, size: int, stream: int | None) -> None:
    """Set bytes on a device to a value, in a stream."""
    if size_t(size):
        set_bytes(ptr, value, size, stream)


def memPrefetchAsync(devPtr: int, count: int, dstDevice: int, stream: int) -> None:
    """Accepted for unified memory of a device: it lies there."""
    if dstDevice != cudaCpuDeviceId:
        check_device(dstDevice)
    entry_of(stream)
    _check_managed(devPtr)


def memAdvise(devPtr: int, count: int, advice: int, device: int) -> None:
    """Accepted for unified memory of a device: it lies there."""
    if advice not in _ADVICE:
        fail(errors.INVALID_VALUE)
    if device != cudaCpuDeviceId:
        check_device(device)
    _check_managed(devPtr)


def _check_managed(ptr: int) -> None:
    if pointerGetMemoryType(ptr) != memoryTypeManaged:
        fail(errors.INVALID_VALUE)
