"""The broker over real gRPC on a free port, with a server played by the test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from cupool.addresses import machine
from cupool.errors import ConfigurationError
from cupool.pool_server.broker import access, process, service
from cupool.pool_server.broker.admin_service import AdminService
from cupool.pool_server.broker.model import Limits
from cupool.pool_server.broker.service import BrokerService, NodeService
from cupool.proto.v1 import pool_pb2 as pb
from cupool.proto.v1 import pool_pb2_grpc as rpc

Drive: TypeAlias = Callable[[Coroutine[Any, Any, None]], None]
FAST = Limits(heartbeat_s=0.02, silence_s=0.3, reconnect_s=0.1, settle_s=0.0)


class Node:
    """A pool server that the test plays: sends events, sees commands."""

    def __init__(
        self,
        channel: grpc.aio.Channel,
        name: str,
        gpus: int,
        sessions: Sequence[pb.Session] = (),
    ) -> None:
        self.events: asyncio.Queue[pb.NodeEvent | None] = asyncio.Queue()
        devices = [
            pb.Device(ordinal=n, name="mock", kind="mock", memory_bytes=100) for n in range(gpus)
        ]
        hello = pb.Register(name=name, instance="1", devices=devices, host=machine())
        hello.sessions.extend(sessions)
        self.events.put_nowait(pb.NodeEvent(register=hello))
        self.call = rpc.NodeStub(channel).Serve(self._send())  # type: ignore[no-untyped-call]

    async def _send(self) -> AsyncIterator[pb.NodeEvent]:
        while (event := await self.events.get()) is not None:
            yield event

    async def command(self) -> pb.NodeCommand:
        found = await self.call.read()
        assert isinstance(found, pb.NodeCommand), "the broker ended the stream"
        return found

    async def open_one(self) -> pb.OpenSession:
        order = (await self.command()).open
        opened = pb.SessionOpened(session_id=order.session_id, urls=["u://1"], worker_pid=1)
        self.events.put_nowait(pb.NodeEvent(opened=opened))
        return order

    def ended(self, session_id: str, state: str, message: str) -> None:
        ended = pb.SessionEnded(session_id=session_id, state=state, message=message)
        self.events.put_nowait(pb.NodeEvent(ended=ended))


@asynccontextmanager
async def broker(
    limits: Limits = FAST, **who_may: Any
) -> AsyncIterator[tuple[grpc.aio.Channel, BrokerService]]:
    server = grpc.aio.server()
    url = process._bind(server, "grpc://127.0.0.1:0", "", ("", ""), insecure=False)
    service = BrokerService(url, limits, who_may=access.Access(**who_may))
    rpc.add_BrokerServicer_to_server(service, server)  # type: ignore[no-untyped-call]
    rpc.add_NodeServicer_to_server(NodeService(service), server)  # type: ignore[no-untyped-call]
    rpc.add_AdminServicer_to_server(AdminService(service), server)  # type: ignore[no-untyped-call]
    await process._add_extras(server)
    await server.start()
    async with grpc.aio.insecure_channel(url.removeprefix("grpc://")) as channel:
        try:
            yield channel, service
        finally:
            service.close()
            await server.stop(None)


@asynccontextmanager
async def node(
    channel: grpc.aio.Channel,
    name: str = "a",
    gpus: int = 1,
    sessions: Sequence[pb.Session] = (),
) -> AsyncIterator[Node]:
    server = Node(channel, name, gpus, sessions)
    assert (await server.command()).HasField("registered")
    try:
        yield server
    finally:
        server.call.cancel()


def acquire(channel: grpc.aio.Channel, **more: Any) -> Any:
    request = pb.AcquireRequest(gpus=1, client="me", carriers=["zmq+tcp"], wait_s=20)
    request.MergeFrom(pb.AcquireRequest(**more))
    return rpc.BrokerStub(channel).Acquire(request)  # type: ignore[no-untyped-call]


def test_a_client_gets_a_device_and_then_the_next_one_does(drive: Drive) -> None:
    async def main() -> None:
        async with broker() as (channel, _), node(channel) as server:
            first, second = acquire(channel), acquire(channel)
            order = await server.open_one()
            grant = (await first.read()).grant
            assert grant.devices[0].session_id == order.session_id
            assert grant.devices[0].token == order.token
            assert list(grant.devices[0].urls) == ["u://1"]
            assert await first.read() is grpc.aio.EOF
            queued = (await second.read()).queued
            assert queued.position == 1 and "1 of 1 GPUs leased: me" in queued.reason
            server.ended(order.session_id, "closed", "")
            await server.open_one()
            assert (await second.read()).HasField("grant")

    drive(main())


def test_cancelling_leaves_the_line(drive: Drive) -> None:
    async def main() -> None:
        async with broker() as (channel, service), node(channel) as server:
            acquire(channel)
            await server.open_one()
            waiting, last = acquire(channel), None
            assert (await waiting.read()).HasField("queued")
            waiting.cancel()
            stub = rpc.BrokerStub(channel)  # type: ignore[no-untyped-call]
            async for last in stub.Watch(pb.StatusRequest(interval_s=0.01)):
                if not last.waiting:
                    break
            assert last is not None and last.servers[0].devices[0].granted_bytes == 100
            assert not service.state.line.waiting

    drive(main())


def test_explain_waits_a_moment_for_the_bad_news(drive: Drive) -> None:
    async def main() -> None:
        async with broker() as (channel, _), node(channel) as server:
            waiting = acquire(channel)
            order = await server.open_one()
            await waiting.read()
            stub = rpc.BrokerStub(channel)  # type: ignore[no-untyped-call]
            asking = stub.Explain(pb.ExplainRequest(session_id=order.session_id))
            await stub.Status(pb.StatusRequest())  # the question is there before the news
            server.ended(order.session_id, "worker_died", "worker 5 was killed")
            reply = await asking
            assert (reply.state, reply.message) == ("worker_died", "worker 5 was killed")

    drive(main())


def test_a_dead_server_is_told_at_once(drive: Drive) -> None:
    async def main() -> None:
        async with broker(Limits(settle_s=0.0)) as (channel, _):
            async with node(channel) as server:
                waiting = acquire(channel)
                order = await server.open_one()
                await waiting.read()
            stub = rpc.BrokerStub(channel)  # type: ignore[no-untyped-call]
            reply = await stub.Explain(pb.ExplainRequest(session_id=order.session_id))
            assert reply.state == "server_lost" and "server a is gone" in reply.message

    drive(main())


def test_a_silent_server_is_dropped(drive: Drive) -> None:
    async def main() -> None:
        async with broker() as (channel, _):
            server = Node(channel, "a", 1)
            assert (await server.command()).HasField("registered")
            assert await server.call.read() is grpc.aio.EOF  # it never sent a heartbeat
            stub = rpc.BrokerStub(channel)  # type: ignore[no-untyped-call]
            assert (await stub.Status(pb.StatusRequest())).servers[0].state == "lost"

    drive(main())


def test_a_name_can_be_had_once(drive: Drive) -> None:
    async def main() -> None:
        async with broker(Limits()) as (channel, _), node(channel):
            second = Node(channel, "a", 1)
            second.events.get_nowait()
            second.events.put_nowait(pb.NodeEvent(register=pb.Register(name="a", instance="2")))
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                while await second.call.read() is not grpc.aio.EOF:
                    pass
            assert caught.value.code() is grpc.StatusCode.ALREADY_EXISTS
            assert ("cupool-reason", "name_taken") in tuple(caught.value.trailing_metadata())

    drive(main())


def test_a_pool_of_one_job_refuses_everybody_else(drive: Drive) -> None:
    async def main() -> None:
        async with broker(job_token="secret") as (channel, _):
            stub = rpc.BrokerStub(channel)  # type: ignore[no-untyped-call]
            calls = [
                stub.Status(pb.StatusRequest()),
                stub.Explain(pb.ExplainRequest()),
                stub.Release(pb.ReleaseRequest()),
                stub.Renew(pb.RenewRequest(), metadata=(("cupool-job-token", "wrong"),)),
                acquire(channel).read(),
            ]
            for call in calls:
                with pytest.raises(grpc.aio.AioRpcError) as caught:
                    await call
                assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
            right = (("cupool-job-token", "secret"),)
            assert (await stub.Status(pb.StatusRequest(), metadata=right)).version

    drive(main())


@pytest.mark.parametrize("given", ["", "wrong", "s\u00e9same".encode().hex()])
def test_with_a_token_administrators_must_give_it(drive: Drive, given: str) -> None:
    async def main() -> None:
        async with broker(admin_token="secret") as (channel, _), node(channel):
            metadata = (("cupool-admin-token", given),) if given else ()
            admin = rpc.AdminStub(channel)  # type: ignore[no-untyped-call]
            stub = rpc.BrokerStub(channel)  # type: ignore[no-untyped-call]
            quota = pb.Quota(tenant="t", milli=1000, weight=1.0)
            for call in (
                admin.Cordon(pb.CordonRequest(server="a"), metadata=metadata),
                admin.Drain(pb.DrainRequest(server="a"), metadata=metadata),
                admin.SetQuota(quota, metadata=metadata),
                admin.RemovePartition(pb.NameRequest(name="p"), metadata=metadata),
                stub.Release(pb.ReleaseRequest(lease_id="x"), metadata=metadata),
            ):
                with pytest.raises(grpc.aio.AioRpcError, match="token is missing") as caught:
                    await call
                assert caught.value.code() is grpc.StatusCode.PERMISSION_DENIED
            assert (await stub.Status(pb.StatusRequest())).version  # anybody may look
            right = (("cupool-admin-token", "secret"),)
            reply = await admin.Cordon(pb.CordonRequest(server="a"), metadata=right)
            assert reply.changed

    drive(main())


@pytest.mark.parametrize(
    ("peer", "local"),
    [
        ("ipv4:127.0.0.1:58752", True),
        ("ipv4:127.9.8.7:1", True),
        ("ipv6:%5B::1%5D:58752", True),
        ("ipv6:[::ffff:127.0.0.1]:1", True),
        ("unix:", True),
        ("unix-abstract:cupool", True),
        ("ipv4:10.0.0.2:58752", False),
        ("ipv6:%5B2001:db8::1%5D:1", False),
        ("ipv6:[::ffff:10.0.0.2]:1", False),
        ("ipv4:127.0.0.1.evil.example:1", False),
        ("vsock:2:1", False),
        ("", False),
    ],
)
def test_administrators_without_a_token_are_on_this_machine(peer: str, local: bool) -> None:
    assert access.is_local(peer) is local


def test_renew_and_release(drive: Drive) -> None:
    async def main() -> None:
        async with broker() as (channel, _), node(channel) as server:
            waiting = acquire(channel)
            await server.open_one()
            lease = (await waiting.read()).grant.lease_id
            stub = rpc.BrokerStub(channel)  # type: ignore[no-untyped-call]
            assert (await stub.Renew(pb.RenewRequest(lease_id=lease))).expires_in_s > 0
            await stub.Release(pb.ReleaseRequest(lease_id=lease))
            assert (await server.command()).close.reason == "released"
            with pytest.raises(grpc.aio.AioRpcError, match="no lease x"):
                await stub.Renew(pb.RenewRequest(lease_id="x"))

    drive(main())


def test_a_job_gives_back_its_own_lease_and_no_other(drive: Drive) -> None:
    async def main() -> None:
        async with (
            broker(admin_token="secret") as (channel, service),
            node(channel, gpus=2) as server,
        ):
            waiting = acquire(channel, job_id="j", job_token="mine")
            await server.open_one()
            lease = (await waiting.read()).grant.lease_id
            stub = rpc.BrokerStub(channel)  # type: ignore[no-untyped-call]
            for token in ("", "another's"):
                with pytest.raises(grpc.aio.AioRpcError, match="token is missing"):
                    metadata = (("cupool-job-token", token),)
                    await stub.Release(pb.ReleaseRequest(lease_id=lease), metadata=metadata)
            mine = (("cupool-job-token", "mine"),)
            other = acquire(channel, job_id="k", job_token="theirs")
            (session,) = service.state.ledger.sessions
            order = await server.open_one()
            assert (await other.read()).HasField("grant")
            both = pb.ReleaseRequest(session_id=session, lease_id=order.lease_id)
            with pytest.raises(grpc.aio.AioRpcError, match="token is missing"):
                await stub.Release(both, metadata=mine)  # one's own session, another's lease
            await stub.Release(pb.ReleaseRequest(lease_id=lease), metadata=mine)
            assert (await server.command()).close.reason == "released"

    drive(main())


def test_health_is_served(drive: Drive) -> None:
    async def main() -> None:
        async with broker() as (channel, _):
            stub = health_pb2_grpc.HealthStub(channel)
            for name in ("", "cupool.v1.Broker", "cupool.v1.Node"):
                reply = await stub.Check(health_pb2.HealthCheckRequest(service=name))
                assert reply.status == health_pb2.HealthCheckResponse.SERVING, name

    drive(main())


def test_the_pools_policy_is_for_requests_that_name_none(drive: Drive) -> None:
    async def main() -> None:
        async with broker(Limits(settle_s=0.0, policy="spread")) as (channel, _):
            async with node(channel, "a", 2) as one, node(channel, "b", 2) as two:
                calls = [acquire(channel, share_milli=100) for _ in range(2)]
                await one.open_one()
                await two.open_one()  # bestfit would fill one GPU first
                for call in calls:
                    assert (await call.read()).HasField("grant")
        with pytest.raises(ConfigurationError, match="no placement policy is named 'best'"):
            process._limits("best")
        assert process._limits("") == Limits() and process._limits("fgd").policy == "fgd"

    drive(main())


def test_a_taken_port_is_an_error(drive: Drive) -> None:
    async def main() -> None:
        server = grpc.aio.server(options=service.SERVER_OPTIONS)
        url = process._bind(server, "grpc://127.0.0.1:0", "", ("", ""), insecure=False)
        other = grpc.aio.server(options=service.SERVER_OPTIONS)
        with pytest.raises(ConfigurationError, match="in use"):
            process._bind(other, url, "", ("", ""), insecure=False)
        with pytest.raises(ConfigurationError, match="--insecure-bind"):
            process._bind(other, "grpc://0.0.0.0:0", "x", ("", ""), insecure=False)

    drive(main())
