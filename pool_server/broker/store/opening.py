"""Which store a `--state` means."""

from __future__ import annotations

from cupool.errors import ConfigurationError
from cupool.pool_server.broker.store.base import Store, Timings


def open_store(state: str, timings: Timings | None = None) -> Store:
    """Return the store that `state` names: a path, or `etcd://HOST:PORT,HOST:PORT/NAME`.

    Raises:
        ConfigurationError: there is no such kind of store.
    """
    scheme, separator, _ = state.partition("://")
    if separator and scheme != "sqlite":
        raise ConfigurationError(
            f"{state!r} names no store that there is",
            remedy="name a file:   cupool broker --state /var/lib/cupool/broker.db",
        )
    from cupool.pool_server.broker.store.sqlite import SqliteStore

    return SqliteStore(state.removeprefix("sqlite://"), timings)
