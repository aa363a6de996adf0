"""Simulated servers and clients of a pool whose brokers are killed, and their ground truth.

A server opens sessions at once, follows the broker that leads, and notes when a whole device is
given to a second lease. A client acquires, holds and ends leases, and notes what it was told.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import grpc

from benchmarks import etcd_cluster
from cupool.addresses import grpc_target, machine
from cupool.brokers import Brokers, not_leading
from cupool.pool_server.dialing import Dialer
from cupool.proto.v1 import pool_pb2 as pb
from cupool.proto.v1 import pool_pb2_grpc as rpc

UNCLAIMED_S = 3.0
"""A session that no client has claimed for so long is ended by its server."""


@dataclass
class Truth:
    """What servers and clients have seen.

    Attributes:
        held: leases that clients were told of and have not ended, by their device.
        double: a device was given to a second lease while it had one.
        old: commands of a replaced broker that servers refused.
    """

    held: dict[str, str] = field(default_factory=dict)
    grants: list[float] = field(default_factory=list)
    double: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    old: int = 0


class Server:
    """A pool server of `gpus` devices."""

    def __init__(self, name: str, gpus: int, url: str, truth: Truth) -> None:
        self.name = name
        self.gpus = gpus
        self.truth = truth
        self.sessions: dict[str, pb.Session] = {}
        self.epoch = 0
        self.registered = 0
        self.back_at = 0.0
        self._dialer = Dialer(url)
        self._outbox: asyncio.Queue[pb.NodeEvent] | None = None
        self._claims: dict[str, asyncio.TimerHandle] = {}

    async def run(self) -> None:
        while True:
            outbox: asyncio.Queue[pb.NodeEvent] = asyncio.Queue()
            self._outbox = outbox
            outbox.put_nowait(pb.NodeEvent(register=self._hello()))
            beat = asyncio.create_task(self._beat(outbox))
            try:
                with contextlib.suppress(grpc.aio.AioRpcError):
                    async with contextlib.aclosing(self._dialer(_events(outbox))) as commands:
                        async for command in commands:
                            if command.epoch < self.epoch:
                                self.truth.old += 1
                                break
                            self.epoch = command.epoch
                            self._obey(command)
            finally:
                beat.cancel()
                self._outbox = None
            await asyncio.sleep(random.uniform(0.1, 0.5))

    def _hello(self) -> pb.Register:
        devices = [
            pb.Device(ordinal=n, name="simulated", kind="mock", memory_bytes=1 << 30)
            for n in range(self.gpus)
        ]
        return pb.Register(
            name=self.name,
            instance="1",
            devices=devices,
            host=machine(),
            sessions=self.sessions.values(),
        )

    async def _beat(self, outbox: asyncio.Queue[pb.NodeEvent]) -> None:
        while True:
            await asyncio.sleep(1.5)
            outbox.put_nowait(pb.NodeEvent(heartbeat=pb.Heartbeat(warm_workers=1)))

    def _obey(self, command: pb.NodeCommand) -> None:
        if command.HasField("registered"):
            self.registered, self.back_at = command.epoch, time.monotonic()
        elif command.HasField("open"):
            self._open(command.open)
        elif command.HasField("close"):
            self.end(command.close.session_id)

    def _open(self, order: pb.OpenSession) -> None:
        for other in self.sessions.values():
            if other.device_ordinal == order.device_ordinal and other.lease_id != order.lease_id:
                self.truth.double.append(f"{self.name}/{order.device_ordinal}: a second lease")
        self.sessions[order.session_id] = pb.Session(
            session_id=order.session_id,
            lease_id=order.lease_id,
            device_ordinal=order.device_ordinal,
            memory_bytes=order.memory_bytes,
            whole_device=order.whole_device,
            job_id=order.job_id,
            job_token_hash=order.job_token_hash,
            lease_index=order.lease_index,
            lease_size=order.lease_size,
            client=order.client,
            terms=order.terms,
        )
        loop = asyncio.get_running_loop()
        self._claims[order.session_id] = loop.call_later(UNCLAIMED_S, self.end, order.session_id)
        opened = pb.SessionOpened(session_id=order.session_id, urls=["zmq+tcp://h:1"])
        self._tell(pb.NodeEvent(opened=opened))

    def claim(self, session_id: str) -> bool:
        """Take a session as its client would; False if it is gone."""
        timer = self._claims.pop(session_id, None)
        if timer is not None:
            timer.cancel()
        return session_id in self.sessions

    def end(self, session_id: str) -> None:
        self.claim(session_id)
        if self.sessions.pop(session_id, None) is not None:
            ended = pb.SessionEnded(session_id=session_id, state="closed")
            self._tell(pb.NodeEvent(ended=ended))

    def _tell(self, event: pb.NodeEvent) -> None:
        if self._outbox is not None:
            self._outbox.put_nowait(event)


async def _events(outbox: asyncio.Queue[pb.NodeEvent]) -> AsyncIterator[pb.NodeEvent]:
    while True:
        yield await outbox.get()


class Client:
    """Acquires one GPU after the other, from whichever broker leads; keeps each for a while."""

    def __init__(
        self, url: str, servers: dict[str, Server], truth: Truth, most_hold_s: float
    ) -> None:
        self._most_hold_s = most_hold_s
        self._brokers = Brokers(url)
        self._channels = {
            each: grpc.aio.insecure_channel(
                grpc_target(each), options=[("grpc.max_reconnect_backoff_ms", 500)]
            )
            for each in self._brokers.urls
        }
        self._servers = servers
        self._truth = truth

    async def run(self) -> None:
        while True:
            job = uuid.uuid4().hex
            grant = await self._acquire(job)
            device = grant.devices[0]
            place, server = f"{device.server}/{device.device.ordinal}", self._servers[device.server]
            if not server.claim(device.session_id):
                continue
            if place in self._truth.held:
                self._truth.double.append(f"{place}: told twice")
            self._truth.held[place] = grant.lease_id
            self._truth.grants.append(time.monotonic())
            await asyncio.sleep(random.uniform(0.02, self._most_hold_s))
            del self._truth.held[place]
            server.end(device.session_id)

    async def _acquire(self, job: str) -> pb.Grant:
        request = pb.AcquireRequest(
            gpus=1, client="c", carriers=["zmq+tcp"], wait_s=60, job_id=job, job_token=job
        )
        while True:
            stub = rpc.BrokerStub(self._channels[self._brokers.current])  # type: ignore[no-untyped-call]
            leader = ""
            try:
                async for event in stub.Acquire(request, timeout=70):
                    if event.HasField("grant"):
                        return event.grant
                    if event.HasField("refusal"):
                        self._truth.refused.append(event.refusal.message)
            except grpc.aio.AioRpcError as exc:
                _, leader = not_leading(exc)
            self._brokers.go_on(leader)
            await asyncio.sleep(random.uniform(0.05, 0.2))


class Killed:
    """Two brokers as processes on one state."""

    def __init__(self, state: str) -> None:
        self._state = state
        self._folder = tempfile.TemporaryDirectory()
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        for _ in range(2):
            port = etcd_cluster.free_ports(1)[0]
            self.start(f"grpc://127.0.0.1:{port}")
        self.urls = list(self._processes)

    def start(self, url: str) -> None:
        command = [sys.executable, "-m", "cupool", "broker", "--listen", url]
        with open(f"{self._folder.name}/{url.rpartition(':')[2]}.log", "ab") as log:
            self._processes[url] = subprocess.Popen(
                [*command, "--state", self._state], stdout=log, stderr=log
            )

    def kill(self, url: str) -> None:
        process = self._processes.pop(url)
        process.kill()
        process.wait()

    def stop(self) -> None:
        for url in list(self._processes):
            self.kill(url)
        self._folder.cleanup()


async def leading(urls: list[str], above: int, within_s: float) -> tuple[str, pb.StatusReply]:
    """Wait until a broker leads with an epoch above one; return its address and status."""
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        for url in urls:
            async with grpc.aio.insecure_channel(grpc_target(url)) as channel:
                with contextlib.suppress(grpc.aio.AioRpcError):
                    stub = rpc.BrokerStub(channel)  # type: ignore[no-untyped-call]
                    reply = await stub.Status(pb.StatusRequest(), timeout=1.0)
                    if reply.epoch > above:
                        return url, reply
        await asyncio.sleep(0.05)
    raise RuntimeError(f"no broker leads after {within_s:g} s")
