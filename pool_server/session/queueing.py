"""Runners of `proto.operations.cuda`: addresses, streams, events, graphs."""

from __future__ import annotations

from typing import Any, TypeVar

from cupool.errors import ProtocolViolation
from cupool.pool_server.devices.queues import Event, Graph, Stream
from cupool.pool_server.session.deferral import Deferral, IssuedGraph
from cupool.pool_server.session.handles import Opaque
from cupool.pool_server.session.movement import check_request
from cupool.pool_server.session.records import Executor, Pause, Payloads
from cupool.proto.values import ARRAY

_KINDS = ("device", "managed", "async")
_Object = TypeVar("_Object", Stream, Event, Graph)


class Queueing:
    """Adds its runners to an executor.

    Args:
        executor: the session's.
        deferral: keeps what a graph captures and what races.
    """

    def __init__(self, executor: Executor, deferral: Deferral) -> None:
        self._executor = executor
        self._table = executor.table
        self._device = executor.device
        self._queues = executor.device.queues
        self._deferral = deferral
        executor.runners.update(
            {
                "malloc": self._malloc,
                "stream_create": self._stream_create,
                "event_create": self._event_create,
                "event_record": self._event_record,
                "stream_wait": self._stream_wait,
                "capture_begin": self._capture_begin,
                "capture_end": self._capture_end,
                "graph_launch": self._graph_launch,
                "address": self._address,
                "attributes": self._attributes,
                "stream_synchronize": self._stream_synchronize,
                "stream_query": self._stream_query,
                "event_synchronize": self._event_synchronize,
                "event_query": self._event_query,
                "event_elapsed": self._event_elapsed,
                "graph_dot": self._graph_dot,
            }
        )

    # Arguments

    def _object(self, ref: Any, kind: type[_Object]) -> _Object:
        if not isinstance(ref, list) or len(ref) != 2 or ref[0] != ARRAY or type(ref[1]) is not int:
            raise ProtocolViolation(f"not a {kind.__name__.lower()}: {ref!r:.80}")
        value = self._table.array_or_object(ref[1])
        if not isinstance(value, kind):
            raise ProtocolViolation(f"handle {ref[1]} is no {kind.__name__.lower()}")
        return value

    def _stream(self, ref: Any) -> tuple[int, Stream | None]:
        """Return a stream's handle and the stream; 0 and None for the null stream."""
        if ref is None:
            return 0, None
        return ref[1] if isinstance(ref, list) else 0, self._object(ref, Stream)

    def _keep(self, outs: Any, value: Any) -> None:
        if not isinstance(outs, list) or len(outs) != 1 or outs[0][1:] != ["object"]:
            raise ProtocolViolation(f"one object is made, not {outs!r:.80}")
        self._table.others[self._table.claim(outs[0][0])] = Opaque(value)

    # Memory

    def _malloc(self, outs: Any, args: Any, kwargs: Any, payloads: Payloads) -> None:
        handle, layout = self._executor.output(outs)
        (kind,) = self._executor.arguments(args, 1)
        if kind not in _KINDS or len(layout.shape) != 1 or layout.dtype != "u1":
            raise ProtocolViolation(f"malloc takes bytes and one of {', '.join(_KINDS)}")
        self._table.arrays[handle] = self._device.allocate(layout.size_bytes, kind)

    def _address(self, request: Any, args: Any, kwargs: Any, payloads: Payloads) -> None:
        check_request(request)
        if not isinstance(args, list) or not all(
            isinstance(ref, list) and len(ref) == 2 and type(ref[1]) is int for ref in args
        ):
            raise ProtocolViolation(f"not a list of arrays: {args!r:.80}")
        arrays = [self._table.array(ref[1]) for ref in args]
        self._executor.answer(request, [self._device.address(array) for array in arrays])

    def _attributes(self, request: Any, args: Any, kwargs: Any, payloads: Payloads) -> None:
        check_request(request)
        self._executor.answer(request, self._device.attributes())

    # Streams

    def _stream_create(self, outs: Any, args: Any, kwargs: Any, payloads: Payloads) -> None:
        non_blocking, priority = self._executor.arguments(args, 2)
        if type(non_blocking) is not bool or type(priority) is not int:
            raise ProtocolViolation(f"not a stream's flags: {args!r:.80}")
        self._keep(outs, self._queues.stream(non_blocking, priority))

    def _stream_synchronize(self, request: Any, args: Any, kwargs: Any, payloads: Payloads) -> None:
        check_request(request)
        handle, stream = self._stream(*self._executor.arguments(args, 1))
        if self._deferral.schedule is not None:
            self._deferral.schedule.drain(handle)
        self._queues.synchronize(stream)
        self._executor.answer(request, None)

    def _stream_query(self, request: Any, args: Any, kwargs: Any, payloads: Payloads) -> None:
        check_request(request)
        handle, stream = self._stream(*self._executor.arguments(args, 1))
        schedule = self._deferral.schedule
        busy = schedule is not None and schedule.busy(handle)
        self._executor.answer(request, not busy and self._queues.idle(stream))

    def _stream_wait(self, outs: Any, args: Any, kwargs: Any, payloads: Payloads) -> None:
        stream_ref, event_ref = self._executor.arguments(args, 2)
        handle, stream = self._stream(stream_ref)
        event = self._object(event_ref, Event)
        captures = self._deferral.captures
        if isinstance(event.mark, IssuedGraph):
            if event.mark in captures.values():
                captures[handle] = event.mark  # the stream joins the capture
        elif self._deferral.schedule is not None:
            self._deferral.schedule.join(handle, event.mark)
        else:
            self._queues.wait(stream, event)

    # Events

    def _event_create(self, outs: Any, args: Any, kwargs: Any, payloads: Payloads) -> None:
        (timing,) = self._executor.arguments(args, 1)
        if type(timing) is not bool:
            raise ProtocolViolation(f"not an event's flag: {timing!r:.40}")
        self._keep(outs, self._queues.event(timing))

    def _event_record(self, outs: Any, args: Any, kwargs: Any, payloads: Payloads) -> None:
        event_ref, stream_ref = self._executor.arguments(args, 2)
        event = self._object(event_ref, Event)
        handle, stream = self._stream(stream_ref)
        deferral, schedule = self._deferral, self._deferral.schedule
        if handle in deferral.captures:
            event.mark = deferral.captures[handle]
            return
        event.mark = None
        if schedule is None:
            self._queues.record(event, stream)
            return
        event.recorded, event.reached_ns = True, 0

        def reach() -> None:
            self._queues.record(event, stream)

        event.mark = schedule.add(handle, reach, deferral.blocking(handle))

    def _event_synchronize(self, request: Any, args: Any, kwargs: Any, payloads: Payloads) -> None:
        check_request(request)
        event = self._object(self._executor.arguments(args, 1)[0], Event)
        if self._deferral.schedule is not None and not isinstance(event.mark, IssuedGraph):
            self._deferral.schedule.finish(event.mark)
        self._queues.await_event(event)
        self._executor.answer(request, None)

    def _event_query(self, request: Any, args: Any, kwargs: Any, payloads: Payloads) -> None:
        check_request(request)
        event = self._object(self._executor.arguments(args, 1)[0], Event)
        self._executor.answer(request, self._queues.reached(event))

    def _event_elapsed(self, request: Any, args: Any, kwargs: Any, payloads: Payloads) -> None:
        check_request(request)
        start, end = self._executor.arguments(args, 2)
        elapsed = self._queues.elapsed_ms(self._object(start, Event), self._object(end, Event))
        self._executor.answer(request, elapsed)

    # Graphs

    def _capture_begin(self, outs: Any, args: Any, kwargs: Any, payloads: Payloads) -> None:
        handle, stream = self._stream(*self._executor.arguments(args, 1))
        if stream is None or handle in self._deferral.captures:
            raise ProtocolViolation(f"stream {handle} cannot begin a capture")
        if self._queues.captures:
            self._queues.begin_capture(stream)
            return
        self._deferral.captures[handle] = IssuedGraph()
        raise Pause(again=False)  # the deferral takes the records that follow

    def _capture_end(self, outs: Any, args: Any, kwargs: Any, payloads: Payloads) -> None:
        handle, stream = self._stream(*self._executor.arguments(args, 1))
        graph: Graph
        if self._queues.captures:
            graph = self._queues.end_capture(stream)
        else:
            captures = self._deferral.captures
            if handle not in captures:
                raise ProtocolViolation(f"stream {handle} is not capturing")
            graph = captures[handle]
            for joined in [one for one, other in captures.items() if other is graph]:
                del captures[joined]
        self._keep(outs, graph)

    def _graph_launch(self, outs: Any, args: Any, kwargs: Any, payloads: Payloads) -> None:
        graph_ref, stream_ref = self._executor.arguments(args, 2)
        graph = self._object(graph_ref, Graph)
        handle, stream = self._stream(stream_ref)
        deferral = self._deferral
        if not isinstance(graph, IssuedGraph):
            self._queues.launch(graph, stream)
            return
        operations = graph.operations
        if handle in deferral.captures:
            deferral.captures[handle].operations += operations  # a graph within a graph
            return

        def run() -> None:
            for issued in operations:
                deferral.execute(issued)

        if deferral.schedule is None:
            run()
        else:
            deferral.schedule.add(handle, run, deferral.blocking(handle))

    def _graph_dot(self, request: Any, args: Any, kwargs: Any, payloads: Payloads) -> None:
        check_request(request)
        graph_ref, flags = self._executor.arguments(args, 2)
        graph = self._object(graph_ref, Graph)
        if type(flags) is not int:
            raise ProtocolViolation(f"not flags: {flags!r:.40}")
        if isinstance(graph, IssuedGraph):
            self._executor.answer(request, graph.dot(bool(flags)))
        else:
            self._executor.answer(request, self._queues.dot(graph, flags))
