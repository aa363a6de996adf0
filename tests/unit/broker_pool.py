"""A broker's state machine driven by hand, with servers that do as they are told."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import TypeVar

from cupool.pool_server.broker.books import Books, replay
from cupool.pool_server.broker.changes import Change
from cupool.pool_server.broker.decisions import (
    CloseSession,
    Decision,
    OpenSession,
    TellGrant,
    TellRefusal,
)
from cupool.pool_server.broker.model import (
    DeviceSpec,
    Limits,
    Registration,
    Report,
    Wish,
)
from cupool.pool_server.broker.state import BrokerState

GIB = 1 << 30
LIMITS = Limits()
_D = TypeVar("_D")


class Pool:
    """A broker, and servers that open every session at once unless told otherwise."""

    def __init__(self, *, settled: bool = True, limits: Limits = LIMITS) -> None:
        self._ids = itertools.count(1)
        self.now = 100.0
        self.limits = limits
        self.changes: list[Change] = []
        self.state = self._broker(None, settled=settled)
        self.numbers = itertools.count(1)
        self.links: dict[str, int] = {}
        self.answering = True
        self.log: list[Decision] = []

    def _broker(self, books: Books | None, *, settled: bool) -> BrokerState:
        return BrokerState(
            self.now,
            self.limits,
            settled=settled,
            fresh=lambda size: f"id{next(self._ids)}",
            books=books,
        )

    def restart(self, seconds: float = 1.0, *, settled: bool = False) -> None:
        """The broker dies, and another one takes over what is durable, and nothing else."""
        self.changes += self.state.take_changes()
        self.now += seconds
        self.state = self._broker(replay(self.changes), settled=settled)

    def server(
        self,
        name: str,
        memory: Iterable[int] = (4 * GIB,),
        *,
        instance: str = "1",
        sessions: tuple[Report, ...] = (),
        host: str = "",
        devices: tuple[DeviceSpec, ...] = (),
        **more: object,
    ) -> int:
        link = next(self.numbers)
        self.links[name] = link
        devices = devices or tuple(
            DeviceSpec(ordinal, "mock", "mock", size) for ordinal, size in enumerate(memory)
        )
        hello = Registration(name, instance, devices, sessions, host, **more)  # type: ignore[arg-type]
        self.play(self.state.register(link, hello, self.now))
        return link

    def ask(self, gpus: int = 1, memory: int = 0, wait: float = 1000.0, **more: object) -> int:
        number = next(self.numbers)
        more = {"client": f"client{number}"} | more
        wish = Wish(gpus, memory, wait, **more)  # type: ignore[arg-type]
        self.play(self.state.request(number, wish, self.now))
        return number

    def play(self, decisions: list[Decision]) -> None:
        """Write down what was decided; let servers open sessions, and end those to close."""
        for decision in decisions:
            self.log.append(decision)
            if isinstance(decision, OpenSession) and self.answering:
                self.opened(decision)
            elif isinstance(decision, CloseSession) and self.answering:
                self.ended(decision.session_id)

    def opened(self, order: OpenSession) -> None:
        urls = (f"zmq+ipc://{order.session_id}",)
        self.play(self.state.session_opened(order.link, order.session_id, urls, 1, self.now))

    def ended(self, session_id: str, state: str = "closed", message: str = "") -> None:
        session = self.state.ledger.sessions[session_id]
        link = self.links[session.placement.server]
        self.play(self.state.session_ended(link, session_id, state, message, self.now))

    def advance(self, seconds: float, alive: Iterable[str] = ()) -> None:
        self.now += seconds
        for name in alive:
            self.play(self.state.heartbeat(self.links[name], (), 0, self.now))
        self.play(self.state.tick(self.now))

    def of(self, kind: type[_D]) -> list[_D]:
        """Return what was decided of one kind."""
        return [each for each in self.log if isinstance(each, kind)]

    def answers(self, number: int) -> list[TellGrant | TellRefusal]:
        return [
            each
            for each in self.log
            if isinstance(each, TellGrant | TellRefusal) and each.request_id == number
        ]

    def grant(self, number: int) -> TellGrant:
        (answer,) = self.answers(number)
        assert isinstance(answer, TellGrant), answer
        return answer

    def refusal(self, number: int) -> TellRefusal:
        (answer,) = self.answers(number)
        assert isinstance(answer, TellRefusal), answer
        return answer

    def reports(self, name: str) -> tuple[Report, ...]:
        """What the server would say of its sessions to a new broker."""
        ledger = self.state.ledger
        found = []
        for session in ledger.sessions.values():
            if session.placement.server == name:
                lease = ledger.leases[session.lease_id]
                found.append(
                    Report(
                        session.session_id,
                        session.lease_id,
                        session.placement,
                        session.index,
                        lease.size,
                        lease.job_id,
                        lease.job_token_hash,
                        session.client,
                        worker_pid=7,
                    )
                )
        return tuple(found)
