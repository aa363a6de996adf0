"""The broker itself on a clock that jumps: its line, fair shares, reservations, preemption.

`BrokerState` gets the events that it gets in life, from clients that come and servers that do at
once what they are told. What it decides is carried out on the spot.
"""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from cupool.pool_server.broker.decisions import (
    CloseSession,
    Decision,
    OpenSession,
    TellGrant,
    TellRefusal,
)
from cupool.pool_server.broker.model import DeviceSpec, Limits, Registration, Wish
from cupool.pool_server.broker.placement import Near, Usual
from cupool.pool_server.broker.placement.fragmentation import ratio
from cupool.pool_server.broker.simulator.running import Outcome
from cupool.pool_server.broker.simulator.workload import MIB, Job, Machine
from cupool.pool_server.broker.state import BrokerState

_NEVER = float("inf")
_NOTHING_USUAL = Usual()
_LONG_S = 10 * 365 * 86400.0
_SPREADS = {
    Near.SERVER: "same-server",
    Near.RACK: "same-rack",
    Near.ZONE: "same-zone",
    Near.POOL: "",
}
"""Longer than any trace: nobody's patience ends, no server falls silent."""


@dataclass
class BrokerOutcome(Outcome):
    """An `Outcome`, and what only the broker does.

    Attributes:
        waits_of: waits in seconds by priority.
        preempted: leases that were taken away; their jobs came back and began anew.
        lost_milli_s: compute that these had done in vain.
    """

    waits_of: dict[int, list[float]] = field(default_factory=dict)
    preempted: int = 0
    lost_milli_s: float = 0.0


@dataclass
class _Running:
    job: Job
    since: float
    sessions: dict[str, int]


class BrokerRun:
    """One simulation; call `run` once.

    Args:
        policy: of placement, by name.
        usual: what the jobs usually ask for, to measure fragmentation by.
        told: jobs say how long they take, as with `cupool run --max-time`.
    """

    def __init__(
        self,
        machines: Sequence[Machine],
        policy: str = "bestfit",
        usual: Usual = _NOTHING_USUAL,
        *,
        backfill: int = 64,
        told: bool = False,
        from_s: float = 0.0,
        until_s: float = _NEVER,
    ) -> None:
        limits = Limits(
            servers=len(machines),
            devices_per_server=max(machine.gpus for machine in machines),
            waiting=1_000_000,
            silence_s=_LONG_S,
            open_s=_LONG_S,
            retell_s=_LONG_S,
            backfill=backfill,
        )
        ids = itertools.count(1)
        self.state = BrokerState(0.0, limits, settled=True, fresh=lambda size: f"{next(ids):x}")
        self.outcome = BrokerOutcome(capacity_milli=1000 * sum(each.gpus for each in machines))
        self._policy, self._told = policy, told
        self._from_s, self._until_s = from_s, until_s
        self._usual = usual
        self._fragments: list[float] = []
        self._numbers = itertools.count(1)
        self._asked: dict[int, tuple[Job, float]] = {}
        self._back: list[Job] = []
        self._running: dict[str, _Running] = {}
        self._lease_of: dict[str, str] = {}
        self._ends: list[tuple[float, str]] = []
        self._milli, self._milli_s, self._now = 0, 0.0, 0.0
        for link, machine in enumerate(machines, 1):
            self._do(self.state.register(link, _hello(machine), 0.0))

    def run(self, jobs: Iterable[Job]) -> BrokerOutcome:
        """Play all jobs, in order of arrival, until the last has ended."""
        for number, job in enumerate(jobs, 1):
            self._until(job.arrive_s)
            if number % 50 == 0 and self._usual.demands:
                self._fragments.append(ratio(self.state.line.fit.fleet, self._usual))
            if self._from_s <= self._now <= self._until_s:
                self.outcome.arrived[job.demand.gpus if job.demand.whole else 0] += 1
                self.outcome.arrived_milli += job.milli
            self._do(self._ask(job))
        self._until(_NEVER)
        end = self._until_s if self._until_s < _NEVER else self._now
        span = end - self._from_s
        if self._fragments:
            self.outcome.fragmented = 100 * sum(self._fragments) / len(self._fragments)
        if span > 0:
            capacity = span * self.outcome.capacity_milli
            self.outcome.allocated = 100 * self._milli_s / capacity
        return self.outcome

    # ------------------------------------------------------------ time

    def _until(self, until_s: float) -> None:
        while True:
            end = self._ends[0][0] if self._ends else _NEVER
            tick = self.state.next_tick()
            at = min(end, _NEVER if tick is None or tick >= _LONG_S else tick)
            if at > until_s or at == _NEVER:
                break
            self._pass(at)
            if end <= at:
                _, lease = heapq.heappop(self._ends)
                self._finish(lease)
            else:
                self._do(self.state.tick(self._now))
        if until_s < _NEVER:
            self._pass(until_s)

    def _pass(self, to_s: float) -> None:
        begin, end = max(self._now, self._from_s), min(to_s, self._until_s)
        self._milli_s += self._milli * max(0.0, end - begin)
        self._now = max(self._now, to_s)

    # ------------------------------------------------------------ clients and servers

    def _ask(self, job: Job) -> list[Decision]:
        number = next(self._numbers)
        self._asked[number] = job, self._now
        return self.state.request(number, self._wish(job), self._now)

    def _wish(self, job: Job) -> Wish:
        demand = job.demand
        spread = _SPREADS[demand.near] if demand.gpus > 1 else ""
        return Wish(
            gpus=demand.gpus,
            memory_bytes=demand.memory_bytes,
            share_milli=demand.share_milli,
            wait_s=_LONG_S,
            client=job.name,
            models=demand.models,
            priority=job.priority,
            tenant=job.tenant or "default",
            spread="spread" if demand.spread else spread,
            bandwidth_mbps=demand.bandwidth_mbps,
            zone=demand.zone,
            policy=self._policy,
            max_time_s=2 * job.duration_s if self._told else 0.0,
        )

    def _do(self, decisions: list[Decision]) -> None:
        """Carry out what the broker decided, and what it decides upon that."""
        todo = deque(decisions)
        while todo or self._back:
            if not todo:
                todo += self._ask(self._back.pop(0))
                continue
            match todo.popleft():
                case OpenSession(link=link, session_id=session):
                    todo += self.state.session_opened(link, session, ("sim",), 1, self._now)
                case CloseSession(link=link, session_id=session):
                    self._taken_away(session)
                    todo += self.state.session_ended(link, session, "released", "", self._now)
                case TellGrant() as grant:
                    self._begin(grant)
                case TellRefusal(request_id=number):
                    job, _ = self._asked.pop(number)
                    self.outcome.refused[job.demand.gpus if job.demand.whole else 0] += 1
                    self.outcome.refused_milli += job.milli

    def _begin(self, grant: TellGrant) -> None:
        job, since = self._asked.pop(grant.request_id)
        wait = self._now - since
        self.outcome.waits_s.append(wait)
        self.outcome.waits_of.setdefault(job.priority, []).append(wait)
        servers = self.state.ledger.servers
        sessions = {
            device.session_id: servers[device.placement.server].link for device in grant.devices
        }
        self._running[grant.lease_id] = _Running(job, self._now, sessions)
        self._lease_of |= dict.fromkeys(sessions, grant.lease_id)
        self._milli += job.milli
        peak = 100 * self._milli / self.outcome.capacity_milli
        self.outcome.peak = max(self.outcome.peak, peak)
        heapq.heappush(self._ends, (self._now + job.duration_s, grant.lease_id))

    def _finish(self, lease: str) -> None:
        running = self._running.pop(lease, None)
        if running is None:
            return  # it was taken away before
        self._milli -= running.job.milli
        for session, link in running.sessions.items():
            self._lease_of.pop(session, None)
            self._do(self.state.session_ended(link, session, "finished", "", self._now))

    def _taken_away(self, session: str) -> None:
        """The broker ended a lease: its job comes back and begins anew."""
        lease = self._lease_of.pop(session, "")
        running = self._running.pop(lease, None)
        if running is None:
            return
        self._milli -= running.job.milli
        self.outcome.preempted += 1
        self.outcome.lost_milli_s += running.job.milli * (self._now - running.since)
        for each in running.sessions:
            self._lease_of.pop(each, None)
        self._back.append(running.job)


def _hello(machine: Machine) -> Registration:
    devices = [
        DeviceSpec(
            ordinal,
            machine.model or "simulated",
            "null",
            machine.memory_mib * MIB,
            model=machine.model,
        )
        for ordinal in range(machine.gpus)
    ]
    return Registration(
        machine.name,
        "1",
        tuple(devices),
        zone=machine.zone,
        rack=machine.rack,
        link_mbps=machine.link_mbps,
    )
