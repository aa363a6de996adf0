"""A client's side of a session without a link: drives a `SessionCore` for tests and benchmarks.

Every message goes through its encoding, so what is tested is what the wire carries.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from cupool.pool_server.session.records import Reply
from cupool.pool_server.session.worker import SessionCore
from cupool.proto import messages as m
from cupool.proto.values import ARRAY, PAYLOAD, TRANSFER, Reader, dtype_to_wire
from cupool.transport.transfers import Incoming


class Loopback:
    """Sends to a core and collects what it answers.

    Attributes:
        replies: all replies of the last call, decoded.
        values, failed: answers to requests by id.
        failures: failures that were reported.
        acknowledged: the last acknowledged batch.
        pause_credit: keep back credits of transfers to this side.
    """

    def __init__(self, core: SessionCore) -> None:
        self.core = core
        self.sequence = 0
        self.replies: list[m.Message] = []
        self.values: dict[int, Any] = {}
        self.failed: dict[int, m.Failure] = {}
        self.failures: list[m.Failure] = []
        self.relaid: dict[str, int] = {}
        self.acknowledged = 0
        self.credits: dict[int, int] = {}
        self.pause_credit = False
        self._earned: deque[m.Credit] = deque()
        self._incoming: dict[int, tuple[int, Incoming, np.ndarray[Any, Any]]] = {}

    def send(self, message: Any, payloads: Sequence[m.Frame] = (), more: bool = False) -> None:
        """Send a message and take all replies, those to credits included."""
        self.replies = []
        frame = m.encode(message)
        self.take(self.core.execute(m.decode([frame]), payloads, more))
        self.settle()

    def settle(self) -> None:
        """Let the core go on for as long as it can."""
        while self._earned or self.core.unfinished:
            if self._earned:
                self.take(self.core.execute(self._earned.popleft(), (), more=True))
            else:
                self.take(self.core.proceed())
        late: list[Reply] = []
        if not self.core.transferring:
            self.core.acknowledge(late)
        self.take(late)

    def batch(self, *records: Any, payloads: Sequence[m.Frame] = (), sequence: int = 0) -> None:
        """Send records as the next batch."""
        self.sequence = sequence or self.sequence + 1
        self.send(m.Batch(self.sequence, [list(record) for record in records]), payloads)

    def upload(self, handle: int, array: Any) -> None:
        """Make an array of the device."""
        host = np.asarray(array)
        order = "F" if host.flags.f_contiguous and not host.flags.c_contiguous else "C"
        wire = [PAYLOAD, 0, dtype_to_wire(host.dtype), host.shape, order]
        record = ["upload", [out(handle, host.dtype, host.shape, order)], [wire], None]
        self.batch(record, payloads=[host.tobytes("A")])

    def ask(self, name: str, *args: Any, request: int = 1 << 40) -> Any:
        """Send a request and return its answer; raises AssertionError with a Failed."""
        self.values.pop(request, None)
        self.batch([name, request, list(args), None])
        assert request in self.values, self.failed.get(request, self.replies)
        return self.values[request]

    def fetch(self, handle: int) -> np.ndarray[Any, Any]:
        """Return an array's data."""
        result: np.ndarray[Any, Any] = self.ask("fetch", ref(handle))
        return result

    def take(self, replies: Sequence[Reply]) -> None:
        """Take replies as a client does."""
        for reply in replies:
            message = m.decode([m.encode(reply.message)])
            self.replies.append(message)
            if isinstance(message, m.Ack):
                self.acknowledged = message.sequence
                self.failures += message.failures
                for name, count in message.relaid.items():
                    self.relaid[name] = self.relaid.get(name, 0) + count
            elif isinstance(message, m.Value):
                self._value(message, reply.payloads)
            elif isinstance(message, m.Failed):
                self.failed[message.request] = message.failure
            elif isinstance(message, m.Credit):
                self.credits[message.transfer] = (
                    self.credits.get(message.transfer, 0) + message.chunks
                )
            elif isinstance(message, m.Chunk):
                self._chunk(message, reply.payloads[0])

    def _value(self, message: m.Value, payloads: Sequence[m.Frame]) -> None:
        wire = message.value
        if isinstance(wire, list) and wire[0] == TRANSFER:
            array = np.empty(wire[3], wire[2], order=wire[4])
            flat = array.reshape(-1, order=wire[4]).view(np.uint8)
            self._incoming[wire[1]] = (message.request, Incoming(wire[1], flat.data), array)
        else:
            self.values[message.request] = Reader(_no_array, payloads).read(wire)

    def _chunk(self, chunk: m.Chunk, payload: m.Frame) -> None:
        request, incoming, array = self._incoming[chunk.transfer]
        credit = incoming.accept(chunk.offset, payload)
        if incoming.done:
            self.values[request] = array
        elif credit and not self.pause_credit:
            self._earned.append(m.Credit(chunk.transfer, credit))


def _no_array(handle: int) -> Any:
    raise AssertionError(f"a server never names a handle, here {handle}")


def ref(handle: int) -> list[int]:
    """Write a handle as an argument."""
    return [ARRAY, handle]


def out(handle: int, dtype: Any, shape: Sequence[int], order: Any = "C") -> list[Any]:
    """Write a prediction."""
    return [handle, dtype_to_wire(np.dtype(dtype)), list(shape), order]
