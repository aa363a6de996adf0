"""The daemon of one machine: offers its devices to a broker and runs a worker per session.

    broker -- OpenSession --> Daemon -- Open --> worker process (warm before, own process)
           <- SessionOpened -        <- Opened -
           <- SessionEnded ---       <- Ended, or it died

Sessions do not depend on the broker: when its stream breaks they go on, and the daemon tells
the next broker about them when it registers again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import time
import uuid
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from cupool import __version__
from cupool.addresses import is_local
from cupool.pool_server.offers import Location, Offer
from cupool.pool_server.session.control import (
    Close,
    Control,
    Ended,
    Notice,
    Open,
    Opened,
    Report,
)
from cupool.pool_server.workers import Worker, WorkerPool
from cupool.proto.v1 import pool_pb2 as pb
from cupool.transport.channel import ENCRYPTED, LOCAL_CARRIERS

log = logging.getLogger("cupool.server")

Dial: TypeAlias = Callable[[AsyncIterator[pb.NodeEvent]], AsyncGenerator[pb.NodeCommand]]
"""Opens the stream to the broker: takes our events, yields its commands."""

_OPEN_WITHIN_S = 15.0
_CLOSE_WITHIN_S = 5.0
_NOT_ENCRYPTED = (
    "this server encrypts what leaves its machine, which the carrier {} cannot: "
    "cupool run --carrier tcp, or cupool serve --encrypt off"
)
_BACKOFF_S = (0.1, 0.5)
_EVENTS_LIMIT = 20_000
_FAULTS = 3
_UNWELL_S = 60.0
"""A device on which so many sessions in a row did not open is left alone for so long."""
_DENIED_S = 10.0
"""Until a server whose token is refused asks again: each time is a line in the audit log."""


@dataclass
class _Running:
    """One session here: what the broker asked for, and the worker that does it."""

    order: pb.OpenSession
    kind: str
    worker: Worker
    opened: bool = False
    urls: list[str] = field(default_factory=list)
    report: Report | None = None
    ended: Ended | None = None
    closing: str = ""
    opened_at: float = 0.0
    row: int = -1

    def session(self) -> pb.Session:
        order, report = self.order, self.report
        return pb.Session(
            session_id=order.session_id,
            lease_id=order.lease_id,
            device_ordinal=order.device_ordinal,
            memory_bytes=order.memory_bytes,
            memory_used_bytes=report.memory_used_bytes if report else 0,
            worker_pid=self.worker.pid,
            client=order.client,
            whole_device=order.whole_device,
            job_id=order.job_id,
            connected=report.connected if report else False,
            operations=report.operations if report else 0,
            job_token_hash=order.job_token_hash,
            lease_index=order.lease_index,
            lease_size=order.lease_size,
            terms=self._terms(),
            device_time_s=report.device_time_s if report else 0.0,
        )

    def _terms(self) -> pb.LeaseTerms:
        """The lease's terms as of now: of its time, what is left."""
        terms = pb.LeaseTerms()
        terms.CopyFrom(self.order.terms)
        if terms.ends_in_s:
            passed_s = time.monotonic() - self.opened_at
            terms.ends_in_s = max(0.001, terms.ends_in_s - passed_s)
        return terms


class Daemon:
    """Runs sessions for a broker until told to stop.

    Args:
        name: of this server, unique in the pool.
        offers: its devices; their ordinals are 0, 1, 2, ...
        dial: opens the stream to the broker.
        workers: where worker processes come from.
        data_host: where the workers listen.
        encrypt: what they send over networks: "auto" (not on loopback), "on" or "off".
        host: identifies the machine, see `cupool.host`.
        grace_s: how long a worker waits for a client whose link broke.
        location: where the server is and whom it is for.
    """

    def __init__(
        self,
        name: str,
        offers: Sequence[Offer],
        dial: Dial,
        workers: WorkerPool,
        *,
        data_host: str = "127.0.0.1",
        encrypt: str = "auto",
        host: str = "",
        grace_s: float = 30.0,
        location: Location | None = None,
    ) -> None:
        self.name = name
        self.offers = {offer.device.ordinal: offer for offer in offers}
        self.workers = workers
        self.registered = asyncio.Event()
        self.changed = asyncio.Event()
        self._dial = dial
        self._data_host = data_host
        self._encrypt = encrypt
        self._host = host
        self._grace_s = grace_s
        self._location = location or Location()
        self._epoch = 0
        self._faults: dict[int, int] = {}
        self._instance = uuid.uuid4().hex
        self._sessions: dict[str, _Running] = {}
        self._unreported: deque[pb.NodeEvent] = deque(maxlen=1000)
        self._outbox: asyncio.Queue[pb.NodeEvent] | None = None
        self._draining = False

    @property
    def sessions(self) -> int:
        """How many sessions are here."""
        return len(self._sessions)

    # ------------------------------------------------------------ the broker's stream

    async def run(self) -> None:
        """Stay registered with the broker until cancelled; a lost stream is dialled again."""
        delay_s, most_s = _BACKOFF_S
        told = told_denied = False
        while True:
            denied = False
            self.registered.clear()
            try:
                await self._converse()
                why = "the broker ended the stream"
            except (OSError, RuntimeError) as exc:
                why = str(exc)
            except Exception as exc:
                why = _grpc_words(exc)
                denied = _is_denied(exc)
            if self.registered.is_set():
                delay_s, told, told_denied = _BACKOFF_S[0], False, False
            if not told or (denied and not told_denied):  # it may have been just away before
                log.warning("no stream to the broker, trying again", extra={"why": why})
                told, told_denied = True, denied
            await asyncio.sleep((_DENIED_S if denied else delay_s) * random.uniform(0.5, 1.0))
            delay_s = min(most_s, delay_s * 2)

    async def _converse(self) -> None:
        outbox: asyncio.Queue[pb.NodeEvent] = asyncio.Queue()
        beat: asyncio.Task[None] | None = None
        outbox.put_nowait(pb.NodeEvent(register=self._register()))
        self._outbox = outbox
        if self._draining:
            self._tell(pb.NodeEvent(draining=pb.Draining()))
        while self._unreported:
            self._tell(self._unreported.popleft())
        try:
            async with contextlib.aclosing(self._dial(_drain(outbox))) as commands:
                async for command in commands:
                    self._check_epoch(command.epoch)
                    match command.WhichOneof("command"):
                        case "registered":
                            log.info("registered", extra={"broker": command.registered.broker})
                            self.registered.set()
                            beat = asyncio.create_task(self._beat(command.registered.heartbeat_s))
                        case "open":
                            self._open(command.open)
                        case "close":
                            self._close(command.close.session_id, command.close.reason)
                        case "notice":
                            self._notify(command.notice)
        finally:
            self._outbox = None
            if beat is not None:
                beat.cancel()
            for session_id, running in list(self._sessions.items()):
                if not running.opened:  # the broker gives them up, too
                    self._close(session_id, "released")
            while not outbox.empty():
                event = outbox.get_nowait()
                if event.WhichOneof("event") in ("ended", "failed"):
                    self._unreported.append(event)

    def _check_epoch(self, epoch: int) -> None:
        """Refuse a broker that another one has replaced; 0 = brokers that do not count.

        Raises:
            RuntimeError: a later broker has commanded here.
        """
        if epoch and epoch < self._epoch:
            raise RuntimeError(
                f"the broker is of epoch {epoch}, and one of epoch {self._epoch} has replaced it"
            )
        self._epoch = max(self._epoch, epoch)

    def _notify(self, notice: pb.Notice) -> None:
        """Pass a notice on to the script of a session."""
        running = self._sessions.get(notice.session_id)
        if running is not None:
            message = Notice(notice.reason, notice.message, notice.within_s)
            running.worker.send(message)

    def _register(self) -> pb.Register:
        return pb.Register(
            name=self.name,
            instance=self._instance,
            devices=[offer.device for offer in self.offers.values()],
            sessions=[running.session() for running in self._sessions.values() if running.opened],
            version=__version__,
            host=self._host,
            zone=self._location.zone,
            rack=self._location.rack,
            partition=self._location.partition,
            taints=self._location.taints,
            nics=[
                pb.Nic(name=name, bandwidth_mbps=speed)
                for name, speed in self._location.links.items()
            ],
        )

    async def _beat(self, interval_s: float) -> None:
        told: dict[str, Report | None] = {}
        while True:
            opened = {key: each for key, each in self._sessions.items() if each.opened}
            news = [each for key, each in opened.items() if told.get(key) != each.report]
            sessions = [each.session() for each in news]
            told = {key: each.report for key, each in opened.items()}
            heartbeat = pb.Heartbeat(sessions=sessions, warm_workers=self.workers.warm)
            self._tell(pb.NodeEvent(heartbeat=heartbeat))
            await asyncio.sleep(max(0.05, interval_s))

    def _tell(self, event: pb.NodeEvent) -> None:
        """Send an event to the broker; how sessions ended is kept for one that is away."""
        if self._outbox is not None and self._outbox.qsize() < _EVENTS_LIMIT:
            self._outbox.put_nowait(event)
        elif event.WhichOneof("event") in ("ended", "failed"):
            self._unreported.append(event)

    # ------------------------------------------------------------ sessions

    def _open(self, order: pb.OpenSession) -> None:
        offer = self.offers.get(order.device_ordinal)
        if self._draining:
            return self._failed(order.session_id, f"server {self.name} is draining")
        if offer is None:
            return self._failed(order.session_id, f"there is no GPU {order.device_ordinal}")
        if order.session_id in self._sessions:
            return None
        urls = [self._listen_url(each, order.terms.partition) for each in order.carriers]
        if not any(urls):
            return self._failed(order.session_id, _NOT_ENCRYPTED.format(", ".join(order.carriers)))
        try:
            worker = self.workers.take(offer.device.kind)
        except OSError as exc:
            return self._failed(order.session_id, f"no process can be started: {exc}")
        share = 1000 if order.whole_device else order.terms.share_milli
        row = self.workers.shares.open(order.device_ordinal, order.lease_id, share)
        running = _Running(order, offer.device.kind, worker, opened_at=time.monotonic(), row=row)
        self._sessions[order.session_id] = running
        worker.on_message = lambda message: self._hear(running, message)
        worker.on_exit = lambda: self._exited(running)
        worker.kill_after(_OPEN_WITHIN_S)
        worker.send(
            Open(
                session=order.session_id,
                token=order.token,
                device=offer.device.kind,
                ordinal=order.device_ordinal,
                server=self.name,
                memory_bytes=order.memory_bytes,
                urls=[url for url in urls if url],
                connect_within_s=order.connect_within_s,
                grace_s=self._grace_s,
                row=row,
                share_milli=share,
                cap_milli=order.terms.cap_milli,
                options=offer.options,
            )
        )
        self.changed.set()

    def _listen_url(self, carrier: str, partition: str) -> str:
        """Return where to listen, "" if what must be encrypted cannot be on this carrier."""
        if carrier in LOCAL_CARRIERS:
            return f"{carrier}://"
        host = self._location.hosts.get(partition, self._data_host)
        if self._encrypt == "on" or (self._encrypt == "auto" and not is_local(host)):
            carrier = ENCRYPTED.get(carrier, "")
        if not carrier:
            return ""
        host = f"[{host}]" if ":" in host else host
        return f"{carrier}://{host}:0"

    def _failed(self, session_id: str, message: str) -> None:
        log.warning("a session did not open", extra={"session": session_id, "why": message})
        failed = pb.SessionFailed(session_id=session_id, message=message)
        self._tell(pb.NodeEvent(failed=failed))

    def _hear(self, running: _Running, message: Control) -> None:
        session_id = running.order.session_id
        match message:
            case Opened():
                running.opened, running.urls = True, message.urls
                self._faults.pop(running.order.device_ordinal, None)
                if not running.closing:
                    running.worker.spare()
                log.info("session opened", extra={"session": session_id, "pid": running.worker.pid})
                opened = pb.SessionOpened(
                    session_id=session_id, urls=message.urls, worker_pid=running.worker.pid
                )
                self._tell(pb.NodeEvent(opened=opened))
            case Report():
                running.report = message
            case Ended():
                running.ended = message
                running.worker.kill_after(_CLOSE_WITHIN_S)
            case _:
                pass

    def _exited(self, running: _Running) -> None:
        """A worker's process is gone: tell the broker why, in words for the session's owner."""
        session_id = running.order.session_id
        del self._sessions[session_id]
        self.workers.shares.free(running.row)
        if not running.opened and not running.closing:
            self._count_fault(running.order.device_ordinal)
        state, message = self._fate(running)
        extra = {"session": session_id, "state": state, "why": message}
        log.log(
            logging.ERROR if state == "worker_died" else logging.INFO, "session ended", extra=extra
        )
        if running.opened:
            ended = pb.SessionEnded(session_id=session_id, state=state, message=message)
            self._tell(pb.NodeEvent(ended=ended))
        else:
            self._failed(session_id, message or state)
        self.changed.set()

    def _count_fault(self, ordinal: int) -> None:
        """A device on which sessions do not open, again and again, is not well for a while."""
        faults = self._faults[ordinal] = self._faults.get(ordinal, 0) + 1
        if faults >= _FAULTS:
            text = f"{faults} sessions in a row could not be opened on it"
            self._tell_health(ordinal, text)
            again = asyncio.get_running_loop().call_later
            again(_UNWELL_S, self._tell_health, ordinal, "")

    def _tell_health(self, ordinal: int, unhealthy: str) -> None:
        self.offers[ordinal].device.unhealthy = unhealthy
        health = pb.DeviceHealth(ordinal=ordinal, unhealthy=unhealthy)
        beat = pb.Heartbeat(warm_workers=self.workers.warm, health=[health])
        self._tell(pb.NodeEvent(heartbeat=beat))

    def _fate(self, running: _Running) -> tuple[str, str]:
        ended = running.ended
        if ended is not None and ended.state != "failed":
            return ended.state, ended.message
        if running.closing:
            return ("drained" if running.closing == "drained" else "released"), ""
        worker = f"worker process {running.worker.pid} of GPU {running.order.device_ordinal}"
        where = f"{worker} on server {self.name}"
        if ended is not None:
            return "worker_died", f"{where} failed: {ended.message}"
        return "worker_died", f"{where} {running.worker.how_it_ended()}"

    def _close(self, session_id: str, reason: str, message: str = "") -> None:
        running = self._sessions.get(session_id)
        if running is None or running.closing:
            return
        running.closing = reason or "released"
        running.worker.send(Close(running.closing, message))
        running.worker.kill_after(_CLOSE_WITHIN_S)

    # ------------------------------------------------------------ the end

    def drain(self) -> None:
        """Take no new sessions any more."""
        self._draining = True
        self.workers.close()
        self._tell(pb.NodeEvent(draining=pb.Draining()))

    async def idle(self) -> None:
        """Return when no session is left."""
        while self._sessions:
            self.changed.clear()
            await self.changed.wait()

    async def close(self, reason: str, message: str) -> None:
        """End every session with a last word to its client, and every worker."""
        self.drain()
        for session_id in list(self._sessions):
            self._close(session_id, reason, message)
        await self.idle()
        while not self.workers.gone:
            await asyncio.sleep(0.005)
        if self._outbox is not None:  # let the last news leave
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(_emptied(self._outbox), 1.0)


async def _drain(outbox: asyncio.Queue[pb.NodeEvent]) -> AsyncIterator[pb.NodeEvent]:
    while True:
        yield await outbox.get()


async def _emptied(outbox: asyncio.Queue[pb.NodeEvent]) -> None:
    while not outbox.empty():
        await asyncio.sleep(0.005)


def _grpc_words(exc: Exception) -> str:
    """Return what a gRPC error says; anything else is our own fault and is raised."""
    details = getattr(exc, "details", None)
    if not callable(details):
        raise exc
    return str(details() or exc)


def _is_denied(exc: Any) -> bool:
    return getattr(exc.code(), "name", "") == "PERMISSION_DENIED"
