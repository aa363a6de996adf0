"""How much of one core a broker needs for a large pool, and how fast it serves a burst.

    python benchmarks/broker_load.py            1,024 servers, 10,000 sessions; about a minute
    python benchmarks/broker_load.py --servers 64 --sessions 500

The broker's service runs in this process and talks to simulated servers in its own protocol
messages, serialised both ways as gRPC would, but without sockets. They open every session at
once. CPU time is that of the process, the simulated servers' own work included.

A server whose last heartbeat has not been read yet sends no other: on a machine that has no time
for this process, heartbeats become fewer, and the measure for all of them says what they would
take. Every wait has a bound.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from cupool.pool_server.broker.model import Limits, Wish
from cupool.pool_server.broker.service import BrokerService
from cupool.proto.v1 import pool_pb2 as pb

GPUS = 8
MEMORY_BYTES = 80 << 30
HEARTBEAT_S = 1.5
WITHIN_S = 300.0
"""How long a step may take, on a machine with much else to do."""


@dataclass
class Server:
    """A simulated pool server: opens what it is told to, reports all its sessions each time."""

    name: str
    events: asyncio.Queue[bytes] = field(default_factory=asyncio.Queue)
    sessions: dict[str, pb.Session] = field(default_factory=dict)
    operations: int = 0

    def tell(self, event: pb.NodeEvent) -> None:
        self.events.put_nowait(event.SerializeToString())

    async def incoming(self) -> AsyncIterator[pb.NodeEvent]:
        while True:
            yield pb.NodeEvent.FromString(await self.events.get())

    async def serve(self, broker: BrokerService) -> None:
        devices = [
            pb.Device(ordinal=n, name="mock", kind="mock", memory_bytes=MEMORY_BYTES, model="H100")
            for n in range(GPUS)
        ]
        self.tell(pb.NodeEvent(register=pb.Register(name=self.name, instance="1", devices=devices)))
        async for command in broker.serve_node(self.incoming()):
            self._do(pb.NodeCommand.FromString(command.SerializeToString()))

    def _do(self, command: pb.NodeCommand) -> None:
        if command.HasField("open"):
            order = command.open
            self.sessions[order.session_id] = pb.Session(
                session_id=order.session_id,
                lease_id=order.lease_id,
                device_ordinal=order.device_ordinal,
                memory_bytes=order.memory_bytes,
                whole_device=order.whole_device,
                connected=True,
                lease_size=order.lease_size,
                terms=order.terms,
            )
            opened = pb.SessionOpened(session_id=order.session_id, urls=["zmq+tcp://h:1"])
            self.tell(pb.NodeEvent(opened=opened))
        elif command.HasField("close"):
            if self.sessions.pop(command.close.session_id, None) is not None:
                ended = pb.SessionEnded(session_id=command.close.session_id, state="closed")
                self.tell(pb.NodeEvent(ended=ended))

    def beat(self) -> bool:
        """Report every session as if each had computed since the last time: the worst case.

        Returns whether it did: not while earlier events wait to be read.
        """
        if not self.events.empty():
            return False
        self.operations += 1000
        for session in self.sessions.values():
            session.operations = self.operations
        heartbeat = pb.Heartbeat(sessions=self.sessions.values(), warm_workers=1)
        self.tell(pb.NodeEvent(heartbeat=heartbeat))
        return True


async def ask(broker: BrokerService, wish: Wish) -> tuple[float, str]:
    """Wait for a grant; return when it came and its lease."""
    async for event in broker.acquire(wish):
        if event.HasField("grant"):
            return time.perf_counter(), event.grant.lease_id
        if event.HasField("refusal"):
            raise RuntimeError(event.refusal.message)
    raise RuntimeError("no answer")


class Load:
    """A broker with its simulated servers."""

    def __init__(self, servers: int) -> None:
        patient = Limits(silence_s=2 * WITHIN_S)  # a busy machine is no lost server
        self.broker = BrokerService("load", patient, settled=True)
        self.servers = [Server(f"s{n:04}") for n in range(servers)]
        self.tasks: list[asyncio.Task[None]] = []
        self.beats = 0

    async def join(self) -> float:
        """Let all servers join; return how long that took."""
        began = time.perf_counter()
        for server in self.servers:
            self.tasks.append(asyncio.create_task(server.serve(self.broker)))
        while len(self.broker.state.ledger.servers) < len(self.servers):
            self.check()
            await asyncio.sleep(0.01)
        self.tasks.append(asyncio.create_task(self.beat()))
        return time.perf_counter() - began

    def check(self) -> None:
        """Raise what ended a server: nothing that is waited for would come."""
        for task in self.tasks:
            if task.done():
                task.result()
                raise RuntimeError("the broker ended a server's stream")

    async def fill(self, sessions: int) -> float:
        """Grant so many sessions, in waves of 100; return how many a second."""
        began = time.perf_counter()
        for first in range(0, sessions, 100):
            many = min(100, sessions - first)
            size = MEMORY_BYTES // 10
            wishes = [
                Wish(1, size, WITHIN_S, f"user{n}", tenant=f"t{n % 20}")
                for n in range(first, first + many)
            ]
            await asyncio.gather(*(ask(self.broker, wish) for wish in wishes))
        return sessions / (time.perf_counter() - began)

    async def beat(self) -> None:
        """Let every server's heartbeat come each 1.5 s, evenly spread."""
        step = HEARTBEAT_S / len(self.servers)
        turn = itertools.cycle(self.servers)
        due = time.perf_counter()
        while True:
            now = time.perf_counter()
            many = min(len(self.servers), int((now - due) / step))
            for server in itertools.islice(turn, many):
                self.beats += server.beat()
            due = max(due + many * step, now - HEARTBEAT_S)
            await asyncio.sleep(0.002)

    async def steady(self, seconds: float) -> tuple[float, float]:
        """Return the part of one core that all heartbeats take, and how many a second came.

        The processor time of those that came, scaled to those of all servers each 1.5 s.
        """
        began, cpu, beats = time.perf_counter(), time.process_time(), self.beats
        end = began + seconds
        while (now := time.perf_counter()) < end or (self.beats == beats and now < end + WITHIN_S):
            self.check()
            await asyncio.sleep(min(1.0, max(0.01, end - now)))
        came = self.beats - beats
        each_s = (time.process_time() - cpu) / came
        return each_s * len(self.servers) / HEARTBEAT_S, came / (time.perf_counter() - began)

    async def burst(self, many: int) -> tuple[float, float]:
        """Let `many` wait for whole GPUs, then free as many; return seconds to half and to all."""
        gpus = len(self.servers) * GPUS
        holders = []
        for first in range(0, gpus, 500):
            wave = range(first, min(gpus, first + 500))
            asked = (ask(self.broker, Wish(1, 0, WITHIN_S, f"holder{n}")) for n in wave)
            holders += [lease for _, lease in await asyncio.gather(*asked)]
        waiting = [
            asyncio.create_task(ask(self.broker, Wish(1, 0, WITHIN_S, f"w{n}", tenant=f"t{n % 7}")))
            for n in range(many)
        ]
        while len(self.broker.state.line.queue) < many:
            self.check()
            if done := next((task for task in waiting if task.done()), None):
                done.result()
                raise RuntimeError("somebody was served who should have waited")
            await asyncio.sleep(0.01)
        began = time.perf_counter()
        for lease in holders[:many]:
            self.broker.apply(self.broker.state.release("", lease))
        times = sorted([at - began for at, _ in await asyncio.gather(*waiting)])
        return times[len(times) // 2], times[-1]

    async def close(self) -> None:
        self.broker.close()
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


async def run(servers: int, sessions: int, seconds: float, burst: int) -> dict[str, float]:
    """Measure one pool; the names say what and in which unit.

    Raises:
        TimeoutError: a step took longer than `WITHIN_S`.
    """
    load = Load(servers)
    async with asyncio.timeout(WITHIN_S):
        found = {f"{servers} servers join, s": await load.join()}
    idle, _ = await load.steady(seconds)
    found["without sessions, part of a core"] = idle
    async with asyncio.timeout(WITHIN_S):
        found[f"{sessions} grants, a second"] = await load.fill(sessions)
    full, rate = await load.steady(seconds)
    found[f"with {sessions} sessions, part of a core"] = full
    found["heartbeats, a second"] = rate
    await load.close()
    load = Load(servers)
    async with asyncio.timeout(WITHIN_S):
        await load.join()
        half, whole = await load.burst(burst)
    found[f"burst of {burst}: half served within, s"] = half
    found[f"burst of {burst}: all served within, s"] = whole
    await load.close()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--servers", type=int, default=1024)
    parser.add_argument("--sessions", type=int, default=10_000)
    parser.add_argument("--burst", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=10.0)
    options = parser.parse_args()
    found = asyncio.run(run(options.servers, options.sessions, options.seconds, options.burst))
    for name, value in found.items():
        print(f"{name:<50} {value:10.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
