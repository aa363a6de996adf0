"""Every carrier between real processes: death, silence, stalls, forks and peers that lie."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zmq

from cupool.errors import ProtocolViolation
from cupool.transport import frames as wire
from cupool.transport import grpc_stream, unix_channel, zeromq_socket
from cupool.transport.channel import Channel, ChannelClosed, Listener, connect, listen

CARRIERS = [
    "unix://",
    "zmq+tcp://127.0.0.1:0",
    "zmq+curve://127.0.0.1:0",
    "zmq+ipc://",
    "grpc://127.0.0.1:0",
    "grpc://unix-abstract:",
]
SOURCE = Path(__file__).parents[2] / "src"

# The other process: obeys the first frame of each message.
PEER = """
import sys
from cupool.transport import grpc_stream, unix_channel, zeromq_socket
from cupool.transport.channel import connect, listen

role, url, silence_s = sys.argv[1], sys.argv[2], float(sys.argv[3])
zeromq_socket.HEARTBEAT_INTERVAL_S = grpc_stream.KEEPALIVE_S = silence_s / 5
zeromq_socket.HEARTBEAT_TIMEOUT_S = grpc_stream.KEEPALIVE_TIMEOUT_S = silence_s
unix_channel.LOOK_S, unix_channel.STOPPED_S = silence_s / 5, silence_s
if role == "connect":
    channel = connect(url, 10)
else:
    listener = listen(url)
    print(listener.url, flush=True)
    channel = listener.accept(30)
received = 0
while True:
    message = channel.receive(60)
    received += 1
    command = bytes(message[0])
    if command == b"burst":
        for number in range(50):
            channel.send([b"%d" % number, bytes(1000)])
        print("burst", flush=True)
    elif command == b"stall":
        print("stalled", flush=True)
        sys.stdin.readline()
        received = 0
    elif command == b"count":
        channel.send([b"%d" % received])
    elif command == b"oversize":
        from cupool.transport import frames
        limit, frames.FRAME_LIMIT_BYTES = frames.FRAME_LIMIT_BYTES, frames.FRAME_LIMIT_BYTES * 2
        try:
            channel.send([b"header", bytes(limit + 1)])
            print(channel.receive(10), flush=True)
        except Exception as error:
            print(type(error).__name__, flush=True)
        break
    elif command == b"leave":
        break
"""


class Peer:
    """A process with one channel to this one; each may be the listener."""

    def __init__(self, url: str, listens: bool, silence_s: float) -> None:
        self.listener: Listener | None = None
        role = "listen" if listens else "connect"
        if not listens:
            self.listener = listen(url)
            url = self.listener.url
        self.process = subprocess.Popen(
            [sys.executable, "-c", PEER, role, url, str(silence_s)],
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.channel: Channel
        if self.listener is None:
            self.channel = connect(self.line(), 20)
        else:
            channel = self.listener.accept(20)
            assert channel is not None
            self.channel = channel

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def tell(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{text}\n")
        self.process.stdin.flush()

    def resident_bytes(self) -> int:
        return resident_bytes(self.process.pid)

    def close(self) -> None:
        self.channel.close(linger_s=0)
        if self.listener is not None:
            self.listener.close()
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()


def resident_bytes(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture(params=[1.0], ids=[""])
def silence_s(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> float:
    """How long a carrier may say nothing, shorter than in life."""
    silence: float = request.param
    for module, names in (
        (zeromq_socket, ("HEARTBEAT_INTERVAL_S", "HEARTBEAT_TIMEOUT_S")),
        (grpc_stream, ("KEEPALIVE_S", "KEEPALIVE_TIMEOUT_S")),
        (unix_channel, ("LOOK_S", "STOPPED_S")),
    ):
        monkeypatch.setattr(module, names[0], silence / 5)
        monkeypatch.setattr(module, names[1], silence)
    return silence


@pytest.fixture(params=[False, True], ids=["peer connects", "peer listens"])
def listens(request: pytest.FixtureRequest) -> bool:
    """Whether the peer is the listener."""
    return bool(request.param)


@pytest.fixture(params=CARRIERS)
def peer(request: pytest.FixtureRequest, listens: bool, silence_s: float) -> Iterator[Peer]:
    """Another process with a channel to this one."""
    peer = Peer(request.param, listens, silence_s)
    yield peer
    peer.close()


def until_closed(channel: Channel, within_s: float) -> tuple[list[Any], float]:
    """Receive until the channel ends; return what came and how long that took, in seconds."""
    began = time.monotonic()
    messages = []
    with pytest.raises(ChannelClosed):
        while time.monotonic() - began < within_s:
            if message := channel.receive(within_s):
                messages.append(message)
    return messages, time.monotonic() - began


def test_a_killed_peer_is_noticed_at_once_and_what_came_is_received(peer: Peer) -> None:
    peer.channel.send([b"burst"])
    assert peer.line() == "burst"
    first = peer.channel.receive(10)
    assert first is not None
    assert not peer.channel.gone
    peer.process.kill()
    deadline = time.monotonic() + 3
    while not peer.channel.gone:  # with most of the burst unread
        assert time.monotonic() < deadline
    messages, took_s = until_closed(peer.channel, 10)
    assert took_s < 3
    numbers = [int(bytes(message[0])) for message in [first, *messages]]
    assert numbers == list(range(len(numbers)))
    with pytest.raises(ChannelClosed):
        peer.channel.send([b"x"])


def test_a_killed_peer_is_noticed_by_one_who_only_sends(peer: Peer) -> None:
    peer.channel.send([b"stall"])
    assert peer.line() == "stalled"
    peer.process.kill()
    peer.process.wait()
    deadline = time.monotonic() + 5
    with pytest.raises(ChannelClosed):
        while time.monotonic() < deadline:
            with contextlib.suppress(TimeoutError):
                peer.channel.send([b"x"], timeout_s=1)


def test_a_stopped_peer_is_taken_for_dead(peer: Peer, silence_s: float) -> None:
    peer.process.send_signal(signal.SIGSTOP)
    _, took_s = until_closed(peer.channel, 20)
    assert silence_s * 0.8 < took_s < silence_s * 2 + 2


@pytest.mark.slow
@pytest.mark.parametrize("silence_s", [4.0], indirect=True)
def test_a_stopped_peer_is_taken_for_dead_with_the_settings_of_life(peer: Peer) -> None:
    peer.process.send_signal(signal.SIGSTOP)
    _, took_s = until_closed(peer.channel, 20)
    assert took_s < 7


def test_a_stalled_application_costs_bounded_memory_and_is_not_taken_for_dead(
    peer: Peer, silence_s: float
) -> None:
    peer.channel.send([b"stall"])
    assert peer.line() == "stalled"
    mine, theirs = resident_bytes(os.getpid()), peer.resident_bytes()
    sent = 0
    with pytest.raises(TimeoutError):
        while sent < 1000:
            peer.channel.send([b"data", bytes(1 << 20)], timeout_s=0.2)
            sent += 1
    assert 10 < sent <= wire.WINDOW_BYTES >> 20
    # Nothing moves for longer than a carrier may be silent: the carrier itself still answers.
    assert peer.channel.receive(2 * silence_s) is None
    assert resident_bytes(os.getpid()) - mine < 3 * wire.WINDOW_BYTES
    assert peer.resident_bytes() - theirs < 3 * wire.WINDOW_BYTES
    peer.tell("go on")
    peer.channel.send([b"count"], timeout_s=10)
    assert peer.channel.receive(10) == [b"%d" % (sent + 1)]


def test_an_oversized_frame_ends_the_channel_at_both_ends(peer: Peer) -> None:
    peer.channel.send([b"oversize"])
    with pytest.raises((ChannelClosed, ProtocolViolation)):
        peer.channel.receive(10)
    assert peer.line() in ("ChannelClosed", "ProtocolViolation")
    if peer.listener is not None:
        assert peer.listener.accept(0.2) is None, "the sender must not come again"


@pytest.mark.parametrize("garbage", [b"", b"\0" * 200, os.urandom(5000), b"GET / HTTP/1.1\r\n\r\n"])
@pytest.mark.parametrize("url", ["zmq+tcp://127.0.0.1:0", "grpc://127.0.0.1:0"])
def test_a_stranger_on_the_port_disturbs_nobody(url: str, garbage: bytes) -> None:
    listener = listen(url)
    port = int(listener.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), 5) as stranger:
        stranger.sendall(garbage)
        assert listener.accept(0.1) is None
        client = connect(listener.url, 5)
        server = listener.accept(5)
        assert server is not None
        client.send([b"undisturbed"])
        assert server.receive(5) == [b"undisturbed"]
        client.close()
    listener.close()


GARBAGE: list[list[bytes]] = [
    [b""],
    [b"\x07unknown"],
    [b"\x00one", b"and more"],
    [b"\x01", b"\x01"],
    [b"\x01\0\0\0\xff\xff\xff\xff"],
    [b"\x04\0\0\0\0\0\0\0\0"],
    [b"\x04" + b"\xff" * 16],
]


@pytest.mark.parametrize("garbage", GARBAGE, ids=range(len(GARBAGE)))
def test_garbage_ends_one_zeromq_peer_and_no_other(garbage: list[bytes]) -> None:
    listener = listen("zmq+ipc://")
    client = connect(listener.url, 5)
    server = listener.accept(5)
    assert server is not None
    with zmq.Context() as context, context.socket(zmq.DEALER) as raw:
        raw.linger = 0
        raw.connect(listener.url.removeprefix("zmq+"))
        raw.send_multipart(garbage)  # before it has opened: nobody's
        assert listener.accept(0.05) is None
        raw.send(wire.OPENING)
        liar = listener.accept(5)
        assert liar is not None
        raw.send_multipart(garbage)
        raw.send(b"\0never believed")
        with pytest.raises(ProtocolViolation):
            liar.receive(5)
        assert raw.poll(5000)
        assert raw.recv()[:1] == bytes([wire.CLOSE])
        liar.close()
    client.send([b"unharmed"])
    assert server.receive(5) == [b"unharmed"]
    client.close()
    listener.close()


@pytest.mark.parametrize("garbage", GARBAGE[1:], ids=range(1, len(GARBAGE)))
def test_garbage_ends_one_grpc_peer_and_no_other(garbage: list[bytes]) -> None:
    import grpc

    listener = listen("grpc://127.0.0.1:0")
    client = connect(listener.url, 5)
    server = listener.accept(5)
    assert server is not None
    with grpc.insecure_channel(listener.url.removeprefix("grpc://")) as channel:
        answers = channel.stream_stream("/cupool.transport.Stream/Open")(
            iter([wire.OPENING, *garbage, b"\x09"])
        )
        liar = listener.accept(5)
        assert liar is not None
        with pytest.raises(ProtocolViolation):
            while liar.receive(5):
                pass
        assert [answer[0] for answer in answers][-1] == wire.CLOSE
    client.send([b"unharmed"])
    assert server.receive(5) == [b"unharmed"]
    client.close()
    listener.close()


FORK = """
import os, sys
from cupool.transport.channel import ChannelClosed, connect, listen

listener = listen(sys.argv[1])
client = connect(listener.url, 10)
server = listener.accept(10)
client.send([b"before", bytes(100_000)])
assert len(server.receive(10)) == 2
child = os.fork()
if not child:
    status = 1
    try:
        client.abandon()
        for call in (client.receive, server.receive, listener.accept, lambda: client.send([b"x"])):
            try:
                call()
            except ChannelClosed as error:
                assert "forked" in str(error), error
            else:
                raise AssertionError("an inherited channel was used")
        client.close()
        listener.close()
        status = 0
    except BaseException as error:
        print(repr(error), flush=True)
    finally:
        os._exit(status)
assert os.waitpid(child, 0)[1] == 0
for number in range(100):
    client.send([b"after", b"%d" % number])
    assert server.receive(10) == [b"after", b"%d" % number]
client.close()
listener.close()
print("fine")
"""

# As a user's script forks: the listener is another process's. (gRPC leaves its fork handlers out
# where a gRPC server is in the process, so such a child can make no connection.)
FORK_CLIENT = """
import os, sys
from cupool.transport.channel import connect

def exchange(channel, text):
    channel.send([text, bytes(100_000)])
    assert channel.receive(10) == [text]

client = connect(sys.argv[1], 10)
exchange(client, b"before")
child = os.fork()
if not child:
    status = 1
    try:
        fresh = connect(sys.argv[1], 10)
        exchange(fresh, b"from the child")
        fresh.close()
        status = 0
    except BaseException as error:
        print(repr(error), flush=True)
    finally:
        os._exit(status)
assert os.waitpid(child, 0)[1] == 0
for number in range(100):
    exchange(client, b"after %d" % number)
client.close()
print("fine")
"""

FORGET = """
import sys
from cupool.transport.channel import connect, listen

listener = listen(sys.argv[1])
client = connect(listener.url, 10)
server = listener.accept(10)
client.send([b"x", bytes(100_000)])
print("fine")
"""


@pytest.mark.parametrize("url", CARRIERS)
def test_a_forked_child_connects_anew_and_the_parent_goes_on(url: str) -> None:
    def echo(channel: Channel) -> None:
        with contextlib.suppress(ChannelClosed):
            while message := channel.receive(30):
                channel.send([bytes(message[0])])

    listener = listen(url)
    script = [sys.executable, "-W", "error", "-c", FORK_CLIENT, listener.url]
    child = subprocess.Popen(
        script,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    channels: list[Channel] = []
    try:
        for _ in range(2):
            channels.append(accepted := listener.accept(30))
            assert accepted, "the client did not connect"
            threading.Thread(target=echo, args=[accepted], daemon=True).start()
        assert (*child.communicate(timeout=60), child.returncode) == ("fine\n", "", 0)
    finally:
        child.kill()
        child.wait(10)
        for channel in channels:
            channel.close()
        listener.close()


@pytest.mark.parametrize("url", ["inproc://", *CARRIERS])
@pytest.mark.parametrize("script", [FORK, FORGET], ids=["forks", "forgets to close"])
def test_a_process_that(script: str, url: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, url],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("fine\n", "", 0)
