"""One suite for every carrier: what `Channel` and `Listener` promise, within one process."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import pytest
from zmq.utils import garbage

from cupool.errors import PoolUnreachable, ProtocolViolation
from cupool.proto.messages import CHUNK_BYTES, Chunk, Credit, decode, encode
from cupool.transport import frames as wire
from cupool.transport.channel import Channel, ChannelClosed, Listener, connect, listen
from cupool.transport.transfers import Incoming, Outgoing

CARRIERS = [
    "inproc://",
    "unix://",
    "zmq+tcp://127.0.0.1:0",
    "zmq+curve://127.0.0.1:0",
    "zmq+ipc://",
    "grpc://127.0.0.1:0",
    "grpc://unix-abstract:",
]
Pair = tuple[Channel, Channel]


@pytest.fixture(params=CARRIERS)
def listener(request: pytest.FixtureRequest) -> Iterator[Listener]:
    """A listener of the carrier, closed at the end."""
    listener = listen(request.param)
    yield listener
    listener.close()


def join(listener: Listener) -> Pair:
    """Return a client's channel and the listener's end of it."""
    client = connect(listener.url, 5)
    server = listener.accept(5)
    assert server is not None
    return client, server


@pytest.fixture
def pair(listener: Listener) -> Iterator[Pair]:
    """A client's channel and the listener's end of it, closed at the end."""
    client, server = join(listener)
    yield client, server
    client.close(linger_s=0)
    server.close(linger_s=0)


def in_thread(call: Callable[..., Any], *args: Any) -> Future[Any]:
    """Run a call in a thread of its own; its result or exception is the future's."""
    future: Future[Any] = Future()

    def run() -> None:
        try:
            future.set_result(call(*args))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def fill(channel: Channel, message: list[bytes]) -> int:
    """Send until the peer takes no more; return how many were taken."""
    sent = 0
    while True:
        try:
            channel.send([sent.to_bytes(4, "little"), *message], timeout_s=0.2)
        except TimeoutError:
            return sent
        sent += 1


def take(channel: Channel) -> list[bytes]:
    """Receive one message, as bytes."""
    message = channel.receive(10)
    assert message is not None
    return [bytes(frame) for frame in message]


def drain(channel: Channel, count: int) -> None:
    """Receive what `fill` sent: all of it, in order, and no more."""
    for number in range(count):
        message = channel.receive(10)
        assert message is not None
        assert int.from_bytes(message[0], "little") == number
    assert channel.receive(0) is None


def test_messages_keep_their_order(pair: Pair) -> None:
    client, server = pair
    for sender, receiver in (pair, pair[::-1]):
        sending = in_thread(
            lambda sender=sender: [sender.send([b"%d" % n]) for n in range(10_000)] and None
        )
        for number in range(10_000):
            assert receiver.receive(10) == [b"%d" % number]
        sending.result(10)
    assert client.receive(0) is None
    assert server.receive(0) is None


MESSAGES: list[list[bytes]] = [
    [b""],
    [b"", b"", b""],
    [b"header", b"", bytes(100), b"\0", bytes(8191), bytes(8192), b"end"],
    [bytes(70_000)],
    [b"header", os.urandom(CHUNK_BYTES), b"", os.urandom(65_536), os.urandom(65_535)],
    [os.urandom(wire.FRAME_LIMIT_BYTES)],
    [b"%d" % number for number in range(4097)],
]


@pytest.mark.parametrize("message", MESSAGES, ids=range(len(MESSAGES)))
def test_frame_boundaries_are_kept(pair: Pair, message: list[bytes]) -> None:
    client, server = pair
    client.send(message)
    assert [bytes(frame) for frame in server.receive(10) or []] == message
    server.send(message)
    assert [bytes(frame) for frame in client.receive(10) or []] == message


@pytest.mark.parametrize("size", [100, 10_000, 100_000, CHUNK_BYTES])
def test_a_sent_frame_may_be_reused_at_once(pair: Pair, size: int) -> None:
    client, server = pair
    buffer = bytearray(size)
    for number in range(20):
        buffer[:] = bytes([number]) * size
        client.send([b"header", memoryview(buffer), buffer])
        if number % 4 == 3:
            for expected in range(number - 3, number + 1):
                message = server.receive(10)
                assert message is not None
                assert [len(frame) for frame in message] == [6, size, size]
                assert {bytes(frame) for frame in message[1:]} == {bytes([expected]) * size}


def transfer(sender: Channel, receiver: Channel, source: bytes, target: bytearray) -> None:
    """Move a payload in chunks under credit."""

    def send() -> None:
        outgoing = Outgoing(7, source)
        while True:
            for header, payload in outgoing.chunks():
                sender.send([header, payload], 10)
            if outgoing.done:
                return
            answer = decode(sender.receive(10) or [])
            assert isinstance(answer, Credit)
            outgoing.credit(answer.chunks)

    sending = in_thread(send)
    incoming = Incoming(7, target)
    while not incoming.done:
        message = receiver.receive(10)
        assert message is not None
        chunk = decode(message)
        assert isinstance(chunk, Chunk)
        if chunks := incoming.accept(chunk.offset, message[1]):
            receiver.send([encode(Credit(7, chunks))], 10)
    sending.result(10)


@pytest.mark.parametrize(
    "size",
    [
        *(0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, 5 * CHUNK_BYTES + 3, 64 << 20),
        pytest.param(1 << 30, marks=[pytest.mark.slow, pytest.mark.timeout(300)]),
    ],
)
def test_payloads_of_any_size_arrive_whole(pair: Pair, size: int) -> None:
    block = os.urandom(min(size, CHUNK_BYTES + 1))
    source = (block * (size // max(len(block), 1) + 1))[:size]
    target = bytearray(size)
    transfer(pair[0], pair[1], source, target)
    # Not with pytest's own comparison: it would print the difference of two gigabytes.
    assert bool(target == source)


def test_a_sender_waits_for_a_receiver_that_takes_nothing(pair: Pair) -> None:
    for sender, receiver in (pair, pair[::-1]):
        for message in ([b"small"], [bytes(CHUNK_BYTES)]):
            began = time.monotonic()
            sent = fill(sender, message)
            assert 10 < sent <= wire.WINDOW_MESSAGES
            assert sent * len(message[0]) <= wire.WINDOW_BYTES
            assert time.monotonic() - began < 5
            with pytest.raises(TimeoutError):
                sender.send([b"none", *message], timeout_s=0)  # of this, nothing arrives
            drain(receiver, sent)


def test_a_waiting_sender_goes_on_when_the_receiver_does(pair: Pair) -> None:
    client, server = pair
    sent = fill(client, [b"x"])
    waiting = in_thread(client.send, [b"last"])
    for _ in range(sent):
        assert server.receive(10)
    assert server.receive(10) == [b"last"]
    waiting.result(10)


def test_an_oversized_message_is_refused_before_it_is_sent(pair: Pair) -> None:
    client, server = pair
    with pytest.raises(ProtocolViolation, match="limit"):
        client.send([b"header", bytes(wire.FRAME_LIMIT_BYTES + 1)])
    client.send([b"still fine"])
    assert server.receive(10) == [b"still fine"]


def test_two_threads_use_each_end(pair: Pair) -> None:
    count = 2000

    def send(channel: Channel) -> None:
        for number in range(count):
            channel.send([b"%d" % number, bytes(number % 50)])

    def receive(channel: Channel) -> None:
        for number in range(count):
            message = channel.receive(10)
            assert message is not None
            assert message[0] == b"%d" % number
            assert len(message[1]) == number % 50

    work = [in_thread(call, channel) for call in (send, receive) for channel in pair]
    for one in work:
        one.result(30)


def test_receive_keeps_to_its_time(pair: Pair) -> None:
    for channel in pair:
        began = time.monotonic()
        assert channel.receive(0) is None
        assert channel.receive(0.05) is None
        assert 0.04 < time.monotonic() - began < 1


def test_peers_of_one_listener_are_kept_apart(listener: Listener) -> None:
    (client_a, server_a), (client_b, server_b) = join(listener), join(listener)
    stalled = fill(client_a, [bytes(50_000)])
    # A peer whose channel nobody reads does not hold up another.
    for number in range(500):
        client_b.send([b"to b", b"%d" % number])
        assert server_b.receive(10) == [b"to b", b"%d" % number]
        server_b.send([b"from b"])
        assert client_b.receive(10) == [b"from b"]
    drain(server_a, stalled)
    client_a.close()
    with pytest.raises(ChannelClosed):
        server_a.receive(10)
    client_b.send([b"unharmed"])
    assert server_b.receive(10) == [b"unharmed"]
    client_b.close()


def test_two_receivers_of_one_listener_wait_at_once(listener: Listener) -> None:
    pairs = [join(listener) for _ in range(3)]

    def echo(server: Channel) -> None:
        for _ in range(300):
            server.send(server.receive(10) or [])

    def ask(client: Channel, name: bytes) -> None:
        for number in range(300):
            client.send([name, b"%d" % number])
            assert client.receive(10) == [name, b"%d" % number]

    accepting = in_thread(listener.accept, 30)
    work = [in_thread(echo, server) for _, server in pairs]
    work += [in_thread(ask, pair[0], b"%d" % n) for n, pair in enumerate(pairs)]
    for one in work:
        one.result(30)
    late = connect(listener.url, 5)
    assert accepting.result(10) is not None
    for channel in (late, *(client for client, _ in pairs)):
        channel.close()


def test_a_loop_of_one_thread_waits_for_peers_and_messages(listener: Listener) -> None:
    assert not listener.wait(0.02)
    client = connect(listener.url, 5)
    assert listener.wait(5)
    server = listener.accept(0)
    assert server is not None
    assert not listener.wait(0.02)
    client.send([b"news"])
    assert listener.wait(5)
    assert server.receive(0) == [b"news"]
    assert not listener.wait(0)
    second = connect(listener.url, 5)
    assert listener.wait(5)
    assert server.receive(0) is None
    other = listener.accept(0)
    assert other is not None
    client.close()
    assert listener.wait(5)
    with pytest.raises(ChannelClosed):
        server.receive(0)
    assert not listener.wait(0), "an end that was reported is no news"
    server.close()
    second.close()


def test_accept_keeps_to_its_time(listener: Listener) -> None:
    assert listener.accept(0) is None
    assert listener.accept(0.02) is None


@pytest.mark.parametrize("closer", [0, 1], ids=["client closes", "server closes"])
def test_what_was_sent_before_a_close_arrives(pair: Pair, closer: int) -> None:
    this, other = pair[closer], pair[1 - closer]
    for number in range(50):
        this.send([b"%d" % number, bytes(number * 1000)])
    closing = in_thread(this.close, 5)
    for number in range(50):
        message = other.receive(10)
        assert message is not None
        assert message[0] == b"%d" % number
    closing.result(10)
    this.close()
    for _ in range(2):
        with pytest.raises(ChannelClosed, match="closed by the peer"):
            other.receive(10)
        with pytest.raises(ChannelClosed):
            other.send([b"x"])
        with pytest.raises(ChannelClosed, match="at this end"):
            this.receive(10)
        with pytest.raises(ChannelClosed):
            this.send([b"x"])


@pytest.mark.parametrize("closer", [0, 1], ids=["client closes", "server closes"])
def test_a_close_ends_every_wait(pair: Pair, closer: int) -> None:
    this, other = pair[closer], pair[1 - closer]
    fill(this, [b"x"])
    waits = [in_thread(this.receive), in_thread(this.send, [b"never"])]
    this.close(linger_s=0)
    for wait in waits:
        with pytest.raises(ChannelClosed):
            wait.result(10)
    with pytest.raises(ChannelClosed):
        while other.receive(10):
            pass


def test_closing_a_listener_ends_its_channels_and_waits(listener: Listener) -> None:
    client, server = join(listener)
    waits = [
        in_thread(listener.accept),
        in_thread(client.receive),
        in_thread(server.receive),
    ]
    listener.close()
    listener.close()
    for wait in waits:
        with pytest.raises(ChannelClosed):
            wait.result(10)
    with pytest.raises(ChannelClosed):
        server.send([b"x"])
    with pytest.raises(PoolUnreachable):
        connect(listener.url, 0.05)
    client.close()


def interrupt_soon() -> None:
    """Press Ctrl-C a moment later."""
    main = threading.main_thread().ident
    timer = threading.Timer(0.1, signal.pthread_kill, [main, signal.SIGINT])
    timer.daemon = True
    timer.start()


def test_an_interrupted_wait_leaves_the_channel_usable(pair: Pair) -> None:
    for sender, receiver in (pair, pair[::-1]):
        with pytest.raises(KeyboardInterrupt):
            interrupt_soon()
            receiver.receive()
        sender.send([b"after", b"it"])
        assert receiver.receive(10) == [b"after", b"it"]
        sent = fill(sender, [bytes(50_000), bytes(100_000)])
        with pytest.raises(KeyboardInterrupt):
            interrupt_soon()
            while True:  # a carrier's buffers may take a little more as time goes by
                sender.send([sent.to_bytes(4, "little"), bytes(50_000), bytes(100_000)])
                sent += 1
        numbers = [int.from_bytes(take(receiver)[0], "little") for _ in range(sent)]
        sender.send([b"and", b"on"])
        while (message := take(receiver)) != [b"and", b"on"]:
            numbers.append(int.from_bytes(message[0], "little"))
        # The interrupt may come after a message was taken and before it was counted.
        assert numbers == list(range(sent)) or numbers == list(range(sent + 1))


# pyzmq swallows, and reports as unraisable, an interrupt that strikes while it frees a frame.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_interrupts_at_any_moment_never_garble_a_message(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Messages may end (the session resumes over a new channel), but are never half or wrong."""
    client, server = join(listener)
    # Until Python 3.13, an interrupt inside `Thread.is_alive` declares the thread dead: pyzmq
    # would start its helper thread twice.
    monkeypatch.setattr(garbage.gc, "is_alive", lambda: True)
    previous = signal.getsignal(signal.SIGALRM)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    def echo() -> None:
        while message := server.receive():
            server.send(message)

    echoing = in_thread(echo)

    def exchange(body: bytes) -> bool:
        """Send and receive; False once the channel has ended. May be interrupted anywhere."""
        try:
            client.send([b"head", body, b"tail"])
            while (answer := client.receive(0.01)) is not None:
                assert len(answer) == 3
                assert answer[0] == b"head"
                assert len(set(bytes(answer[1]))) == 1
                assert answer[2] == b"tail"
        except (ChannelClosed, ProtocolViolation):
            return False
        return True

    interrupts = 0
    ended = False
    signal.signal(signal.SIGALRM, interrupt)
    try:
        for number in range(400):
            body = bytes([number % 256]) * (70_000 if number % 3 else 100)
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.0001 + number % 20 / 20_000)
                ended = not exchange(body)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:  # the timer strikes once: from here on it is quiet
                interrupts += 1
            if ended:
                break
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
        client.close()
    assert interrupts
    with pytest.raises((ChannelClosed, ProtocolViolation)):
        echoing.result(10)


@pytest.mark.parametrize("url", CARRIERS)
def test_descriptors_and_threads_are_given_back(url: str) -> None:
    def use() -> None:
        listener = listen(url)
        client, server = join(listener)
        client.send([b"x", bytes(100_000)])
        assert server.receive(10)
        client.close()
        server.close()
        listener.close()

    def held() -> tuple[int, int]:
        threads = [one for one in threading.enumerate() if one.name.startswith("cupool")]
        return len(os.listdir("/proc/self/fd")), len(threads)

    use()
    before = held()
    for _ in range(3):
        use()
    deadline = time.monotonic() + 10
    pause = threading.Event()
    while held() > before and time.monotonic() < deadline:
        pause.wait(0.01)  # gRPC gives back in threads of its own, and tells nobody
    assert held() <= before
