"""A server's way to the broker that leads, over streams of gRPC."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import grpc.aio

from cupool.brokers import Brokers, not_leading
from cupool.calling import aio_channel
from cupool.proto.v1 import pool_pb2 as pb
from cupool.proto.v1 import pool_pb2_grpc as rpc

_CHANNEL_OPTIONS = (
    ("grpc.keepalive_time_ms", 2000),
    ("grpc.keepalive_timeout_ms", 2000),
    ("grpc.http2.ping_timeout_ms", 2000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.enable_retries", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    # A broker that was dead leads soon after it is back: it is asked again at once.
    ("grpc.max_reconnect_backoff_ms", 500),
    ("grpc.max_receive_message_length", 8 << 20),
)


class Dialer:
    """Opens streams: to the broker that served last, or after a failure to another.

    Args:
        url: of one or several brokers.
        ca: file of the certificates that they may have, see `calling.channel`.
        token: proves that this server may join; "" = none.

    Raises:
        ConfigurationError: that is no address.
    """

    def __init__(self, url: str, ca: str = "", token: str = "") -> None:
        self._brokers = Brokers(url)
        self._ca = ca
        self._metadata = (("cupool-server-token", token),) if token else ()
        self._channels: dict[str, grpc.aio.Channel] = {}

    async def __call__(self, events: AsyncIterator[pb.NodeEvent]) -> AsyncGenerator[pb.NodeCommand]:
        stub = rpc.NodeStub(self._channel(self._brokers.current))  # type: ignore[no-untyped-call]
        call = stub.Serve(metadata=self._metadata)
        # Written by a task of ours: gRPC's own would outlive a call that fails.
        writing = asyncio.create_task(_write(call, events))
        try:
            async for command in call:
                yield command
        except grpc.aio.AioRpcError as exc:
            _, leader = not_leading(exc)
            self._brokers.go_on(leader)
            raise
        except GeneratorExit:  # the server will not have this one: another has replaced it
            self._brokers.go_on()
            raise
        finally:
            writing.cancel()
            call.cancel()

    def _channel(self, url: str) -> grpc.aio.Channel:
        if url not in self._channels:
            self._channels[url] = aio_channel(url, self._ca, _CHANNEL_OPTIONS)
        return self._channels[url]

    async def close(self) -> None:
        for channel in self._channels.values():
            await channel.close()


async def _write(call: Any, events: AsyncIterator[pb.NodeEvent]) -> None:
    with contextlib.suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
        async for event in events:
            await call.write(event)
