"""Streams and events of a device, and the default: operations run as they come.

On a device that runs each record before it looks at the next, every stream is in order with
every other: an event is reached once it is recorded, and nobody ever waits.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any

from cupool.pool_server.devices.errors import (
    INVALID_RESOURCE_HANDLE,
    NOT_READY,
    CUDARuntimeError,
)


@dataclass(slots=True)
class Stream:
    """A stream of a device that has none: its flags, so that order can be made of them."""

    non_blocking: bool = False
    priority: int = 0


@dataclass(slots=True, eq=False)
class Event:
    """A point in a stream.

    Attributes:
        timing: whether it keeps its time.
        recorded: whether it was recorded since it was made.
        reached_ns: when it was last reached; 0 while it is not.
    """

    timing: bool = True
    recorded: bool = False
    reached_ns: int = 0
    mark: Any = None
    """What the mock's schedule or a graph under capture knows it by."""


class Graph:
    """Operations that were captured, to be run again as one."""


class Queues:
    """Makes streams and events and answers for them. `None` is the null stream.

    Attributes:
        captures: whether the device makes graphs by itself; if not, the session does.
    """

    captures = False

    def stream(self, non_blocking: bool, priority: int) -> Any:
        return Stream(non_blocking, priority)

    def event(self, timing: bool) -> Any:
        return Event(timing)

    def on(self, stream: Any) -> AbstractContextManager[Any]:
        """Return what must surround an operation of a stream."""
        return nullcontext()

    def synchronize(self, stream: Any) -> None:
        """Wait until everything of a stream is done."""

    def idle(self, stream: Any) -> bool:
        """Is everything of a stream done?"""
        return True

    def record(self, event: Any, stream: Any) -> None:
        """Put an event behind what is in a stream."""
        event.recorded = True
        event.reached_ns = perf_counter_ns()

    def wait(self, stream: Any, event: Any) -> None:
        """Let what comes later in a stream wait for an event."""

    def reached(self, event: Any) -> bool:
        """Is an event reached? One that was never recorded counts as such."""
        return not event.recorded or bool(event.reached_ns)

    def await_event(self, event: Any) -> None:
        """Wait until an event is reached."""

    def elapsed_ms(self, start: Any, end: Any) -> float:
        """Return the time between two events.

        Raises:
            CUDARuntimeError: one keeps no time, was not recorded, or is not reached.
        """
        for event in (start, end):
            if not event.timing or not event.recorded:
                raise CUDARuntimeError(INVALID_RESOURCE_HANDLE)
        if not start.reached_ns or not end.reached_ns:
            raise CUDARuntimeError(NOT_READY)
        return float((end.reached_ns - start.reached_ns) / 1e6)

    # Graphs, where the device makes them

    def begin_capture(self, stream: Any) -> None:
        raise NotImplementedError

    def end_capture(self, stream: Any) -> Any:
        raise NotImplementedError

    def launch(self, graph: Any, stream: Any) -> None:
        raise NotImplementedError

    def dot(self, graph: Any, flags: int) -> str:
        raise NotImplementedError
