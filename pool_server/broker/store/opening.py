"""Which store a `--state` means."""

from __future__ import annotations

from cupool.errors import ConfigurationError
from cupool.pool_server.broker.store.base import Store, Timings

_REMEDY = """name a file:   cupool broker --state /var/lib/cupool/broker.db
or etcd:       cupool broker --state etcd://10.0.0.1:2379,10.0.0.2:2379,10.0.0.3:2379"""


def open_store(state: str, timings: Timings | None = None) -> Store:
    """Return the store that `state` names: a path, or `etcd://HOST:PORT,HOST:PORT[/NAME]`.

    Raises:
        ConfigurationError: there is no such kind of store, or its client is not installed.
    """
    scheme, separator, rest = state.partition("://")
    if separator and scheme == "etcd":
        return _open_etcd(state, rest, timings)
    if separator and scheme != "sqlite":
        raise ConfigurationError(f"{state!r} names no store that there is", remedy=_REMEDY)
    from cupool.pool_server.broker.store.sqlite import SqliteStore

    return SqliteStore(rest if separator else state, timings)


def _open_etcd(state: str, rest: str, timings: Timings | None) -> Store:
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
    return EtcdStore(endpoints, name.strip("/") or "pool", timings)
