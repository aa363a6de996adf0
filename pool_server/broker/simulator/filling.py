"""Fill a pool by arrivals alone: how much of it can be allocated before nothing fits any more.

The method of the FGD paper (see `placement/fragmentation.py`): requests arrive one by one, none
leaves, one that does not fit is dropped. Allocation is read off where the demand that has
arrived passes each per cent of the pool's capacity.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from cupool.pool_server.broker.placement import Fleet, Policy, Usual, decide
from cupool.pool_server.broker.placement.fragmentation import ratio as fragmented_ratio
from cupool.pool_server.broker.simulator.workload import Job


@dataclass
class Filling:
    """What came of it.

    Attributes:
        allocated: per cent of capacity that had arrived -> per cent allocated (mean).
        fragmented: the same -> per cent of capacity that is idle but of no use to the usual jobs.
        decision_s: how long each decision took, in seconds by the clock.
        decision_cpu_s: the same in processor time: what else the machine does is no part of it.
    """

    allocated: dict[int, float] = field(default_factory=dict)
    fragmented: dict[int, float] = field(default_factory=dict)
    placed: int = 0
    refused: int = 0
    refused_milli: int = 0
    decision_s: list[float] = field(default_factory=list)
    decision_cpu_s: list[float] = field(default_factory=list)

    def at(self, arrived: int) -> float:
        """Return the allocation at so many per cent, or at the last before."""
        return self.allocated[max(x for x in self.allocated if x <= arrived)]


def usual_of(jobs: Iterable[Job]) -> Usual:
    """Return the usual demands of a trace, as the paper counts them: host memory is no part."""
    return Usual.of(replace(job.demand, host_memory_bytes=0) for job in jobs)


def fill(
    fleet: Fleet,
    jobs: Sequence[Job],
    rule: Policy,
    usual: Usual,
    *,
    fragments_at: Sequence[int] = (),
) -> Filling:
    """Place the jobs one after the other; the fleet is full afterwards."""
    capacity = 1000 * int((fleet.kind > 0).sum())
    result = Filling()
    arrived = allocated = 0
    sums: dict[int, list[float]] = {}
    wanted = sorted(fragments_at, reverse=True)
    for job in jobs:
        arrived += job.milli
        if _placed(fleet, job, rule, usual, result):
            allocated += job.milli
            result.placed += 1
        else:
            result.refused += 1
            result.refused_milli += job.milli
        percent = 100 * arrived / capacity
        sums.setdefault(round(percent), []).append(100 * allocated / capacity)
        while wanted and percent >= wanted[-1]:
            idle = 100 * (capacity - allocated) / capacity
            result.fragmented[wanted.pop()] = idle * fragmented_ratio(fleet, usual)
    result.allocated = {x: sum(ys) / len(ys) for x, ys in sums.items()}
    return result


def _placed(fleet: Fleet, job: Job, rule: Policy, usual: Usual, result: Filling) -> bool:
    demand = job.demand
    begin, begin_cpu = time.perf_counter(), time.thread_time()
    choice = decide(rule, demand, fleet, usual)
    result.decision_cpu_s.append(time.thread_time() - begin_cpu)
    result.decision_s.append(time.perf_counter() - begin)
    if choice is None:
        return False
    fleet.take([fleet.slot(demand, row, column) for row, columns in choice for column in columns])
    if demand.cpu_milli or demand.host_memory_bytes:
        fleet.take_host(fleet.names[choice[0][0]], demand.cpu_milli, demand.host_memory_bytes)
    return True
