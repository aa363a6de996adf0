"""Worker processes: real ones, over a Unix socket."""

from __future__ import annotations

import os
import resource
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest

from cupool.pool_server.session import control
from cupool.proto import messages as m
from cupool.proto import versions
from cupool.proto.values import PAYLOAD, TRANSFER
from cupool.transport.channel import Channel, ChannelClosed, connect
from cupool.transport.transfers import Incoming, Outgoing

WAIT_S = 30.0
ADD = ["add", [[2, "<f8", [3], "C"]], [[0, 1], 1.0], None]
FETCH = ["fetch", 5, [[0, 2]], None]
_T = TypeVar("_T", bound=control.Control)
_M = TypeVar("_M", bound=m.Message)


def opening(**changes: Any) -> control.Open:
    """Return a command to open a session, with some fields changed."""
    fields: dict[str, Any] = {
        "session": "s1",
        "token": "secret",
        "device": "mock",
        "ordinal": 0,
        "server": "srv",
        "memory_bytes": 1 << 28,
        "urls": ["zmq+ipc://"],
        "connect_within_s": WAIT_S,
        "grace_s": WAIT_S,
    }
    return control.Open(**(fields | changes))


class Worker:
    """A worker process and the daemon's end of its control socket."""

    def __init__(self, *arguments: str) -> None:
        self.control, theirs = socket.socketpair()
        self.control.settimeout(WAIT_S)
        self.framer = control.Framer()
        self.waiting: list[control.Control] = []
        self.channels: list[Channel] = []
        number = theirs.fileno()
        command = [sys.executable, "-P", "-m", "cupool.pool_server.session.process"]
        self.process = subprocess.Popen(
            [*command, "--control-fd", str(number), *arguments],
            pass_fds=[number],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        theirs.close()

    def told(self, kind: type[_T]) -> _T:
        """Return the next message of a kind."""
        while True:
            while self.waiting:
                message = self.waiting.pop(0)
                if isinstance(message, kind):
                    return message
            data = self.control.recv(1 << 16)
            assert data, f"the worker hung up before {kind.__name__}: {self.output()}"
            self.waiting += self.framer.feed(data)

    def tell(self, message: control.Control) -> None:
        self.control.sendall(control.encode(message))

    def open(self, device: str = "mock", **changes: Any) -> control.Opened:
        self.told(control.Ready)
        self.tell(opening(device=device, **changes))
        return self.told(control.Opened)

    def client(self, url: str, token: str = "secret", resume_after: int = 0) -> Channel:
        channel = connect(url, WAIT_S)
        self.channels.append(channel)
        send(channel, m.Hello(1, 1, token, "test", resume_after))
        return channel

    def wait(self) -> int:
        return self.process.wait(WAIT_S)

    def output(self) -> str:
        self.process.kill()
        return self.process.communicate(timeout=WAIT_S)[0].decode()

    def close(self) -> None:
        for channel in self.channels:
            channel.close(0)
        self.control.close()
        self.output()


def send(channel: Channel, message: m.Message, *payloads: m.Frame) -> None:
    channel.send([m.encode(message), *payloads], WAIT_S)


def receive(channel: Channel, kind: type[_M]) -> tuple[_M, list[m.Frame]]:
    """Return the next message of a kind; no failure may come before it."""
    while True:
        frames = channel.receive(WAIT_S)
        assert frames is not None
        message = m.decode(frames)
        if isinstance(message, kind):
            return message, frames[1:]
        assert not getattr(message, "failures", None), message


def upload(channel: Channel, sequence: int) -> None:
    data = np.arange(3.0)
    wire = [PAYLOAD, 0, "<f8", [3], "C"]
    record = ["upload", [[1, "<f8", [3], "C"]], [wire], None]
    send(channel, m.Batch(sequence, [record]), data.tobytes())


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker()
    yield worker
    worker.close()


@pytest.mark.parametrize("url", ["zmq+ipc://", "zmq+tcp://127.0.0.1:0"])
def test_a_session_from_start_to_end(worker: Worker, url: str) -> None:
    opened = worker.open(urls=[url, "zmq+ipc://"])
    assert opened.session == "s1"
    assert len(opened.urls) == 2
    channel = worker.client(opened.urls[0])
    welcome, _ = receive(channel, m.Welcome)
    assert welcome.device.server == "srv"
    upload(channel, 1)
    send(channel, m.Batch(2, [ADD, FETCH]))
    _, payloads = receive(channel, m.Value)
    np.testing.assert_array_equal(np.frombuffer(payloads[0]), [1, 2, 3])
    send(channel, m.Bye("closed"))
    assert worker.told(control.Ended) == control.Ended("s1", "closed", "")
    assert worker.wait() == 0
    assert worker.output() == ""


def test_large_payloads_both_ways(worker: Worker) -> None:
    data = np.arange(8.0 * (1 << 20))
    channel = worker.client(worker.open().urls[0])
    wire = [TRANSFER, 9, "<f8", [data.size], "C"]
    send(channel, m.Batch(1, [["upload", [[2, "<f8", [data.size], "C"]], [wire], None], FETCH]))
    outgoing = Outgoing(9, data.data)
    while True:
        for header, part in outgoing.chunks():
            channel.send([header, part], WAIT_S)
        if outgoing.done:
            break
        outgoing.credit(receive(channel, m.Credit)[0].chunks)
    value, _ = receive(channel, m.Value)
    result = np.empty_like(data)
    incoming = Incoming(value.value[1], result.data)
    while not incoming.done:
        chunk, payloads = receive(channel, m.Chunk)
        if credit := incoming.accept(chunk.offset, payloads[0]):
            send(channel, m.Credit(incoming.transfer, credit))
    np.testing.assert_array_equal(result, data)


def test_wrong_token_and_second_client_do_not_disturb(worker: Worker) -> None:
    url = worker.open().urls[0]
    stranger = worker.client(url, "guess")
    assert receive(stranger, m.Refuse)[0].reason == "denied"
    first = worker.client(url)
    receive(first, m.Welcome)
    second = worker.client(url)
    assert receive(second, m.Refuse)[0].reason == "busy"
    send(first, m.Ping(5))
    assert receive(first, m.Pong)[0].token == 5


@pytest.mark.parametrize(
    "url",
    ["zmq+ipc://", "zmq+tcp://127.0.0.1:0", "grpc://127.0.0.1:0", "grpc://unix-abstract:"],
)
def test_a_version_that_nobody_speaks_is_refused_over_every_carrier(
    worker: Worker, url: str
) -> None:
    (bound,) = worker.open(urls=[url]).urls
    stranger = connect(bound, WAIT_S)
    worker.channels.append(stranger)
    send(stranger, m.Hello(98, 99, "secret", "test", 0))
    refusal, _ = receive(stranger, m.Refuse)
    assert refusal.reason == "version"
    assert (refusal.minimum, refusal.current) == (versions.MINIMUM, versions.CURRENT)
    welcome, _ = receive(worker.client(bound), m.Welcome)  # the session goes on undisturbed
    assert welcome.version == versions.CURRENT


def test_resume_after_a_lost_link(worker: Worker) -> None:
    url = worker.open().urls[0]
    channel = worker.client(url)
    upload(channel, 1)
    receive(channel, m.Ack)
    channel.close(0)
    again = worker.client(url, resume_after=1)
    assert receive(again, m.Welcome)[0].executed == 1
    send(again, m.Batch(2, [ADD, FETCH]))
    receive(again, m.Value)


def test_a_killed_worker_is_noticed_by_its_client(worker: Worker) -> None:
    channel = worker.client(worker.open().urls[0])
    receive(channel, m.Welcome)
    worker.process.kill()
    with pytest.raises(ChannelClosed):
        channel.receive(WAIT_S)


def test_it_ends_with_its_control_socket(worker: Worker) -> None:
    channel = worker.client(worker.open().urls[0])
    receive(channel, m.Welcome)
    worker.control.close()
    assert receive(channel, m.Bye)[0].reason == "server_lost"
    assert worker.wait() == 1


def test_a_warm_worker_ends_with_its_control_socket(worker: Worker) -> None:
    worker.told(control.Ready)
    worker.control.close()
    assert worker.wait() == 0


def test_close_command(worker: Worker) -> None:
    channel = worker.client(worker.open().urls[0])
    receive(channel, m.Welcome)
    worker.tell(control.Close("drained", "the server is going down"))
    assert receive(channel, m.Bye)[0] == m.Bye("drained", "the server is going down")
    assert worker.told(control.Ended).state == "drained"
    assert worker.wait() == 0


def test_ctrl_c_is_for_the_daemon(worker: Worker) -> None:
    channel = worker.client(worker.open().urls[0])
    receive(channel, m.Welcome)
    worker.process.send_signal(signal.SIGINT)
    send(channel, m.Ping(5))
    receive(channel, m.Pong)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"options": {"speed": 11}}, "no option 'speed'"),
        ({"urls": ["carrier-pigeon://x"]}, "no carrier"),
        ({"urls": []}, "address"),
        ({"device": "tpu"}, "device kind"),
    ],
)
def test_what_cannot_be_opened_is_told(worker: Worker, changes: dict[str, Any], text: str) -> None:
    worker.told(control.Ready)
    worker.tell(opening(**changes))
    ended = worker.told(control.Ended)
    assert ended.state == "failed"
    assert text in ended.message
    assert worker.wait() == 1


def test_limits(worker: Worker) -> None:
    worker.told(control.Ready)
    assert resource.prlimit(worker.process.pid, resource.RLIMIT_CORE) == (0, 0)
    assert resource.prlimit(worker.process.pid, resource.RLIMIT_NOFILE)[0] <= 4096


def test_it_dies_with_its_parent(tmp_path: Path) -> None:
    """The parent is killed while it holds no control socket that could tell the worker."""
    ours, theirs = socket.socketpair()
    script = f"""
import os, subprocess, sys
child = subprocess.Popen([sys.executable, "-P", "-m", "cupool.pool_server.session.process",
                          "--control-fd", "{theirs.fileno()}"], pass_fds=[{theirs.fileno()}])
print(child.pid, flush=True)
sys.stdin.read()
"""
    parent = subprocess.Popen(
        [sys.executable, "-c", script],
        pass_fds=[theirs.fileno()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    theirs.close()
    ours.settimeout(WAIT_S)
    try:
        assert parent.stdout is not None and parent.stdin is not None
        child = os.pidfd_open(int(parent.stdout.readline()))
        assert ours.recv(100)  # Ready: it has asked the kernel by now
        parent.kill()
        parent.wait(WAIT_S)
        assert select.select([child], [], [], WAIT_S)[0]
        os.close(child)
        parent.stdin.close()
        parent.stdout.close()
    finally:
        parent.kill()
        ours.close()


@pytest.mark.parametrize("kind", ["mock", "null"])
def test_device_kinds(kind: str) -> None:
    worker = Worker("--warm", kind)
    try:
        channel = worker.client(worker.open(kind).urls[0])
        assert receive(channel, m.Welcome)[0].device.kind == kind
    finally:
        worker.close()


def test_it_does_not_import_what_it_does_not_need() -> None:
    code = (
        "import sys, cupool.pool_server.session.process as p;"
        "from cupool.pool_server.devices.registry import warm; warm('mock');"
        "print(sorted({'grpc', 'scipy', 'rich', 'asyncio', 'uvloop'} & set(sys.modules)))"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=WAIT_S, check=True
    ).stdout
    assert printed.strip() == "[]"
