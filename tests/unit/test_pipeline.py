"""The queue between the script and the channel, driven by a channel that is scripted."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from cupool.client_shim.pipeline import FLUSH_RECORDS, Pipeline
from cupool.errors import LeaseLost
from cupool.proto import messages as m
from cupool.proto.values import PAYLOAD, TRANSFER
from cupool.transport.channel import Channel, ChannelClosed


class Scripted(Channel):
    """Keeps what is sent; answers by `reply(message)`, which returns messages."""

    url = "scripted://"

    def __init__(self, reply: Callable[[m.Message], list[list[m.Frame]]]) -> None:
        self.sent: list[m.Message] = []
        self.frames: list[list[m.Frame]] = []
        self.inbox: deque[list[m.Frame]] = deque()
        self.fail_next: BaseException | None = None
        self._reply = reply

    def send(self, frames: Sequence[m.Frame], timeout_s: float | None = None) -> None:
        message = m.decode(frames)
        self.sent.append(message)
        self.frames.append([bytes(f) for f in frames])
        self.inbox.extend(self._reply(message))
        if self.fail_next is not None:
            failing, self.fail_next = self.fail_next, None
            raise failing

    def receive(self, timeout_s: float | None = None) -> list[m.Frame] | None:
        if self.inbox:
            return self.inbox.popleft()
        if timeout_s == 0:
            return None
        raise ChannelClosed("the script has ended")

    gone = False

    def close(self, linger_s: float = 1.0) -> None:
        self.inbox.clear()

    def abandon(self) -> None:
        self.inbox.clear()


def _lost(what: str) -> BaseException:
    return LeaseLost(f"lost: {what}")


def answering(message: m.Message) -> list[list[m.Frame]]:
    """Acknowledge batches, answer every request with its own number."""
    if not isinstance(message, m.Batch):
        return []
    replies = [[m.encode(m.Ack(message.sequence))]]
    for name, outs, *_ in message.records:
        if name == "fetch":
            replies.insert(0, [m.encode(m.Value(outs, outs))])
    return replies


def records(channel: Scripted) -> list[Any]:
    return [r for b in channel.sent if isinstance(b, m.Batch) for r in b.records]


def wait(pipeline: Pipeline, number: int = 1) -> Any:
    request = pipeline.request(number)
    pipeline.pending.append(("fetch", number, ((0, 1),), None))
    return pipeline.wait(number, request)


def test_records_leave_in_order_and_releases_are_merged() -> None:
    channel = Scripted(answering)
    pipeline = Pipeline(channel, _lost)
    pipeline.pending += [("add", (), (), None), 7, 8, ("mul", (), (), None), 9]
    pipeline.flush()
    assert [(r[0], r[2]) for r in records(channel)] == [
        ("add", []),
        ("free", [7, 8]),
        ("mul", []),
        ("free", [9]),
    ]
    assert pipeline.pending == []


def test_a_full_queue_is_sent_without_a_wait() -> None:
    channel = Scripted(answering)
    pipeline = Pipeline(channel, _lost)
    pipeline._oldest_ns = 1 << 61  # not old
    for _ in range(FLUSH_RECORDS - 1):
        pipeline.submit(("add", (), (), None))
    assert records(channel) == []
    pipeline.submit(("add", (), (), None))
    assert len(records(channel)) == FLUSH_RECORDS


def test_an_old_queue_is_sent_with_the_next_record() -> None:
    channel = Scripted(answering)
    pipeline = Pipeline(channel, _lost)
    pipeline.submit(("add", (), (), None))
    assert records(channel) == []  # young: it may share a message with the wait that follows
    pipeline._oldest_ns = 0
    pipeline.submit(("add", (), (), None))
    assert len(records(channel)) == 2


def test_a_wait_returns_its_value_and_counts() -> None:
    pipeline = Pipeline(Scripted(answering), _lost)
    assert wait(pipeline, 5) == 5
    assert pipeline.counters.waits == 1


@pytest.mark.parametrize("moment", ["before", "after"])
def test_an_interrupted_flush_loses_and_doubles_nothing(moment: str) -> None:
    channel = Scripted(answering)
    pipeline = Pipeline(channel, _lost)
    first, second = ("add", (), (), None), ("mul", (), (), None)
    pipeline.pending.append(first)
    channel.fail_next = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        pipeline.flush()
    if moment == "after":
        pipeline.pending.append(second)
    pipeline.flush()
    executed: dict[int, Any] = {}
    for batch in channel.sent:  # the worker ignores a sequence that it has executed
        assert isinstance(batch, m.Batch)
        executed.setdefault(batch.sequence, batch.records)
    names = [r[0] for rows in executed.values() for r in rows]
    assert names == (["add", "mul"] if moment == "after" else ["add"])


def test_at_most_a_window_of_batches_is_unacknowledged() -> None:
    unanswered: list[int] = []

    def stingy(message: m.Message) -> list[list[m.Frame]]:
        if isinstance(message, m.Batch):
            unanswered.append(message.sequence)
            if len(unanswered) == m.BATCH_WINDOW:
                return [[m.encode(m.Ack(message.sequence))]]
        return []

    pipeline = Pipeline(Scripted(stingy), _lost)
    for _ in range(m.BATCH_WINDOW + 3):
        pipeline.pending.append(("add", (), (), None))
        pipeline.flush()
    assert pipeline._sequence - pipeline._acknowledged == 3


def failing(message: m.Message) -> list[list[m.Frame]]:
    replies = answering(message)
    if isinstance(message, m.Batch) and message.sequence == 1:
        failure = m.Failure("ValueError", "bad", ["bad"], "add", "mock 0")
        replies.append([m.encode(m.Ack(1, [failure]))])
    return replies


def test_a_failure_is_raised_once_at_the_next_wait_with_its_operation() -> None:
    pipeline = Pipeline(Scripted(failing), _lost)
    pipeline.pending.append(("add", (), (), None))
    pipeline.flush()
    with pytest.raises(ValueError, match="bad") as raised:
        wait(pipeline, 2)
    assert any("'add' on mock 0" in note for note in raised.value.__notes__)
    assert wait(pipeline, 3) == 3


def test_an_answer_that_nobody_asked_for_is_dropped() -> None:
    channel = Scripted(answering)
    pipeline = Pipeline(channel, _lost)
    channel.inbox.append([m.encode(m.Value(99, 1))])
    assert wait(pipeline, 1) == 1


@pytest.mark.parametrize(
    "message",
    [m.Batch(1, []), m.Hello(1, 1, "", ""), m.Chunk(5, 0), m.Value(1, [0, 3]), m.Bye("drained")],
    ids=lambda x: type(x).__name__,
)
def test_what_the_protocol_does_not_allow_ends_the_session(message: m.Message) -> None:
    channel = Scripted(lambda _: [])
    pipeline = Pipeline(channel, _lost)
    channel.inbox.append([m.encode(message), b"x"])
    with pytest.raises(LeaseLost):
        wait(pipeline, 1)
    with pytest.raises(LeaseLost):  # and stays ended
        wait(pipeline, 2)


def test_payload_frames_are_renumbered_within_the_batch() -> None:
    channel = Scripted(answering)
    pipeline = Pipeline(channel, _lost)
    for data in (b"one", b"two"):
        pipeline.attach(("upload", (), ((PAYLOAD, 0, "<i8", (1,), "C"),), None), [data], 3)
    pipeline.flush()
    assert [r[2][0][1] for r in records(channel)] == [0, 1]
    assert channel.frames[-1][1:] == [b"one", b"two"]


def test_a_large_upload_goes_in_chunks_under_credit() -> None:
    data = np.arange(3 * m.CHUNK_BYTES + 5, dtype=np.uint8)
    seen: list[int] = []

    def crediting(message: m.Message) -> list[list[m.Frame]]:
        if isinstance(message, m.Chunk):
            seen.append(message.offset)
            return [[m.encode(m.Credit(message.transfer, 1))]]
        return answering(message)

    channel = Scripted(crediting)
    pipeline = Pipeline(channel, _lost)
    pipeline.pending.append(("upload", (), ((TRANSFER, 4, "|u1", data.shape, "C"),), None))
    pipeline.upload(4, memoryview(data))
    assert seen == [0, m.CHUNK_BYTES, 2 * m.CHUNK_BYTES, 3 * m.CHUNK_BYTES]
    assert b"".join(bytes(f[1]) for f in channel.frames[1:]) == data.tobytes()


def test_an_interrupted_upload_says_so_to_the_server() -> None:
    channel = Scripted(answering)
    pipeline = Pipeline(channel, _lost)
    pipeline.flush()
    channel.fail_next = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        pipeline.upload(4, memoryview(bytearray(6 * m.CHUNK_BYTES)))
    assert channel.sent[-1] == m.Chunk(4, m.ABORTED)


def test_a_large_value_arrives_in_its_destination() -> None:
    data = np.arange(2 * m.CHUNK_BYTES, dtype=np.uint8)
    target = np.empty_like(data)

    def chunking(message: m.Message) -> list[list[m.Frame]]:
        if not isinstance(message, m.Batch):
            return []
        value = (TRANSFER, 1, "|u1", data.shape, "C")
        half = m.CHUNK_BYTES
        return [
            [m.encode(m.Value(1, value))],
            [m.encode(m.Chunk(1, 0)), data[:half].tobytes()],
            [m.encode(m.Chunk(1, half)), data[half:].tobytes()],
        ]

    pipeline = Pipeline(Scripted(chunking), _lost)
    request = pipeline.request(1, target)
    pipeline.pending.append(("fetch", 1, ((0, 1),), None))
    assert pipeline.wait(1, request) is target
    np.testing.assert_array_equal(target, data)


class Breaking(Scripted):
    """A channel whose link breaks at a given batch."""

    def __init__(self, at: int) -> None:
        super().__init__(lambda message: [])
        self._at = at

    def send(self, frames: Sequence[m.Frame], timeout_s: float | None = None) -> None:
        super().send(frames, timeout_s)
        message = self.sent[-1]
        if isinstance(message, m.Batch) and message.sequence == self._at:
            raise ChannelClosed("the link broke")


@pytest.mark.parametrize("executed", [0, 1, 2, 3])
def test_over_a_resumed_link_go_the_batches_that_were_not_executed(executed: int) -> None:
    old, new = Breaking(at=3), Scripted(answering)
    asked: list[int] = []

    def resume(after: int) -> tuple[Channel, int]:
        asked.append(after)
        return new, executed

    pipeline = Pipeline(old, _lost, resume)
    for name in ("one", "two", "three"):
        pipeline.pending.append((name, (), (), None))
        pipeline.flush()
    assert asked == [0]
    assert [r[0] for r in records(new)] == ["one", "two", "three"][executed:]
    assert wait(pipeline, 9) == 9
    assert [b.sequence for b in new.sent if isinstance(b, m.Batch)] == list(range(executed + 1, 5))


def test_a_link_that_breaks_in_a_wait_is_resumed_there() -> None:
    old = Scripted(lambda message: [])
    new = Scripted(answering)
    pipeline = Pipeline(old, _lost, lambda after: (new, 0))
    assert wait(pipeline, 4) == 4


def test_a_session_that_cannot_be_resumed_is_lost() -> None:
    pipeline = Pipeline(Scripted(lambda message: []), _lost, lambda after: None)
    with pytest.raises(LeaseLost, match="the script has ended"):
        wait(pipeline, 4)


def test_acknowledged_batches_are_not_kept() -> None:
    pipeline = Pipeline(Scripted(answering), _lost)
    assert wait(pipeline, 1) == 1
    pipeline.poll()
    assert not pipeline._kept
