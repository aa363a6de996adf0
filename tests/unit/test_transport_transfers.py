"""Chunks and credits, without a carrier."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cupool.errors import ProtocolViolation
from cupool.proto.messages import CHUNK_BYTES, CHUNK_CREDITS, Chunk, decode
from cupool.transport.transfers import Incoming, Outgoing


@given(st.integers(0, 40), st.integers(1, 9), st.randoms(use_true_random=False))
def test_any_interleaving_delivers_every_byte(size: int, chunk: int, random: object) -> None:
    data = bytes(range(size))
    destination = bytearray(size)
    outgoing = Outgoing(1, data, chunk_bytes=chunk)
    incoming = Incoming(1, destination)
    under_way: deque[tuple[Chunk, bytes]] = deque()
    credits: deque[int] = deque()
    while not (outgoing.done and incoming.done):
        for header, payload in outgoing.chunks():
            message = decode([header, payload])
            assert isinstance(message, Chunk)
            under_way.append((message, bytes(payload)))
        assert len(under_way) + len(credits) <= CHUNK_CREDITS
        if under_way and (not credits or random.random() < 0.5):  # type: ignore[attr-defined]
            message, payload_bytes = under_way.popleft()
            if granted := incoming.accept(message.offset, payload_bytes):
                credits.append(granted)
        elif credits:
            granted = credits.popleft()
            if not outgoing.done:
                outgoing.credit(granted)
    assert destination == data
    assert incoming.received_bytes == size


def test_arrays_are_sent_from_and_received_into_their_own_memory() -> None:
    source = np.arange(6, dtype=np.complex128).reshape(2, 3)
    target = np.empty_like(source)
    outgoing, incoming = Outgoing(3, source.data), Incoming(3, target.data)
    for header, payload in outgoing.chunks():
        message = decode([header])
        assert isinstance(message, Chunk)
        assert incoming.accept(message.offset, payload) == 0
    assert incoming.done
    assert (source == target).all()


def test_an_empty_payload_is_done_at_once() -> None:
    assert Outgoing(1, np.empty((0, 3)).data).done
    assert Incoming(1, np.empty((0, 3)).data).done


def test_without_credit_nothing_is_handed_out() -> None:
    outgoing = Outgoing(1, bytes(100), chunk_bytes=1)
    assert len(list(outgoing.chunks())) == CHUNK_CREDITS
    assert not list(outgoing.chunks())
    outgoing.credit(2)
    assert len(list(outgoing.chunks())) == 2


@pytest.mark.parametrize("chunks", [0, -1, CHUNK_CREDITS + 1])
def test_senseless_credits_are_violations(chunks: int) -> None:
    outgoing = Outgoing(1, bytes(100), chunk_bytes=1)
    list(outgoing.chunks())
    with pytest.raises(ProtocolViolation):
        outgoing.credit(chunks)


@pytest.mark.parametrize(
    ("offset", "size"),
    [(1, 1), (-1, 1), (0, 0), (0, 5), (0, CHUNK_BYTES + 1)],
    ids=["out of order", "negative", "empty", "past the end", "too large"],
)
def test_misplaced_chunks_are_violations(offset: int, size: int) -> None:
    destination = bytearray(4)
    incoming = Incoming(1, destination)
    with pytest.raises(ProtocolViolation):
        incoming.accept(offset, bytes(size))
    assert destination == bytes(4)


def test_the_destination_must_be_writable() -> None:
    with pytest.raises(ValueError, match="writable"):
        Incoming(1, b"abc")
