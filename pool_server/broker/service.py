"""The broker on the wire: gRPC in and out, the clock, and nothing that decides.

Every event goes into `BrokerState`, every decision is carried out by `apply`.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection
from functools import partial
from typing import NoReturn, TypeAlias

import grpc

from cupool.pool_server.broker import access, convert, explain, view, words
from cupool.pool_server.broker.audit import Audit
from cupool.pool_server.broker.books import Books
from cupool.pool_server.broker.changes import Change
from cupool.pool_server.broker.decisions import Decision, TellGrant, TellQueued, TellRefusal
from cupool.pool_server.broker.line import same_secret
from cupool.pool_server.broker.model import Limits, Wish
from cupool.pool_server.broker.news import Changes, News, news_of
from cupool.pool_server.broker.standing import NotLeading, Standing
from cupool.pool_server.broker.state import BrokerState, Rejected
from cupool.pool_server.broker.store.base import Leader
from cupool.pool_server.broker.store.journal import Journal
from cupool.pool_server.broker.store.rows import rows_of
from cupool.proto.v1 import pool_pb2 as pb
from cupool.proto.v1 import pool_pb2_grpc as rpc

log = logging.getLogger("cupool.broker")

Context: TypeAlias = access.Context

_MESSAGE_LIMIT_BYTES = 8 << 20
SERVER_OPTIONS = (
    ("grpc.max_receive_message_length", _MESSAGE_LIMIT_BYTES),
    ("grpc.so_reuseport", 0),
    ("grpc.keepalive_permit_without_calls", 1),
    # Servers and waiting clients ping each 2 s, to notice a broker that hangs.
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 500),
    ("grpc.http2.max_ping_strikes", 0),
)
"""Of every gRPC server that answers for a broker."""
_EXPLAIN_PATIENCE_S = 1.5
"""How long `Explain` waits for bad news of a session that seems to run."""
_COMMANDS_LIMIT = 20_000
"""Commands that may wait for a server which takes none; beyond, its stream is dropped."""


class BrokerService(rpc.BrokerServicer):
    """One broker: its state, its clients and its servers' streams.

    Args:
        name: what `cupool status` shows as the broker.
        settled: the pool is complete from the start.
        audit: where decisions are written down.
        who_may: look, ask, administer.

    It serves from the start, and keeps nothing, unless an election tells it to `follow`.
    """

    def __init__(
        self,
        name: str = "broker",
        limits: Limits | None = None,
        *,
        settled: bool = False,
        clock: Callable[[], float] = time.monotonic,
        audit: Audit | None = None,
        who_may: access.Access | None = None,
    ) -> None:
        self.name = name
        self.audit = audit or Audit()
        self._clock = clock
        self.state = BrokerState(clock(), limits, settled=settled)
        self.standing = Standing()
        self.who_may = who_may or access.Access()
        self._numbers = itertools.count(1)
        self._clients: dict[int, asyncio.Queue[pb.AcquireEvent | NotLeading]] = {}
        self._servers: dict[int, asyncio.Queue[pb.NodeCommand | None]] = {}
        self._changes = Changes()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0

    def now(self) -> float:
        """Return the time, in the clock of the state."""
        return self._clock()

    # ------------------------------------------------------------ leading

    def lead(self, books: Books, epoch: int, journal: Journal) -> None:
        """Serve from now on, with what an earlier leader left; see `store.election`."""
        self.state = BrokerState(self._clock(), self.state.limits, books=books, epoch=epoch)
        self.standing.lead(journal)
        self.audit.write("leading", epoch=epoch, leases=len(books.leases))
        self.apply([])

    def follow(self, leader: Leader | None, why: str) -> None:
        """Serve nobody: another broker leads, or none."""
        if not self.standing.follow(leader, why):
            return
        if self.state.epoch:
            self.audit.write("leading-no-more", epoch=self.state.epoch, why=why)
        self.state = BrokerState(self._clock(), self.state.limits)
        self._set_timer()
        self.store_trouble(why)
        for commands in self._servers.values():
            commands.put_nowait(None)
        self._changes.notify()

    def store_trouble(self, why: str) -> None:
        """Send everybody away who waits for a grant: none can be made."""
        for events in self._clients.values():
            events.put_nowait(self.standing.refusal() or NotLeading(words.store(why)))

    # ------------------------------------------------------------ clients

    async def Acquire(
        self, request: pb.AcquireRequest, context: Context
    ) -> AsyncIterator[pb.AcquireEvent]:
        await self.authorise(context, writes=True)
        wish = convert.wish(request)
        fault = "" if self._is_of_job(wish) else self.who_may.speak_for(context, wish.tenant)
        if fault:
            self._denied(context, fault, tenant=wish.tenant)
            refusal = pb.Refusal(reason="denied", message=fault, remedy=words.TENANT_TOKEN)
            yield pb.AcquireEvent(refusal=refusal)
            return
        try:
            async for event in self.acquire(wish):
                yield event
        except NotLeading as exc:
            await unavailable(context, exc)

    async def acquire(self, wish: Wish) -> AsyncIterator[pb.AcquireEvent]:
        """Wait in line; yields places in line, then a grant or a refusal.

        Raises:
            NotLeading: this broker makes no grants, or no more.
        """
        number = next(self._numbers)
        events: asyncio.Queue[pb.AcquireEvent | NotLeading] = asyncio.Queue()
        self._clients[number] = events
        over = False
        try:
            self.apply(self.state.request(number, wish, self._clock()))
            while not over:
                event = await events.get()
                if isinstance(event, NotLeading):
                    raise event
                over = not event.HasField("queued")
                yield event
        finally:
            del self._clients[number]
            if not over:
                self.apply(self.state.leave(number, self._clock()))

    async def Release(self, request: pb.ReleaseRequest, context: Context) -> pb.ReleaseReply:
        if self._owns(context, request.lease_id, request.session_id):
            await self.authorise(context, writes=True)
        else:
            await self.authorise_admin(context)
        self.apply(self.state.release(request.session_id, request.lease_id))
        self.apply(self.state.tick(self._clock()))  # a lease without sessions is free at once
        await self.written(context)
        return pb.ReleaseReply()

    async def Renew(self, request: pb.RenewRequest, context: Context) -> pb.RenewReply:
        await self.authorise(context)
        if request.lease_id not in self.state.ledger.leases:
            await abort(
                context, grpc.StatusCode.NOT_FOUND, "unknown", f"no lease {request.lease_id}"
            )
        return pb.RenewReply(expires_in_s=self.state.limits.connect_within_s)

    async def Explain(self, request: pb.ExplainRequest, context: Context) -> pb.ExplainReply:
        end = self._clock() + _EXPLAIN_PATIENCE_S
        while True:
            await self.authorise(context)  # it may lead no more
            now = self._clock()
            fate = self.state.explain(request.session_id, now)
            if fate.state != "running" or now >= end:
                return pb.ExplainReply(state=fate.state, message=fate.message, server=fate.server)
            await self._changes.wait(end - now)

    async def Status(self, request: pb.StatusRequest, context: Context) -> pb.StatusReply:
        await self.authorise_look(context, request.tenant)
        return self._status(request.tenant)

    async def Why(self, request: pb.WhyRequest, context: Context) -> pb.WhyReply:
        await self.authorise(context)
        if not self._owns(context, request.id, request.id):
            await self.authorise_look(context, request.tenant)
        found = explain.why(self.state, request.id, request.tenant, self._clock())
        return pb.WhyReply(
            state=found.state,
            summary=found.summary,
            details=found.details,
            expected_in_s=found.expected_in_s,
        )

    async def Watch(
        self, request: pb.StatusRequest, context: Context
    ) -> AsyncIterator[pb.StatusReply]:
        await self.authorise_look(context, request.tenant)
        interval_s = max(0.05, request.interval_s)
        while True:
            yield self._status(request.tenant)
            earliest = self._clock() + interval_s
            await self._changes.wait(60.0)
            await asyncio.sleep(max(0.0, earliest - self._clock()))
            await self.authorise(context)

    def _status(self, tenant: str) -> pb.StatusReply:
        reply = view.status(self.state, self.name, self._clock(), tenant)
        reply.note = words.store(self.standing.trouble) if self.standing.trouble else ""
        return reply

    async def authorise(self, context: Context, *, writes: bool = False) -> None:
        """Let a call pass, or end it: not of this job, or (`writes`) nothing can be written."""
        refusal = self.standing.refusal()
        if refusal is None and writes and self.standing.trouble:
            refusal = NotLeading(words.store(self.standing.trouble))
        if refusal is not None:
            await unavailable(context, refusal)
        fault = self.who_may.job(context)
        if fault:
            await abort(context, grpc.StatusCode.UNAUTHENTICATED, "denied", fault)

    async def written(self, context: Context) -> None:
        """Wait until all that was decided is durable, or end the call."""
        try:
            await self.standing.written()
        except NotLeading as exc:
            await unavailable(context, exc)

    async def authorise_admin(self, context: Context) -> None:
        """Let a command that changes the pool go on if an administrator gave it."""
        await self.authorise(context, writes=True)
        fault = self.who_may.administer(context)
        if fault:
            self._denied(context, fault)
            await abort(context, grpc.StatusCode.PERMISSION_DENIED, "denied", fault)

    async def authorise_look(self, context: Context, tenant: str = "") -> None:
        """Let a call see what a tenant sees, or ("") everything, if it may."""
        await self.authorise(context)
        fault = self.who_may.look(context, tenant)
        if fault:
            self._denied(context, fault, tenant=tenant)
            await abort(context, grpc.StatusCode.PERMISSION_DENIED, "denied", fault)

    def _denied(self, context: Context, fault: str, **more: str) -> None:
        self.audit.write("access-denied", peer=context.peer(), message=fault, **more)

    def _is_of_job(self, wish: Wish) -> bool:
        """Whether a request proves that it is of a job which has a lease already."""
        lease = self.state.ledger.lease_of_job(wish.job_id)
        return lease is not None and lease.job_token_hash != "" and same_secret(lease, wish)

    def _owns(self, context: Context, lease_id: str, session_id: str) -> bool:
        """Whether a call carries the token of the job or tenant that a lease or session is of."""
        ledger = self.state.ledger
        session = ledger.sessions.get(session_id)
        lease = ledger.leases.get(lease_id)  # before the session, as `release` takes it
        if lease is None and session is not None:
            lease = ledger.leases.get(session.lease_id)
        if lease is None:
            return False
        given = convert.token_hash(access.metadata(context, "cupool-job-token"))
        of_job = given != "" and access.equal(given, lease.job_token_hash)
        return of_job or self.who_may.is_tenant(context, lease.terms.tenant)

    # ------------------------------------------------------------ servers

    async def serve_node(
        self,
        events: AsyncIterator[pb.NodeEvent],
        address: str = "",
        may_join: Callable[[str, Collection[str]], str] = lambda name, partitions: "",
    ) -> AsyncGenerator[pb.NodeCommand]:
        """Talk with one server until its events end; yields commands for it.

        Args:
            may_join: says why a server of this name and these partitions may not join, "" if it
                may.

        Raises:
            Rejected: it may not join.
            NotLeading: it must go to another broker.
        """
        link = next(self._numbers)
        first = await anext(aiter(events), None)
        if first is None:
            return
        if not first.HasField("register"):
            raise Rejected("invalid", "the first message of a server must register it")
        hello = convert.registration(first.register, address)
        refusal = self.standing.refusal()
        if refusal is not None:
            raise refusal
        if fault := may_join(hello.name, hello.partitions()):
            self.audit.write("server-rejected", server=hello.name[:200], why=fault)
            raise Rejected("denied", fault)
        commands: asyncio.Queue[pb.NodeCommand | None] = asyncio.Queue()
        self._servers[link] = commands
        limits = self.state.limits
        registered = pb.Registered(
            heartbeat_s=limits.heartbeat_s, lease_s=limits.silence_s, broker=self.name
        )
        commands.put_nowait(pb.NodeCommand(registered=registered, epoch=self.state.epoch))
        reader = None
        try:
            try:
                self.apply(self.state.register(link, hello, self._clock()))
            except Rejected as exc:
                self.audit.write("server-rejected", server=hello.name[:200], why=str(exc))
                raise
            log.info("server joined", extra={"server": hello.name, "address": address})
            reader = asyncio.create_task(self._read_node(link, hello.name, events, commands))
            while (command := await commands.get()) is not None:
                yield command
        finally:
            if reader is not None:
                reader.cancel()
            del self._servers[link]
            self.apply(self.state.link_broken(link, self._clock()))
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
                self.apply(self._node_event(link, name, event))
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
                decisions = self.state.heartbeat(link, reports, beat.warm_workers, now)
                for each in beat.health:
                    decisions += self.state.health(link, each.ordinal, each.unhealthy, now)
                return decisions
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

    def apply(self, decisions: list[Decision]) -> None:
        """Write down what has changed, then carry out what was decided."""
        changes = self.state.take_changes()
        # Put into words now: what a decision speaks of changes while the store is written.
        news = [news_of(decision) for decision in decisions]
        for what, fields in self.state.take_notes():
            self.audit.write(what, **fields)
        if self.standing.journal is None:
            self._carry_out(news, changes)
        else:
            rows = rows_of(changes, self.state.ledger.books)
            self.standing.journal.submit(rows, lambda: self._carry_out(news, changes))
        self._set_timer()

    def _carry_out(self, news: list[News], changes: list[Change]) -> None:
        for each in news:
            if isinstance(each, tuple):
                self._command(*each)
            else:
                self._tell(each)
        if changes:
            self.audit.changes(changes, self.state.epoch)
        if changes or news:
            self._changes.notify()

    def _command(self, link: int, command: pb.NodeCommand | None) -> None:
        commands = self._servers.get(link)
        if commands is None:
            return
        if commands.qsize() >= _COMMANDS_LIMIT:
            command = None
        if command is not None:
            command.epoch = self.state.epoch
        commands.put_nowait(command)

    def _tell(self, decision: TellQueued | TellGrant | TellRefusal) -> None:
        if isinstance(decision, TellGrant):
            log.info("request granted", extra={"request": decision.request_id})
        elif isinstance(decision, TellRefusal):
            log.info("request refused", extra={"request": decision.request_id})
            self.audit.write(
                "request-refused",
                request=convert.request_name(decision.request_id),
                reason=decision.reason,
                message=decision.message,
            )
        events = self._clients.get(decision.request_id)
        if events is not None:
            events.put_nowait(convert.client_event(decision))

    def _set_timer(self) -> None:
        due = self.state.next_tick()
        if self._timer is not None and due is not None and self._timer_at <= due:
            return  # it comes early enough, and then sets the next one
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if due is not None:
            delay = max(0.001, due - self._clock())
            self._timer_at = due
            self._timer = asyncio.get_running_loop().call_later(delay, self._tick)

    def _tick(self) -> None:
        self._timer = None
        now = self._clock()
        late_s = now - self._timer_at
        if late_s > self.state.limits.late_s:
            log.warning("the broker stood still", extra={"seconds": round(late_s, 1)})
            self.state.stood_still(now)
        self.apply(self.state.tick(now))

    def close(self) -> None:
        """Stop the timer and end the servers' streams."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for commands in self._servers.values():
            commands.put_nowait(None)
        self.audit.close()


_INVALID = grpc.StatusCode.INVALID_ARGUMENT
_REJECTED = {
    "name_taken": grpc.StatusCode.ALREADY_EXISTS,
    "denied": grpc.StatusCode.PERMISSION_DENIED,
}


class NodeService(rpc.NodeServicer):
    """The servers' side of a broker, for those that come over the network."""

    def __init__(self, broker: BrokerService) -> None:
        self._broker = broker

    async def Serve(
        self, events: AsyncIterator[pb.NodeEvent], context: Context
    ) -> AsyncIterator[pb.NodeCommand]:
        try:
            may_join = partial(self._broker.who_may.join, context)
            async for command in self._broker.serve_node(events, context.peer(), may_join):
                yield command
        except Rejected as exc:
            await abort(context, _REJECTED.get(exc.reason, _INVALID), exc.reason, str(exc))
        except NotLeading as exc:
            await unavailable(context, exc)


async def unavailable(context: Context, why: NotLeading) -> NoReturn:
    """End a call that another broker, or this one later, will answer."""
    metadata = (("cupool-reason", "not_leader"), ("cupool-leader", why.leader))
    await context.abort(grpc.StatusCode.UNAVAILABLE, str(why), metadata)
    raise AssertionError("abort returned")


async def abort(context: Context, code: grpc.StatusCode, reason: str, message: str) -> NoReturn:
    await context.abort(code, message, (("cupool-reason", reason),))
    raise AssertionError("abort returned")
