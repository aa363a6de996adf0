"""A broker on the wire that follows, leads, and cannot write: what its callers are told."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, TypeAlias

import grpc
import pytest
from tests.unit.faulty_store import FAST, FaultyStore
from tests.unit.test_broker_service import Node, acquire, node

from cupool.pool_server.broker import process
from cupool.pool_server.broker.admin_service import AdminService
from cupool.pool_server.broker.model import Limits
from cupool.pool_server.broker.service import BrokerService, NodeService
from cupool.pool_server.broker.standing import NotLeading
from cupool.pool_server.broker.store.election import Election
from cupool.pool_server.broker.store.memory import Memory
from cupool.proto.v1 import pool_pb2 as pb
from cupool.proto.v1 import pool_pb2_grpc as rpc

Drive: TypeAlias = Callable[[Coroutine[Any, Any, None]], None]


class Broker:
    """One broker with an election, and a channel to it."""

    def __init__(self, service: BrokerService, store: FaultyStore, channel: Any) -> None:
        self.service = service
        self.store = store
        self.channel = channel
        self.stub = rpc.BrokerStub(channel)  # type: ignore[no-untyped-call]
        self.admin = rpc.AdminStub(channel)  # type: ignore[no-untyped-call]

    async def leads(self) -> None:
        while self.service.standing.refusal() is not None:
            await asyncio.sleep(0)

    async def writes(self) -> None:
        written = False
        while not written:
            with contextlib.suppress(NotLeading):
                await self.service.standing.written()
                written = True

    async def follows(self) -> None:
        while not (refusal := self.service.standing.refusal()) or not refusal.leader:
            await asyncio.sleep(0)

    async def refused(self, call: Any) -> tuple[str, str]:
        """Return the message of a call that another broker must answer, and who that is."""
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            if hasattr(call, "read"):
                while await call.read() is not grpc.aio.EOF:
                    pass
                await call.wait_for_connection()
                raise AssertionError("the stream ended well")
            await call
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        metadata = dict(caught.value.trailing_metadata() or ())
        assert metadata["cupool-reason"] == "not_leader"
        return str(caught.value.details()), str(metadata["cupool-leader"])


@contextlib.asynccontextmanager
async def broker(memory: Memory) -> AsyncIterator[Broker]:
    server = grpc.aio.server()
    url = process._bind(server, "grpc://127.0.0.1:0", "", ("", ""), insecure=False)
    service = BrokerService(url, Limits(silence_s=60.0, reconnect_s=0.1, settle_s=0.0))
    service.follow(None, "it has just started")
    store = FaultyStore(memory)
    rpc.add_BrokerServicer_to_server(service, server)  # type: ignore[no-untyped-call]
    rpc.add_NodeServicer_to_server(NodeService(service), server)  # type: ignore[no-untyped-call]
    rpc.add_AdminServicer_to_server(AdminService(service), server)  # type: ignore[no-untyped-call]
    await server.start()
    election = asyncio.create_task(Election(store, service, url, url, FAST).run())
    async with grpc.aio.insecure_channel(url.removeprefix("grpc://")) as channel:
        try:
            yield Broker(service, store, channel)
        finally:
            if election.done():
                election.result()
            election.cancel()
            for ended in await asyncio.gather(election, return_exceptions=True):
                assert isinstance(ended, asyncio.CancelledError), ended
            service.close()
            await server.stop(None)


def test_a_follower_names_the_leader_to_all_who_call(drive: Drive) -> None:
    async def main() -> None:
        memory = Memory()
        async with broker(memory) as one:
            await one.leads()
            async with broker(memory) as two:
                await two.follows()
                for call in (
                    two.stub.Status(pb.StatusRequest()),
                    two.admin.SetQuota(pb.Quota(tenant="t", milli=1, weight=1)),
                    acquire(two.channel),
                    Node(two.channel, "a", 1).call,
                ):
                    message, leader = await two.refused(call)
                    assert leader == one.service.name and leader in message

    drive(main())


def test_grants_wait_for_the_store_and_the_next_leader_knows_them(drive: Drive) -> None:
    async def main() -> None:
        memory = Memory()
        async with broker(memory) as one:
            await one.leads()
            async with node(one.channel) as server:
                one.store.late.clear()
                call = acquire(one.channel, job_id="j")
                event = asyncio.ensure_future(server.command())
                await one.stub.Status(pb.StatusRequest())  # that far the broker has come
                assert not event.done() and not memory.rows
                one.store.late.set()
                order = (await event).open
                assert f"lease/{order.lease_id}" in memory.rows
                opened = pb.SessionOpened(session_id=order.session_id, urls=["u://1"])
                server.events.put_nowait(pb.NodeEvent(opened=opened))
                assert (await call.read()).grant.lease_id == order.lease_id
                one.store.away.set()
                async with broker(memory) as two:
                    await two.leads()
                    assert order.lease_id in two.service.state.ledger.leases
                    assert two.service.state.epoch > 0
                    assert await server.call.read() is grpc.aio.EOF  # it goes to the other one

    drive(main())


def test_a_store_that_is_full_makes_no_grants_and_status_says_why(drive: Drive) -> None:
    async def main() -> None:
        async with broker(Memory()) as one:
            await one.leads()
            async with node(one.channel) as server:
                one.store.full = "the disk is full"
                message, leader = await one.refused(acquire(one.channel))
                assert "the disk is full" in message and not leader
                reply = await one.stub.Status(pb.StatusRequest())
                assert "the disk is full" in reply.note
                quota = pb.Quota(tenant="t", milli=1000, weight=1)
                message, _ = await one.refused(one.admin.SetQuota(quota))
                assert "the disk is full" in message
                one.store.full = ""
                await one.writes()
                assert (await one.admin.SetQuota(quota)).changed
                assert (await one.stub.Status(pb.StatusRequest())).note == ""
                order = (await server.command()).open
                closed = (await server.command()).close  # its client had gone away
                assert closed.session_id == order.session_id
                server.ended(order.session_id, "closed", "")
                again = acquire(one.channel)
                await server.open_one()
                assert (await again.read()).HasField("grant")

    drive(main())


def running(order: pb.OpenSession) -> pb.Session:
    """What its server tells of a session to the next broker."""
    return pb.Session(
        session_id=order.session_id,
        lease_id=order.lease_id,
        job_id=order.job_id,
        device_ordinal=order.device_ordinal,
        memory_bytes=order.memory_bytes,
        whole_device=order.whole_device,
        lease_size=order.lease_size,
        terms=order.terms,
        connected=True,
    )


async def nobody_else_gets_it(one: Broker, order: pb.OpenSession) -> None:
    """The pool's only GPU belongs to the session that runs on it, and to it alone."""
    state = one.service.state
    assert [*state.ledger.leases] == [order.lease_id]
    assert state.ledger.books.taken["a", 0].leases == 1
    second = acquire(one.channel)
    assert (await second.read()).HasField("queued")
    second.cancel()


def test_a_store_that_is_slow_makes_everybody_wait_and_status_says_so(drive: Drive) -> None:
    async def main() -> None:
        async with broker(Memory()) as one:
            await one.leads()
            async with node(one.channel) as server:
                one.store.late.clear()
                hasty = acquire(one.channel)  # it is there when the trouble begins
                note = ""
                while not note:
                    note = (await one.stub.Status(pb.StatusRequest())).note
                assert "no grants for the moment" in note and "not answered for 0.5 s" in note
                message, _ = await one.refused(acquire(one.channel))
                assert "not answered for 0.5 s" in message
                message, _ = await one.refused(hasty)  # after `step_down_s` nobody waits in vain
                assert "not answered" in message
                one.store.late.set()
                await one.writes()
                assert (await one.stub.Status(pb.StatusRequest())).note == ""
                order = (await server.command()).open  # decided before, written now
                assert (await server.command()).close.session_id == order.session_id
                server.ended(order.session_id, "closed", "")
                again = acquire(one.channel)
                assert (await server.open_one()).lease_id != order.lease_id
                assert (await again.read()).HasField("grant")

    drive(main())


def test_a_broker_that_is_cut_off_from_its_store_serves_nobody_until_it_leads_again(
    drive: Drive,
) -> None:
    async def main() -> None:
        async with broker(Memory()) as one:
            await one.leads()
            async with node(one.channel) as server:
                call = acquire(one.channel)
                order = await server.open_one()
                assert (await call.read()).HasField("grant")
                epoch = one.service.state.epoch
                one.store.away.set()
                assert await server.call.read() is grpc.aio.EOF
                message, leader = await one.refused(acquire(one.channel))
                assert "no broker leads" in message and "running sessions go on" in message
                assert "no route to the store" in message and not leader
            one.store.away.clear()
            await one.leads()
            assert one.service.state.epoch > epoch
            async with node(one.channel, sessions=[running(order)]):
                await nobody_else_gets_it(one, order)

    drive(main())


def test_a_store_that_was_wiped_is_a_new_start_and_running_sessions_are_taken_over(
    drive: Drive,
) -> None:
    async def main() -> None:
        memory = Memory()
        async with broker(memory) as one:
            await one.leads()
            quota = pb.Quota(tenant="t", milli=1000, weight=1)
            assert (await one.admin.SetQuota(quota)).changed
            async with node(one.channel) as server:
                call = acquire(one.channel)
                order = await server.open_one()
                assert (await call.read()).HasField("grant")
                memory.rows.clear()
                memory.lead(None, 0.0)
                assert await server.call.read() is grpc.aio.EOF  # its leader stepped down
            await one.leads()
            assert not one.service.state.ledger.leases
            assert not (await one.admin.ListQuotas(pb.ListRequest())).quotas
            async with node(one.channel, sessions=[running(order)]):
                await nobody_else_gets_it(one, order)
                await one.writes()
                assert f"lease/{order.lease_id}" in memory.rows

    drive(main())
