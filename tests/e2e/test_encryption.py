"""TLS to the broker, encrypted data, servers that prove that they may join: with real processes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from tests.e2e.pools import WITHIN_S, Pool, said

TOKENS = """
[tokens]
vision = "vision-0123456789abcdef"
[servers]
lab = "lab-0123456789abcdef"
blue = { token = "blue-0123456789abcdef", partition = "blue" }
"*" = "others-0123456789abcdef"
"""
SCRIPT = """
import cupy, cupool
(device,) = cupool.lease().devices
print(int(cupy.arange(5).sum()), [url.partition("://")[0] for url in device.urls])
"""
COPY = """
import cupy
with cupy.cuda.Device(0):
    a = cupy.arange(100_000.0)
with cupy.cuda.Device(1):
    b = cupy.asarray(a)
    print(float(b.sum()))
"""


class Guarded(Pool):
    """A broker with a certificate and tokens; each process gets `settings`."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.settings: dict[str, str] = {}
        self.folder = folder
        authority = trustme.CA()
        certificate = authority.issue_cert("127.0.0.1")
        self.ca, self.cert, self.key = (str(folder / name) for name in ("ca", "cert", "key"))
        authority.cert_pem.write_to_path(self.ca)
        certificate.private_key_pem.write_to_path(self.key)
        certificate.cert_chain_pems[0].write_to_path(self.cert)
        (folder / "tokens.toml").write_text(TOKENS)

    def environment(self) -> dict[str, str]:
        return super().environment() | self.settings

    def begin(self) -> None:
        tls = ("--tls-cert", self.cert, "--tls-key", self.key)
        self.start_broker(
            "grpcs://127.0.0.1:0", *tls, "--tenants", str(self.folder / "tokens.toml")
        )
        self.settings = {"CUPOOL_CA": self.ca, "CUPOOL_SERVER_TOKEN": "lab-0123456789abcdef"}

    def said(self, *arguments: str) -> tuple[int, str, str]:
        script = self.run(*arguments, cwd=self.folder)
        out, err = script.communicate(timeout=WITHIN_S)
        return script.returncode, out, err


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[Guarded]:
    pool = Guarded(tmp_path)
    try:
        pool.begin()
        yield pool
    finally:
        pool.settings = {}
        pool.stop()


def test_data_is_encrypted_where_the_server_says_so(pool: Guarded) -> None:
    assert pool.url.startswith("grpcs://127.0.0.1:")
    pool.start_server("lab", "--mock", "2", "--encrypt", "on")
    assert pool.said("--carrier", "tcp", "-c", SCRIPT)[:2] == (0, "10 ['zmq+curve']\n")
    assert pool.said("-c", SCRIPT)[:2] == (0, "10 ['unix', 'zmq+curve']\n")
    code, _, err = pool.said("--carrier", "grpc", "-c", SCRIPT)
    assert code != 0 and "encrypts what leaves its machine, which the carrier grpc cannot" in err
    status = [sys.executable, "-m", "cupool", "status", "--json", "--pool", pool.url]
    seen = subprocess.run(status, env=pool.environment(), capture_output=True, timeout=WITHIN_S)
    assert [each["name"] for each in json.loads(seen.stdout)["servers"]] == ["lab"]


def test_copies_between_sessions_are_encrypted_too(pool: Guarded) -> None:
    pool.start_server("lab", "--mock", "1", "--encrypt", "on")
    pool.settings["CUPOOL_SERVER_TOKEN"] = "others-0123456789abcdef"
    pool.start_server("other", "--mock", "1", "--encrypt", "on")
    arguments = ("--gpus", "2", "--carrier", "tcp", "--stats", "-c", COPY)
    code, out, err = pool.said(*arguments)
    assert (code, out) == (0, f"{100_000 * 99_999 / 2}\n"), err


def test_a_client_that_insists_takes_no_open_address(pool: Guarded) -> None:
    pool.start_server("lab", "--mock", "1", "--data-host", "127.0.0.1")
    pool.settings["CUPOOL_ENCRYPT"] = "on"
    # On loopback nobody listens: an open carrier is as good there.
    assert pool.said("--carrier", "tcp", "-c", SCRIPT)[:2] == (0, "10 ['zmq+tcp']\n")


def test_who_does_not_know_the_certificate_is_told_what_to_do(pool: Guarded) -> None:
    del pool.settings["CUPOOL_CA"]
    code, _, err = pool.said("-c", SCRIPT)
    assert code != 0 and "CUPOOL_CA=FILE" in err, err
    pool.url = pool.url.replace("grpcs://", "grpc://")
    code, _, err = pool.said("-c", SCRIPT)
    assert code != 0 and "does not answer" in err, err


def test_a_server_must_prove_that_it_may_join(pool: Guarded) -> None:
    for name, token, why in (
        ("lab", "", "server 'lab' has to prove with a token that it may join, and gave none"),
        ("lab", "others-0123456789abcdef", "the token is not that of server 'lab'"),
        ("blue", "blue-0123456789abcdef", "'blue' may join partition 'blue' only, and names red"),
    ):
        pool.settings["CUPOOL_SERVER_TOKEN"] = token
        offer = ("--cuda", "none", "--mock", "1", "--partition", "red")
        server = pool._start("serve", "--broker", pool.url, "--name", name, *offer)
        try:
            told = said(server, "no stream to the broker, trying again")
            if "server" not in told["why"]:  # slow to connect, at first
                told = said(server, "no stream to the broker, trying again")
            assert why in told["why"]
        finally:
            server.terminate()
            server.communicate(timeout=WITHIN_S)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--tls-cert", "cert"), "TLS needs a certificate, its key"),
        ((), "asks for TLS, which needs a certificate"),
        (("--tls-cert", "nowhere", "--tls-key", "key"), "nowhere cannot be read"),
        (("--tls-cert", "tokens.toml", "--tls-key", "key"), "holds nothing in PEM format"),
        (("--tls-cert", "ca", "--tls-key", "key"), "cannot be bound"),
    ],
)
def test_a_broker_whose_certificate_is_no_use_says_so(
    tmp_path: Path, options: tuple[str, ...], why: str
) -> None:
    pool = Guarded(tmp_path)
    broker = pool._start("broker", "--listen", "grpcs://127.0.0.1:0", *options, cwd=tmp_path)
    _, err = broker.communicate(timeout=WITHIN_S)
    assert broker.returncode != 0 and why in err, err
