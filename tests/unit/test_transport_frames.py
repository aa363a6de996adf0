"""Parts, windows: what goes in comes out, and nothing else is believed."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cupool.errors import ProtocolViolation
from cupool.proto.messages import MAX_PAYLOADS
from cupool.transport import frames as wire

sizes = st.lists(st.sampled_from([0, 1, 15, 16, 17, 4000, 8191, 8192, 70_000]), min_size=1)


@given(sizes)
def test_a_message_survives_packing(lengths: list[int]) -> None:
    frames = [bytes([number % 251]) * length for number, length in enumerate(lengths)]
    (first, *apart), size = wire.pack(frames)
    assert [len(part) for part in apart] == wire.apart_lengths(bytes(first))
    unpacked = wire.unpack(bytes(first), [memoryview(part) for part in apart])
    assert [bytes(frame) for frame in unpacked] == frames
    assert size == wire.message_size(unpacked) == wire.checked_size(frames)


def test_inlined_frames_are_aligned() -> None:
    values = np.arange(10.0)
    (first, *apart), _ = wire.pack([b"abc", values.data, b"d", values.data])
    assert not apart
    for frame in wire.unpack(bytes(first))[1::2]:
        array = np.frombuffer(frame, np.float64)
        assert array.flags.aligned
        assert (array == values).all()


def test_large_frames_are_not_copied() -> None:
    large = bytearray(1 << 20)
    (_, part), _ = wire.pack([b"header", large])
    assert isinstance(part, memoryview)
    assert part.obj is large


def test_frames_of_any_contiguous_memory_are_taken() -> None:
    matrix = np.arange(20_000, dtype=np.int32).reshape(100, 200)
    (first, *apart), _ = wire.pack([matrix.data])
    (frame,) = wire.unpack(bytes(first), [memoryview(part) for part in apart])
    assert bytes(frame) == matrix.tobytes()


@pytest.mark.parametrize(
    "frames",
    [
        [],
        [b""] * (MAX_PAYLOADS + 2),
        [bytes(wire.FRAME_LIMIT_BYTES + 1)],
        [bytes(wire.FRAME_LIMIT_BYTES)] * 9,
    ],
    ids=["none", "too many", "a large one", "too large together"],
)
def test_what_is_over_the_limits_is_not_packed(frames: list[bytes]) -> None:
    with pytest.raises(ProtocolViolation):
        wire.pack(frames)
    with pytest.raises(ProtocolViolation):
        wire.checked_size(frames)


@given(st.binary(max_size=40), st.lists(st.binary(max_size=9), max_size=3))
def test_arbitrary_parts_are_a_message_or_a_violation(first: bytes, apart: list[bytes]) -> None:
    try:
        frames = wire.unpack(first, [memoryview(part) for part in apart])
    except ProtocolViolation:
        return
    assert sum(len(frame) for frame in frames) <= len(first) + sum(map(len, apart))


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"\x09",
        b"\x01",
        struct.pack("<B3xI", 1, 0),
        struct.pack("<B3xI", 1, MAX_PAYLOADS + 2) + bytes(4 * MAX_PAYLOADS + 8),
        struct.pack("<B3xII", 1, 1, 100) + b"short",
        struct.pack("<B3xII", 1, 1, 0) + bytes(100),
        struct.pack("<B3xII", 1, 1, 5 | 1 << 31) + bytes(4),
    ],
)
def test_lies_in_the_first_part_are_violations(first: bytes) -> None:
    with pytest.raises(ProtocolViolation):
        wire.unpack(first)


def test_announced_sizes_are_limited_before_anything_is_read() -> None:
    huge = struct.pack("<BB2xII", 1, 1, 1, (wire.FRAME_LIMIT_BYTES + 1) | 1 << 31)
    with pytest.raises(ProtocolViolation):
        wire.apart_lengths(huge)


def test_closing_reasons_are_cut_and_decoded() -> None:
    assert wire.closing_reason(wire.closing("why: ä")) == "why: ä"
    assert len(wire.closing("x" * 10_000)) < 600
    assert wire.closing_reason(b"\x03\xff") == "\N{REPLACEMENT CHARACTER}"


class TestWindows:
    @given(st.lists(st.integers(1, wire.MESSAGE_LIMIT_BYTES), max_size=300))
    def test_a_receiver_that_takes_everything_never_stalls_its_sender(
        self, lengths: list[int]
    ) -> None:
        sender, receiver = wire.SendWindow(), wire.ReceiveWindow()
        for length in lengths:
            assert sender.admit(length)
            wire.check_window([], length)
            if receiver.taken(length):
                sender.credit(receiver.credit())
                receiver.credited()

    def test_a_receiver_that_takes_nothing_stops_its_sender(self) -> None:
        sender = wire.SendWindow()
        waiting: list[int] = []
        while sender.admit(1 << 20):
            wire.check_window(waiting, 1 << 20)
            waiting.append(1 << 20)
        assert sum(waiting) == wire.WINDOW_BYTES
        with pytest.raises(ProtocolViolation):
            wire.check_window(waiting, 1 << 20)

    def test_small_messages_are_counted(self) -> None:
        sender = wire.SendWindow()
        sent = sum(sender.admit(64) for _ in range(1000))
        assert sent == wire.WINDOW_MESSAGES
        sender.unsent(64)
        assert sender.admit(64)
        assert not sender.admit(64)

    @pytest.mark.parametrize("part", [b"\x04", struct.pack("<BQQ", 4, 2, 1)])
    def test_credits_for_what_was_not_sent_are_violations(self, part: bytes) -> None:
        sender = wire.SendWindow()
        assert sender.admit(100)
        with pytest.raises(ProtocolViolation):
            sender.credit(part)
