"""Streams, events and graphs of `cupy.cuda.runtime`.

What CUDA calls their address is a number that is made here; operations carry the stream's handle.
A capture is followed here too, since its rules are about calls, not about data.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable
from typing import Any

from cupool.client_shim import session as _session
from cupool.client_shim.cupy.cuda import _runtime_errors as errors
from cupool.client_shim.cupy.cuda._runtime_errors import fail
from cupool.client_shim.handles import Handle
from cupool.proto.operations import TABLE

__all__ = [
    "eventBlockingSync",
    "eventCreate",
    "eventCreateWithFlags",
    "eventDefault",
    "eventDestroy",
    "eventDisableTiming",
    "eventElapsedTime",
    "eventInterprocess",
    "eventQuery",
    "eventRecord",
    "eventSynchronize",
    "launchHostFunc",
    "streamAddCallback",
    "streamCaptureModeGlobal",
    "streamCaptureModeRelaxed",
    "streamCaptureModeThreadLocal",
    "streamCreate",
    "streamCreateWithFlags",
    "streamCreateWithPriority",
    "streamDefault",
    "streamDestroy",
    "streamGetFlags",
    "streamGetPriority",
    "streamLegacy",
    "streamNonBlocking",
    "streamPerThread",
    "streamQuery",
    "streamSynchronize",
    "streamWaitEvent",
]

streamDefault, streamNonBlocking = 0, 1
streamLegacy, streamPerThread = 1, 2
streamCaptureModeGlobal, streamCaptureModeThreadLocal, streamCaptureModeRelaxed = 0, 1, 2
eventDefault, eventBlockingSync, eventDisableTiming, eventInterprocess = 0, 1, 2, 4
_LEAST_PRIORITY, _GREATEST_PRIORITY = 0, -5

_numbers = itertools.count(1)
_STRIDE = 0x40
_FIRST = 0x5C00_0000_0000  # far from 0, 1, 2, which mean the default streams


class StreamEntry:
    """A stream that was created.

    Attributes:
        capture: what it adds to while it captures.
    """

    def __init__(self, session: _session.DeviceSession, flags: int, priority: int) -> None:
        self.session = session
        self.flags = flags
        self.priority = min(max(priority, _GREATEST_PRIORITY), _LEAST_PRIORITY)
        self.capture: Capture | None = None
        blocking = not flags & streamNonBlocking
        handle = session.emit_object("stream_create", (not blocking, self.priority), None)
        self.handle: Handle = handle
        session.use_streams()


class EventEntry:
    """An event that was created; `source` is the capturing stream that it was last recorded in."""

    def __init__(self, session: _session.DeviceSession, flags: int) -> None:
        self.session = session
        self.timing = not flags & eventDisableTiming
        self.handle = session.emit_object("event_create", (self.timing,), None)
        self.capture: Capture | None = None
        self.source: StreamEntry | None = None


class Capture:
    """A capture: who began it, who joined, and whether it is still good."""

    def __init__(self, origin: StreamEntry) -> None:
        self.origin = origin
        self.streams = [origin]
        self.apart: set[StreamEntry] = set()  # joined, and not waited for since
        self.invalid = False
        self.host: list[Any] = []

    def end(self) -> None:
        for entry in self.streams:
            entry.capture = None
        captures.remove(self)
        watch()


class _Thread(threading.local):
    def __init__(self) -> None:
        self.pointers: dict[int, int] = {}  # the current stream of each device
        self.own: dict[int, StreamEntry] = {}  # per-thread default streams
        self.key = object()


_thread = _Thread()
_streams: dict[int, StreamEntry] = {}
_PTDS = os.environ.get("CUPY_CUDA_PER_THREAD_DEFAULT_STREAM", "0") not in ("", "0")
default_pointer = streamPerThread if _PTDS else 0
"""The stream of a thread that has chosen none."""
_events: dict[int, EventEntry] = {}
captures: list[Capture] = []
"""The captures that are under way."""


def _forget() -> None:
    """The sessions are gone, and all streams, events and graphs with them."""
    captures.clear()
    watch()


_session.on_reset(_forget)


def keep_entry(table: dict[int, Any], entry: Any) -> int:
    pointer = _FIRST + _STRIDE * next(_numbers)
    table[pointer] = entry
    return pointer


def find_entry(table: dict[int, Any], pointer: int) -> Any:
    entry = table.get(int(pointer))
    if entry is None:
        fail(errors.INVALID_RESOURCE_HANDLE)
    return entry


def entry_of(pointer: int) -> StreamEntry | None:
    """Return a stream by its address; None for the null stream.

    Raises:
        CUDARuntimeError: there is no such stream.
    """
    if pointer in (0, streamLegacy):
        return None
    if pointer == streamPerThread:
        session = _session.session()
        own = _thread.own.get(session.ordinal)
        if own is None or own.session is not session:
            _session.current.streams.setdefault(session, 0)  # making it is no work of its own
            own = _thread.own[session.ordinal] = StreamEntry(session, streamDefault, 0)
        return own
    entry: StreamEntry = find_entry(_streams, pointer)
    return entry


def target_of(pointer: int) -> tuple[_session.DeviceSession, StreamEntry | None, Any]:
    """Return the session of a stream, its entry, and how it is written in a record."""
    entry = entry_of(pointer)
    if entry is None:
        return _session.session(), None, None
    return entry.session, entry, entry.handle.ref


# ---------------------------------------------------------------- the current stream


def _own_stream(session: _session.DeviceSession) -> int:
    """Return the handle of a thread's own default stream, where that is the default."""
    entry = entry_of(streamPerThread)
    assert entry is not None
    if entry.session is not session:
        return 0
    number: int = entry.handle.ref[1]
    _session.current.streams[session] = number
    return number


if _PTDS:
    _session.own_stream = _own_stream
    _session.on_open(lambda session: session.use_streams())


def current_pointer() -> int:
    """Return the thread's current stream on the current device."""
    return _thread.pointers.get(_session.current.device, default_pointer)


def set_current_pointer(pointer: int, device: int) -> None:
    """Make a stream the thread's current one on a device."""
    entry = entry_of(pointer)
    _thread.pointers[device] = pointer
    if entry is not None:
        _session.current.streams[entry.session] = entry.handle.ref[1]
    elif _session.current.streams or _PTDS:
        _session.current.streams[_session.sessions()[device]] = 0


def stream_key(pointer: int) -> int:
    """Return what tells a stream apart: its address, or for the per-thread one the thread's."""
    return -id(_thread.key) if pointer == streamPerThread else pointer


def current_stream_key() -> int:
    """Return `stream_key` of the current stream."""
    return stream_key(current_pointer())


class on_stream:
    """Within it, this thread's operations are in a stream; None leaves the current one."""

    def __init__(self, stream: Any) -> None:
        self._pointer = None if stream is None else int(getattr(stream, "ptr", stream))

    def __enter__(self) -> None:
        if self._pointer is not None:
            self._device = _session.current.device
            self._before = current_pointer()
            set_current_pointer(self._pointer, self._device)

    def __exit__(self, *exc: object) -> None:
        if self._pointer is not None:
            set_current_pointer(self._before, self._device)


# ---------------------------------------------------------------- streams


def streamCreate() -> int:
    """Create a stream on the current device and return its address."""
    return streamCreateWithPriority(streamDefault, 0)


def streamCreateWithFlags(flags: int) -> int:
    """Create a stream; `streamNonBlocking` keeps it out of step with the null stream."""
    return streamCreateWithPriority(flags, 0)


def streamCreateWithPriority(flags: int, priority: int) -> int:
    """Create a stream with a priority; lower numbers go first, the range is -5 to 0."""
    return keep_entry(_streams, StreamEntry(_session.session(), flags, priority))


def streamGetFlags(stream: int) -> int:
    """Return the flags of a stream."""
    entry = entry_of(stream)
    return streamDefault if entry is None else entry.flags


def streamGetPriority(stream: int) -> int:
    """Return the priority of a stream."""
    entry = entry_of(stream)
    return 0 if entry is None else entry.priority


def streamDestroy(stream: int) -> None:
    """Forget a stream; what is in it will still be done."""
    if _streams.pop(int(stream), None) is None:
        fail(errors.INVALID_RESOURCE_HANDLE)


def streamSynchronize(stream: int) -> None:
    """Wait until everything of a stream is done, host functions included.

    Raises:
        CUDARuntimeError: it is capturing.
        what went wrong.
    """
    session, entry, ref = target_of(stream)
    not_captured(entry)
    session.ask("stream_synchronize", (ref,))
    if ref is None:
        session.callbacks.wait()
    else:
        session.callbacks.wait(ref)


def streamQuery(stream: int) -> int:
    """Return 0 if everything of a stream is done, else a status (600: not yet)."""
    session, entry, ref = target_of(stream)
    if entry is not None and entry.capture is not None:
        entry.capture.invalid = True
        return errors.CAPTURE_UNSUPPORTED
    return 0 if session.ask("stream_query", (ref,), quiet=True) else errors.NOT_READY


def streamWaitEvent(stream: int, event: int, flags: int = 0) -> None:
    """Let what comes later in a stream wait for an event."""
    session, entry, ref = target_of(stream)
    found: EventEntry = find_entry(_events, event)
    if found.session is not session:
        found.session.ask("event_synchronize", (found.handle.ref,))  # no order between devices
        return
    capture = found.capture
    if capture is not None and capture in captures:
        _join(capture, entry, found)
    elif entry is not None and entry.capture is not None:
        return  # what is done before a capture is no part of it
    session.submit(("stream_wait", (), (ref, found.handle.ref), None))


def _join(capture: Capture, entry: StreamEntry | None, event: EventEntry) -> None:
    if entry is None:
        capture.invalid = True
        fail(errors.CAPTURE_IMPLICIT)
    if entry.capture is None:
        entry.capture = capture
        capture.streams.append(entry)
        capture.apart.add(entry)
    elif entry.capture is not capture:
        capture.invalid = entry.capture.invalid = True
        fail(errors.CAPTURE_MERGE)
    if event.source is not None:
        capture.apart.discard(event.source)


def streamAddCallback(
    stream: int, callback: Callable[[int, int, Any], object], arg: int, flags: int = 0
) -> None:
    """Call `callback(stream, status, arg)` on this machine once the work before it is done."""
    session, entry, ref = target_of(stream)
    not_captured(entry)

    def call(failure: BaseException | None) -> None:
        status = 0 if failure is None else getattr(failure, "status", 999)
        callback(stream, status, arg)

    session.call_back(ref, call)


def launchHostFunc(stream: int, callback: Callable[[Any], object], arg: Any) -> None:
    """Call `callback(arg)` on this machine once the work before it is done.

    Work of the stream that comes later does not wait for the function.
    """
    session, entry, ref = target_of(stream)
    if entry is not None and entry.capture is not None:
        entry.capture.host.append((callback, arg))
        return

    def call(failure: BaseException | None) -> None:
        if failure is None:
            callback(arg)

    session.call_back(ref, call)


# ---------------------------------------------------------------- events


def eventCreate() -> int:
    """Create an event on the current device and return its address."""
    return eventCreateWithFlags(eventDefault)


def eventCreateWithFlags(flags: int) -> int:
    """Create an event; `eventDisableTiming` keeps no time."""
    return keep_entry(_events, EventEntry(_session.session(), flags))


def eventDestroy(event: int) -> None:
    """Forget an event."""
    if _events.pop(int(event), None) is None:
        fail(errors.INVALID_RESOURCE_HANDLE)


def eventRecord(event: int, stream: int) -> None:
    """Put an event behind what is in a stream."""
    session, entry, ref = target_of(stream)
    found: EventEntry = find_entry(_events, event)
    if found.session is not session:
        fail(errors.INVALID_RESOURCE_HANDLE)
    found.capture = None if entry is None else entry.capture
    found.source = entry
    session.submit(("event_record", (), (found.handle.ref, ref), None))


def eventQuery(event: int) -> int:
    """Return 0 if an event is reached, else a status (600: not yet)."""
    found: EventEntry = find_entry(_events, event)
    if found.capture in captures:
        return errors.CAPTURED_EVENT
    reached = found.session.ask("event_query", (found.handle.ref,), quiet=True)
    return 0 if reached else errors.NOT_READY


def eventSynchronize(event: int) -> None:
    """Wait until an event is reached."""
    found: EventEntry = find_entry(_events, event)
    if found.capture in captures:
        fail(errors.CAPTURED_EVENT)
    found.session.ask("event_synchronize", (found.handle.ref,))


def eventElapsedTime(start: int, end: int) -> float:
    """Return the milliseconds between two events, by the server's clock.

    Raises:
        CUDARuntimeError: one was not recorded, keeps no time, or is not reached.
    """
    first: EventEntry = find_entry(_events, start)
    second: EventEntry = find_entry(_events, end)
    if first.session is not second.session:
        fail(errors.INVALID_RESOURCE_HANDLE)
    refs = (first.handle.ref, second.handle.ref)
    return float(first.session.ask("event_elapsed", refs, quiet=True))


# ---------------------------------------------------------------- captures


def not_captured(entry: StreamEntry | None) -> None:
    """Raise if a stream is capturing; its capture is spoiled by the attempt."""
    if entry is not None and entry.capture is not None:
        entry.capture.invalid = True
        fail(errors.CAPTURE_UNSUPPORTED)


def watch() -> None:
    """Have operations looked at while anything captures."""
    _session.set_hooks(_gate if captures else None, _session.place)


_LIBRARIES = (("random.", "cuRAND"), ("sparse", "cuSPARSE"))
_CUBLAS = frozenset({"matmul", "dot", "tensordot", "vdot", "inner", "outer", "einsum", "kron"})


def _library(name: str) -> str:
    """Return the CUDA library of an operation that CuPy does not let be captured, or ""."""
    for part, library in _LIBRARIES:
        if part in name:
            return library
    if name in _CUBLAS or name.startswith("cublas."):
        return "cuBLAS"
    return "cuSOLVER" if name.startswith("linalg.") else ""


def _gate(session: _session.DeviceSession, name: str, waits: bool) -> None:
    """Look at an operation before it goes: may it be captured?"""
    number = session.current_stream()
    for capture in captures:
        for entry in capture.streams:
            if entry.session is session and entry.handle.ref[1] == number:
                if waits and name not in _NO_WAIT:
                    raise RuntimeError(
                        "the current stream is capturing, so synchronous API calls are disallowed"
                    )
                library = _library(name)
                if library:
                    raise NotImplementedError(
                        f"calling {library} API during stream capture is currently unsupported"
                    )
                if entry is not capture.origin:
                    capture.apart.add(entry)
                return


_NO_WAIT = frozenset(name for name, row in TABLE.items() if row.kind == "core") - {
    "upload",
    "write",
    "offer",
    "pull",
} | {"stream_synchronize", "event_synchronize"}
