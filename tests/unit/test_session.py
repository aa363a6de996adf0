"""Handshake and loss of a session: whose fault it is, and what to do."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from cupool.client_shim import handshake, lease, session
from cupool.config import load
from cupool.errors import (
    AccessDenied,
    LeaseLost,
    PoolError,
    PoolUnreachable,
    ProtocolMismatch,
    ProtocolViolation,
    SessionClosed,
)
from cupool.proto import messages as m
from cupool.proto import versions
from cupool.transport.channel import Channel, ChannelClosed

GRANTED = lease.GrantedDevice(
    "lab", 0, "cupool mock GPU", "mock", "s1", "secret", ("inproc://x",), 1 << 30
)
BUSY = m.Refuse("busy", "one moment")
DEVICE = m.DeviceInfo("cupool mock GPU", "mock", 1 << 30, "9.0", "lab", 0)


class Answering(Channel):
    """Gives one answer to the first message, then is closed."""

    url = "inproc://x"

    def __init__(self, *answers: m.Message) -> None:
        self.answers = list(answers)
        self.sent: list[m.Message] = []

    def send(self, frames: Sequence[m.Frame], timeout_s: float | None = None) -> None:
        self.sent.append(m.decode(frames))

    def receive(self, timeout_s: float | None = None) -> list[m.Frame] | None:
        if not self.answers:
            raise ChannelClosed("the peer hung up")
        return [m.encode(self.answers.pop(0))]

    gone = False

    def close(self, linger_s: float = 1.0) -> None:
        self.answers.clear()

    def abandon(self) -> None:
        self.answers.clear()


def opened(monkeypatch: pytest.MonkeyPatch, *answers: m.Message) -> session.DeviceSession:
    channel = Answering(*answers)
    monkeypatch.setattr(handshake, "connect", lambda url, timeout_s: channel)
    monkeypatch.setattr(lease, "explain", lambda settings, id: ("worker_died", "worker 7 died"))
    return session.DeviceSession(0, GRANTED, load({}, {}, []).settings)


def test_hello_names_versions_and_token(monkeypatch: pytest.MonkeyPatch) -> None:
    one = opened(monkeypatch, m.Welcome(1, "s1", DEVICE))
    one.welcome()
    assert one.info == DEVICE
    (hello,) = one.channel.sent  # type: ignore[attr-defined]
    assert (hello.minimum, hello.current) == (versions.MINIMUM, versions.CURRENT)
    assert hello.token == "secret"


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (m.Refuse("version", "no", 7, 9), ProtocolMismatch, "upgrade this client"),
        (m.Refuse("version", "no", 0, 0), ProtocolMismatch, "upgrade server lab"),
        (m.Refuse("denied", "wrong token"), AccessDenied, "wrong token"),
        (m.Refuse("lost", "too late"), LeaseLost, "too late"),
        (m.Ping(1), ProtocolViolation, "answered Hello with Ping"),
    ],
)
def test_another_answer_says_whose_fault_it_is(
    answer: m.Message, error: type[PoolError], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(error, match=words):
        opened(monkeypatch, answer).welcome()


def test_no_answer_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    one = opened(monkeypatch)
    monkeypatch.setattr(one.channel, "receive", lambda timeout_s: None)
    with pytest.raises(PoolUnreachable, match="did not answer"):
        handshake.receive_welcome(one.channel, GRANTED, timeout_s=0.01)


def test_a_lost_session_says_what_died_and_stays_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    one = opened(monkeypatch, m.Welcome(1, "s1", DEVICE))
    one.welcome()
    for _ in range(2):
        with pytest.raises(LeaseLost, match="worker 7 died") as raised:
            one.synchronize()
    assert "cupool status" in raised.value.remedy
    assert not one.open


def test_a_closed_session_is_the_users_own_doing(monkeypatch: pytest.MonkeyPatch) -> None:
    one = opened(monkeypatch, m.Welcome(1, "s1", DEVICE))
    one.welcome()
    one.close()
    with pytest.raises(SessionClosed):
        one.emit("zeros", (), None, ())


@pytest.mark.parametrize(
    ("states", "answers", "resumed"),
    [
        ([], [m.Welcome(1, "s1", DEVICE, 7)], True),
        (["running"], [BUSY, m.Welcome(1, "s1", DEVICE, 7)], True),
        (["worker_died"], [BUSY], False),
        (["running", "worker_died"], [BUSY, BUSY], False),
    ],
)
def test_a_link_is_resumed_while_the_session_runs(
    states: list[str], answers: list[m.Message], resumed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handshake, "RETRY_PAUSE_S", 0)
    monkeypatch.setattr(lease, "explain", lambda settings, id: (states.pop(0), ""))
    channels = [Answering(answer) for answer in answers]
    left = list(channels)
    monkeypatch.setattr(handshake, "connect", lambda url, timeout_s: left.pop(0))
    found = handshake.resume(load({}, {}, []).settings, GRANTED, 5)
    assert (found is not None) is resumed
    assert states == [] and left == []
    if found is not None:
        assert found == (channels[-1], 7)
        (hello,) = channels[-1].sent
        assert isinstance(hello, m.Hello) and hello.resume_after == 5


def test_nobody_knows_and_nobody_answers_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handshake, "RETRY_PAUSE_S", 0)
    monkeypatch.setattr(handshake, "UNEXPLAINED_WITHIN_S", 0.05)
    monkeypatch.setattr(lease, "explain", lambda settings, id: ("broker_unreachable", ""))

    def nobody(url: str, timeout_s: float) -> Channel:
        raise PoolUnreachable("nobody")

    monkeypatch.setattr(handshake, "connect", nobody)
    assert handshake.resume(load({}, {}, []).settings, GRANTED, 5) is None
