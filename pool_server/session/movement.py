"""Runners of core operations and requests: memory, copies, views, answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cupool.errors import ProtocolViolation
from cupool.pool_server.devices.base import Layout, strides_of
from cupool.pool_server.session.layouts import check
from cupool.pool_server.session.records import Executor, Pause, Payloads, Reply
from cupool.pool_server.session.transfers import Discarded
from cupool.proto.messages import INLINE_LIMIT_BYTES, Value
from cupool.proto.values import (
    ARRAY,
    PAYLOAD,
    TRANSFER,
    checked_size,
    dtype_from_wire,
    dtype_to_wire,
    host_array,
)
from cupool.transport.transfers import Incoming, Outgoing

MAX_OFFSET_BYTES = 1 << 62


class Movement:
    """Adds runners of its operations to an executor and keeps its transfers.

    Attributes:
        incoming: the transfer that the current record waits for.
        outgoing: the transfer that must leave before the next record runs.
    """

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._device = executor.device
        self._table = executor.table
        self.incoming: Incoming | Discarded | None = None
        self.outgoing: Outgoing | None = None
        self._target: Any = None  # what `incoming` fills,
        self._buffer: memoryview | None = None  # by way of this, if the host cannot reach it
        self._doomed: Exception | None = None  # why the record of `incoming` fails
        self._next_transfer = 1
        runners: dict[str, Callable[[Any, Any, Any, Payloads], None]] = {
            "empty": self._empty,
            "upload": self._upload,
            "write": self._write,
            "view": self._view,
            "free": self._free,
            "fill": self._fill,
            "assign": self._assign,
            "release_blocks": self._release_blocks,
            "set_limit": self._set_limit,
            "plan_cache": self._plan_cache,
            "fetch": self._fetch,
            "describe": self._describe,
            "synchronize": self._synchronize,
            "memory": self._memory,
        }
        executor.runners.update(runners)

    def abandon(self) -> None:
        """Forget transfers: the link is gone, their records will be sent again."""
        self.incoming = self.outgoing = self._target = self._buffer = self._doomed = None

    def give_up(self) -> None:
        """The client sends no more of the current transfer: its record fails."""
        self._doomed = self._doomed or RuntimeError("the upload was given up half way")

    # Memory

    def _empty(self, outs: Any, args: Any, kwargs: Any, payloads: Payloads) -> None:
        handle, layout = self._executor.output(outs)
        self._table.arrays[handle] = self._device.empty(layout)

    def _view(self, outs: Any, args: Any, kwargs: Any, payloads: Payloads) -> None:
        handle, layout = self._executor.output(outs)
        ref, offset_bytes = self._executor.arguments(args, 2)
        if type(offset_bytes) is not int or not 0 <= offset_bytes < MAX_OFFSET_BYTES:
            raise ProtocolViolation(f"not an offset: {offset_bytes!r:.40}")
        owner = self._array(ref)
        try:
            self._table.arrays[handle] = self._device.view(owner, offset_bytes, layout)
        except ValueError as exc:
            raise ProtocolViolation(f"view: {exc}") from None

    def _free(self, outs: Any, args: Any, kwargs: Any, payloads: Payloads) -> None:
        if not isinstance(args, list):
            raise ProtocolViolation(f"not a list of handles: {args!r:.80}")
        arrays, free = self._table.arrays, self._device.free
        wrong = ""
        for handle in args:
            try:
                free(arrays.pop(handle))
            except (KeyError, TypeError):
                try:
                    self._table.drop(handle)
                except ProtocolViolation as exc:
                    wrong = exc.message
        if wrong:
            raise ProtocolViolation(wrong)

    def _release_blocks(self, outs: Any, args: Any, kwargs: Any, payloads: Payloads) -> None:
        self._device.release_blocks()

    def _set_limit(self, outs: Any, args: Any, kwargs: Any, payloads: Payloads) -> None:
        (size_bytes,) = self._executor.arguments(args, 1)
        if type(size_bytes) is not int or not 0 <= size_bytes < MAX_OFFSET_BYTES:
            raise ProtocolViolation(f"not a memory limit: {size_bytes!r:.40}")
        self._device.set_limit(size_bytes)

    def _plan_cache(self, outs: Any, args: Any, kwargs: Any, payloads: Payloads) -> None:
        *limits, clear = self._executor.arguments(args, 3)
        for limit in limits:
            if type(limit) is not int or not -1 <= limit < MAX_OFFSET_BYTES:
                raise ProtocolViolation(f"not a limit of the plan cache: {limit!r:.40}")
        self._device.limit_plans(*limits, clear=clear is True)

    # Copies

    def _fill(self, outs: Any, args: Any, kwargs: Any, payloads: Payloads) -> None:
        ref, value = self._executor.arguments(args, 2)
        target = self._array(ref)
        self._device.fill(target, self._executor.reader(payloads).read(value))

    def _assign(self, outs: Any, args: Any, kwargs: Any, payloads: Payloads) -> None:
        ref, value = self._executor.arguments(args, 2)
        target = self._array(ref)
        self._device.assign(target, self._executor.reader(payloads).read(value))

    def _upload(self, outs: Any, args: Any, kwargs: Any, payloads: Payloads) -> None:
        (source,) = self._executor.arguments(args, 1)
        layout = _source_layout(source)
        if self.incoming is not None:
            array = self._arrived(layout)
            handle, promised = self._executor.output(outs)
        else:
            try:
                handle, promised = self._executor.output(outs)
                array = self._device.empty(layout) if _chunked(source, layout) else None
            except Exception as exc:
                self._discard(source, layout, exc)
                raise
            if array is not None:
                self._await(source[1], array, layout)
            array = self._device.upload(layout, _payload(source, layout, payloads))
        self._table.arrays[handle] = check(
            self._device, "upload", array, promised, self._executor.relaid
        )

    def _write(self, outs: Any, args: Any, kwargs: Any, payloads: Payloads) -> None:
        ref, source = self._executor.arguments(args, 2)
        layout = _source_layout(source)
        if self.incoming is not None:
            self._arrived(layout)
            return
        try:
            target = self._array(ref)
            made = self._device.layout(target)
            if made.shape != layout.shape or made.dtype != layout.dtype:
                raise ValueError(
                    f"write: {layout.shape} {layout.dtype} into {made.shape} {made.dtype}"
                )
        except Exception as exc:
            self._discard(source, layout, exc)
            raise
        if _chunked(source, layout):
            self._await(source[1], target, layout)
        self._device.write(target, layout, _payload(source, layout, payloads))

    # Transfers to this side: a record that names one runs twice, before and after it

    def _await(self, transfer: int, target: Any, layout: Layout) -> None:
        """Stop until a transfer is complete.

        It goes into the array's own memory where the host can reach it, else into a buffer.
        """
        same = self._device.matches(target, layout)
        memory = self._device.host_memory(target) if same else None
        self._buffer = None
        if memory is None:
            # Not a bytearray: that would be zeroed first, page by page.
            memory = self._buffer = np.empty(layout.size_bytes, np.uint8).data
        self._target = target
        self.incoming = Incoming(transfer, memory)
        raise Pause(again=True)

    def _discard(self, source: Any, layout: Layout, exc: Exception) -> None:
        """If chunks are to come for a record that has failed, stop until they are through."""
        if _chunked(source, layout):
            self._doomed = exc
            self.incoming = Discarded(source[1], layout.size_bytes)
            raise Pause(again=True) from None

    def _arrived(self, layout: Layout) -> Any:
        """Return the array that a transfer has filled; raise what made its record fail."""
        target, buffer, doomed = self._target, self._buffer, self._doomed
        self.abandon()
        if doomed is not None:
            try:
                raise doomed
            finally:
                del doomed, target  # a cycle through the traceback would keep the memory
        if buffer is not None:
            self._device.write(target, layout, buffer)
        return target

    # Requests

    def _fetch(self, request: Any, args: Any, kwargs: Any, payloads: Payloads) -> None:
        check_request(request)
        (ref,) = self._executor.arguments(args, 1)
        array = self._array(ref)
        layout = self._device.layout(array)
        if layout.size_bytes <= INLINE_LIMIT_BYTES:
            layout, data = self._device.fetch(array)
            wire = (PAYLOAD, 0, dtype_to_wire(layout.dtype), layout.shape, layout.order)
            self._executor.replies.append(Reply(Value(request, wire), (data,)))
            return
        memory = self._device.host_memory(array)
        if memory is None:
            layout, memory = self._device.fetch(array)
        transfer = self._next_transfer
        self._next_transfer += 1
        wire = (TRANSFER, transfer, dtype_to_wire(layout.dtype), layout.shape, layout.order)
        self._executor.replies.append(Reply(Value(request, wire)))
        self.outgoing = Outgoing(transfer, memory)
        raise Pause(again=False)

    def _describe(self, request: Any, args: Any, kwargs: Any, payloads: Payloads) -> None:
        check_request(request)
        if not isinstance(args, list):
            raise ProtocolViolation(f"not a list of arrays: {args!r:.80}")
        layouts = [self._device.layout(self._array(ref)) for ref in args]
        self._executor.answer(request, [[x.dtype, x.shape, strides_of(x)] for x in layouts])

    def _synchronize(self, request: Any, args: Any, kwargs: Any, payloads: Payloads) -> None:
        check_request(request)
        self._device.synchronize()
        self._executor.answer(request, None)

    def _memory(self, request: Any, args: Any, kwargs: Any, payloads: Payloads) -> None:
        """Tell of the memory in use; the arrays that are named must have been made."""
        check_request(request)
        if not isinstance(args, list):
            raise ProtocolViolation(f"not a list of arrays: {args!r:.80}")
        for ref in args:
            self._array(ref)
        use = self._device.memory()
        answer = {
            "used": use.used_bytes,
            "total": use.total_bytes,
            "free": use.held_bytes,
            "limit": use.limit_bytes,
            "outside": use.outside_bytes,
            "blocks": use.blocks,
        }
        self._executor.answer(request, answer)

    def _array(self, ref: Any) -> Any:
        if not isinstance(ref, list) or len(ref) != 2 or ref[0] != ARRAY or type(ref[1]) is not int:
            raise ProtocolViolation(f"not an array: {ref!r:.80}")
        return self._table.array(ref[1])


def check_request(request: Any) -> None:
    if type(request) is not int:
        raise ProtocolViolation(f"not a request id: {request!r:.40}")


def _source_layout(source: Any) -> Layout:
    """Read the layout of a host array: [PAYLOAD | TRANSFER, id, dtype, shape, "C" | "F"]."""
    if not isinstance(source, list) or len(source) != 5 or source[0] not in (PAYLOAD, TRANSFER):
        raise ProtocolViolation(f"not a host array: {source!r:.80}")
    _, _, wire_dtype, shape, order = source
    dtype = dtype_from_wire(wire_dtype)
    checked_size(shape, dtype)
    if order not in ("C", "F"):
        raise ProtocolViolation(f"not an order: {order!r:.40}")
    return Layout(tuple(shape), dtype, order)


def _chunked(source: Any, layout: Layout) -> bool:
    """Do the bytes of a host array follow in chunks?"""
    if source[0] != TRANSFER or not layout.size_bytes:
        return False
    if type(source[1]) is not int:
        raise ProtocolViolation(f"not a transfer: {source[1]!r:.40}")
    return True


def _payload(source: Any, layout: Layout, payloads: Payloads) -> memoryview:
    """Return the bytes that came with the message."""
    if not layout.size_bytes:
        return memoryview(b"")
    index = source[1]
    if type(index) is not int or not 0 <= index < len(payloads):
        raise ProtocolViolation(f"there is no payload {index!r:.40}")
    data = memoryview(payloads[index]).cast("B")
    host_array(data, layout.dtype, layout.shape, layout.order)  # checks the size
    return data
