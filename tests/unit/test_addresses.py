"""Addresses of the control plane, and which of them may be bound."""

from __future__ import annotations

import pytest

from cupool.addresses import (
    check_bind,
    embedded_address,
    grpc_target,
    is_local,
    machine,
    split_host_port,
)
from cupool.errors import ConfigurationError


def test_forms_of_an_address() -> None:
    assert split_host_port("grpc://gpu1:7000/") == ("gpu1", 7000)
    assert split_host_port("grpc://gpu1") == ("gpu1", 7475)
    assert split_host_port("grpc://[::1]:7000") == ("::1", 7000)
    assert split_host_port("grpc://[::1]") == ("::1", 7475)
    assert grpc_target("grpc://[::1]:1") == "[::1]:1"
    assert grpc_target("grpc://127.0.0.1:1") == "127.0.0.1:1"
    assert grpc_target("unix-abstract:x") == "unix-abstract:x"


@pytest.mark.parametrize("url", ["", "gpu1:7000", "http://x:1", "grpc://:1", "grpc://x:y/z"])
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(ConfigurationError, match="no address of a broker"):
        grpc_target(url)
    with pytest.raises(ConfigurationError):
        split_host_port("grpc://x:99999")


def test_only_loopback_may_be_bound_unasked() -> None:
    assert is_local("localhost") and is_local("127.0.0.9") and is_local("::1")
    assert not is_local("0.0.0.0") and not is_local("gpu1")
    assert check_bind("127.0.0.1", "it is open", "close it", insecure=False) == ""
    assert check_bind("0.0.0.0", "", "", insecure=False) == ""
    assert "and it is open" in check_bind("0.0.0.0", "it is open", "close it", insecure=True)
    with pytest.raises(ConfigurationError, match=r"and it is open\n *close it\n.*--insecure-bind"):
        check_bind("0.0.0.0", "it is open", "close it", insecure=False)


def test_identities() -> None:
    assert machine() == machine()
    assert embedded_address("a") != embedded_address("b")
    assert "a-secret" not in embedded_address("a-secret")
