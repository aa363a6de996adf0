"""Who may connect to a session, and how it ends: one thread, a clock of our own, no process."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from cupool.pool_server.devices.mock import MockDevice, MockOptions
from cupool.pool_server.session import control
from cupool.pool_server.session.link import ControlLink
from cupool.pool_server.session.serving import MAX_PENDING, Serving
from cupool.pool_server.session.turns import Turns
from cupool.pool_server.session.worker import SessionCore
from cupool.proto import messages as m
from cupool.proto import versions
from cupool.transport.channel import Channel, ChannelClosed, connect, listen

TOKEN = "täglich"
FETCH = ["fetch", 5, [[0, 1]], None]
EMPTY = ["empty", [[1, "<f8", [2], "C"]], [], None]


class Session:
    """A session, its daemon and its clients in one thread."""

    def __init__(self, urls: int = 1, memory_bytes: int = 1 << 28) -> None:
        self.now = 1000.0
        self.listeners = [listen("inproc://") for _ in range(urls)]
        self.daemon, theirs = socket.socketpair()
        self.theirs = theirs
        self.daemon.setblocking(False)
        self.framer = control.Framer()
        self.told: list[control.Control] = []
        opening = control.Open("s1", TOKEN, "mock", 0, "srv", 0, [], 10.0, 30.0)
        self.core = SessionCore(MockDevice(memory_bytes=memory_bytes))
        self.serving = Serving(
            opening, self.core, self.listeners, ControlLink(theirs), lambda: self.now
        )
        self.ended: control.Ended | None = None

    def step(self, times: int = 1) -> None:
        for _ in range(times):
            if self.ended is None:
                self.serving.step()

    def run(self) -> control.Ended:
        """Serve to the end, which must be near."""
        self.ended = self.serving.run()
        return self.ended

    def later(self, seconds: float) -> None:
        self.now += seconds

    def listen_to_daemon(self) -> list[control.Control]:
        try:
            return self.framer.feed(self.daemon.recv(1 << 16))
        except BlockingIOError:
            return []

    def client(
        self, token: str = TOKEN, resume_after: int = 0, version: int = 1, url: int = 0
    ) -> tuple[Channel, m.Message]:
        """Connect, say Hello, return the first answer."""
        channel = connect(self.listeners[url].url)
        send(channel, m.Hello(version, version, token, "test", resume_after))
        self.later(1)
        self.step(2)
        return channel, receive(channel)


def send(channel: Channel, message: object, *payloads: bytes) -> None:
    channel.send([m.encode(message), *payloads])


def receive(channel: Channel) -> m.Message:
    frames = channel.receive(0)
    assert frames is not None
    return m.decode(frames)


@pytest.fixture
def session() -> Iterator[Session]:
    session = Session()
    yield session
    for listener in session.listeners:
        listener.close()
    session.daemon.close()
    session.theirs.close()


def test_welcome_and_work(session: Session) -> None:
    channel, welcome = session.client()
    assert isinstance(welcome, m.Welcome)
    assert welcome.session == "s1"
    assert welcome.device.kind == "mock"
    assert welcome.executed == 0
    send(channel, m.Batch(1, [EMPTY, FETCH]))
    session.step()
    assert isinstance(receive(channel), m.Value)
    # The Ack of a batch that was answered may wait for the next, or for a quiet moment.
    assert channel.receive(0) is None
    send(channel, m.Batch(2, [["free", [], [1], None]]))
    session.step()
    assert receive(channel) == m.Ack(2)
    send(channel, m.Bye("closed"))
    assert session.run() == control.Ended("s1", "closed", "")


def test_a_quiet_moment_brings_the_ack(session: Session) -> None:
    channel, _ = session.client()
    send(channel, m.Batch(1, [EMPTY, FETCH]))
    session.step(2)
    assert isinstance(receive(channel), m.Value)
    assert receive(channel) == m.Ack(1)


@pytest.mark.parametrize("token", ["", "wrong", TOKEN + "x"])
def test_wrong_token(session: Session, token: str) -> None:
    _, answer = session.client(token)
    assert isinstance(answer, m.Refuse)
    assert answer.reason == "denied"
    _, answer = session.client()
    assert isinstance(answer, m.Welcome)


def test_version_mismatch_names_both(session: Session) -> None:
    _, answer = session.client(version=99)
    assert isinstance(answer, m.Refuse)
    assert answer.reason == "version"
    assert "99" in answer.message
    assert (answer.minimum, answer.current) == (versions.MINIMUM, versions.CURRENT)


def test_second_client_is_told_that_it_is_busy(session: Session) -> None:
    first, _ = session.client()
    second, answer = session.client()
    assert isinstance(answer, m.Refuse)
    assert answer.reason == "busy"
    with pytest.raises(ChannelClosed):
        second.receive(0)
    send(first, m.Ping(3))
    session.step()
    assert receive(first) == m.Pong(3)


def test_strangers_do_not_disturb(session: Session) -> None:
    first, _ = session.client()
    silent = [connect(session.listeners[0].url) for _ in range(MAX_PENDING + 3)]
    rude = [connect(session.listeners[0].url) for _ in range(3)]
    rude[0].send([b"\xff\xff"])
    rude[1].send([m.encode(m.Ping(1))])
    rude[2].send([b""])
    session.later(1)
    session.step()
    session.later(10)
    session.step(2)
    for channel in [*silent, *rude]:
        with pytest.raises(ChannelClosed):
            while channel.receive(0) is not None:
                pass
    send(first, m.Ping(3))
    session.step()
    assert receive(first) == m.Pong(3)


def test_any_of_several_addresses() -> None:
    session = Session(urls=3)
    _, answer = session.client(url=2)
    assert isinstance(answer, m.Welcome)
    _, answer = session.client(url=1)
    assert isinstance(answer, m.Refuse)
    session.daemon.close()
    session.later(1)
    assert session.run().state == "failed"
    session.theirs.close()


def test_no_client_comes(session: Session) -> None:
    session.later(9)
    session.step()
    session.later(2)
    ended = session.run()
    assert ended.state == "client_lost"
    assert "10 s" in ended.message


def test_resume(session: Session) -> None:
    channel, _ = session.client()
    send(channel, m.Batch(1, [EMPTY]))
    session.step()
    send(channel, m.Batch(2, [FETCH, ["nope", [], [], None]]))
    session.step(2)
    channel.close()
    session.step()
    session.later(29)
    session.step()
    channel, welcome = session.client(resume_after=1)
    assert isinstance(welcome, m.Welcome)
    assert welcome.executed == 2
    missed = [receive(channel) for _ in range(3)]
    assert isinstance(missed[0], m.Ack) and len(missed[0].failures) == 1
    assert isinstance(missed[1], m.Value)
    assert missed[2] == m.Ack(2)
    send(channel, m.Batch(2, [["nope", [], [], None]]))
    send(channel, m.Batch(3, []))
    session.step()
    assert receive(channel) == m.Ack(3)


def test_resume_with_a_wrong_token(session: Session) -> None:
    channel, _ = session.client()
    send(channel, m.Batch(1, []))
    session.step()
    channel.close()
    session.step()
    _, answer = session.client("wrong", resume_after=1)
    assert isinstance(answer, m.Refuse)
    _, answer = session.client(resume_after=1)
    assert isinstance(answer, m.Welcome)


def test_resume_of_what_never_was(session: Session) -> None:
    channel, _ = session.client()
    channel.close()
    session.step()
    _, answer = session.client(resume_after=3)
    assert isinstance(answer, m.Refuse)
    assert answer.reason == "lost"


def test_a_client_back_before_its_loss_was_noticed(session: Session) -> None:
    old, _ = session.client()
    send(old, m.Batch(1, [EMPTY]))
    session.step()
    _, welcome = session.client(resume_after=1)
    assert isinstance(welcome, m.Welcome)
    assert receive(old) == m.Ack(1)
    bye = receive(old)
    assert isinstance(bye, m.Bye) and bye.reason == "replaced"


def test_client_lost(session: Session) -> None:
    channel, _ = session.client()
    channel.close()
    session.step()
    session.later(31)
    ended = session.run()
    assert ended.state == "client_lost"
    assert "30 s" in ended.message


def test_protocol_violation_ends_the_session(session: Session) -> None:
    channel, _ = session.client()
    channel.send([b"garbage"])
    ended = session.run()
    assert ended.state == "failed"
    assert isinstance(bye := receive(channel), m.Bye) and bye.reason == "protocol"


@pytest.mark.parametrize(
    ("reason", "state"), [("drained", "drained"), ("released", "released"), ("moved", "released")]
)
def test_close_command(session: Session, reason: str, state: str) -> None:
    channel, _ = session.client()
    session.daemon.sendall(control.encode(control.Close(reason, "because")))
    session.later(1)
    assert session.run() == control.Ended("s1", state, "because")
    assert receive(channel) == m.Bye(reason, "because")


def test_daemon_gone(session: Session) -> None:
    channel, _ = session.client()
    session.daemon.close()
    session.later(1)
    assert session.run().state == "failed"
    assert isinstance(bye := receive(channel), m.Bye) and bye.reason == "server_lost"


def test_garbage_from_the_daemon(session: Session) -> None:
    session.daemon.sendall(b"\xff" * 64)
    assert session.run().state == "failed"


def test_reports_while_something_changes(session: Session) -> None:
    session.step()
    assert session.listen_to_daemon() == [control.Report("s1", False, 0, 0)]
    channel, _ = session.client()
    session.listen_to_daemon()
    send(channel, m.Batch(1, [EMPTY]))
    session.later(2)
    session.step(2)
    assert session.listen_to_daemon() == [control.Report("s1", True, 512, 1)]
    session.later(2)
    session.step()
    assert session.listen_to_daemon() == []


def test_a_transfer_without_progress_is_a_lost_link(session: Session) -> None:
    channel, _ = session.client()
    source = [10, 7, "<f8", [1 << 20], "C"]
    send(channel, m.Batch(1, [["upload", [[1, "<f8", [1 << 20], "C"]], [source], None]]))
    session.step()
    assert session.core.transferring
    session.later(29)
    session.step()
    assert session.core.transferring
    session.later(2)
    session.step()
    assert not session.core.transferring
    session.later(31)
    assert session.run().state == "client_lost"


def test_a_client_that_takes_nothing_is_lost(session: Session) -> None:
    channel, _ = session.client()
    block = ["empty", [[1, "|u1", [1 << 20], "C"]], [], None]
    send(channel, m.Batch(1, [block, *[["fetch", i, [[0, 1]], None] for i in range(40)]]))
    clock = iter(range(2000, 9000, 16))
    session.serving._clock = lambda: float(next(clock))
    ended = session.run()
    assert ended.state == "client_lost"
    assert "took nothing" in ended.message


def test_a_dead_device_ends_the_session(session: Session) -> None:
    session.core.device.options = MockOptions(fail_after=1)  # type: ignore[attr-defined]
    channel, _ = session.client()
    send(channel, m.Batch(1, [["synchronize", 1, [], None], ["synchronize", 2, [], None]]))
    ended = session.run()
    assert ended.state == "failed"
    assert "cudaErrorIllegalAddress" in ended.message
    kinds = [type(receive(channel)) for _ in range(3)]
    assert kinds == [m.Value, m.Failed, m.Bye]


def queue(session: Session, batches: int, *last: m.Message) -> Channel:
    """Let a client queue batches, and end while they wait."""
    channel, _ = session.client()
    for number in range(1, batches + 1):
        send(channel, m.Batch(number, [["empty", [[number, "<f8", [2], "C"]], [], None]]))
    for message in last:
        send(channel, message)
    channel.close()
    session.later(1)  # a look at everything else is due after each batch
    return channel


def test_what_a_dead_client_had_queued_is_dropped_and_it_may_come_back(session: Session) -> None:
    queue(session, 10)
    session.step()
    assert session.ended is None and 0 < session.core.executed <= 2
    done = session.core.executed
    channel, welcome = session.client(resume_after=done)
    assert isinstance(welcome, m.Welcome) and welcome.executed == done
    send(channel, m.Batch(done + 1, [["empty", [[99, "<f8", [2], "C"]], [], None]]))
    session.step()
    assert session.core.executed == done + 1


def test_what_a_client_queued_before_it_said_bye_is_done(session: Session) -> None:
    queue(session, 10, m.Bye("closed"))
    assert session.run() == control.Ended("s1", "closed", "")
    assert session.core.executed == 10


def test_a_client_that_says_bye_without_hearing_the_answers_has_left(session: Session) -> None:
    channel, _ = session.client()
    send(channel, m.Batch(1, [EMPTY, FETCH]))
    send(channel, m.Batch(2, [["fetch", 6, [[0, 1]], None]]))
    send(channel, m.Bye("closed"))
    channel.close()  # the answer of the first batch reaches nobody
    assert session.run() == control.Ended("s1", "closed", "")
    assert session.core.executed == 2


class OneByOne(Turns):
    """Looks after each record whether the batch may go on, as for records that take long."""

    device_time_s = 0.0

    def __init__(self) -> None:
        self.end: Channel | None = None

    def run(self, execute: Any, records: Any, start: int, payloads: Any, stopped: Any) -> int:
        position = start
        while position < len(records):
            position = execute(records[: position + 1], position, payloads)
            if self.end is not None:
                self.end.close()  # the client dies while a record is executed
            if stopped():
                break
        return position


@pytest.mark.parametrize("said", [(), (m.Bye("closed"),)], ids=["killed", "bye"])
def test_a_long_batch_is_left_when_its_client_dies(session: Session, said: Any) -> None:
    turns = session.core._turns = OneByOne()
    channel, _ = session.client()
    send(channel, m.Batch(1, [["empty", [[n, "<f8", [2], "C"]], [], None] for n in range(1, 100)]))
    for message in said:
        send(channel, message)
    turns.end = channel
    session.later(1)
    if said:
        assert session.run() == control.Ended("s1", "closed", "")
        assert session.core.operations == 99  # what it queued before it said so is done
        return
    session.step()
    assert session.core.operations == 1 and session.core.executed == 0
    turns.end = None
    channel, welcome = session.client()
    assert isinstance(welcome, m.Welcome) and welcome.executed == 0
    send(channel, m.Batch(1, [["empty", [[n, "<f8", [2], "C"]], [], None] for n in range(1, 100)]))
    session.step()
    assert session.core.operations == 99 and session.core.executed == 1
