"""TLS to etcd: both sides show certificates, and errors say which one is at fault."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import grpc.aio
import pytest
import trustme

from cupool.errors import ConfigurationError
from cupool.pool_server.broker.store.base import StoreError
from cupool.pool_server.broker.store.opening import NO_TLS, open_store

rpc = pytest.importorskip("aetcd", reason="pip install 'cupool[etcd]'").rpc


class Files:
    """Certificates of one authority, as files; `stranger` is another authority."""

    def __init__(self, folder: Path) -> None:
        self._authority = trustme.CA()
        self.server = self._authority.issue_cert("127.0.0.1")
        broker = self._authority.issue_cert("broker@lab", common_name="broker")
        self.ca, self.cert, self.key, self.stranger = (
            str(folder / name) for name in ("ca", "cert", "key", "stranger")
        )
        self._authority.cert_pem.write_to_path(self.ca)
        broker.cert_chain_pems[0].write_to_path(self.cert)
        broker.private_key_pem.write_to_path(self.key)
        trustme.CA().cert_pem.write_to_path(self.stranger)

    def credentials(self) -> grpc.ServerCredentials:
        pair = (self.server.private_key_pem.bytes(), self.server.cert_chain_pems[0].bytes())
        authority = self._authority.cert_pem.bytes()
        return grpc.ssl_server_credentials([pair], authority, require_client_auth=True)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


async def _nothing(request: Any, context: Any) -> Any:
    """Answer a range as an empty etcd does."""
    return rpc.RangeResponse()


async def _leader(state: str, tls: tuple[str, str, str], server: Files | None) -> Any:
    """Ask a member of etcd who leads; `server` shows certificates, None is plain."""
    member = grpc.aio.server()
    handler = grpc.unary_unary_rpc_method_handler(
        _nothing, rpc.RangeRequest.FromString, rpc.RangeResponse.SerializeToString
    )
    services = grpc.method_handlers_generic_handler("etcdserverpb.KV", {"Range": handler})
    member.add_generic_rpc_handlers((services,))
    if server is None:
        port = member.add_insecure_port("127.0.0.1:0")
    else:
        port = member.add_secure_port("127.0.0.1:0", server.credentials())
    await member.start()
    store = open_store(state.format(port=port), tls=tls)
    try:
        return await store.leader()
    finally:
        await store.close()
        await member.stop(None)


def ask(tls: tuple[str, str, str], server: Files | None, scheme: str = "etcds") -> Any:
    asking = _leader(scheme + "://127.0.0.1:{port}/lab", tls, server)
    return asyncio.run(asyncio.wait_for(asking, 60))


def test_both_sides_show_certificates(files: Files) -> None:
    assert ask((files.ca, files.cert, files.key), files) is None


def test_a_stranger_is_not_believed(files: Files) -> None:
    with pytest.raises(StoreError, match=r"not vouched for by CUPOOL_ETCD_CA"):
        ask((files.stranger, files.cert, files.key), files)


def test_a_broker_without_a_certificate_is_told(files: Files) -> None:
    with pytest.raises(StoreError, match=r"127\.0\.0\.1.*CUPOOL_ETCD_CERT|Socket closed"):
        ask((files.ca, "", ""), files)


def test_who_speaks_tls_and_who_does_not(files: Files) -> None:
    with pytest.raises(StoreError, match=r"does not speak TLS: --state etcd://"):
        ask((files.ca, "", ""), None)
    with pytest.raises(StoreError, match=r"if it speaks TLS: --state etcds://"):
        ask(NO_TLS, files, "etcd")


@pytest.mark.parametrize(
    ("state", "tls", "said"),
    [
        ("etcds://h:1", ("", "cert", ""), "a certificate for etcd needs its key"),
        ("etcds://h:1", ("", "", "key"), "a certificate for etcd needs its key"),
        ("etcds://h:1", ("missing", "", ""), "etcd's authority in .*missing cannot be read"),
        ("etcds://h:1", ("empty", "", ""), "empty holds nothing in PEM format"),
        ("etcd://h:1", ("ca", "", ""), "its state is in etcd://h:1"),
        ("broker.db", ("ca", "", ""), "its state is in broker.db"),
        ("etcds://h", NO_TLS, "does not name etcd's members"),
    ],
)
def test_files_that_do_not_go_together(
    files: Files, tmp_path: Path, state: str, tls: tuple[str, str, str], said: str
) -> None:
    (tmp_path / "empty").write_text("")
    paths = [str(tmp_path / each) if each else "" for each in tls]
    with pytest.raises(ConfigurationError, match=re.compile(said)):
        open_store(state, tls=(paths[0], paths[1], paths[2]))
