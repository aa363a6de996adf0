"""What grants do while members of etcd die or freeze (see `store.py`)."""

from __future__ import annotations

import asyncio
import itertools
import json
import signal
import time
import urllib.request

from benchmarks.etcd_cluster import Cluster
from benchmarks.store_pool import Client, Killed, Server, Truth, leading

FROZEN_S = 8.0
"""Longer than a leader may go on without its store."""
HOLD_S = (0.2,) * 6 + (25.0,) * 4


def leader_of(cluster: Cluster) -> int:
    """Return the number of the member that leads.

    Raises:
        OSError: none of those that run says so.
    """
    for number, endpoint in enumerate(cluster.endpoints):
        request = urllib.request.Request(f"http://{endpoint}/v3/maintenance/status", b"{}")
        try:
            with urllib.request.urlopen(request, timeout=2) as reply:
                said = json.load(reply)
        except OSError:
            continue
        if said.get("leader") == said["header"]["member_id"]:
            return number
    raise OSError("no member leads")


class _Watch:
    """Grants and leases of a pool while something happens to its store."""

    def __init__(self, brokers: Killed, truth: Truth) -> None:
        self.brokers, self.truth = brokers, truth
        self.epoch = self.lost = self.terms = 0

    async def until_granted(self, since: float, within_s: float = 60.0) -> None:
        """Return when something was granted after a time."""
        while not self.truth.grants or self.truth.grants[-1] < since:
            if time.monotonic() > since + within_s:
                raise RuntimeError(f"no grant within {within_s:g} s")
            await asyncio.sleep(0.01)

    def gap_s(self, since: float) -> float:
        """Return the longest time without a grant since then."""
        times = [since, *(each for each in self.truth.grants if each > since)]
        return max(b - a for a, b in itertools.pairwise(times))

    async def count(self) -> None:
        """Compare what clients hold with what the broker knows."""
        held = dict(self.truth.held)
        _, status = await leading(self.brokers.urls, 0, 60.0)
        self.terms += status.epoch != self.epoch
        self.epoch = status.epoch
        known = {each.lease_id for each in status.leases}
        still = {lease for where, lease in held.items() if self.truth.held.get(where) == lease}
        self.lost += len(still - known)


async def _killed(cluster: Cluster, victims: list[int], watch: _Watch) -> float:
    began = time.monotonic()
    for number in victims:
        cluster.kill(number)
    await watch.until_granted(began + 1.0)
    await watch.count()
    for number in victims:
        cluster.start(number)
    await asyncio.to_thread(cluster.wait)
    await watch.until_granted(time.monotonic())
    return watch.gap_s(began)


async def _frozen(cluster: Cluster, victims: list[int], watch: _Watch) -> float:
    """Let members stand still: their connections stay, nothing answers, as in a partition."""
    began = time.monotonic()
    for number in victims:
        cluster.signal(number, signal.SIGSTOP)
    try:
        await asyncio.sleep(FROZEN_S)
    finally:
        for number in victims:
            cluster.signal(number, signal.SIGCONT)
    await asyncio.to_thread(cluster.wait)
    await watch.until_granted(time.monotonic())
    await watch.count()
    return watch.gap_s(began)


async def member_rounds(cluster: Cluster, rounds: int) -> None:
    """Do each of four things to the store in turn, and print how long no grant was made."""
    brokers, truth = Killed(cluster.state), Truth()
    watch, pool = _Watch(brokers, truth), ",".join(brokers.urls)
    servers = {f"s{n}": Server(f"s{n}", 4, pool, truth) for n in range(4)}
    tasks = [asyncio.create_task(each.run()) for each in servers.values()]
    tasks += [asyncio.create_task(Client(pool, servers, truth, hold_s).run()) for hold_s in HOLD_S]
    gaps: dict[str, list[float]] = {}
    try:
        await watch.until_granted(time.monotonic())
        await watch.count()
        for _ in range(rounds):
            for what, act, many, leads in (
                ("a follower killed", _killed, 1, False),
                ("the leader killed", _killed, 1, True),
                ("the leader frozen for 8 s", _frozen, 1, True),
                ("two of three frozen for 8 s", _frozen, 2, True),
            ):
                first = await asyncio.to_thread(leader_of, cluster)
                first = first if leads else (first + 1) % cluster.size
                victims = [(first + n) % cluster.size for n in range(many)]
                terms = watch.terms
                gaps.setdefault(what, []).append(await act(cluster, victims, watch))
                print(
                    f"{what}: {gaps[what][-1]:.2f} s, {watch.terms - terms} new terms", flush=True
                )
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        brokers.stop()
    for what, each in gaps.items():
        print(
            f"{what}, {len(each)} times: no grant for {sorted(each)[len(each) // 2]:.2f} s,"
            f" most {max(each):.2f} s"
        )
    print(
        f"{len(truth.grants)} grants, {len(truth.double)} double, {watch.lost} lost, "
        f"{len(truth.refused)} refused, {watch.terms - 1} takeovers of the brokers"
    )
