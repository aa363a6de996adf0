"""Large payloads, both ways, and links that break."""

from __future__ import annotations

import numpy as np
import pytest

from cupool.pool_server.devices.base import Device
from cupool.pool_server.devices.mock import MockDevice
from cupool.pool_server.devices.null import NullDevice
from cupool.pool_server.session.loopback import Loopback, out, ref
from cupool.pool_server.session.worker import SessionCore
from cupool.proto import messages as m
from cupool.proto.values import TRANSFER

COUNT = 5 * m.CHUNK_BYTES // 8 + 3
DATA = np.arange(float(COUNT))
SIX = -(-DATA.nbytes // m.CHUNK_BYTES)


class _Distant(MockDevice):
    """A device whose memory the host cannot reach."""

    def host_memory(self, array: object) -> None:
        return None


def make(device: Device | None = None) -> Loopback:
    return Loopback(SessionCore(device or MockDevice(memory_bytes=1 << 28)))


def announce(client: Loopback, handle: int, transfer: int = 70, order: str = "C") -> None:
    wire = [TRANSFER, transfer, "<f8", [COUNT], order]
    client.batch(["upload", [out(handle, "f8", (COUNT,))], [wire], None])


def chunk(client: Loopback, index: int, transfer: int = 70) -> None:
    start = index * m.CHUNK_BYTES
    part = DATA.view(np.uint8).data[start : start + m.CHUNK_BYTES]
    client.send(m.Chunk(transfer, start), [part])


@pytest.mark.parametrize("device", [MockDevice, _Distant])
def test_upload_in_chunks(device: type[MockDevice]) -> None:
    client = make(device(memory_bytes=1 << 28))
    announce(client, 1)
    assert client.acknowledged == 0
    for index in range(SIX):
        chunk(client, index)
    assert client.acknowledged == 1
    # The last chunk earns no credit: nothing could use it.
    assert client.credits == {70: SIX - 1}
    np.testing.assert_array_equal(client.fetch(1), DATA)


def test_batches_and_pings_meanwhile() -> None:
    client = make()
    announce(client, 1)
    client.batch(["add", [out(2, "f8", (COUNT,))], [ref(1), 1.0], None])
    client.send(m.Ping(1))
    assert client.replies == [m.Pong(1)]
    assert client.acknowledged == 0
    for index in range(SIX):
        chunk(client, index)
    assert client.acknowledged == 2
    assert client.fetch(2)[-1] == COUNT


def test_chunks_may_come_before_their_record() -> None:
    client = make()
    announce(client, 1, 70)
    announce(client, 2, 71)
    for index in range(4):
        chunk(client, index, 71)
    for transfer, first in ((70, 0), (71, 4)):
        for index in range(first, SIX):
            chunk(client, index, transfer)
    assert client.acknowledged == 2
    np.testing.assert_array_equal(client.fetch(2), DATA)


def test_write_in_chunks() -> None:
    client = make()
    client.batch(["empty", [out(1, "f8", (COUNT,))], [], None])
    client.batch(["write", [], [ref(1), [TRANSFER, 5, "<f8", [COUNT], "C"]], None])
    for index in range(SIX):
        chunk(client, index, 5)
    np.testing.assert_array_equal(client.fetch(1), DATA)


def test_an_upload_that_cannot_be_done_is_taken_off_the_wire() -> None:
    client = make(MockDevice(memory_bytes=1 << 20))
    announce(client, 1)
    client.batch(["write", [], [ref(1), [TRANSFER, 71, "<f8", [COUNT], "C"]], None])
    for transfer in (70, 71):
        for index in range(SIX):
            chunk(client, index, transfer)
    assert client.acknowledged == 2
    assert client.credits == {70: SIX - 1, 71: SIX - 1}
    assert [f.error for f in client.failures] == ["OutOfMemoryError"]
    client.batch(["fetch", 3, [ref(1)], None])
    assert client.failed[3].error == "OutOfMemoryError"


def test_an_upload_given_up_fails() -> None:
    client = make()
    announce(client, 1)
    chunk(client, 0)
    client.send(m.Chunk(70, m.ABORTED), [b""])
    assert client.acknowledged == 1
    assert "given up" in client.failures[0].message
    assert client.core.device.memory().used_bytes == 0
    client.upload(2, np.ones(3))
    assert client.fetch(2)[0] == 1


@pytest.mark.parametrize("offset", [8, m.CHUNK_BYTES, -8])
def test_a_chunk_out_of_place_ends_the_session(offset: int) -> None:
    client = make()
    announce(client, 1)
    client.send(m.Chunk(70, offset), [bytes(8)])
    assert isinstance(client.replies[-1], m.Bye)


def test_chunks_that_nobody_asked_for_are_bounded() -> None:
    client = make()
    for _ in range(1000):
        client.send(m.Chunk(5, 0), [b"x"])
        if client.core.ended:
            break
    assert isinstance(client.replies[-1], m.Bye)
    client.send(m.Chunk(5, 0), [])
    assert not client.replies


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("device", [MockDevice, _Distant])
def test_fetch_in_chunks(device: type[MockDevice], order: str) -> None:
    client = make(device(memory_bytes=1 << 28))
    array = np.asarray(np.arange(500 * 700.0).reshape(500, 700), order=order)  # type: ignore[call-overload]
    client.upload(1, array)
    fetched = client.fetch(1)
    np.testing.assert_array_equal(fetched, array)
    assert fetched.flags.c_contiguous == (order == "C")


def test_fetch_of_a_strided_view_in_chunks() -> None:
    client = make()
    client.upload(1, DATA)
    client.batch(["view", [out(2, "f8", (COUNT // 2,), [16])], [ref(1), 8], None])
    np.testing.assert_array_equal(client.fetch(2), DATA[1::2])


def test_what_follows_a_fetch_does_not_change_it() -> None:
    """Chunks are the array's own memory, so nothing may run before they have left."""
    client = make()
    client.upload(1, DATA)
    client.pause_credit = True
    client.batch(
        ["fetch", 3, [ref(1)], None],
        ["fill", [], [ref(1), 0.0], None],
        ["fetch", 4, [ref(1)], None],
    )
    assert client.core.transferring
    assert client.acknowledged == 1
    client.send(m.Ping(1))
    assert client.replies == [m.Pong(1)]
    client.pause_credit = False
    client.send(m.Credit(1, 4))
    client.settle()
    np.testing.assert_array_equal(client.values[3], DATA)
    assert client.core.transferring is False
    np.testing.assert_array_equal(client.values[4], np.zeros(COUNT))
    assert client.acknowledged == 2


def test_too_much_credit_ends_the_session() -> None:
    client = make()
    client.upload(1, DATA)
    client.pause_credit = True
    client.batch(["fetch", 3, [ref(1)], None])
    client.send(m.Credit(99, 1))
    assert client.core.ended is None
    client.send(m.Credit(1, 1000))
    assert isinstance(client.replies[-1], m.Bye)


def test_resume_tells_what_was_missed() -> None:
    client = make()
    client.upload(1, np.ones(3))
    core = client.core
    lost = core.execute(
        m.Batch(
            2,
            [
                ["add", [[2]], [[0, 1], "no"], None],
                ["fetch", 5, [[0, 1]], None],
                ["fetch", 6, [[0, 2]], None],
            ],
        )
    )
    assert len(lost) == 4
    core.disconnected()
    assert core.executed == 2
    client.take(core.resume(1))
    assert client.acknowledged == 2
    assert len(client.failures) == 1
    assert client.failed[6] == client.failures[0]
    np.testing.assert_array_equal(client.values[5], np.ones(3))
    client.batch(sequence=2)
    assert not client.replies
    assert core.resume(2) == []


def test_resume_in_the_middle_of_an_upload() -> None:
    client = make()
    client.upload(1, np.zeros(3))
    records = [
        ["add", [], [ref(1), 1.0], {"out": ref(1)}],
        ["upload", [out(2, "f8", (COUNT,))], [[TRANSFER, 70, "<f8", [COUNT], "C"]], None],
    ]
    client.batch(*records)
    chunk(client, 0)
    client.core.disconnected()
    client.take(client.core.resume(1))
    assert client.acknowledged == 1
    client.batch(*records, sequence=2)
    for index in range(SIX):
        chunk(client, index)
    np.testing.assert_array_equal(client.fetch(2), DATA)
    assert client.fetch(1)[0] == 1  # once, not twice


def test_resume_in_the_middle_of_a_fetch() -> None:
    client = make()
    client.upload(1, DATA)
    client.pause_credit = True
    record = ["fetch", 3, [ref(1)], None]
    client.batch(record)
    client.core.disconnected()
    assert client.core.executed == 1
    client.take(client.core.resume(1))
    assert not client.failed
    client.pause_credit = False
    client.batch(record, sequence=2)
    np.testing.assert_array_equal(client.values[3], DATA)


def test_a_large_answer_lost_after_it_left_is_an_error() -> None:
    client = make()
    client.upload(1, DATA)
    client.batch(["fetch", 3, [ref(1)], None])
    client.take(client.core.resume(1))
    assert "link broke" in client.failed[3].message


def test_queued_batches_are_forgotten_with_the_link() -> None:
    client = make()
    announce(client, 1)
    client.batch(["add", [out(2, "f8", (COUNT,))], [ref(1), 1.0], None])
    client.core.disconnected()
    assert client.core.executed == 0
    announce_again = [TRANSFER, 80, "<f8", [COUNT], "C"]
    client.batch(["upload", [out(1, "f8", (COUNT,))], [announce_again], None], sequence=1)
    for index in range(SIX):
        chunk(client, index, 80)
    client.batch(["add", [out(2, "f8", (COUNT,))], [ref(1), 1.0], None])
    assert client.acknowledged == 2
    assert not client.failures


def test_kept_answers_are_bounded() -> None:
    client = make()
    client.upload(1, np.zeros(m.INLINE_LIMIT_BYTES // 8))
    for request in range(80):
        client.batch(*[["fetch", request * 2 + i, [ref(1)], None] for i in range(2)])
    assert client.core._kept_bytes <= 64 << 20


def test_the_window_is_bounded() -> None:
    client = make()
    announce(client, 1)
    while client.core.ended is None:
        client.batch()
    assert client.sequence == m.BATCH_WINDOW + 2
    assert isinstance(client.replies[-1], m.Bye)


def test_null_device_swallows_everything() -> None:
    client = make(NullDevice())
    announce(client, 1)
    for index in range(SIX):
        chunk(client, index)
    client.batch(
        ["add", [out(2, "f8", (COUNT,))], [ref(1), ref(1)], None],
        ["view", [out(3, "f8", (2,), [-8])], [ref(2), 8], None],
    )
    assert not client.failures
    assert client.fetch(2).sum() == 0
    assert client.fetch(3).shape == (2,)
    client.batch(["divmod", [[5], [6]], [ref(1), 2.0], None])
    assert "computes nothing" in client.failures[0].message
    client.batch(["view", [out(7, "f8", (2,), [-8])], [ref(2), 0], None])
    assert client.failures[1].error == "ProtocolViolation"
