"""Executes operation records on a device: checks them, finds the handles, checks the outcome.

Whatever a record says, `Executor.run` does not raise: a record that fails becomes a failure, and
its outputs are poisoned with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import msgspec

from cupool.errors import OperationNotSupported, PredictionMismatch, ProtocolViolation
from cupool.pool_server.devices.base import Device, Direct, Layout
from cupool.pool_server.devices.errors import DeviceLost
from cupool.pool_server.devices.queues import Stream
from cupool.pool_server.session.handles import HandleTable, Opaque, PoisonedInput
from cupool.pool_server.session.layouts import Layouts, check
from cupool.proto.failures import to_failure
from cupool.proto.messages import Failed, Failure, Frame, Message, Value
from cupool.proto.operations import TABLE, Operation
from cupool.proto.values import ARRAY, Reader, encode

Payloads: TypeAlias = Sequence[Frame]
Runner: TypeAlias = Callable[[Any, Any, Any, Payloads], None]

_TRACED_FAILURES = 1000  # of one session; later ones are reported without their traceback


class Reply(NamedTuple):
    """A message to the client and its payload frames."""

    message: Message
    payloads: Payloads = ()


class Pause(Exception):
    """The batch cannot go on before a transfer is done; `again`: with the same record."""

    def __init__(self, again: bool) -> None:
        super().__init__()
        self.again = again


class Executor:
    """Runs records.

    Args:
        device: what executes.
        table: the handles.

    Attributes:
        runners: what runs a record, by the operation's name; `Movement` adds its own.
        failures, relaid, replies: what happened since the owner last took it.
        lost: why the device is of no more use.
    """

    def __init__(self, device: Device, table: HandleTable) -> None:
        self.device = device
        self.table = table
        self.layouts = Layouts()
        self.failures: list[Failure] = []
        self.relaid: dict[str, int] = {}
        self.replies: list[Reply] = []
        self.lost: Failure | None = None
        self.runners: dict[str, Runner] = {}
        info = device.info
        self.label = f"{info.name} {info.ordinal} of server {info.server}"
        self._traced = 0

    def run(self, records: Sequence[Any], start: int, payloads: Payloads) -> int:
        """Run records from `start`; return the position of the first that is still to be done."""
        runners = self.runners
        for position in range(start, len(records)):
            record = records[position]
            try:
                if len(record) != 4:
                    self._on_stream(record, payloads)
                    continue
                name, outs, args, kwargs = record
                if name.__class__ is not str:
                    raise ProtocolViolation(f"not an operation's name: {name!r:.80}")
                runner = runners.get(name)
                if runner is None:
                    runner = self._resolve(name)
                runner(outs, args, kwargs, payloads)
            except Pause as pause:
                return position if pause.again else position + 1
            except Exception as exc:
                self.fail(record, exc)
                if self.lost is not None:
                    return position + 1
        return len(records)

    # Streams

    def parts(self, record: Any) -> tuple[str, Any, Any, Any, int]:
        """Take a record apart: name, outputs, arguments, keywords, stream (0 = the null stream)."""
        stream = 0
        if len(record) == 5:
            *record, stream = record
        if len(record) != 4:
            raise ProtocolViolation(f"a record of {len(record)} parts (4 or 5)")
        if not isinstance(record[0], str):
            raise ProtocolViolation(f"not an operation's name: {record[0]!r:.80}")
        if type(stream) is not int or stream < 0:
            raise ProtocolViolation(f"not a stream: {stream!r:.40}")
        name, outs, args, kwargs = record
        return name, outs, args, kwargs, stream

    def runner(self, name: str) -> Runner:
        """Return what runs an operation."""
        return self.runners.get(name) or self._resolve(name)

    def stream(self, handle: int) -> Stream:
        """Return the stream of a handle."""
        stream = self.table.array_or_object(handle)
        if not isinstance(stream, Stream):
            raise ProtocolViolation(f"handle {handle} is no stream")
        return stream

    def _on_stream(self, record: Any, payloads: Payloads) -> None:
        name, outs, args, kwargs, stream = self.parts(record)
        with self.device.queues.on(self.stream(stream) if stream else None):
            self.runner(name)(outs, args, kwargs, payloads)

    def reader(self, payloads: Payloads, objects: bool = False) -> Reader:
        """Return a reader of a record's values."""
        table = self.table
        return Reader(table.array_or_object if objects else table.array, payloads)

    def arguments(self, args: Any, count: int) -> list[Any]:
        """Check the number of a record's arguments."""
        if not isinstance(args, list) or len(args) != count:
            raise ProtocolViolation(f"{count} arguments are needed, not {args!r:.80}")
        return args

    def answer(self, request: int, value: Any) -> None:
        """Answer a request."""
        self.replies.append(Reply(Value(request, encode(value, _refuse))))

    # Outputs

    def output(self, outs: Any) -> tuple[int, Layout]:
        """Read the one, predicted output of a record."""
        if not isinstance(outs, list) or len(outs) != 1:
            raise ProtocolViolation(f"one output is needed, not {outs!r:.80}")
        layout = self.layouts.read(outs[0])
        return self.table.claim(outs[0][0]), layout

    def _outputs(self, outs: Any) -> tuple[list[int], list[Layout | None], list[bool]]:
        if not isinstance(outs, list):
            raise ProtocolViolation(f"not a list of outputs: {outs!r:.80}")
        handles: list[int] = []
        layouts: list[Layout | None] = []
        opaque: list[bool] = []
        for spec in outs:
            if not isinstance(spec, list) or not spec:
                raise ProtocolViolation(f"not an output: {spec!r:.80}")
            handle = self.table.claim(spec[0])
            if handle in handles:
                raise ProtocolViolation(f"handle {handle} is in use")
            handles.append(handle)
            opaque.append(len(spec) == 2 and spec[1] == "object")
            layouts.append(None if len(spec) == 1 or opaque[-1] else self.layouts.read(spec))
        return handles, layouts, opaque

    # Operations of the table that the device computes

    def _resolve(self, name: str) -> Runner:
        row = TABLE.get(name)
        if row is None:
            raise ProtocolViolation(f"unknown operation {name!r:.80}")
        if row.kind in ("core", "request"):
            raise OperationNotSupported(f"operation {name!r} is not implemented by this server")
        if row.kind == "query":
            runner = self.runners[name] = self._query(row)
            return runner
        runner = self._generic(row)
        direct = self.device.direct(row)
        if direct is not None:
            runner = self._quick(row, direct, runner)
        self.runners[name] = runner
        return runner

    def _generic(self, row: Operation) -> Runner:
        objects = row.has_objects

        def run(outs: Any, args: Any, kwargs: Any, payloads: Payloads) -> None:
            handles, promised, opaque = self._outputs(outs)
            if not isinstance(args, list) or not isinstance(kwargs, (dict, type(None))):
                raise ProtocolViolation(f"malformed arguments: {args!r:.80} {kwargs!r:.80}")
            read = self.reader(payloads, objects).read
            values = [read(arg) for arg in args]
            keywords = {_keyword(k): read(v) for k, v in kwargs.items()} if kwargs else {}
            made = self.device.call(row, values, keywords, promised)
            if objects and not all(opaque):
                _only_arrays(self.device, made, opaque)
            self._store(row.name, handles, promised, opaque, made)

        return run

    def _query(self, row: Operation) -> Runner:
        def run(request: Any, args: Any, kwargs: Any, payloads: Payloads) -> None:
            if type(request) is not int or not isinstance(args, list):
                raise ProtocolViolation(f"malformed query: {request!r:.40} {args!r:.80}")
            read = self.reader(payloads, objects=True).read
            (answer,) = self.device.call(row, [read(arg) for arg in args], {}, ())
            self.replies.append(Reply(Value(request, encode(answer, _refuse))))

        return run

    def _store(
        self,
        name: str,
        handles: list[int],
        promised: list[Layout | None],
        opaque: list[bool],
        made: list[Any],
    ) -> None:
        if len(made) != len(handles):
            raise PredictionMismatch(
                f"operation '{name}': promised {len(handles)} results, made {len(made)}"
            )
        for index, layout in enumerate(promised):
            if layout is not None:
                made[index] = check(self.device, name, made[index], layout, self.relaid)
        for handle, is_object, result in zip(handles, opaque, made, strict=True):
            if is_object:
                self.table.others[handle] = Opaque(result)
            else:
                self.table.arrays[handle] = result

    def _quick(self, row: Operation, direct: Direct, generic: Runner) -> Runner:
        """Return a runner for the common case: arrays and numbers in, one predicted array out."""
        name = row.name
        table, layouts, device, relaid = self.table, self.layouts, self.device, self.relaid
        arrays, others, matches, limit = table.arrays, table.others, device.matches, table.limit

        def run(outs: Any, args: Any, kwargs: Any, payloads: Payloads) -> None:
            usual = True
            values: list[Any] = []
            try:
                ((handle, dtype, shape, order),) = outs
                layout = layouts[dtype, tuple(shape), order]
                for arg in args:
                    kind = arg.__class__
                    if kind is list:
                        values.append(arrays[arg[1]])
                        if arg[0] != ARRAY:
                            usual = False
                    elif kind is float or kind is int or kind is bool:
                        values.append(arg)
                    else:
                        usual = False
            except (IndexError, KeyError, TypeError, ValueError):
                usual = False
            if (
                not usual
                or kwargs
                or handle.__class__ is not int
                or handle <= 0
                or handle in arrays
                or (others and handle in others)
                or len(arrays) >= limit
            ):
                return generic(outs, args, kwargs, payloads)
            result = direct(values, layout)
            if not matches(result, layout):
                result = check(device, name, result, layout, relaid)
            arrays[handle] = result

        return run

    # Failures

    def fail(self, record: Any, exc: Exception) -> None:
        """Report that a record failed, and poison its outputs."""
        name = record[0] if record and isinstance(record[0], str) else ""
        outs = record[1] if len(record) > 1 else None
        poisoned = isinstance(exc, PoisonedInput)
        failure = exc.failure if isinstance(exc, PoisonedInput) else self.describe(exc, name)
        if isinstance(exc, DeviceLost):
            self.lost = failure
        row = TABLE.get(name)
        if row is not None and row.kind in ("request", "query") and type(outs) is int:
            self.replies.append(Reply(Failed(outs, failure)))
            return
        if not poisoned:
            self.failures.append(failure)
        if isinstance(outs, list):
            for spec in outs:
                if isinstance(spec, list) and spec:
                    self.table.poison(spec[0], failure)

    def describe(self, exc: BaseException, name: str) -> Failure:
        """Write an exception down; those that CuPy defines under CuPy's names."""
        failure = to_failure(exc, name[:200], self.label)
        wire_name = getattr(exc, "wire_name", None)
        if wire_name:
            failure = msgspec.structs.replace(failure, error=wire_name, arguments=list(exc.args))
        self._traced += 1
        if self._traced > _TRACED_FAILURES:
            failure = msgspec.structs.replace(failure, traceback="")
        return failure


def _only_arrays(device: Device, made: Sequence[Any], opaque: Sequence[bool]) -> None:
    """Refuse an object of the device where the client asked for an array."""
    for result, is_object in zip(made, opaque, strict=False):
        if not is_object:
            try:
                device.layout(result)
            except AttributeError:
                raise ProtocolViolation("the result is an object and no array") from None


def _refuse(value: Any) -> Any:
    raise TypeError(f"a {type(value).__name__} cannot be sent")


def _keyword(name: Any) -> str:
    if not isinstance(name, str):
        raise ProtocolViolation(f"not a keyword: {name!r:.40}")
    return name
