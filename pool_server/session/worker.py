"""The core of a session: messages in, replies out. No sockets, no clock, no threads.

    batch ──► queue ──► Executor.run ──► failures, answers ──► replies
                          │  pauses at a large payload
              chunks ─────┴─ credits

Batches count 1, 2, 3, ... and are executed once each, also when the link breaks in between:
`resume` says what the client may have missed. An answer leaves before the acknowledgement of
its batch, and failures before the answers that follow them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import msgspec

from cupool.errors import LeaseLost, ProtocolViolation
from cupool.pool_server.devices.base import Device
from cupool.pool_server.session.deferral import Deferral
from cupool.pool_server.session.exchange import Exchange
from cupool.pool_server.session.handles import MAX_HANDLES, HandleTable
from cupool.pool_server.session.movement import Movement
from cupool.pool_server.session.queueing import Queueing
from cupool.pool_server.session.records import Executor, Payloads, Reply
from cupool.pool_server.session.transfers import Early
from cupool.pool_server.session.turns import Turns
from cupool.proto.messages import (
    ABORTED,
    BATCH_WINDOW,
    INLINE_LIMIT_BYTES,
    MAX_RECORDS,
    Ack,
    Batch,
    Bye,
    Chunk,
    Credit,
    Failed,
    Failure,
    Frame,
    Message,
    Ping,
    Pong,
    Value,
    decode,
)
from cupool.proto.values import TRANSFER

MAX_ACK_FAILURES = 128
"""Failures of one Ack; what follows them is told where its outputs are asked for."""
_EXCHANGE_SLICE_S = 0.05  # of a wait for another session, between looks at everything else
_TRACED = 8  # failures of one Ack that carry their traceback
_KEPT_BYTES = 64 << 20  # answers kept for a client that may have missed them


@dataclass(slots=True)
class _Kept:
    """An answer or failure that the client may not have received yet."""

    sequence: int
    reply: Reply | None
    failure: Failure | None
    size_bytes: int


class SessionCore:
    """A session on a device.

    Args:
        device: executes operations.
        max_handles: handles that may be alive at once.
        turns: when it may compute, beside other sessions on the device.
        exchange_urls: where other sessions may pull arrays from this one.

    Attributes:
        executed: the last batch that was executed.
        operations: records executed, for statistics.
        ended: the Bye that ended the session; None while it goes on.
        left: whether that was the client's.
        forsaken: says whether the client has gone: then the rest of a long batch is left, until
            `disconnected` or `carry_on`.
        halted: whether that is so now.
    """

    def __init__(
        self,
        device: Device,
        max_handles: int = MAX_HANDLES,
        turns: Turns | None = None,
        exchange_urls: Sequence[str] = (),
    ) -> None:
        self.device = device
        self.table = HandleTable(max_handles)
        self.executed = 0
        self.operations = 0
        self.ended: Bye | None = None
        self.left = False
        self.forsaken: Callable[[], bool] = lambda: False
        self.halted = False
        self._executor = Executor(device, self.table)
        self._turns = turns
        if turns is not None:
            turns.on_failure = partial(self._executor.fail, ("synchronize", []))
        self._movement = Movement(self._executor)
        self._deferral = Deferral(self._executor)
        Queueing(self._executor, self._deferral)
        self._exchange = Exchange(self._executor, exchange_urls)
        self._early = Early()
        self._queue: deque[tuple[Batch, Payloads]] = deque()
        self._received = 0
        self._position = 0  # records done of batch `executed + 1`
        self._given_up = False  # did the client give the current upload up?
        # Chunks are pieces of an array's own memory: nothing runs before they are sent.
        self._held = False
        self._large: _Kept | None = None
        self._acknowledged = 0
        self._kept: deque[_Kept] = deque()
        self._kept_bytes = 0

    @property
    def transferring(self) -> bool:
        """Is a large payload on its way? Then the client must be heard of."""
        return self._movement.incoming is not None or self._movement.outgoing is not None

    def execute(self, message: Message, payloads: Payloads = (), more: bool = False) -> list[Reply]:
        """Take a message, return the replies; never raises.

        Args:
            more: other messages may be waiting; the caller asks for the Ack by `acknowledge`.
        """
        replies: list[Reply] = []
        if self.ended is not None:
            return replies
        try:
            self._take(message, payloads, replies)
            self._advance(replies)
        except ProtocolViolation as exc:
            self._end(Bye("protocol", exc.message), replies)
        if not more:
            self.acknowledge(replies)
        return replies

    def expect(self) -> None:
        """Another message is here and will be executed next."""
        if self._turns is not None:
            self._turns.expect()

    @property
    def device_time_s(self) -> float:
        """Seconds that the session has computed, where that is measured."""
        return self._turns.device_time_s if self._turns is not None else 0.0

    @property
    def failing(self) -> bool:
        """Are there failures that the client has not been told of?"""
        return bool(self._executor.failures)

    @property
    def unfinished(self) -> bool:
        """Once the replies are sent, is there more to do without another message?"""
        waits = bool(self._queue) and self._exchange.under_way
        return (self._held or waits) and self.ended is None and not self.halted

    def proceed(self) -> list[Reply]:
        """Go on after the replies were sent; for as long as `unfinished`."""
        replies: list[Reply] = []
        self._held = False
        self._exchange.wait(_EXCHANGE_SLICE_S)
        self._advance(replies)
        return replies

    def carry_on(self) -> None:
        """Execute what was left, although the client has gone."""
        self.forsaken, self.halted = lambda: False, False
        self._advance([])

    def acknowledge(self, replies: list[Reply]) -> None:
        """Append an Ack if something was executed since the last one."""
        executor = self._executor
        printed = self.device.take_printed()
        if self.executed > self._acknowledged or executor.failures or printed:
            self._acknowledged = self.executed
            failures = _bounded(executor.failures)
            replies.append(Reply(Ack(self.executed, failures, dict(executor.relaid), [], printed)))
            executor.failures.clear()
            executor.relaid.clear()

    def disconnected(self) -> None:
        """The link is gone: forget what was half done; the client will send it again."""
        if self._movement.outgoing is not None:
            self._position -= 1  # that fetch has to be done again
        self._exchange.client_is(here=False)
        self._held = self._given_up = self.halted = False
        self._large = None
        self._movement.abandon()
        self._queue.clear()
        self._early.clear()
        self._received = self.executed

    def resume(self, resume_after: int) -> list[Reply]:
        """Return what a client that has seen the Ack of `resume_after` may have missed."""
        self._exchange.client_is(here=True)
        missed = [kept for kept in self._kept if kept.sequence > resume_after]
        replies: list[Reply] = []
        failures = [kept.failure for kept in missed if kept.failure is not None]
        if failures or self.executed > resume_after:
            replies.append(Reply(Ack(min(self.executed, resume_after), _bounded(failures))))
            self._executor.failures.clear()
        replies += [kept.reply for kept in missed if kept.reply is not None]
        if self.executed > resume_after:
            self._acknowledged = self.executed
            replies.append(Reply(Ack(self.executed)))
        return replies

    def close(self) -> None:
        """Free everything."""
        self._exchange.close()
        self.table.clear()
        self.device.close()

    # Messages

    def _take(self, message: Message, payloads: Payloads, replies: list[Reply]) -> None:
        if isinstance(message, Batch):
            self._take_batch(message, payloads)
        elif isinstance(message, Chunk):
            self._take_chunk(message, payloads, replies)
        elif isinstance(message, Credit):
            outgoing = self._movement.outgoing
            # A credit for a transfer that is through is of no more use, and no fault.
            if outgoing is not None and outgoing.transfer == message.transfer:
                outgoing.credit(message.chunks)
        elif isinstance(message, Ping):
            replies.append(Reply(Pong(message.token)))
        elif isinstance(message, Bye):
            self.ended = message
            self.left = True
        elif not isinstance(message, Pong):
            raise ProtocolViolation(f"a client does not send {type(message).__name__} here")

    def _take_batch(self, batch: Batch, payloads: Payloads) -> None:
        if batch.sequence <= self._received:
            return  # a duplicate, sent again after a resume
        if batch.sequence != self._received + 1:
            raise ProtocolViolation(
                f"batch {batch.sequence} came after batch {self._received}, some are missing"
            )
        if len(batch.records) > MAX_RECORDS:
            raise ProtocolViolation(f"a batch of {len(batch.records)} records")
        if len(self._queue) > BATCH_WINDOW:
            raise ProtocolViolation(f"more than {BATCH_WINDOW} batches without acknowledgement")
        self._received = batch.sequence
        self._queue.append((batch, payloads))
        self._forget(batch.sequence - BATCH_WINDOW)

    def _take_chunk(self, chunk: Chunk, payloads: Payloads, replies: list[Reply]) -> None:
        if len(payloads) != 1:
            raise ProtocolViolation(f"a chunk with {len(payloads)} payloads")
        incoming = self._movement.incoming
        if incoming is not None and incoming.transfer == chunk.transfer:
            self._accept(chunk.offset, payloads[0], replies)
        else:
            self._early.put(chunk, payloads[0])

    def _accept(self, offset: int, payload: Frame, replies: list[Reply]) -> bool:
        """Take a chunk of the current transfer; return whether the transfer is over."""
        incoming = self._movement.incoming
        assert incoming is not None
        if offset == ABORTED:
            self._movement.give_up()
            self._given_up = True
            return True
        credit = incoming.accept(offset, payload)
        if credit:
            replies.append(Reply(Credit(incoming.transfer, credit)))
        return incoming.done

    # Execution

    def _advance(self, replies: list[Reply]) -> None:
        """Execute what can be executed."""
        movement = self._movement
        while self.ended is None and not self._held and not self.halted:
            if movement.incoming is not None and not self._incoming_over(replies):
                return
            if movement.outgoing is not None and not self._outgoing_over(replies):
                return
            if not self._queue or self._exchange.waiting:
                return
            batch, payloads = self._queue[0]
            self._run(batch, payloads, replies)

    def _incoming_over(self, replies: list[Reply]) -> bool:
        incoming = self._movement.incoming
        assert incoming is not None
        over = incoming.done or self._given_up
        if not over:
            chunks = self._early.take(incoming.transfer)
            for offset, payload in chunks:
                over = self._accept(offset, payload, replies)
        return over

    def _outgoing_over(self, replies: list[Reply]) -> bool:
        outgoing = self._movement.outgoing
        assert outgoing is not None
        for header, part in outgoing.chunks():
            replies.append(Reply(decode([header]), (part,)))
            self._held = True
        if not outgoing.done:
            self._held = False
            return False
        self._movement.outgoing = None
        if self._large is not None:
            self._keep(self._large)
            self._large = None
        return not self._held

    def _run(self, batch: Batch, payloads: Payloads, replies: list[Reply]) -> None:
        executor, start = self._executor, self._position
        records = batch.records
        self._given_up = False
        failed = len(executor.failures)
        with self.device.context():
            take = self._deferral.run if self._deferral.active else executor.run
            if self._turns is None:
                position = take(records, start, payloads)
            else:
                position = self._turns.run(take, records, start, payloads, self._stopped)
        self.operations += position - start
        for failure in executor.failures[failed:]:
            size_bytes = len(failure.message) + len(failure.traceback) + 256
            self._keep(_Kept(batch.sequence, None, failure, size_bytes))
        if executor.replies:
            self._answer(batch.sequence, replies)
        if executor.lost is not None:
            self._end(Bye("device_lost", executor.lost.message), replies)
        elif position == len(records) and not self.transferring:
            self._queue.popleft()
            self._position = 0
            self.executed = batch.sequence
        else:
            self._position = position
            self.halted = not self.transferring and self.forsaken()

    def _stopped(self) -> bool:
        """Whether the batch cannot go on, although records are left."""
        lost = self._executor.lost is not None
        return self.transferring or self._exchange.waiting or lost or self.forsaken()

    def _answer(self, sequence: int, replies: list[Reply]) -> None:
        """Send the answers of the executor, after what failed or was printed before them."""
        executor = self._executor
        printed = self.device.take_printed()
        if executor.failures or printed:
            failures = _bounded(executor.failures)
            replies.append(Reply(Ack(self.executed, failures, printed=printed)))
            self._acknowledged = self.executed
            executor.failures.clear()
        for reply in executor.replies:
            kept = _keepable(sequence, reply)
            if kept.reply is reply:
                self._keep(kept)
            else:
                self._large = kept  # while it lasts, a resume does the fetch again
        replies += executor.replies
        executor.replies.clear()

    def _end(self, bye: Bye, replies: list[Reply]) -> None:
        self.ended = bye
        self.acknowledge(replies)
        replies.append(Reply(bye))

    # What the client may have missed

    def _keep(self, kept: _Kept) -> None:
        self._kept.append(kept)
        self._kept_bytes += kept.size_bytes
        while self._kept_bytes > _KEPT_BYTES:
            self._kept_bytes -= self._kept.popleft().size_bytes

    def _forget(self, sequence: int) -> None:
        """The client keeps to its window, so it has seen the Ack of this batch."""
        while self._kept and self._kept[0].sequence <= sequence:
            self._kept_bytes -= self._kept.popleft().size_bytes


def _bounded(failures: Sequence[Failure]) -> list[Failure]:
    """Return the first failures, few of them with traceback: an Ack must fit its frame."""
    bounded = list(failures[:MAX_ACK_FAILURES])
    for index in range(_TRACED, len(bounded)):
        bounded[index] = msgspec.structs.replace(bounded[index], traceback="")
    return bounded


def _keepable(sequence: int, reply: Reply) -> _Kept:
    size_bytes = sum(memoryview(payload).nbytes for payload in reply.payloads) + 256
    message = reply.message
    if isinstance(message, Value) and _is_transfer(message.value):
        # Kept as an error: its bytes were the array's own and have changed since.
        exc = LeaseLost(
            f"the link broke during a fetch of over {INLINE_LIMIT_BYTES} bytes", remedy="try again"
        )
        failure = Failure("RemoteError", exc.message, [exc.message], "fetch")
        return _Kept(sequence, Reply(Failed(message.request, failure)), None, size_bytes)
    return _Kept(sequence, reply, None, size_bytes)


def _is_transfer(value: object) -> bool:
    return isinstance(value, tuple) and bool(value) and value[0] == TRANSFER
