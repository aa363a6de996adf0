"""`cupy.cuda.Stream` and `Event`.

A session runs its operations in the order in which they were called, which is one of the orders
that CUDA allows for any use of streams; streams here keep their identity and their waits.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from time import perf_counter
from typing import Any, ClassVar

from cupool.client_shim import session as _session
from cupool.client_shim.cupy import _unsupported

_numbers = itertools.count(3)


class _Current(threading.local):
    def __init__(self) -> None:
        self.stream: Stream | None = None
        self.stack: list[Stream] = []


_current = _Current()


class Stream:
    """An ordered queue of operations on the device that is current when it is made.

    Args:
        null: the default stream.
        non_blocking, ptds, priority: kept, see CuPy.
    """

    __module__ = "cupy.cuda"
    null: ClassVar[Stream]
    ptds: ClassVar[Stream]

    def __init__(
        self,
        null: bool = False,
        non_blocking: bool = False,
        ptds: bool = False,
        priority: int | None = None,
    ) -> None:
        self.ptr = 0 if null else 2 if ptds else next(_numbers)
        self.is_non_blocking = non_blocking
        self.priority = priority or 0
        self.device_id = -1 if null or ptds else _session.current.device

    def _session(self) -> _session.DeviceSession:
        if self.device_id < 0:
            return _session.session()
        return _session.sessions()[self.device_id]

    def __enter__(self) -> Stream:
        _current.stack.append(get_current_stream())
        _current.stream = self
        return self

    def __exit__(self, *exc: object) -> None:
        _current.stream = _current.stack.pop()

    def use(self) -> Stream:
        """Make it the thread's current stream."""
        _current.stream = self
        return self

    @property
    def done(self) -> bool:
        """Whether everything queued is finished: waits for it, so it is."""
        self.synchronize()
        return True

    def synchronize(self) -> None:
        """Wait for everything queued; raises what went wrong."""
        self._session().synchronize()

    def record(self, event: Event | None = None) -> Event:
        """Put an event behind what is queued."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Let later operations wait for an event: they do, operations run in order."""
        if not isinstance(event, Event):
            raise TypeError("wait_event takes a cupy.cuda.Event")

    def add_callback(self, callback: Callable[[Stream, int, Any], object], arg: Any) -> None:
        """Call `callback(stream, error, arg)` on this machine after what is queued."""
        self.synchronize()
        callback(self, 0, arg)

    def launch_host_func(self, callback: Callable[[Any], object], arg: Any) -> None:
        """Call `callback(arg)` on this machine after what is queued."""
        self.synchronize()
        callback(arg)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self.ptr == other.ptr

    def __hash__(self) -> int:
        return hash(("Stream", self.ptr))

    def __repr__(self) -> str:
        return f"<Stream {self.ptr} (device {self.device_id})>"


Stream.null = Stream(null=True)
Stream.ptds = Stream(ptds=True)


class Event:
    """A point in a stream, with a time (cupy.cuda.Event)."""

    __module__ = "cupy.cuda"

    def __init__(
        self, block: bool = False, disable_timing: bool = False, interprocess: bool = False
    ) -> None:
        self.disable_timing = disable_timing
        self._recorded_s: float | None = None
        self._session: _session.DeviceSession | None = None
        self.ptr = next(_numbers)

    def record(self, stream: Stream | None = None) -> None:
        """Mark the point: with timing it waits, so that the time is that of the finished work."""
        session = (stream or get_current_stream())._session()
        self._session = session
        if not self.disable_timing:
            session.synchronize()
        self._recorded_s = perf_counter()

    @property
    def done(self) -> bool:
        """Whether the point was reached: waits for it, so it was."""
        self.synchronize()
        return True

    def synchronize(self) -> None:
        """Wait until the point is reached."""
        if self._session is not None:
            self._session.synchronize()


def get_elapsed_time(start_event: Event, end_event: Event) -> float:
    """Return the milliseconds between two recorded events.

    Raises:
        ValueError: an event that was not recorded or keeps no time.
    """
    times = (start_event._recorded_s, end_event._recorded_s)
    if None in times or start_event.disable_timing or end_event.disable_timing:
        raise ValueError("both events must be recorded with timing")
    return (times[1] - times[0]) * 1e3  # type: ignore[operator]


def get_current_stream(device_id: int | None = None) -> Stream:
    """Return the thread's current stream, the default stream unless another is in use."""
    return _current.stream or Stream.null


_unsupported.fill(globals(), "cupy.cuda.stream")
