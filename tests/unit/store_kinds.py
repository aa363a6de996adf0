"""The stores that the contract is tested on."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TypeAlias
from uuid import uuid4

import pytest

from cupool.pool_server.broker.store.base import Store, Timings
from cupool.pool_server.broker.store.memory import Memory, MemoryStore
from cupool.pool_server.broker.store.sqlite import SqliteStore

PATIENT = Timings()
Opener: TypeAlias = Callable[[Timings], Store]
"""Gives one more broker access to the same rows."""

KINDS = ("memory", "sqlite", "etcd", "etcd of three")


@contextlib.asynccontextmanager
async def stores(
    kind: str, folder: Path, endpoints: list[str] | None = None
) -> AsyncIterator[Opener]:
    """Open one place of a kind; everything opened in it is closed in the end."""
    opened: list[Store] = []
    memory, name = Memory(), uuid4().hex

    def another(timings: Timings = PATIENT) -> Store:
        store: Store
        if endpoints:
            store = etcd_store(endpoints, name, timings)
        elif kind == "memory":
            store = MemoryStore(memory, timings)
        else:
            store = SqliteStore(folder / "broker.db", timings)
        opened.append(store)
        return store

    try:
        yield another
    finally:
        for store in opened:
            await store.close()


def etcd_store(endpoints: list[str], name: str, timings: Timings = PATIENT) -> Store:
    pytest.importorskip("aetcd", reason="aetcd is not installed: pip install 'cupool[etcd]'")
    from cupool.pool_server.broker.store.etcd import EtcdStore

    return EtcdStore(endpoints, name, timings)
