"""One pool against static partitions: the same jobs, the same devices, the same rules of waiting.

Static partitioning is what teams have without a pool: each owns some devices and queues for
those alone. To be fair to it, partitions are sized by each tenant's true demand (known only
afterwards), unless tenants own whole servers.
"""

from __future__ import annotations

import itertools
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from cupool.pool_server.broker.placement import Policy
from cupool.pool_server.broker.simulator.running import Rules, Run
from cupool.pool_server.broker.simulator.workload import Job, Machine, fleet_of

_WEEK_S = 7 * 86400.0
_SERVER_GPUS = 8


@dataclass(frozen=True)
class Shared:
    """What a way of sharing came to: per cent of GPU time used, mean wait in seconds."""

    allocated: float
    mean_wait_s: float


def folded(
    jobs: Sequence[Job], gpus: int, load: float, weeks: int, seed: int, most_s: float
) -> list[Job]:
    """Draw jobs whose demand is `load` x `gpus` over so many weeks.

    Arrivals keep their hour and day of week; the trace is folded to the period. Only jobs that
    a server can hold are drawn, at most `most_s` long.
    """
    period = weeks * _WEEK_S
    draw = random.Random(seed)
    fitting = [job for job in jobs if job.demand.gpus <= _SERVER_GPUS and job.duration_s > 0]
    drawn: list[Job] = []
    target, total = load * gpus * period, 0.0
    while total < target:
        order = list(fitting)
        draw.shuffle(order)
        for job in order:
            duration = min(job.duration_s, most_s)
            total += duration * job.demand.gpus
            at = job.arrive_s % period
            drawn.append(replace(job, name=f"job-{len(drawn)}", arrive_s=at, duration_s=duration))
            if total >= target:
                break
    return sorted(drawn, key=lambda job: (job.arrive_s, job.name))


def tenants(jobs: Sequence[Job], most: int) -> list[Job]:
    """Keep the `most` - 1 tenants with the largest demand, and make one of the rest."""
    demand = _demand(jobs)
    large = sorted(demand, key=lambda tenant: -demand[tenant])[: most - 1]
    return [job if job.tenant in large else replace(job, tenant="others") for job in jobs]


def split(jobs: Sequence[Job], many: int, seed: int) -> list[Job]:
    """Give each job to one of so many tenants, at random."""
    draw = random.Random(seed)
    return [replace(job, tenant=f"tenant-{draw.randrange(many)}") for job in jobs]


def _demand(jobs: Sequence[Job]) -> dict[str, float]:
    demand: dict[str, float] = defaultdict(float)
    for job in jobs:
        demand[job.tenant] += job.duration_s * job.demand.gpus
    return demand


def sizes(jobs: Sequence[Job], gpus: int, *, whole_servers: bool = False) -> dict[str, int]:
    """Divide devices among tenants by their demand; each gets at least a server's worth.

    Args:
        whole_servers: a tenant's devices are a whole number of servers.
    """
    demand = _demand(jobs)
    unit = _SERVER_GPUS if whole_servers else 1
    least = _SERVER_GPUS // unit
    units = gpus // unit
    if units < least * len(demand):
        raise ValueError(f"{len(demand)} tenants of {_SERVER_GPUS} GPUs each need more than {gpus}")
    sized = dict.fromkeys(demand, least)
    for _ in range(units - least * len(demand)):
        sized[max(sized, key=lambda tenant: demand[tenant] / sized[tenant])] += 1
    return {tenant: unit * many for tenant, many in sized.items()}


def machines(gpus: int, name: str = "server") -> list[Machine]:
    """Return servers of 8 devices, the last with what remains."""
    whole, rest = divmod(gpus, _SERVER_GPUS)
    counts = [_SERVER_GPUS] * whole + ([rest] if rest else [])
    return [Machine(f"{name}-{number:04}", count) for number, count in enumerate(counts)]


def pooled(jobs: Sequence[Job], gpus: int, rule: Policy, weeks: int) -> Shared:
    """Let all jobs share all devices."""
    rules = Rules(rule, until_s=weeks * _WEEK_S)
    outcome = Run(fleet_of(machines(gpus)), rules).run(jobs)
    return Shared(outcome.allocated, outcome.mean_wait_s)


def partitioned(
    jobs: Sequence[Job], gpus: int, rule: Policy, weeks: int, *, whole_servers: bool = False
) -> Shared:
    """Give each tenant a part of the devices, and let it use no other."""
    used = wait = 0.0
    for tenant, size in sizes(jobs, gpus, whole_servers=whole_servers).items():
        own = [job for job in jobs if job.tenant == tenant]
        one = pooled(own, size, rule, weeks)
        used += one.allocated * size / gpus
        wait += one.mean_wait_s * len(own)
    return Shared(used, wait / len(jobs))


def at_wait(curve: Sequence[Shared], wait_s: float) -> float:
    """Return the use at a mean wait, on straight lines between points of a curve over load.

    A wait below all of the curve's gives the use at its least wait, which is then too much.
    """
    ordered = sorted(curve, key=lambda point: point.mean_wait_s)
    if wait_s <= ordered[0].mean_wait_s:
        return ordered[0].allocated
    for low, high in itertools.pairwise(ordered):
        if wait_s <= high.mean_wait_s:
            part = (wait_s - low.mean_wait_s) / (high.mean_wait_s - low.mean_wait_s)
            return low.allocated + part * (high.allocated - low.allocated)
    return ordered[-1].allocated


def wait_at(curve: Sequence[Shared], used: float) -> float | None:
    """Return the mean wait at which a curve over load reaches a use; None if it does not."""
    ordered = sorted(curve, key=lambda point: point.allocated)
    for low, high in itertools.pairwise(ordered):
        if low.allocated <= used <= high.allocated:
            part = (used - low.allocated) / (high.allocated - low.allocated)
            return low.mean_wait_s + part * (high.mean_wait_s - low.mean_wait_s)
    return None
