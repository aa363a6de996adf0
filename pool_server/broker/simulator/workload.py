"""Jobs and pools to simulate, read from traces.

Our own format is two CSV files with a header line; columns may stand in any order, and all but
the first few may be left out.

Jobs: `arrive_s, duration_s, gpus`, then `name, share_milli, memory_mib, models (A100|H100), zone,
near (server|rack|zone|pool), spread (0|1), bandwidth_mbps, tenant, priority`.
Pool: `server, gpus`, then `model, memory_mib, zone, rack, link_mbps, cost`.

Also read: openb (Alibaba cluster-trace-gpu-v2023; a node list and a pod list) and Philly as Sia's
authors published it (one CSV: timestamp, duration, num_gpus, cluster).
"""

from __future__ import annotations

import csv
import datetime
import math
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from cupool.pool_server.broker.placement import Demand, DeviceRoom, Fleet, Near, ServerRoom
from cupool.pool_server.broker.placement.types import WHOLE_MILLI

MIB = 1 << 20
_T = TypeVar("_T")
_MEMORY_MIB = {
    # what such devices report (nvidia-smi), for pools whose trace does not say
    "T4": 15109,
    "A10": 22731,
    "P100": 16280,
    "V100M16": 16160,
    "V100M32": 32510,
    "A100": 81251,
}
_USUAL_MEMORY_MIB = 16384


class BadTrace(Exception):
    """A trace cannot be read; the message names file, line and column."""


@dataclass(frozen=True, slots=True)
class Job:
    """One request: it comes at `arrive_s` and, once placed, holds its devices for `duration_s`."""

    name: str
    demand: Demand
    arrive_s: float = 0.0
    duration_s: float = float("inf")
    tenant: str = ""
    priority: int = 1
    """0 (low) to 3 (urgent)."""

    @property
    def milli(self) -> int:
        """Compute that it takes in all."""
        return self.demand.gpus * self.demand.milli if self.demand.gpus else 0


@dataclass(frozen=True, slots=True)
class Machine:
    """Some devices of one model in one server."""

    name: str
    gpus: int
    model: str = ""
    memory_mib: int = _USUAL_MEMORY_MIB
    zone: str = ""
    rack: str = ""
    link_mbps: int = 0
    cost: float = 1.0
    cpu_milli: int = 0
    host_memory_mib: int = 0


def fleet_of(machines: Iterable[Machine], *, host: bool = False) -> Fleet:
    """Build an empty pool.

    Args:
        host: jobs run on the servers themselves, whose processors and memory are limited.
    """
    fleet = Fleet()
    for machine in machines:
        server = ServerRoom(machine.name, True, machine.link_mbps, machine.link_mbps)
        if host:
            cpu, memory = machine.cpu_milli, machine.host_memory_mib * MIB
            server = replace(
                server,
                cpu_milli=cpu,
                free_cpu_milli=cpu,
                host_memory_bytes=memory,
                free_host_memory_bytes=memory,
            )
        fleet.update_server(server)
        size = machine.memory_mib * MIB
        for ordinal in range(machine.gpus):
            fleet.update(
                DeviceRoom(
                    machine.name,
                    ordinal,
                    size,
                    size,
                    model=machine.model,
                    zone=machine.zone,
                    rack=machine.rack,
                    cost=machine.cost,
                )
            )
    return fleet


def uniform(servers: int, gpus: int, model: str = "") -> list[Machine]:
    """Return so many equal servers."""
    width = len(str(servers - 1))
    return [Machine(f"server-{number:0{width}}", gpus, model) for number in range(servers)]


def renumbered(machines: Iterable[Machine], seed: int) -> list[Machine]:
    """Put a random number before each name: ties by name then follow no order of the trace.

    Names tend to keep models together, and the FGD paper's simulator renames its nodes so, too.
    """
    machines = list(machines)
    numbers = list(range(len(machines)))
    random.Random(seed).shuffle(numbers)
    width = len(str(len(machines)))
    named = [
        replace(machine, name=f"{number:0{width}}-{machine.name}")
        for number, machine in zip(numbers, machines, strict=True)
    ]
    return sorted(named, key=lambda machine: machine.name)


def without_host(job: Job) -> Job:
    """Return the job as a pool over the network sees it: its host needs stay with its client."""
    return replace(job, demand=replace(job.demand, cpu_milli=0, host_memory_bytes=0))


# ---------------------------------------------------------------- our own format


def read_jobs(path: Path) -> list[Job]:
    """Read jobs in our own format, in order of arrival.

    Raises:
        BadTrace: with file, line and what is wrong.
    """
    jobs = _read(path, ("arrive_s", "duration_s", "gpus"), _own_job)
    return sorted(jobs, key=lambda job: (job.arrive_s, job.name))


def _own_job(line: int, row: Mapping[str, str]) -> Job:
    demand = Demand(
        gpus=int(row["gpus"]),
        share_milli=int(row.get("share_milli") or 0),
        memory_bytes=int(row.get("memory_mib") or 0) * MIB,
        models=_listed(row.get("models")),
        zone=row.get("zone") or "",
        near=Near[(row.get("near") or "pool").upper()],
        spread=bool(int(row.get("spread") or 0)),
        bandwidth_mbps=int(row.get("bandwidth_mbps") or 0),
    )
    if demand.gpus < 1 or not 0 <= demand.share_milli <= WHOLE_MILLI:
        raise ValueError("gpus must be 1 or more, share_milli 0 to 1000")
    if demand.memory_bytes < 0 or demand.bandwidth_mbps < 0:
        raise ValueError("memory_mib and bandwidth_mbps cannot be negative")
    arrive_s, duration_s = float(row["arrive_s"]), float(row["duration_s"])
    if not (math.isfinite(arrive_s) and duration_s >= 0):
        raise ValueError("arrive_s must be a time, duration_s 0 or more")
    name, tenant = row.get("name") or f"job-{line}", row.get("tenant") or ""
    priority = int(row.get("priority") or 1)
    if not 0 <= priority <= 3:
        raise ValueError("priority must be 0 (low) to 3 (urgent)")
    return Job(name, demand, arrive_s, duration_s, tenant, priority)


def read_pool(path: Path) -> list[Machine]:
    """Read a pool in our own format.

    Raises:
        BadTrace: with file, line and what is wrong.
    """
    return _read(path, ("server", "gpus"), _own_machine)


def _own_machine(line: int, row: Mapping[str, str]) -> Machine:
    model, gpus = row.get("model") or "", int(row["gpus"])
    if gpus < 1:
        raise ValueError("gpus must be 1 or more")
    return Machine(
        row["server"],
        gpus,
        model,
        int(row.get("memory_mib") or _MEMORY_MIB.get(model, _USUAL_MEMORY_MIB)),
        row.get("zone") or "",
        row.get("rack") or "",
        int(row.get("link_mbps") or 0),
        float(row.get("cost") or 1),
    )


def _listed(text: str | None) -> tuple[str, ...]:
    return tuple(filter(None, (text or "").split("|")))


def _read(
    path: Path, needed: tuple[str, ...], build: Callable[[int, Mapping[str, str]], _T]
) -> list[_T]:
    """Build something of each line of a CSV file."""
    line, result = 1, []
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file, restval="")
            columns = reader.fieldnames or []
            lacking = [name for name in needed if name not in columns]
            if lacking:
                there = f"there are {', '.join(columns)}" if columns else "the file is empty"
                raise BadTrace(f"{path}: no column {', '.join(lacking)} ({there})")
            for line, row in enumerate(reader, 2):
                result.append(build(line, row))
    except KeyError as exc:
        raise BadTrace(f"{path}, line {line}: {exc} is not known") from None
    except OSError as exc:
        raise BadTrace(f"{path}: {exc.strerror or exc}") from None
    except (ValueError, csv.Error) as exc:
        raise BadTrace(f"{path}, line {line}: {exc}") from None
    return result


# ---------------------------------------------------------------- public traces


def read_openb_nodes(path: Path) -> list[Machine]:
    """Read a node list of Alibaba's cluster-trace-gpu-v2023; nodes without GPU are left out."""
    needed = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
    return [machine for machine in _read(path, needed, _openb_node) if machine.gpus]


def _openb_node(line: int, row: Mapping[str, str]) -> Machine:
    return Machine(
        row["sn"],
        int(row["gpu"]),
        row["model"],
        _MEMORY_MIB.get(row["model"], _USUAL_MEMORY_MIB),
        cpu_milli=int(row["cpu_milli"]),
        host_memory_mib=int(row["memory_mib"]),
    )


def read_openb_pods(path: Path) -> list[Job]:
    """Read a pod list of Alibaba's cluster-trace-gpu-v2023, by name; also pods without GPU."""
    needed = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
    return sorted(_read(path, needed, _openb_pod), key=lambda job: job.name)


def _openb_pod(line: int, row: Mapping[str, str]) -> Job:
    gpus, milli = int(row["num_gpu"]), int(row["gpu_milli"])
    demand = Demand(
        gpus=gpus,
        share_milli=milli if gpus == 1 and milli < WHOLE_MILLI else 0,
        models=_listed(row.get("gpu_spec")),
        near=Near.SERVER,
        cpu_milli=int(row["cpu_milli"]),
        host_memory_bytes=int(row["memory_mib"]) * MIB,
    )
    start, end = row.get("scheduled_time"), row.get("deletion_time")
    duration = float(end) - float(start) if start and end else math.inf
    return Job(row["name"], demand, float(row.get("creation_time") or 0), duration)


def read_philly(path: Path) -> list[Job]:
    """Read Sia's extract of the Philly trace, in order of arrival; tenants are its clusters."""
    jobs = _read(path, ("timestamp", "duration", "num_gpus", "cluster"), _philly_job)
    return sorted(jobs, key=lambda job: (job.arrive_s, job.name))


def _philly_job(line: int, row: Mapping[str, str]) -> Job:
    at = datetime.datetime.fromisoformat(row["timestamp"]).replace(tzinfo=datetime.UTC)
    demand = Demand(gpus=int(row["num_gpus"]))
    return Job(f"job-{line}", demand, at.timestamp(), float(row["duration"]), row["cluster"])


def tuned(jobs: list[Job], capacity_milli: int, ratio: float, seed: int) -> list[Job]:
    """Shuffle jobs; then repeat some, or leave some out, until they ask for `ratio` x capacity."""
    draw = random.Random(seed)
    result = list(jobs)
    draw.shuffle(result)
    total, target = sum(job.milli for job in result), ratio * capacity_milli
    while total > target:
        total -= result.pop(draw.randrange(len(result))).milli
    while total < target:
        result.append(draw.choice(jobs))
        total += result[-1].milli
    return result
