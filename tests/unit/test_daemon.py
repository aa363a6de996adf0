"""The daemon with real processes that only speak the control protocol, and a broker in-process."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from cupool.pool_server.broker import convert
from cupool.pool_server.broker.model import Limits, Wish
from cupool.pool_server.broker.service import BrokerService
from cupool.pool_server.offers import mock_offers, null_offers
from cupool.pool_server.server import Daemon
from cupool.pool_server.workers import Worker, WorkerPool
from cupool.proto.v1 import pool_pb2 as pb

Drive: TypeAlias = Callable[[Coroutine[Any, Any, None]], None]
FAKE = Path(__file__).with_name("fake_worker.py")


class Setup:
    """A broker and a daemon; `broker` may be replaced by a new one, as a restart would."""

    def __init__(self, mode: str, warm: int) -> None:
        limits = Limits(heartbeat_s=0.02)
        self.broker = BrokerService("test", limits)
        offers = [*mock_offers(2, 1000), *null_offers(1, 2)]
        self.workers = WorkerPool(["mock"], warm, [sys.executable, str(FAKE), mode])
        self.daemon = Daemon("s", offers, self.dial, self.workers)
        self.streams: list[Any] = []
        self.running = asyncio.create_task(self.daemon.run())

    def dial(self, events: AsyncIterator[pb.NodeEvent]) -> AsyncGenerator[pb.NodeCommand]:
        return self.broker.serve_node(events, "here")

    async def grant(self, wish: Wish) -> pb.Grant:
        event = await self.answer(wish)
        assert event.HasField("grant"), event
        return event.grant

    async def answer(self, wish: Wish) -> pb.AcquireEvent:
        async for event in self.broker.acquire(wish):
            if not event.HasField("queued"):
                return event
        raise AssertionError("no answer")

    async def fate(self, session_id: str) -> Any:
        """Wait until a session is over; say how."""
        state = self.broker.state
        while (fate := state.explain(session_id, 0.0)).state == "running":
            await self.broker._changes.wait(5)
        return fate


@asynccontextmanager
async def setup(mode: str = "good", warm: int = 0) -> AsyncIterator[Setup]:
    one = Setup(mode, warm)
    await one.daemon.registered.wait()
    try:
        yield one
    finally:
        await one.daemon.close("released", "the test is over")
        one.running.cancel()
        await asyncio.gather(one.running, return_exceptions=True)
        one.broker.close()


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_a_session_lives_from_open_to_close(drive: Drive) -> None:
    async def main() -> None:
        async with setup() as one:
            grant = await one.grant(Wish(memory_bytes=300, wait_s=10, client="me"))
            (device,) = grant.devices
            assert list(device.urls) == ["zmq+tcp://127.0.0.1:0300"]
            one.broker.apply(one.broker.state.release("", grant.lease_id))
            assert (await one.fate(device.session_id)).state == "released"
            await one.daemon.idle()
            assert not one.broker.state.ledger.leases

    drive(main())


def test_a_killed_worker_is_named_with_its_signal(drive: Drive) -> None:
    async def main() -> None:
        async with setup() as one:
            session_id = (await one.grant(Wish(wait_s=10))).devices[0].session_id
            (running,) = one.daemon._sessions.values()
            os.kill(running.worker.pid, signal.SIGKILL)
            fate = await one.fate(session_id)
            assert fate.state == "worker_died"
            assert fate.message == (
                f"worker process {running.worker.pid} of GPU 0 on server s "
                "was killed by signal 9 (SIGKILL)"
            )

    drive(main())


def test_figures_of_a_session_reach_the_broker(drive: Drive) -> None:
    async def main() -> None:
        async with setup() as one:
            session_id = (await one.grant(Wish(wait_s=10))).devices[0].session_id
            session = one.broker.state.ledger.sessions[session_id]
            while not session.connected:
                await one.broker._changes.wait(5)
            assert (session.memory_used_bytes, session.operations) == (5, 7)

    drive(main())


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("stillborn", "ended with exit status 1: ImportError: no such device"),
        ("failing", "out of everything"),
    ],
)
def test_a_worker_that_cannot_open_says_why(mode: str, words: str, drive: Drive) -> None:
    async def main() -> None:
        async with setup(mode) as one:
            refusal = (await one.answer(Wish(wait_s=10))).refusal
            assert refusal.reason == "failed"
            assert words in refusal.message

    drive(main())


def test_a_worker_that_hangs_is_killed(drive: Drive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cupool.pool_server.server._OPEN_WITHIN_S", 0.05)

    async def main() -> None:
        async with setup("deaf") as one:
            refusal = (await one.answer(Wish(wait_s=10))).refusal
            assert "SIGKILL" in refusal.message

    drive(main())


def test_warm_workers_are_used_and_replaced(drive: Drive) -> None:
    async def main() -> None:
        async with setup(warm=1) as one:
            one.workers.fill()
            (worker,) = one.workers._idle["mock"]
            while not one.workers.warm:
                await one.broker._changes.wait(1)
            await one.grant(Wish(wait_s=10))
            (running,) = one.daemon._sessions.values()
            assert running.worker is worker
            while not one.workers.warm:
                await one.broker._changes.wait(1)
            assert one.workers._idle["mock"] != [worker]

    drive(main())


def test_dying_warm_workers_are_not_replaced_without_end(drive: Drive) -> None:
    async def main() -> None:
        async with setup("stillborn", warm=1) as one:
            one.workers.fill()
            (worker,) = one.workers._idle["mock"]
            while worker.alive:
                await one.broker._changes.wait(0.05)
            assert one.workers._refill_at is not None and one.workers.gone

    drive(main())


def test_sessions_outlive_their_broker(drive: Drive) -> None:
    async def main() -> None:
        async with setup() as one:
            wish = Wish(wait_s=10, job_id="j", job_token_hash="h")
            before = await one.grant(wish)
            one.broker.close()
            one.broker = BrokerService("second", Limits(heartbeat_s=0.02))
            after = await one.grant(wish)
            assert after.joined and after.lease_id == before.lease_id
            assert after.devices[0].session_id != before.devices[0].session_id
            assert one.daemon.sessions == 2

    drive(main())


def test_how_a_session_ended_meanwhile_is_told_to_the_next_broker(drive: Drive) -> None:
    async def main() -> None:
        async with setup() as one:
            session_id = (await one.grant(Wish(wait_s=10))).devices[0].session_id
            (running,) = one.daemon._sessions.values()
            one.broker.close()
            second = BrokerService("second", Limits(heartbeat_s=0.02))
            held = asyncio.Event()

            async def later(
                events: AsyncIterator[pb.NodeEvent],
            ) -> AsyncGenerator[pb.NodeCommand]:
                await held.wait()
                async for command in second.serve_node(events, "here"):
                    yield command

            one.daemon._dial = later
            os.kill(running.worker.pid, signal.SIGKILL)
            await one.daemon.idle()
            one.broker = second
            held.set()
            while second.state.explain(session_id, 0.0).state == "unknown":
                await second._changes.wait(5)
            assert "SIGKILL" in second.state.explain(session_id, 0.0).message

    drive(main())


def test_draining_refuses_what_is_new_and_keeps_what_runs(drive: Drive) -> None:
    async def main() -> None:
        async with setup() as one:
            await one.grant(Wish(wait_s=10))
            pid = next(iter(one.daemon._sessions.values())).worker.pid
            one.daemon.drain()
            while one.broker.state.ledger.servers["s"].state != "draining":
                await one.broker._changes.wait(5)
            assert (await one.answer(Wish())).refusal.reason == "no_devices"
            assert one.daemon.sessions == 1
            await one.daemon.close("drained", "server s is shutting down")
            assert gone(pid)

    drive(main())


def test_nothing_is_left_of_a_worker(drive: Drive) -> None:
    async def main() -> None:
        before = len(os.listdir("/proc/self/fd"))
        over = asyncio.Event()
        worker = Worker("mock", [sys.executable, str(FAKE), "good"])
        worker.on_exit = over.set
        worker.attach()
        worker.kill()
        await over.wait()
        assert len(os.listdir("/proc/self/fd")) == before
        assert gone(worker.pid) and not worker.alive

    drive(main())


def test_a_worker_is_not_given_the_daemons_tokens(
    drive: Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    for whose in ("SERVER", "TENANT", "ADMIN"):
        monkeypatch.setenv(f"CUPOOL_{whose}_TOKEN", "a-secret-of-the-daemon")
    monkeypatch.setenv("CUPOOL_MOCK_MODEL", "what-it-may-know")
    monkeypatch.setenv("CUPOOL_JOB_TOKEN", "of-the-job-that-runs-it")

    async def main() -> None:
        over = asyncio.Event()
        worker = Worker("mock", [sys.executable, str(FAKE), "good"])
        worker.on_exit = over.set
        worker.attach()
        environ = Path(f"/proc/{worker.pid}/environ").read_bytes()
        worker.kill()
        await over.wait()
        assert b"what-it-may-know" in environ and b"a-secret-of-the-daemon" not in environ
        # A pool within a job of another pool: its devices are reached with the job's token.
        assert b"of-the-job-that-runs-it" in environ

    drive(main())


def test_a_device_on_which_nothing_opens_is_left_alone(drive: Drive) -> None:
    async def main() -> None:
        async with setup("failing") as one:
            small = Wish(memory_bytes=1000, carriers=("zmq+tcp",))
            for _ in range(3):
                assert (await one.answer(small)).refusal.reason == "failed"
            state = one.broker.state
            sick = [d for d in state.ledger.servers["s"].devices.values() if d.unhealthy]
            while not sick:
                await one.broker._changes.wait(5)
                sick = [d for d in state.ledger.servers["s"].devices.values() if d.unhealthy]
            assert "3 sessions in a row" in sick[0].unhealthy
            where = (await one.answer(small)).refusal.message
            assert "out of everything" in where  # the other device, which is as bad

    drive(main())


def test_commands_of_a_broker_that_was_replaced_are_refused(drive: Drive) -> None:
    async def main() -> None:
        async with setup() as one:
            one.daemon._check_epoch(5)
            one.daemon._check_epoch(0)  # brokers that do not count
            one.daemon._check_epoch(7)
            with pytest.raises(RuntimeError, match="epoch 6, and one of epoch 7 has replaced it"):
                one.daemon._check_epoch(6)

    drive(main())


def test_a_broker_that_was_replaced_gets_no_session_and_ends_none(drive: Drive) -> None:
    """The one that was cut off and still believes to lead: its word counts no more."""

    async def main() -> None:
        async with setup() as one:
            one.broker.state.epoch = 7
            kept = (await one.grant(Wish(wait_s=10))).devices[0].session_id
            new, old = one.broker, BrokerService("cut off", Limits(heartbeat_s=0.02))
            old.state.epoch = 6
            one.broker = old
            new.close()  # its streams end; the server meets the old one
            asked = asyncio.ensure_future(one.answer(Wish(wait_s=10)))
            while "s" not in old.state.ledger.servers:
                await old._changes.wait(5)
            while old.state.ledger.servers["s"].link:  # it hears the epoch and goes
                await old._changes.wait(5)
            assert set(one.daemon._sessions) == {kept} and not asked.done()
            asked.cancel()
            one.broker = BrokerService("the next", Limits(heartbeat_s=0.02))
            one.broker.state.epoch = 8
            old.close()
            state = one.broker.state
            while kept not in state.ledger.sessions:
                await one.broker._changes.wait(5)
            second = (await one.grant(Wish(wait_s=10))).devices[0].session_id
            assert set(one.daemon._sessions) == {kept, second}

    drive(main())


def test_what_a_server_reports_is_what_was_granted(drive: Drive) -> None:
    """A broker that knows the lease, or is told of it, must find the same placement."""

    async def main() -> None:
        async with setup() as one:
            one.daemon.offers[0].device.memory_bytes = 1000
            for wish in (
                Wish(wait_s=10, carriers=("zmq+tcp",), max_time_s=100.0),
                Wish(memory_bytes=300, share_milli=200, wait_s=10),
                Wish(memory_bytes=300, share_milli=900, wait_s=10, overcommit=True),
            ):
                session_id = (await one.grant(wish)).devices[0].session_id
                session = one.broker.state.ledger.sessions[session_id]
                lease = one.broker.state.ledger.leases[session.lease_id]
                told = convert.report(one.daemon._sessions[session_id].session(), "s")
                assert told.placement == session.placement
                assert told.terms == lease.terms
                assert (told.ends_in_s > 0) == bool(wish.max_time_s)

    drive(main())
