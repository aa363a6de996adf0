"""Jobs come, wait, run, are moved and go: a pool on a clock that jumps from event to event."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from cupool.pool_server.broker.placement import Demand, Fleet, Policy, Slot, Usual, place
from cupool.pool_server.broker.placement.fragmentation import ratio as fragmented_ratio
from cupool.pool_server.broker.placement.moves import Held, make_room
from cupool.pool_server.broker.simulator.workload import Job


@dataclass(frozen=True)
class Rules:
    """How the pool is run.

    Attributes:
        waiting: jobs that do not fit wait; else they are refused.
        backfill: how many of those in line are looked at when the first does not fit.
        most_moves: sessions that may be moved to make room for one request.
        from_s, until_s: only what happens in this time counts (allocation, refusals).
    """

    rule: Policy
    usual: Usual = field(default_factory=Usual)
    waiting: bool = True
    backfill: int = 64
    most_moves: int = 0
    from_s: float = 0.0
    until_s: float = float("inf")


@dataclass
class Outcome:
    """What came of it.

    Attributes:
        allocated, peak: per cent of the pool's compute, mean over time and at most.
        fragmented: per cent of the idle compute that the usual jobs could not use, mean.
        waits_s: how long each job that started waited.
        refused, arrived: jobs by number of GPUs (0 = a share), of those that count.
        moves: sessions that were moved.
    """

    allocated: float = 0.0
    peak: float = 0.0
    fragmented: float = 0.0
    waits_s: list[float] = field(default_factory=list)
    refused: Counter[int] = field(default_factory=Counter)
    arrived: Counter[int] = field(default_factory=Counter)
    refused_milli: int = 0
    arrived_milli: int = 0
    moves: int = 0
    most_moves_at_once: int = 0
    capacity_milli: int = 0

    @property
    def mean_wait_s(self) -> float:
        return sum(self.waits_s) / len(self.waits_s) if self.waits_s else 0.0

    def wait_s(self, quantile: float) -> float:
        """Return the wait that this part of the jobs did not exceed."""
        ordered = sorted(self.waits_s)
        return ordered[min(int(quantile * len(ordered)), len(ordered) - 1)] if ordered else 0.0

    @property
    def refused_share(self) -> float:
        """Return the part of the compute asked for that was refused, 0 to 1."""
        return self.refused_milli / self.arrived_milli if self.arrived_milli else 0.0


class Run:
    """One simulation; call `run` once."""

    def __init__(self, fleet: Fleet, rules: Rules) -> None:
        self.fleet = fleet
        self.rules = rules
        self.outcome = Outcome(capacity_milli=1000 * int((fleet.kind > 0).sum()))
        self.waiting: list[Job] = []
        self.held: dict[str, Held] = {}
        self._ends: list[tuple[float, str, int]] = []
        self._milli = 0
        self._now = 0.0
        self._milli_s = 0.0
        self._fragments: list[float] = []

    def run(self, jobs: Iterable[Job]) -> Outcome:
        """Play all jobs, in order of arrival, until the last has ended."""
        events = 0
        for job in jobs:
            self._until(job.arrive_s)
            self._arrive(job)
            events += 1
            if self.rules.usual.demands and events % 50 == 0 and self._counts():
                self._fragments.append(fragmented_ratio(self.fleet, self.rules.usual))
        end = self.rules.until_s if self.rules.until_s < float("inf") else self._now
        self._until(float("inf"), drain=True)
        span = end - self.rules.from_s
        outcome = self.outcome
        if span > 0 and outcome.capacity_milli:
            outcome.allocated = 100 * self._milli_s / (span * outcome.capacity_milli)
        if self._fragments:
            outcome.fragmented = 100 * sum(self._fragments) / len(self._fragments)
        return outcome

    # ------------------------------------------------------------ time

    def _until(self, until_s: float, *, drain: bool = False) -> None:
        """Let jobs end up to a time, each making room for those in line."""
        while self._ends and self._ends[0][0] <= until_s:
            at, name, milli = heapq.heappop(self._ends)
            if drain and not self.waiting and at > self.rules.until_s:
                break
            if at == float("inf"):
                break
            self._pass(at)
            self.fleet.give(self.held.pop(name).slots)
            self._milli -= milli
            if self.waiting:
                self._serve()
        if until_s < float("inf"):
            self._pass(until_s)

    def _pass(self, to_s: float) -> None:
        begin = max(self._now, self.rules.from_s)
        end = min(to_s, self.rules.until_s)
        if end > begin:
            self._milli_s += self._milli * (end - begin)
        self._now = to_s

    def _counts(self) -> bool:
        return self.rules.from_s <= self._now <= self.rules.until_s

    # ------------------------------------------------------------ jobs

    def _arrive(self, job: Job) -> None:
        size = job.demand.gpus if job.demand.whole else 0
        if self._counts():
            self.outcome.arrived[size] += 1
            self.outcome.arrived_milli += job.milli
        if self.rules.waiting:
            self.waiting.append(job)
            self._serve()
        elif not self._start(job) and self._counts():
            self.outcome.refused[size] += 1
            self.outcome.refused_milli += job.milli

    def _serve(self) -> None:
        """Start whom the line's order and backfilling let start."""
        full: set[Demand] = set()
        place_in_line = 0
        while place_in_line < min(len(self.waiting), self.rules.backfill):
            job = self.waiting[place_in_line]
            if job.demand in full or not self._start(job):
                full.add(job.demand)
                place_in_line += 1
            else:
                del self.waiting[place_in_line]

    def _start(self, job: Job) -> bool:
        slots: Sequence[Slot] | None = place(
            self.rules.rule, job.demand, self.fleet, self.rules.usual
        )
        if slots is None and self.rules.most_moves:
            slots = self._by_moving(job.demand)
        if slots is None:
            return False
        self.fleet.take(slots)
        self.held[job.name] = Held(job.demand, tuple(slots))
        self._milli += job.milli
        peak = 100 * self._milli / self.outcome.capacity_milli
        self.outcome.peak = max(self.outcome.peak, peak)
        if self._counts() or self.rules.waiting:
            self.outcome.waits_s.append(self._now - job.arrive_s)
        heapq.heappush(self._ends, (self._now + job.duration_s, job.name, job.milli))
        return True

    def _by_moving(self, demand: Demand) -> Sequence[Slot] | None:
        rules = self.rules
        plan = make_room(rules.rule, demand, self.fleet, self.held, rules.most_moves, rules.usual)
        if plan is None:
            return None
        for move in plan.moves:
            self.fleet.give(move.before)
        for move in plan.moves:
            self.fleet.take(move.after)
            self.held[move.lease] = Held(self.held[move.lease].demand, move.after)
        if self._counts():
            self.outcome.moves += plan.moved
            self.outcome.most_moves_at_once = max(self.outcome.most_moves_at_once, plan.moved)
        return plan.slots
