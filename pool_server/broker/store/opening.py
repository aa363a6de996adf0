"""Which store a `--state` means."""

from __future__ import annotations

from typing import Any

from cupool.calling import read_pem
from cupool.errors import ConfigurationError
from cupool.pool_server.broker.store.base import Store, Timings

NO_TLS = ("", "", "")
_REMEDY = """name a file:   cupool broker --state /var/lib/cupool/broker.db
or etcd:       cupool broker --state etcd://10.0.0.1:2379,10.0.0.2:2379,10.0.0.3:2379"""


def open_store(
    state: str, timings: Timings | None = None, tls: tuple[str, str, str] = NO_TLS
) -> Store:
    """Return the store that `state` names: a path, or `etcd[s]://HOST:PORT,HOST:PORT[/NAME]`.

    Args:
        tls: for `etcds`, the files of the authority ("" = those that the machine trusts), and of
            the broker's certificate and its key ("" = it shows none).

    Raises:
        ConfigurationError: there is no such kind of store, its client is not installed, or the
            files are not there or for another kind.
    """
    scheme, separator, rest = state.partition("://")
    if any(tls) and not (separator and scheme == "etcds"):
        raise ConfigurationError(
            f"the broker has certificates for etcd, but its state is in {state}",
            remedy="speak TLS to etcd:   cupool broker --state etcds://HOST:PORT\n"
            "or unset CUPOOL_ETCD_CA, CUPOOL_ETCD_CERT and CUPOOL_ETCD_KEY",
        )
    if separator and scheme in ("etcd", "etcds"):
        return _open_etcd(state, rest, timings, _credentials(tls) if scheme == "etcds" else None)
    if separator and scheme != "sqlite":
        raise ConfigurationError(f"{state!r} names no store that there is", remedy=_REMEDY)
    from cupool.pool_server.broker.store.sqlite import SqliteStore

    return SqliteStore(rest if separator else state, timings)


def _credentials(tls: tuple[str, str, str]) -> Any:
    import grpc

    ca, cert, key = tls
    if bool(cert) != bool(key):
        raise ConfigurationError(
            "a certificate for etcd needs its key, and the key its certificate",
            remedy="give both:   CUPOOL_ETCD_CERT=FILE CUPOOL_ETCD_KEY=FILE",
        )
    return grpc.ssl_channel_credentials(
        read_pem(ca, "etcd's authority", "CUPOOL_ETCD_CA") if ca else None,
        read_pem(key, "the broker's key for etcd", "CUPOOL_ETCD_KEY") if key else None,
        read_pem(cert, "the broker's certificate for etcd", "CUPOOL_ETCD_CERT") if cert else None,
    )


def _open_etcd(state: str, rest: str, timings: Timings | None, credentials: Any) -> Store:
    hosts, _, name = rest.partition("/")
    endpoints = [each.strip() for each in hosts.split(",") if each.strip()]
    if not endpoints or not all(each.rpartition(":")[2].isdecimal() for each in endpoints):
        raise ConfigurationError(f"{state!r} does not name etcd's members", remedy=_REMEDY)
    try:
        from cupool.pool_server.broker.store.etcd import EtcdStore
    except ModuleNotFoundError as exc:
        raise ConfigurationError(
            f"to keep state in etcd a package is missing: {exc.name}",
            remedy="install it:   pip install 'cupool[server,etcd]'",
        ) from None
    return EtcdStore(endpoints, name.strip("/") or "pool", timings, credentials)
