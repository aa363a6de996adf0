"""Operations that do not run when they come: those of a captured graph, and of racing streams.

As on a GPU, the arguments are bound and the results allocated when an operation is issued; when
it runs, it fills them. What must be known at once (shapes that depend on data, answers) makes
the stream's work be done first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from cupool.errors import ProtocolViolation
from cupool.pool_server.devices.errors import CUDARuntimeError
from cupool.pool_server.devices.queues import Graph
from cupool.pool_server.session.handles import HandleTable, Opaque, Poisoned
from cupool.pool_server.session.movement import Movement
from cupool.pool_server.session.records import Executor, Pause, Payloads
from cupool.proto.operations import TABLE
from cupool.proto.values import ARRAY, DICT, LIST, MAX_DEPTH, SLICE, TRANSFER, TUPLE

MAX_GRAPH_OPERATIONS = 1 << 20
STREAM_CAPTURE_UNSUPPORTED = 900

_AT_ONCE = frozenset(
    {
        "empty",
        "view",
        "free",
        "malloc",
        "release_blocks",
        "set_limit",
        "plan_cache",
        "stream_create",
        "event_create",
        "event_record",
        "stream_wait",
        "capture_begin",
        "capture_end",
        "graph_launch",
        "address",
        "attributes",
        "memory",
        "stream_synchronize",
        "stream_query",
        "event_synchronize",
        "event_query",
        "event_elapsed",
        "graph_dot",
    }
)
"""Bound when they are issued, or ordered by the runners of `queueing` themselves."""


_BETWEEN_SESSIONS = frozenset({"offer", "pull"})
"""What another session waits for, or gives: it cannot be put off, nor be part of a graph."""


@dataclass(slots=True)
class Issued:
    """An operation whose arguments are bound.

    Attributes:
        arrays, objects: what the handles that the record names stand for.
        targets: where its results go, by handle.
    """

    record: list[Any]
    arrays: dict[int, Any]
    objects: dict[int, Any]
    targets: dict[int, Any]
    payloads: Payloads


@dataclass(slots=True, eq=False)
class IssuedGraph(Graph):
    """Operations in the order in which they were issued."""

    operations: list[Issued] = field(default_factory=list)

    def dot(self, verbose: bool) -> str:
        """Return the graph in DOT's language; `verbose` adds shapes and dtypes."""
        lines = ["digraph dot {"]
        for index, issued in enumerate(self.operations):
            label = f"cupy_{issued.record[0]}"
            if verbose:
                results = [f"{spec[1]}{list(spec[2])}" for spec in issued.record[1]]
                label += f" -> {', '.join(results) or 'in place'}"
            lines.append(f'  node{index} [label="{label}"];')
            if index:
                lines.append(f"  node{index - 1} -> node{index};")
        return "\n".join([*lines, "}"])


class Deferral:
    """Issues and runs operations beside an executor.

    Args:
        main: the session's executor, whose handles the records name.

    Attributes:
        captures: the graph that each capturing stream adds to, by the stream's handle.
    """

    def __init__(self, main: Executor) -> None:
        self._main = main
        self._table = HandleTable()
        self._inner = Executor(main.device, self._table)
        Movement(self._inner)
        self.schedule = main.device.schedule
        self.captures: dict[int, IssuedGraph] = {}

    @property
    def active(self) -> bool:
        """Must records come by here?"""
        return self.schedule is not None or bool(self.captures)

    def run(self, records: Sequence[Any], start: int, payloads: Payloads) -> int:
        """Take records from `start`; return the position of the first that is still to be done."""
        main = self._main
        for position in range(start, len(records)):
            record = records[position]
            try:
                self._take(record, payloads)
            except Pause as pause:
                return position if pause.again else position + 1
            except Exception as exc:
                main.fail(record, exc)
                if main.lost is not None:
                    return position + 1
            if not self.active:  # a capture has ended: the executor's own loop is quicker
                return position + 1
        return len(records)

    def _take(self, record: Any, payloads: Payloads) -> None:
        main = self._main
        name, outs, args, kwargs, stream = main.parts(record)
        runner = main.runner(name)
        graph = self.captures.get(stream)
        if name in _AT_ONCE:
            runner(outs, args, kwargs, payloads)
        elif _deferrable(name, outs, args, kwargs):
            if graph is not None:
                if len(graph.operations) >= MAX_GRAPH_OPERATIONS:
                    raise ProtocolViolation(f"a graph of over {MAX_GRAPH_OPERATIONS} operations")
                graph.operations.append(self._issue(name, outs, args, kwargs, payloads))
            elif self.schedule is not None:
                issued = self._issue(name, outs, args, kwargs, payloads)
                self.schedule.add(stream, lambda: self.execute(issued), self.blocking(stream))
            else:
                runner(outs, args, kwargs, payloads)
        else:
            if graph is not None:
                raise CUDARuntimeError(STREAM_CAPTURE_UNSUPPORTED)
            if self.schedule is not None:
                if name == "synchronize":
                    self.schedule.drain_all()
                else:
                    self.schedule.drain(stream)
            runner(outs, args, kwargs, payloads)

    def blocking(self, stream: int) -> bool:
        """Does a stream keep to the null stream's rule?"""
        return not (stream and self._main.stream(stream).non_blocking)

    def _issue(self, name: str, outs: Any, args: Any, kwargs: Any, payloads: Payloads) -> Issued:
        """Bind the arguments of an operation and allocate its results."""
        main = self._main
        arrays: dict[int, Any] = {}
        objects: dict[int, Any] = {}
        for handle in _handles([*args, *(kwargs or {}).values()]):
            value = main.table.array_or_object(handle)
            if handle in main.table.arrays:
                arrays[handle] = value
            else:
                objects[handle] = value
        targets = {}
        for spec in outs:
            handle, layout = main.output([spec])
            targets[handle] = main.table.arrays[handle] = main.device.empty(layout)
        return Issued([name, outs, args, kwargs], arrays, objects, targets, payloads)

    def execute(self, issued: Issued) -> None:
        """Run an issued operation; a failure is reported and poisons its results."""
        inner, table, main = self._inner, self._table, self._main
        table.arrays.update(issued.arrays)
        table.others.update({handle: Opaque(value) for handle, value in issued.objects.items()})
        inner.run([issued.record], 0, issued.payloads)
        if inner.failures:
            failure = inner.failures[0]
            for handle, target in issued.targets.items():
                if main.table.arrays.get(handle) is target:
                    del main.table.arrays[handle]
                    main.table.others[handle] = Poisoned(failure)
            main.failures.append(failure)
            main.lost = main.lost or inner.lost
        else:
            for handle, target in issued.targets.items():
                main.device.assign(target, table.arrays[handle])
        table.clear()
        inner.failures.clear()
        for name, count in inner.relaid.items():
            main.relaid[name] = main.relaid.get(name, 0) + count
        inner.relaid.clear()


def _deferrable(name: str, outs: Any, args: Any, kwargs: Any) -> bool:
    """Is all known of an operation that is needed to run it later?"""
    row = TABLE.get(name)
    return (
        row is not None
        and row.kind != "request"
        and name not in _BETWEEN_SESSIONS
        and isinstance(outs, list)
        and all(isinstance(spec, list) and len(spec) == 4 for spec in outs)
        and isinstance(args, list)
        and isinstance(kwargs, (dict, type(None)))
        and not any(isinstance(arg, list) and arg[:1] == [TRANSFER] for arg in args)
    )


def _handles(values: Sequence[Any], depth: int = 0) -> Iterator[int]:
    """Find the handles that values name."""
    if depth > MAX_DEPTH:
        raise ProtocolViolation(f"values are nested deeper than {MAX_DEPTH}")
    for value in values:
        if not isinstance(value, list) or len(value) < 2:
            continue
        tag, inner = value[0], value[1]
        if tag == ARRAY:
            if type(inner) is int:
                yield inner
        elif tag in (LIST, TUPLE) and isinstance(inner, list):
            yield from _handles(inner, depth + 1)
        elif tag == SLICE:
            yield from _handles(value[1:], depth + 1)
        elif tag == DICT and isinstance(inner, dict):
            yield from _handles(list(inner.values()), depth + 1)
