"""Tenants with tokens and partitions of their own, through real processes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cupool.proto import messages as m
from cupool.proto import versions
from cupool.transport.channel import connect
from tests.e2e.pools import WITHIN_S, Pool

TOKENS = {"r": "of the red ones, long enough", "b": "of the blue ones, long enough"}
SCRIPT = """
import json, sys
import cupy, cupool
lease = cupool.lease()
(device,) = lease.devices
print(json.dumps([lease.partition, device.ordinal, device.urls, device.token]), flush=True)
cupy.zeros(3).get()
sys.stdin.readline()
"""


class Tenants(Pool):
    """A pool whose commands carry one tenant's name and token."""

    def __init__(self) -> None:
        super().__init__()
        self.settings: dict[str, str] = {}

    def environment(self) -> dict[str, str]:
        return super().environment() | self.settings

    def speak_for(self, tenant: str, token: str) -> None:
        self.settings = {"CUPOOL_TENANT": tenant, "CUPOOL_TENANT_TOKEN": token}

    def cli(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "cupool", *arguments, "--pool", self.url]
        return subprocess.run(
            command, env=self.environment(), text=True, capture_output=True, timeout=WITHIN_S
        )


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[Tenants]:
    tokens = tmp_path / "tenants.toml"
    lines = ["others = false", "[tokens]"] + [f"{k} = {v!r}" for k, v in TOKENS.items()]
    tokens.write_text("\n".join(lines))
    found = Tenants()
    try:
        found.start_broker("grpc://127.0.0.1:0", "--tenants", str(tokens))
        hosts = ("--partition-hosts", "red=127.0.0.2,blue=127.0.0.3")
        found.start_server("lab", "--mock", "2", *hosts)
        for name, tenant, gpu in (("red", "r", "lab/0"), ("blue", "b", "lab/1")):
            done = found.cli("pool", "add", name, "--tenant", tenant, "--server", gpu)
            assert done.returncode == 0, done.stderr
        yield found
    finally:
        found.settings = {}
        found.stop()


def begin(pool: Tenants, tenant: str, folder: Path) -> Any:
    """Start a tenant's script; returns its partition, GPU, addresses and session token."""
    pool.speak_for(tenant, TOKENS[tenant])
    script = pool.run("--carrier", "tcp", "-c", SCRIPT, cwd=folder)
    assert script.stdout is not None
    return json.loads(script.stdout.readline())


def test_partitions_have_their_own_gpus_addresses_and_keys(pool: Tenants, tmp_path: Path) -> None:
    red, blue = (begin(pool, tenant, tmp_path) for tenant in "rb")
    assert (red[:2], blue[:2]) == (["red", 0], ["blue", 1])
    (red_url,), (blue_url,) = red[2], blue[2]
    assert red_url.startswith("zmq+tcp://127.0.0.2:")
    assert blue_url.startswith("zmq+tcp://127.0.0.3:")
    stranger = connect(blue_url)
    hello = m.Hello(versions.MINIMUM, versions.CURRENT, red[3], "red, at blue's door", 0)
    stranger.send([m.encode(hello)])
    answer = m.decode(stranger.receive(WITHIN_S) or [])
    assert isinstance(answer, m.Refuse) and answer.reason == "denied"
    stranger.close()
    seen = json.loads(pool.cli("status", "--json").stdout)  # blue asked last, and looks
    (server,) = seen["servers"]
    assert [device["device"]["ordinal"] for device in server["devices"]] == [1]
    assert [lease["terms"]["tenant"] for lease in seen["leases"]] == ["b"]


def test_nobody_speaks_for_a_tenant_without_its_token(pool: Tenants, tmp_path: Path) -> None:
    for tenant, token, why in (
        ("r", "", "tenant 'r' is protected by a token, and none was given"),
        ("r", TOKENS["b"], "the token is not that of tenant 'r'"),
        ("guest", "", "this pool knows no tenant 'guest'"),
    ):
        pool.speak_for(tenant, token)
        script = pool.run("-c", SCRIPT, cwd=tmp_path)
        _, err = script.communicate(timeout=WITHIN_S)
        assert script.returncode == 1 and "AccessDenied" in err and why in err
        assert "CUPOOL_TENANT_TOKEN" in err and TOKENS["b"] not in err
        done = pool.cli("queue")
        assert done.returncode == 2 and why in done.stderr and "Traceback" not in done.stderr
    pool.settings = {}  # an administrator, on the broker's machine
    assert len(json.loads(pool.cli("status", "--json").stdout)["servers"][0]["devices"]) == 2
