"""Queue of operations in one session: who sends, who waits, whose error (design section 4).

Threads of the script append records to one list, without a lock; whoever finds it long, old or
needs an answer encodes and sends it. Whoever waits receives for everybody. Appending, copying
the head of a list and deleting it are each atomic in CPython; that is why nothing is lost
when another thread appends, or the garbage collector releases, in the middle of a flush.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable
from time import monotonic, perf_counter_ns
from typing import Any

import numpy as np

from cupool.client_shim import notices
from cupool.client_shim.payloads import bytes_of, destination_of, shift_payloads
from cupool.errors import LeaseLost, ProtocolViolation
from cupool.proto import messages as m
from cupool.proto import values
from cupool.proto.failures import from_failure
from cupool.transport.channel import Channel, ChannelClosed
from cupool.transport.transfers import Incoming, Outgoing

FLUSH_RECORDS = 128
FLUSH_AGE_NS = 300_000
SEND_TIMEOUT_S = 60.0
PROGRESS_TIMEOUT_S = 60.0
"""A transfer that moves no byte for this long is given up."""
_FREE = "free"
_NONE_QUEUED = 1 << 62
_FOLLOW_S = 0.05

Loss = Callable[..., BaseException]
Resume = Callable[[int], "tuple[Channel, int] | None"]


class Request:
    """An answer that somebody waits for."""

    __slots__ = ("destination", "done", "failure", "incoming", "value")

    def __init__(self, destination: np.ndarray[Any, Any] | None = None) -> None:
        self.done = False
        self.value: Any = None
        self.failure: BaseException | None = None
        self.destination = destination
        self.incoming: Incoming | None = None


class Staged:
    """A batch on its way out; each step of sending it may be repeated after a Ctrl-C."""

    __slots__ = ("count", "first", "frames", "sequence")

    def __init__(self, first: Any, count: int, sequence: int, frames: list[m.Frame]) -> None:
        self.first = first
        self.count = count
        self.sequence = sequence
        self.frames = frames


class Attached:
    """A record whose PAYLOAD values count within its own frames, until it is put in a batch."""

    __slots__ = ("frames", "record")

    def __init__(self, record: tuple[Any, ...], frames: list[m.Frame]) -> None:
        self.record = record
        self.frames = frames


class Counters:
    """What `cupool run --stats` prints."""

    __slots__ = ("batches", "operations", "received_bytes", "sent_bytes", "waits")

    def __init__(self) -> None:
        self.batches = self.operations = self.waits = 0
        self.sent_bytes = self.received_bytes = 0


class Pipeline:
    """Sends records in order and receives answers, over one channel.

    Args:
        channel: open and welcomed.
        lost: makes the exception for "the other side is gone", from what the channel said; or
            takes the CUDA error that the device died of, as a second argument, and returns it.
        resume: opens a new channel to the same session after the given batch and says which
            batch the worker has executed last; None if that cannot be.
    """

    def __init__(self, channel: Channel, lost: Loss, resume: Resume | None = None) -> None:
        self.pending: list[Any] = []
        self.counters = Counters()
        self.relaid: dict[str, int] = {}
        self.failures: deque[BaseException] = deque()
        self.broken: BaseException | None = None
        self._cuda_error: BaseException | None = None  # the last: the device may have died of it
        self._channel = channel
        self._lost = lost
        # Who holds the flush lock may wait for acknowledgements, and whoever receives those may
        # have to send a Pong or a Credit: hence two locks.
        self._flush_lock = threading.RLock()
        self._send_lock = threading.Lock()
        # Reentrant: a Ctrl-C just after it was taken must not lock this thread out for ever.
        self._receive_lock = threading.RLock()
        self._turn = threading.Condition()
        self._resume = resume
        self._resume_lock = threading.RLock()
        self._links = 1  # channels so far: a thread whose channel broke may come too late
        self._kept: deque[Staged] = deque()  # sent and not yet acknowledged
        self._staged: Staged | None = None
        self._sequence = 0
        self._acknowledged = 0
        self._requests: dict[int, Request] = {}
        self._outgoing: dict[int, Outgoing] = {}
        self._credited: dict[int, int] = {}
        self._incoming: dict[int, Request] = {}
        self._oldest_ns = _NONE_QUEUED  # when the first of the queued records came
        self._payload_bytes = 0

    # ---------------------------------------------------------------- sending

    def submit(self, record: tuple[Any, ...]) -> None:
        """Queue a record; flush if the queue is long or old."""
        pending = self.pending
        pending.append(record)
        oldest_ns = self._oldest_ns
        now_ns = perf_counter_ns()
        if len(pending) >= FLUSH_RECORDS or now_ns - oldest_ns > FLUSH_AGE_NS:
            self.flush()
        elif oldest_ns == _NONE_QUEUED:
            self._oldest_ns = now_ns

    def attach(self, record: tuple[Any, ...], frames: list[m.Frame], size_bytes: int) -> None:
        """Queue a record with payload frames, which the caller must not change any more."""
        self._payload_bytes += size_bytes
        self.pending.append(Attached(record, frames))
        if len(self.pending) >= FLUSH_RECORDS or self._payload_bytes >= m.CHUNK_BYTES:
            self.flush()

    def flush(self) -> None:
        """Send all that is queued.

        Raises:
            LeaseLost: the other side is gone.
        """
        with self._flush_lock:
            while self._staged is not None or self.pending:
                if self.broken is not None:
                    raise self.broken
                self._await_window()
                staged = self._staged
                if staged is None:
                    staged = self._staged = self._stage()
                if self.pending and self.pending[0] is staged.first:
                    del self.pending[: staged.count]
                if staged.sequence > self._sequence:
                    if not self._kept or self._kept[-1] is not staged:
                        self._kept.append(staged)
                    self._send(staged.frames)
                    self._sequence = staged.sequence
                self._staged = None
            self._oldest_ns = _NONE_QUEUED

    def _stage(self) -> Staged:
        batch = self.pending[: m.MAX_RECORDS // 2]
        records: list[Any] = []
        frames: list[m.Frame] = [b""]
        run: list[int] | None = None
        taken = 0
        for item in batch:
            if type(item) is int:
                if run is None:
                    run = [item]
                    records.append((_FREE, (), run, None))
                else:
                    run.append(item)
                taken += 1
                continue
            run = None
            if type(item) is Attached:
                if len(frames) + len(item.frames) > m.MAX_PAYLOADS // 2:
                    break
                first_frame = len(frames) - 1
                frames += item.frames
                item = shift_payloads(item.record, first_frame)
            records.append(item)
            taken += 1
        sequence = self._sequence + 1
        frames[0] = m.encode(m.Batch(sequence, records))
        self._payload_bytes = 0
        self.counters.batches += 1
        self.counters.operations += taken
        self.counters.sent_bytes += sum(len(frame) for frame in frames)
        return Staged(batch[0], taken, sequence, frames)

    def _send(self, frames: list[m.Frame]) -> None:
        """Send a message. If the link breaks, a resumed one sends the kept batches again."""
        link = self._links
        try:
            with self._send_lock:
                self._channel.send(frames, SEND_TIMEOUT_S)
        except ChannelClosed as exc:
            self._reconnect(link, exc)
        except TimeoutError as exc:
            self._break(exc)

    def _reconnect(self, link: int, exc: ChannelClosed) -> None:
        """Go on over a new channel; the session is lost if there is none, or in mid-transfer."""
        with self._resume_lock:
            if self._links != link or self.broken is not None:
                return  # another thread was faster
            found = None
            if self._resume is not None and not self._incoming and not self._outgoing:
                found = self._resume(self._acknowledged)
            if found is None:
                self._break(exc)
                return
            channel, executed = found
            try:
                # Under the lock: a batch is either among the kept, or goes by the new channel.
                with self._send_lock:
                    for staged in list(self._kept):
                        if staged.sequence > executed:
                            channel.send(staged.frames, SEND_TIMEOUT_S)
                    self._channel, channel = channel, self._channel
                    self._links += 1
            except (ChannelClosed, TimeoutError) as again:
                self._break(again)
            channel.close(0)

    def send_message(self, message: m.Message, *frames: m.Frame) -> None:
        self._send([m.encode(message), *frames])

    def _await_window(self) -> None:
        """Wait until fewer than BATCH_WINDOW batches are unacknowledged: bounded memory."""
        while self._sequence - self._acknowledged >= m.BATCH_WINDOW and self.broken is None:
            self._pump(lambda: self._sequence - self._acknowledged < m.BATCH_WINDOW)

    # ---------------------------------------------------------------- waiting

    def request(self, number: int, destination: np.ndarray[Any, Any] | None = None) -> Request:
        """Expect the answer to a request record."""
        request = self._requests[number] = Request(destination)
        return request

    def wait(self, number: int, request: Request) -> Any:
        """Flush, wait for the answer, and raise what went wrong before it.

        Raises:
            the error of the request or of an earlier operation; LeaseLost.
        """
        self.counters.waits += 1
        try:
            self.flush()
            self._pump(lambda: request.done)
        finally:
            self._requests.pop(number, None)
        failure, request.failure = request.failure, None
        if failure is not None:
            self.failures.clear()
            try:
                raise failure
            finally:
                del failure  # else frame and exception keep each other, and the arrays in between
        self.raise_failure()
        return request.value

    def follow(self, number: int, request: Request) -> BaseException | None:
        """Flush and wait for an answer without raising; return what went wrong before it."""
        try:
            self.flush()
            self._pump(lambda: request.done)
        except (LeaseLost, ProtocolViolation) as exc:
            return exc
        finally:
            self._requests.pop(number, None)
        return request.failure or (self.failures[0] if self.failures else None)

    def raise_failure(self) -> None:
        """Raise the first failure that nobody has seen; later ones follow from it."""
        if self.failures:
            first = self.failures.popleft()
            self.failures.clear()
            try:
                raise first
            finally:
                del first
        if self.broken is not None:
            raise self.broken

    def upload(self, transfer: int, data: memoryview) -> None:
        """Send the chunks of a transfer whose record is queued; return when all have left."""
        self.flush()
        outgoing = self._outgoing[transfer] = Outgoing(transfer, data)
        deadline = monotonic() + PROGRESS_TIMEOUT_S
        try:
            while not outgoing.done and self.broken is None:
                credited = self._credited.get(transfer, 0)
                for header, part in outgoing.chunks():
                    self._send([header, part])
                    self.counters.sent_bytes += part.nbytes
                    deadline = monotonic() + PROGRESS_TIMEOUT_S
                if not outgoing.done:
                    self._pump(lambda c=credited: self._credited.get(transfer, 0) > c, deadline)  # type: ignore[misc]
                    if monotonic() > deadline:
                        self._break(TimeoutError("an upload made no progress"))
        finally:
            del self._outgoing[transfer]
            self._credited.pop(transfer, None)
            if not outgoing.done and self.broken is None:
                self.send_message(m.Chunk(transfer, m.ABORTED), b"")  # Ctrl-C half way
        if self.broken is not None:
            raise self.broken

    def _pump(self, done: Callable[[], bool], deadline: float | None = None) -> None:
        """Receive until `done()`: one thread receives for all, the others wait for its word."""
        while not done():
            if self.broken is not None:
                raise self.broken
            if deadline is not None and monotonic() > deadline:
                return
            if not self._take_turn(done):
                continue
            try:
                while not done() and self.broken is None:
                    if not self._receive(1.0) and deadline and monotonic() > deadline:
                        return
            finally:
                self._give_turn()

    def _take_turn(self, done: Callable[[], bool]) -> bool:
        """Become the one who receives, or wait for that one's word."""
        with self._turn:
            if self._receive_lock.acquire(blocking=False):
                return True
            if not done():
                self._turn.wait(_FOLLOW_S)
            return False

    def _give_turn(self) -> None:
        with self._turn:  # or a thread that just found the lock taken would miss the word
            self._receive_lock.release()
            self._turn.notify_all()

    def poll(self) -> None:
        """Take what has arrived, without waiting: the idle thread's part."""
        if self.broken is None and self._receive_lock.acquire(blocking=False):
            try:
                while self.broken is None and self._receive(0):
                    pass
            finally:
                self._give_turn()

    # ---------------------------------------------------------------- receiving

    def _receive(self, timeout_s: float) -> bool:
        link = self._links
        try:
            frames = self._channel.receive(timeout_s)
        except ChannelClosed as exc:
            self._reconnect(link, exc)
            return False
        except ProtocolViolation as exc:
            self._break(exc)
            return False
        if frames is None:
            return False
        try:
            self._dispatch(m.decode(frames), frames[1:])
        except ProtocolViolation as exc:
            self._break(exc)
        return True

    def _dispatch(self, message: m.Message, payloads: list[m.Frame]) -> None:
        if isinstance(message, m.Value):
            self._take_value(message, payloads)
        elif isinstance(message, m.Ack):
            self._acknowledged = max(self._acknowledged, message.sequence)
            while self._kept and self._kept[0].sequence <= self._acknowledged:
                self._kept.popleft()
            for failure in message.failures:
                self.failures.append(self._made(failure))
            if message.notices:
                notices.take(message.notices)
            if message.printed:
                sys.stdout.write(message.printed)  # by kernels, which have no other way to the user
            for name, count in message.relaid.items():
                self.relaid[name] = self.relaid.get(name, 0) + count
        elif isinstance(message, m.Failed):
            request = self._requests.get(message.request)
            if request is not None:
                request.failure = self._made(message.failure)
                request.done = True
        elif isinstance(message, m.Chunk):
            self._take_chunk(message, payloads)
        elif isinstance(message, m.Credit):
            outgoing = self._outgoing.get(message.transfer)
            if outgoing is not None:
                outgoing.credit(message.chunks)
                self._credited[message.transfer] = self._credited.get(message.transfer, 0) + 1
        elif isinstance(message, m.Ping):
            self.send_message(m.Pong(message.token))
        elif isinstance(message, m.Bye):
            # A sticky error of CUDA: every later call says the same.
            sticky = self._cuda_error if message.reason == "device_lost" else None
            self._break(ChannelClosed(message.message or message.reason), sticky)
        elif not isinstance(message, m.Pong):
            raise ProtocolViolation(f"the server sent {type(message).__name__} unasked")

    def _made(self, failure: m.Failure) -> BaseException:
        exc = from_failure(failure)
        if hasattr(exc, "status"):
            self._cuda_error = exc
        return exc

    def _take_value(self, message: m.Value, payloads: list[m.Frame]) -> None:
        # An answer that nobody waits for any more (Ctrl-C) still has to be taken off the wire.
        request = self._requests.get(message.request) or Request()
        wire = message.value
        if isinstance(wire, list) and wire and wire[0] == values.TRANSFER:
            dtype = values.dtype_from_wire(wire[2])
            target = destination_of(request.destination, dtype, wire[3], wire[4])
            request.value = target
            request.incoming = Incoming(wire[1], bytes_of(target))
            self._incoming[wire[1]] = request
            return
        value = values.Reader(_no_arrays, payloads).read(wire)
        if payloads and isinstance(value, np.ndarray):
            value = value.copy(order="K")  # the user's own: the message's memory is not writable
        request.value = value
        self.counters.received_bytes += sum(len(p) for p in payloads)
        request.done = True

    def _take_chunk(self, message: m.Chunk, payloads: list[m.Frame]) -> None:
        request = self._incoming.get(message.transfer)
        if request is None or request.incoming is None or len(payloads) != 1:
            raise ProtocolViolation(f"a chunk of unknown transfer {message.transfer}")
        self.counters.received_bytes += len(payloads[0])
        if message.offset == m.ABORTED:
            raise ProtocolViolation(f"the server gave transfer {message.transfer} up")
        grant = request.incoming.accept(message.offset, payloads[0])
        if request.incoming.done:
            del self._incoming[message.transfer]
            request.done = True
        elif grant:
            self.send_message(m.Credit(message.transfer, grant))

    def _break(self, exc: BaseException, sticky: BaseException | None = None) -> None:
        if self.broken is None and sticky is not None:
            self.broken = self._lost(str(exc), sticky)
            self.failures = deque(f for f in self.failures if f is not sticky)
        elif self.broken is None:
            self.broken = self._lost(str(exc))
            self.broken.__cause__ = exc
        with self._turn:
            self._turn.notify_all()

    # ---------------------------------------------------------------- the end

    def close(self, reason: str, timeout_s: float) -> None:
        """Send what is queued and Bye; never raises, never waits longer than `timeout_s`."""
        self._resume = None
        if self._flush_lock.acquire(timeout=timeout_s):
            try:
                if self.broken is None:
                    self.flush()
                    self._send([m.encode(m.Bye(reason))])
            except (LeaseLost, ProtocolViolation):
                return
            finally:
                self._flush_lock.release()
                self._channel.close(timeout_s)


def _no_arrays(handle: int) -> Any:
    raise ProtocolViolation("the server named a handle in a value")
