"""The broker on the wire: gRPC in and out, the clock, and nothing that decides.

Every event goes into `BrokerState`, every decision is carried out by `_apply`.
"""

from __future__ import annotations

import asyncio
import hmac
import itertools
import logging
import time
from collections.abc import AsyncIterator, Callable
from typing import Any, NoReturn, TypeAlias

import grpc

from cupool.pool_server.broker import convert, view
from cupool.pool_server.broker.model import (
    CloseSession,
    Decision,
    DropLink,
    Limits,
    OpenSession,
    TellGrant,
    TellQueued,
    TellRefusal,
    Wish,
)
from cupool.pool_server.broker.state import BrokerState, Rejected
from cupool.proto.v1 import pool_pb2 as pb
from cupool.proto.v1 import pool_pb2_grpc as rpc

log = logging.getLogger("cupool.broker")

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"

_EXPLAIN_PATIENCE_S = 1.5
"""How long `Explain` waits for bad news of a session that seems to run."""
_COMMANDS_LIMIT = 20_000
"""Commands that may wait for a server which takes none; beyond, its stream is dropped."""


class _Changes:
    """Wakes everybody who waits for the books to change."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def notify(self) -> None:
        self._event.set()
        self._event = asyncio.Event()

    async def wait(self, timeout_s: float) -> None:
        """Return at the next change, or after the time."""
        try:
            await asyncio.wait_for(self._event.wait(), timeout_s)
        except TimeoutError:
            pass


class BrokerService(rpc.BrokerServicer):
    """One broker: its state, its clients and its servers' streams.

    Args:
        name: what `cupool status` shows as the broker.
        job_token: if set, every call must carry it; for a pool of one job.
        settled: the pool is complete from the start.
    """

    def __init__(
        self,
        name: str = "broker",
        limits: Limits | None = None,
        *,
        job_token: str = "",
        settled: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self._clock = clock
        self.state = BrokerState(clock(), limits, settled=settled)
        self._job_token = job_token
        self._numbers = itertools.count(1)
        self._clients: dict[int, asyncio.Queue[pb.AcquireEvent]] = {}
        self._servers: dict[int, asyncio.Queue[pb.NodeCommand | None]] = {}
        self._changes = _Changes()
        self._timer: asyncio.TimerHandle | None = None

    # ------------------------------------------------------------ clients

    async def Acquire(
        self, request: pb.AcquireRequest, context: Context
    ) -> AsyncIterator[pb.AcquireEvent]:
        await self._authorise(context)
        async for event in self.acquire(convert.wish(request)):
            yield event

    async def acquire(self, wish: Wish) -> AsyncIterator[pb.AcquireEvent]:
        """Wait in line; yields places in line, then a grant or a refusal."""
        number = next(self._numbers)
        events: asyncio.Queue[pb.AcquireEvent] = asyncio.Queue()
        self._clients[number] = events
        over = False
        try:
            self._apply(self.state.request(number, wish, self._clock()))
            while not over:
                event = await events.get()
                over = not event.HasField("queued")
                yield event
        finally:
            del self._clients[number]
            if not over:
                self._apply(self.state.leave(number, self._clock()))

    async def Release(self, request: pb.ReleaseRequest, context: Context) -> pb.ReleaseReply:
        await self._authorise(context)
        self._apply(self.state.release(request.session_id, request.lease_id))
        return pb.ReleaseReply()

    async def Renew(self, request: pb.RenewRequest, context: Context) -> pb.RenewReply:
        await self._authorise(context)
        if request.lease_id not in self.state.ledger.leases:
            await _abort(
                context, grpc.StatusCode.NOT_FOUND, "unknown", f"no lease {request.lease_id}"
            )
        return pb.RenewReply(expires_in_s=self.state.limits.connect_within_s)

    async def Explain(self, request: pb.ExplainRequest, context: Context) -> pb.ExplainReply:
        await self._authorise(context)
        end = self._clock() + _EXPLAIN_PATIENCE_S
        while True:
            now = self._clock()
            fate = self.state.explain(request.session_id, now)
            if fate.state != "running" or now >= end:
                return pb.ExplainReply(state=fate.state, message=fate.message, server=fate.server)
            await self._changes.wait(end - now)

    async def Status(self, request: pb.StatusRequest, context: Context) -> pb.StatusReply:
        await self._authorise(context)
        return view.status(self.state, self.name, self._clock())

    async def Watch(
        self, request: pb.StatusRequest, context: Context
    ) -> AsyncIterator[pb.StatusReply]:
        await self._authorise(context)
        interval_s = max(0.05, request.interval_s)
        while True:
            yield view.status(self.state, self.name, self._clock())
            earliest = self._clock() + interval_s
            await self._changes.wait(60.0)
            await asyncio.sleep(max(0.0, earliest - self._clock()))

    async def _authorise(self, context: Context) -> None:
        if not self._job_token:
            return
        metadata = dict(context.invocation_metadata() or ())
        given = str(metadata.get("cupool-job-token", ""))
        if not hmac.compare_digest(given.encode(), self._job_token.encode()):
            await _abort(
                context,
                grpc.StatusCode.UNAUTHENTICATED,
                "denied",
                "this pool serves one job, and the job's token is missing or wrong",
            )

    # ------------------------------------------------------------ servers

    async def serve_node(
        self, events: AsyncIterator[pb.NodeEvent], address: str = ""
    ) -> AsyncIterator[pb.NodeCommand]:
        """Talk with one server until its events end; yields commands for it.

        Raises:
            Rejected: it may not join.
        """
        link = next(self._numbers)
        first = await anext(aiter(events), None)
        if first is None:
            return
        if not first.HasField("register"):
            raise Rejected("invalid", "the first message of a server must register it")
        hello = convert.registration(first.register, address)
        commands: asyncio.Queue[pb.NodeCommand | None] = asyncio.Queue()
        self._servers[link] = commands
        limits = self.state.limits
        registered = pb.Registered(
            heartbeat_s=limits.heartbeat_s, lease_s=limits.silence_s, broker=self.name
        )
        commands.put_nowait(pb.NodeCommand(registered=registered))
        reader = None
        try:
            self._apply(self.state.register(link, hello, self._clock()))
            log.info("server joined", extra={"server": hello.name, "address": address})
            reader = asyncio.create_task(self._read_node(link, hello.name, events, commands))
            while (command := await commands.get()) is not None:
                yield command
        finally:
            if reader is not None:
                reader.cancel()
            del self._servers[link]
            self._apply(self.state.link_broken(link, self._clock()))
            log.info("a server's stream ended", extra={"server": hello.name})

    async def _read_node(
        self,
        link: int,
        name: str,
        events: AsyncIterator[pb.NodeEvent],
        commands: asyncio.Queue[pb.NodeCommand | None],
    ) -> None:
        try:
            async for event in events:
                self._apply(self._node_event(link, name, event))
        except grpc.RpcError as exc:
            log.debug("a server's stream broke", extra={"server": name, "error": str(exc)})
        finally:
            commands.put_nowait(None)

    def _node_event(self, link: int, name: str, event: pb.NodeEvent) -> list[Decision]:
        now = self._clock()
        match event.WhichOneof("event"):
            case "heartbeat":
                beat = event.heartbeat
                reports = [convert.report(each, name) for each in beat.sessions]
                return self.state.heartbeat(link, reports, beat.warm_workers, now)
            case "opened":
                opened = event.opened
                urls = tuple(opened.urls)
                return self.state.session_opened(
                    link, opened.session_id, urls, opened.worker_pid, now
                )
            case "failed":
                failed = event.failed
                log.warning("a session did not open", extra={"server": name, "why": failed.message})
                return self.state.session_failed(link, failed.session_id, failed.message, now)
            case "ended":
                ended = event.ended
                return self.state.session_ended(
                    link, ended.session_id, ended.state, ended.message, now
                )
            case "draining":
                return self.state.draining(link, now)
            case _:
                return []

    # ------------------------------------------------------------ decisions and time

    def _apply(self, decisions: list[Decision]) -> None:
        for decision in decisions:
            match decision:
                case OpenSession():
                    self._command(decision.link, convert.open_command(decision))
                case CloseSession():
                    close = pb.CloseSession(session_id=decision.session_id, reason=decision.reason)
                    self._command(decision.link, pb.NodeCommand(close=close))
                case DropLink():
                    log.warning("a server's stream is dropped", extra={"why": decision.reason})
                    self._command(decision.link, None)
                case TellQueued() | TellGrant() | TellRefusal():
                    self._tell(decision)
        self._changes.notify()
        self._set_timer()

    def _command(self, link: int, command: pb.NodeCommand | None) -> None:
        commands = self._servers.get(link)
        if commands is None:
            return
        if commands.qsize() >= _COMMANDS_LIMIT:
            command = None
        commands.put_nowait(command)

    def _tell(self, decision: TellQueued | TellGrant | TellRefusal) -> None:
        if not isinstance(decision, TellQueued):
            kind = "granted" if isinstance(decision, TellGrant) else "refused"
            log.info("request %s", kind, extra={"request": decision.request_id})
        events = self._clients.get(decision.request_id)
        if events is not None:
            events.put_nowait(convert.client_event(decision))

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due = self.state.next_tick()
        if due is not None:
            delay = max(0.001, due - self._clock())
            self._timer = asyncio.get_running_loop().call_later(delay, self._tick)

    def _tick(self) -> None:
        self._timer = None
        self._apply(self.state.tick(self._clock()))

    def close(self) -> None:
        """Stop the timer and end the servers' streams."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for commands in self._servers.values():
            commands.put_nowait(None)


class NodeService(rpc.NodeServicer):
    """The servers' side of a broker, for those that come over the network."""

    def __init__(self, broker: BrokerService) -> None:
        self._broker = broker

    async def Serve(
        self, events: AsyncIterator[pb.NodeEvent], context: Context
    ) -> AsyncIterator[pb.NodeCommand]:
        try:
            async for command in self._broker.serve_node(events, context.peer()):
                yield command
        except Rejected as exc:
            taken = exc.reason == "name_taken"
            code = grpc.StatusCode.ALREADY_EXISTS if taken else grpc.StatusCode.INVALID_ARGUMENT
            await _abort(context, code, exc.reason, str(exc))


async def _abort(context: Context, code: grpc.StatusCode, reason: str, message: str) -> NoReturn:
    await context.abort(code, message, (("cupool-reason", reason),))
    raise AssertionError("abort returned")
