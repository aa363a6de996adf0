"""Copies between two sessions: offers, pulls, and who may pull what."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from cupool.pool_server.devices.mock import MockDevice
from cupool.pool_server.session import exchange, giving
from cupool.pool_server.session.loopback import Loopback, out, ref
from cupool.pool_server.session.worker import SessionCore
from cupool.proto import messages as m
from cupool.proto.values import LIST
from cupool.transport.channel import connect

DATA = np.arange(5 * m.CHUNK_BYTES // 8 + 3.0)


class _Distant(MockDevice):
    """A device whose memory the host cannot reach."""

    def host_memory(self, array: object) -> None:
        return None


@pytest.fixture(params=["unix://", "zmq+tcp://127.0.0.1:0"])
def carrier(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def make() -> Iterator[Any]:
    cores: list[SessionCore] = []

    def one(url: str = "unix://", device: type[MockDevice] = MockDevice) -> Loopback:
        cores.append(SessionCore(device(memory_bytes=1 << 28), exchange_urls=[url]))
        return Loopback(cores[-1])

    yield one
    for core in cores:
        core.close()


def address(source: Loopback) -> tuple[str, str]:
    (url,), secret = source.ask("exchange")
    return url, secret


def offer(source: Loopback, handle: int, *tokens: str) -> None:
    source.batch(["offer", [], [ref(handle), [LIST, list(tokens)]], None])


def pull(
    target: Loopback, where: tuple[str, str], token: str, handle: int, like: Any, order: str = "C"
) -> None:
    spec = out(handle, like.dtype, like.shape, order)
    target.batch(["pull", [spec], [*where, token, "rank 1"], None])


@pytest.mark.parametrize("device", [MockDevice, _Distant])
def test_an_array_goes_from_session_to_session(make: Any, carrier: str, device: Any) -> None:
    source, target = make(carrier, device), make(carrier, device)
    where = address(source)
    for number, array in enumerate((DATA, np.asfortranarray(DATA[:12].reshape(3, 4)), DATA[:0]), 1):
        source.upload(number, array)
        offer(source, number, f"token{number}")
        source.batch(["fill", [], [ref(number), 0.0], None])  # later: changes nothing
        order = "C" if array.flags.c_contiguous else "F"
        pull(target, where, f"token{number}", number, array, order)
        np.testing.assert_array_equal(target.fetch(number), array)
    assert target.failures == source.failures == []


def test_a_server_that_answers_is_found(make: Any, carrier: str) -> None:
    source, target = make(carrier), make()
    url, secret = address(source)
    nobody = "unix://@cupool-nobody-is-here"
    assert target.ask("reach", [LIST, [nobody, url]], secret) == 1
    assert target.ask("reach", [LIST, [nobody]], secret) == -1
    assert target.ask("reach", [LIST, [url]], "another secret") == -1


def test_who_does_not_know_the_secret_gets_nothing(make: Any) -> None:
    source, target = make(), make()
    url, _ = address(source)
    source.upload(1, DATA)
    offer(source, 1, "token")
    pull(target, (url, "0" * 32), "token", 1, DATA)
    assert "the secret is not this session's" in target.failures[0].message


def test_a_token_is_good_for_one_pull(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = make(), make()
    where = address(source)
    source.upload(1, DATA)
    offer(source, 1, "first", "second")
    pull(target, where, "first", 1, DATA)
    pull(target, where, "second", 2, DATA)
    monkeypatch.setattr(exchange, "OFFERED_WITHIN_S", 0.1)
    pull(target, where, "first", 3, DATA)
    assert [failure.message for failure in target.failures] == ["rank 1 gave nothing in time"]
    np.testing.assert_array_equal(target.fetch(2), DATA)


def test_nothing_goes_on_for_a_client_that_has_gone(make: Any) -> None:
    """What waits for another session is left, not asked for again and again."""
    source, target = make(), make()
    spec = out(1, DATA.dtype, DATA.shape, "C")
    record = ["pull", [spec], [*address(source), "nobody offers this", "rank 1"], None]
    target.core.forsaken = lambda: True
    target.core.execute(m.Batch(1, [record, ["fill", [], [ref(1), 0.0], None]]), more=True)
    assert target.core.halted
    assert not target.core.unfinished


def test_a_token_is_not_given_twice(make: Any) -> None:
    source = make()
    source.upload(1, DATA)
    offer(source, 1, "token")
    offer(source, 1, "token")
    assert "in use" in source.failures[0].message


def test_what_failed_at_the_source_is_told_at_the_target(make: Any) -> None:
    source, target = make(), make()
    where = address(source)
    source.upload(1, DATA)
    source.batch(["reshape", [out(2, "f8", (7,))], [ref(1), [LIST, [7]]], None])
    offer(source, 2, "token")
    pull(target, where, "token", 1, DATA[:7])
    target.batch(["fetch", 5, [ref(1)], None])
    assert target.failed[5].message == source.failures[0].message
    assert len(source.failures) == 1  # the offer itself reports nothing new


def test_other_bytes_than_promised_are_refused(make: Any) -> None:
    source, target = make(), make()
    source.upload(1, DATA)
    offer(source, 1, "token")
    pull(target, address(source), "token", 1, DATA[:4])
    assert "32 bytes were promised" in target.failures[0].message


def test_sessions_that_pull_from_each_other(make: Any) -> None:
    """Each pulls before the other has offered: they wait, and neither blocks the other."""
    one, two = make(), make()
    places = {id(one): address(one), id(two): address(two)}

    def work(mine: Loopback, other: Loopback) -> None:
        mine.upload(1, DATA)
        for step in range(5):
            offer(mine, 1, f"{step} of {places[id(mine)][0]}")
            pull(mine, places[id(other)], f"{step} of {places[id(other)][0]}", 10 + step, DATA)

    threads = [threading.Thread(target=work, args=pair) for pair in ((one, two), (two, one))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    for each in (one, two):
        assert each.failures == []
        np.testing.assert_array_equal(each.fetch(14), DATA)


def test_an_offer_waits_for_room(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = make(), make()
    where = address(source)
    monkeypatch.setattr(giving, "OFFERED_BYTES", DATA.nbytes + 1)
    source.upload(1, DATA)
    offer(source, 1, "first")
    waits = threading.Thread(target=offer, args=(source, 1, "second"))
    waits.start()
    waits.join(0.05)
    assert waits.is_alive()
    pull(target, where, "first", 1, DATA)
    waits.join(30)
    assert not waits.is_alive()
    pull(target, where, "second", 2, DATA)
    np.testing.assert_array_equal(target.fetch(2), DATA)


def test_a_giver_that_goes_away(make: Any, carrier: str) -> None:
    source, target = make(carrier), make()
    where = address(source)
    waits = threading.Thread(target=pull, args=(target, where, "never offered", 1, DATA))
    waits.start()
    source.core.close()
    waits.join(30)
    assert not waits.is_alive()
    (failure,) = target.failures  # by how far the pull had come
    assert "the session of rank 1 has ended" in failure.message or (
        "the copy from rank 1 failed: nobody answered" in failure.message
    )


def test_a_giver_tells_how_many_tokens_are_used_up(make: Any) -> None:
    source, target = make(), make()
    where = address(source)
    source.upload(1, DATA)
    source.batch(["reshape", [out(2, "f8", (7,))], [ref(1), [LIST, [7]]], None])
    offer(source, 1, "one", "two", "left")
    offer(source, 2, "failed")
    for number, token in enumerate(("one", "two", "failed"), 1):
        pull(target, where, token, number, DATA)
    channel = connect(where[0], 5.0)
    told = -1
    while told != 3:  # the giver notes it after the puller has it
        channel.send([m.encode(m.Hello(1, 1, where[1], ""))], 5.0)
        frames = channel.receive(5.0)
        assert frames is not None
        told = m.decode(frames).token
        assert told <= 3
    channel.close(0)


def test_a_giver_whose_script_stays_away(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = make(), make()
    where = address(source)
    source.upload(1, DATA)
    offer(source, 1, "offered")
    monkeypatch.setattr(giving, "AWAY_WITHIN_S", 0.0)
    source.core.disconnected()
    pull(target, where, "offered", 1, DATA)
    pull(target, where, "never offered", 2, DATA)
    (failure,) = target.failures
    assert "rank 1 refused: its script has been away" in failure.message
    source.core.resume(0)
    offer(source, 1, "offered late")
    pull(target, where, "offered late", 3, DATA)
    np.testing.assert_array_equal(target.fetch(3), DATA)


@pytest.mark.parametrize("url", ["unix:///etc/socket", "http://host", "inproc://x", "", 7])
def test_addresses_that_no_giver_has(make: Any, url: Any) -> None:
    target = make()
    target.batch(["pull", [out(1, "f8", (3,))], [url, "secret", "token", "rank 1"], None])
    assert [failure.error for failure in target.failures] == ["ProtocolViolation"]


def test_a_stranger_learns_nothing(make: Any) -> None:
    url, _ = address(make())
    channel = connect(url, 5.0)
    channel.send([m.encode(m.Hello(1, 1, "guess", "token"))], 5.0)
    frames = channel.receive(5.0)
    assert frames is not None
    assert isinstance(m.decode(frames), m.Refuse)
    channel.close()
