"""The encrypted carrier: what a wire shows, and who is not spoken to (CurveZMQ, ZeroMQ RFC 26)."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from cupool.errors import ConfigurationError, PoolUnreachable
from cupool.transport.channel import Listener, connect, listen

SECRET = b"the session's token and the array's bytes" * 50


@pytest.fixture
def listener() -> Iterator[Listener]:
    listener = listen("zmq+curve://127.0.0.1:0")
    yield listener
    listener.close()


class Tap:
    """A relay in front of a port that keeps what passes in both directions."""

    def __init__(self, port: int) -> None:
        self.seen = bytearray()
        self._to = port
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._server.getsockname()[1])
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def _accept(self) -> None:
        near, _ = self._server.accept()
        far = socket.create_connection(("127.0.0.1", self._to))
        for source, target in ((near, far), (far, near)):
            thread = threading.Thread(target=self._pass, args=(source, target), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                self.seen += data
                target.sendall(data)
        except OSError:
            pass
        finally:
            target.close()

    def close(self) -> None:
        self._server.close()
        for thread in self._threads:
            thread.join(5)


def spoken(scheme: str) -> bytes:
    """Return what the wire shows while SECRET goes both ways."""
    listener = listen(f"{scheme}://127.0.0.1:0")
    head, _, port = listener.url.rpartition(":")
    tap = Tap(int(port))
    client = connect(f"{head}:{tap.port}", 5)
    server = listener.accept(5)
    assert server is not None
    client.send([b"header", SECRET], 5)
    assert server.receive(5) is not None
    server.send([SECRET], 5)
    message = client.receive(5)
    assert message is not None and bytes(message[0]) == SECRET
    client.close()
    server.close()
    listener.close()
    tap.close()
    return bytes(tap.seen)


def test_nothing_that_is_sent_can_be_read_on_the_wire() -> None:
    assert SECRET in spoken("zmq+tcp")  # so the tap sees what there is to see
    seen = spoken("zmq+curve")
    assert len(seen) > 2 * len(SECRET)
    assert SECRET[:16] not in seen and b"header" not in seen


def test_each_listener_has_a_key_of_its_own(listener: Listener) -> None:
    other = listen("zmq+curve://127.0.0.1:0")
    assert other.url.split("@")[0] != listener.url.split("@")[0]
    other.close()


def test_a_listener_with_another_key_is_not_spoken_to(listener: Listener) -> None:
    """As when somebody else has taken the port."""
    other = listen("zmq+curve://127.0.0.1:0")
    url = f"{other.url.split('@')[0]}@{listener.url.split('@')[1]}"
    with pytest.raises(PoolUnreachable):
        connect(url, 0.5)
    other.close()
    client = connect(listener.url, 5)  # and who knows the key still comes in
    client.close()


def test_plain_and_encrypted_peers_do_not_talk(listener: Listener) -> None:
    with pytest.raises(PoolUnreachable):
        connect(f"zmq+tcp://{listener.url.split('@')[1]}", 0.5)
    plain = listen("zmq+tcp://127.0.0.1:0")
    key = listener.url.partition("://")[2].split("@")[0]
    with pytest.raises(PoolUnreachable):
        connect(f"zmq+curve://{key}@{plain.url.partition('://')[2]}", 0.5)
    plain.close()


@pytest.mark.parametrize("key", ["", "ab@", "zz" * 32 + "@", "ab" * 31 + "@"])
def test_an_address_without_a_whole_key_is_refused(key: str) -> None:
    with pytest.raises(ConfigurationError, match="carry"):
        connect(f"zmq+curve://{key}127.0.0.1:1", 0.5)
