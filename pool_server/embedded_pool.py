"""What an embedded pool runs once it is a process of its own; see `embedded.py`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable

import grpc.aio

from cupool.addresses import machine
from cupool.config import load
from cupool.pool_server.broker.access import Access
from cupool.pool_server.broker.model import Limits
from cupool.pool_server.broker.service import SERVER_OPTIONS, BrokerService
from cupool.pool_server.offers import cuda_offers, mock_offers
from cupool.pool_server.server import Daemon
from cupool.pool_server.session.share_table import ShareTable
from cupool.pool_server.workers import Worker, WorkerPool
from cupool.proto.v1 import pool_pb2 as pb
from cupool.proto.v1 import pool_pb2_grpc as rpc

_LAST_WORD_S = 0.5
_PAUSE_S = 0.05
_CONNECT_WITHIN_S = 15.0
"""A client on this machine that has not come by then was killed; do not outlive it for long. It
comes when the last of its GPUs is ready, which takes a while for several on a busy machine."""
_GRACE_S = 5.0
"""For a client whose link broke, as Ctrl-C within a call can; its death ends the pool at once."""


async def run(
    address: str,
    token: str,
    users: list[int],
    first: Worker | None,
    ready: Callable[[], None],
    shares: ShareTable | None = None,
) -> None:
    """Serve one job until it is over.

    Args:
        address: where the broker listens, an abstract socket.
        token: of the job; every call must carry it.
        users: pidfds of the processes that the pool must outlive.
        first: a worker that is starting already; None if a real GPU may be there.
        ready: called once clients can connect.
        shares: the table that `first` has inherited.
    """
    settings = load().settings
    offers = [] if first is not None else await cuda_offers()
    if not offers:
        offers = mock_offers(
            max(1, settings.mock),
            settings.mock_memory,
            model=settings.mock_model,
            race=settings.mock_race,
            kernel_s=settings.mock_kernel_time,
            checked=settings.mock_memory_check,
        )
    workers = WorkerPool([offer.device.kind for offer in offers], warm=0, shares=shares)
    if first is not None:
        workers.adopt(first)
    limits = Limits(connect_within_s=_CONNECT_WITHIN_S)
    broker = BrokerService("embedded", limits, who_may=Access(job_token=token), settled=True)

    def dial(events: AsyncIterator[pb.NodeEvent]) -> AsyncGenerator[pb.NodeCommand]:
        return broker.serve_node(events, "embedded")

    daemon = Daemon("embedded", offers, dial, workers, host=machine(), grace_s=_GRACE_S)
    running = asyncio.create_task(daemon.run())
    await daemon.registered.wait()
    server = grpc.aio.server(options=SERVER_OPTIONS)
    rpc.add_BrokerServicer_to_server(broker, server)  # type: ignore[no-untyped-call]
    server.add_insecure_port(address)
    await server.start()
    ready()
    await _over(users, daemon, broker)
    await server.stop(_LAST_WORD_S)
    await daemon.close("released", "the job is over")
    running.cancel()
    broker.close()


async def _over(users: list[int], daemon: Daemon, broker: BrokerService) -> None:
    """Return when the job's main process is gone and nobody has or wants a session."""
    for user in users:
        gone = asyncio.Event()
        asyncio.get_running_loop().add_reader(user, gone.set)
        await gone.wait()
        asyncio.get_running_loop().remove_reader(user)
        os.close(user)
    while True:
        await daemon.idle()
        if not len(broker.state.line.queue):
            return
        await asyncio.sleep(_PAUSE_S)
