"""Streams of etcd that end between two uses: an error of the store, never of the broker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc.aio
import pytest
from tests.unit.store_kinds import etcd_store

from cupool.pool_server.broker.store.base import StoreError, Term

rpc = pytest.importorskip("aetcd", reason="pip install 'cupool[etcd]'").rpc


async def _one_beat(requests: AsyncIterator[Any], context: Any) -> AsyncIterator[Any]:
    """Keep a lease alive once, and end the stream."""
    request = await anext(requests)
    yield rpc.LeaseKeepAliveResponse(ID=request.ID, TTL=5)


async def _renew_after_the_end() -> None:
    server = grpc.aio.server()
    handler = grpc.stream_stream_rpc_method_handler(
        _one_beat,
        rpc.LeaseKeepAliveRequest.FromString,
        rpc.LeaseKeepAliveResponse.SerializeToString,
    )
    services = grpc.method_handlers_generic_handler(
        "etcdserverpb.Lease", {"LeaseKeepAlive": handler}
    )
    server.add_generic_rpc_handlers((services,))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    store: Any = etcd_store([f"127.0.0.1:{port}"], "p")
    term = Term(1, handle=7)
    try:
        await store.renew(term)
        await store._beat.code()  # the stream's end has arrived
        with pytest.raises(StoreError, match="ended the stream"):
            await store.renew(term)
        await store.renew(term)  # on a new one
    finally:
        await store.close()
        await server.stop(None)


def test_a_stream_that_has_ended_is_replaced() -> None:
    asyncio.run(asyncio.wait_for(_renew_after_the_end(), 30))
