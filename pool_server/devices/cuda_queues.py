"""Streams, events and graphs of the CUDA device: CuPy's own."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from cupool.pool_server.devices.queues import Event, Graph, Queues, Stream


class CudaStream(Stream):
    """A stream of the device.

    Attributes:
        raw: CuPy's object.
    """

    __slots__ = ("raw",)

    def __init__(self, raw: Any, non_blocking: bool, priority: int) -> None:
        super().__init__(non_blocking, priority)
        self.raw = raw


class CudaEvent(Event):
    """An event of the device; `raw` is CuPy's object."""

    __slots__ = ("raw",)

    def __init__(self, raw: Any, timing: bool) -> None:
        super().__init__(timing)
        self.raw = raw


class CudaGraph(Graph):
    """A graph of the device; `raw` is CuPy's object."""

    def __init__(self, raw: Any) -> None:
        self.raw = raw


class CudaQueues(Queues):
    """Makes them by a CuPy module.

    Args:
        cupy: the module.
        mapped: turns CuPy's errors into ours.
    """

    captures = True

    def __init__(self, cupy: Any, mapped: Any) -> None:
        self._cuda = cupy.cuda
        self._mapped = mapped

    def _raw(self, stream: Any) -> Any:
        return self._cuda.Stream.null if stream is None else stream.raw

    def stream(self, non_blocking: bool, priority: int) -> CudaStream:
        with self._mapped():
            raw = self._cuda.Stream(non_blocking=non_blocking, priority=priority)
        return CudaStream(raw, non_blocking, priority)

    def event(self, timing: bool) -> CudaEvent:
        with self._mapped():
            return CudaEvent(self._cuda.Event(disable_timing=not timing), timing)

    def on(self, stream: Any) -> AbstractContextManager[Any]:
        raw: AbstractContextManager[Any] = self._raw(stream)
        return raw

    def synchronize(self, stream: Any) -> None:
        with self._mapped():
            self._raw(stream).synchronize()

    def idle(self, stream: Any) -> bool:
        with self._mapped():
            return bool(self._raw(stream).done)

    def record(self, event: Any, stream: Any) -> None:
        with self._mapped():
            event.raw.record(self._raw(stream))

    def wait(self, stream: Any, event: Any) -> None:
        with self._mapped():
            self._raw(stream).wait_event(event.raw)

    def reached(self, event: Any) -> bool:
        with self._mapped():
            return bool(event.raw.done)

    def await_event(self, event: Any) -> None:
        with self._mapped():
            event.raw.synchronize()

    def elapsed_ms(self, start: Any, end: Any) -> float:
        with self._mapped():
            return float(self._cuda.get_elapsed_time(start.raw, end.raw))

    def begin_capture(self, stream: Any) -> None:
        with self._mapped():
            stream.raw.begin_capture()

    def end_capture(self, stream: Any) -> CudaGraph:
        with self._mapped():
            return CudaGraph(stream.raw.end_capture())

    def launch(self, graph: Any, stream: Any) -> None:
        with self._mapped():
            graph.raw.launch(self._raw(stream))

    def dot(self, graph: Any, flags: int) -> str:
        with self._mapped():
            return str(graph.raw.debug_dot_str(flags))
