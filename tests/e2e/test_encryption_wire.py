"""What somebody sees who sits on the network between a script and its broker."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.test_encryption import SCRIPT, Guarded

TENANT_TOKEN = "vision-0123456789abcdef"
WAIT_S = 10.0


class Tap:
    """A relay in front of a local port that keeps all that passes, of any number of connections."""

    def __init__(self, port: int) -> None:
        self.seen = bytearray()
        self._to = port
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._server.getsockname()[1])
        self._threads: list[threading.Thread] = []
        self._ends: list[socket.socket] = [self._server]
        self._begin(self._accept)

    def _begin(self, work: Callable[..., None], *arguments: socket.socket) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._server.accept()
                far = socket.create_connection(("127.0.0.1", self._to), WAIT_S)
                self._ends += (near, far)
                self._begin(self._pass, near, far)
                self._begin(self._pass, far, near)

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self.seen += data
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        for end in self._ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        for thread in self._threads:
            thread.join(WAIT_S)


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[Guarded]:
    pool = Guarded(tmp_path)
    try:
        yield pool
    finally:
        pool.settings = {}
        pool.stop()


def overheard(pool: Guarded) -> bytes:
    """Return what passes between a script, which is of a tenant, and the broker."""
    pool.settings |= {"CUPOOL_TENANT": "vision", "CUPOOL_TENANT_TOKEN": TENANT_TOKEN}
    head, _, port = pool.url.rpartition(":")
    tap = Tap(int(port))
    pool.url = f"{head}:{tap.port}"
    try:
        code, out, err = pool.said("--carrier", "tcp", "-c", SCRIPT)
        assert (code, out) == (0, "10 ['zmq+curve']\n"), err
    finally:
        tap.close()
    return bytes(tap.seen)


def test_tokens_cannot_be_read_on_the_way_to_a_broker_with_a_certificate(pool: Guarded) -> None:
    pool.begin()
    pool.start_server("lab", "--mock", "1", "--encrypt", "on")
    seen = overheard(pool)
    assert len(seen) > 1000
    assert TENANT_TOKEN.encode() not in seen and b"zmq+curve" not in seen


def test_without_one_they_can(pool: Guarded) -> None:
    """Which also shows that the tap sees what there is to see."""
    pool.start_broker("grpc://127.0.0.1:0")
    pool.start_server("lab", "--mock", "1", "--encrypt", "on")
    seen = overheard(pool)
    assert TENANT_TOKEN.encode() in seen and b"zmq+curve" in seen
