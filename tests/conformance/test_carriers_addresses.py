"""Addresses of carriers: nobody there, somebody later, taken ones, files."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from cupool.errors import ConfigurationError, PoolUnreachable
from cupool.transport.channel import Listener, connect, listen
from tests.conformance.test_carriers import CARRIERS, in_thread, join
from tests.conformance.test_carriers import listener as listener


@pytest.mark.parametrize("url", CARRIERS)
def test_nobody_there_is_said_in_time(url: str) -> None:
    listener = listen(url)
    url = listener.url
    listener.close()
    began = time.monotonic()
    with pytest.raises(PoolUnreachable, match="nobody answered"):
        connect(url, 0.3)
    assert time.monotonic() - began < 3


@pytest.mark.parametrize("carrier", [url for url in CARRIERS if "curve" not in url])
def test_a_listener_that_comes_later_is_found(carrier: str) -> None:
    listener = listen(carrier)
    url = listener.url
    listener.close()
    connecting = in_thread(connect, url, 10)
    again = listen(url)
    client = connecting.result(10)
    assert again.accept(5) is not None
    client.close()
    again.close()


def test_a_taken_address_is_the_users_mistake(listener: Listener) -> None:
    with pytest.raises(ConfigurationError, match="cannot listen"):
        listen(listener.url)


def test_a_socket_file_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    listener = listen(f"zmq+ipc://{path}")
    client, _ = join(listener)
    assert path.exists()
    client.close()
    listener.close()
    assert not path.exists()
