"""Addresses that no carrier understands."""

from __future__ import annotations

import pytest

from cupool.errors import ConfigurationError
from cupool.transport.channel import connect, listen


@pytest.mark.parametrize(
    "url",
    [
        *("nowhere", "http://host:1", "zmq+tcp://host", "zmq+tcp://host:x", "zmq+tcp://h:70000"),
        *(
            "zmq+tcp://:1",
            "zmq+curve://h:x",
            "grpc://host",
            "grpc://host:99999",
            "zmq+ipc://@" + "x" * 120,
        ),
    ],
)
def test_malformed_addresses_are_named(url: str) -> None:
    for call in (listen, connect):
        with pytest.raises(ConfigurationError, match=url[:20].replace("+", r"\+")):
            call(url)
