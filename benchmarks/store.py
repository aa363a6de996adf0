"""How fast grants become durable, and what happens when the broker that leads is killed.

    python benchmarks/store.py                          grants a second on each store
    python benchmarks/store.py --kill etcd --rounds 100  kill -9 the leader, again and again
    python benchmarks/store.py --kill sqlite --rounds 100
    python benchmarks/store.py --members --rounds 10     kill and freeze members of etcd instead

A grant counts once its client was told: decided, written, opened by a simulated server. In the
kill experiment two brokers run as processes; simulated servers and clients go on meanwhile, and
know what was granted. etcd's members all run on this machine, and share its disk.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))


from benchmarks import etcd_cluster
from benchmarks.broker_load import Server, ask
from benchmarks.store_members import member_rounds
from benchmarks.store_pool import Client, Killed, Truth, leading
from benchmarks.store_pool import Server as Followed
from cupool.pool_server.broker.model import Limits, Wish
from cupool.pool_server.broker.service import BrokerService
from cupool.pool_server.broker.store.election import Election
from cupool.pool_server.broker.store.opening import open_store

CLIENTS = 64
SERVERS = 16
MOST_S = 7.0
"""A first grant that takes longer is reported with what it waited for."""
HOLD_S = (0.2,) * 6 + (25.0,) * 6
"""Of the kill experiment's clients: so long each keeps a GPU at most."""


@contextlib.contextmanager
def place(kind: str) -> Iterator[str]:
    """Make a place for a state, and return what `--state` is told."""
    with tempfile.TemporaryDirectory(dir=Path.home()) as folder:
        if kind == "sqlite":
            yield f"{folder}/broker.db"
        else:
            members = 1 if kind == "etcd1" else 3
            with etcd_cluster.cluster(Path(folder), members) as cluster:
                yield cluster.state


# ---------------------------------------------------------------- speed


async def speed(state: str, seconds: float, clients: int) -> tuple[float, list[float]]:
    """Let clients acquire and end leases; return grants a second, and each one's seconds."""
    broker = BrokerService("bench", Limits(silence_s=60.0, settle_s=0.0))
    servers = {f"s{n}": Server(f"s{n}") for n in range(SERVERS)}
    tasks: list[asyncio.Task[None]] = []
    store = None
    if state:
        store = open_store(state)
        broker.follow(None, "")
        tasks.append(asyncio.create_task(Election(store, broker, "bench", "grpc://b").run()))
        while broker.standing.refusal() is not None:
            await asyncio.sleep(0.01)
    tasks += [asyncio.create_task(each.serve(broker)) for each in servers.values()]
    while len(broker.state.ledger.servers) < SERVERS:
        await asyncio.sleep(0.01)
    took: list[float] = []
    end = time.perf_counter() + seconds

    async def client(number: int) -> None:
        while time.perf_counter() < end:
            began = time.perf_counter()
            _, lease_id = await ask(broker, Wish(1, 1 << 30, 60.0, f"c{number}"))
            took.append(time.perf_counter() - began)
            broker.apply(broker.state.release("", lease_id))

    began = time.perf_counter()
    await asyncio.gather(*(client(n) for n in range(clients)))
    passed = time.perf_counter() - began
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    broker.close()
    if store is not None:
        await store.close()
    return len(took) / passed, took


def measure_speed(kinds: list[str], seconds: float) -> None:
    print(f"{'store':8} {'clients':>7} {'grants/s':>9} {'p50 ms':>8} {'p99 ms':>8}")
    for kind in kinds:
        for clients in (1, CLIENTS):
            with contextlib.nullcontext("") if kind == "none" else place(kind) as state:
                rate, took = asyncio.run(speed(state, seconds, clients))
            p50, p99 = (statistics.quantiles(took, n=100)[n] * 1e3 for n in (49, 98))
            print(f"{kind:8} {clients:7} {rate:9.0f} {p50:8.2f} {p99:8.1f}", flush=True)


# ---------------------------------------------------------------- kills


async def kill_rounds(state: str, rounds: int) -> None:
    brokers, truth = Killed(state), Truth()
    pool = ",".join(brokers.urls)
    servers = {f"s{n}": Followed(f"s{n}", 4, pool, truth) for n in range(4)}
    tasks = [asyncio.create_task(each.run()) for each in servers.values()]
    tasks += [asyncio.create_task(Client(pool, servers, truth, hold_s).run()) for hold_s in HOLD_S]
    led: list[float] = []
    served: list[float] = []
    lost = 0
    try:
        leader, status = await leading(brokers.urls, 0, 60.0)
        for number in range(rounds):
            before = len(truth.grants)
            while len(truth.grants) < before + 5:
                await asyncio.sleep(0.01)
            await asyncio.sleep(random.uniform(0.0, 1.5))  # anywhere between two renewals
            held, count = dict(truth.held), len(truth.grants)
            brokers.kill(leader)
            killed_at = time.monotonic()
            brokers.start(leader)
            leader, status = await leading(brokers.urls, status.epoch, 60.0)
            led.append(time.monotonic() - killed_at)
            known = {each.lease_id for each in status.leases}
            still = {lease for where, lease in held.items() if truth.held.get(where) == lease}
            lost += len(still - known)
            while len(truth.grants) <= count or truth.grants[-1] < killed_at + led[-1]:
                if time.monotonic() > killed_at + 60.0:
                    raise RuntimeError("no grant within 60 s")
                await asyncio.sleep(0.01)
            first = next(each for each in truth.grants if each >= killed_at + led[-1])
            served.append(first - killed_at)
            if served[-1] > MOST_S:
                back = sorted(round(each.back_at - killed_at, 2) for each in servers.values())
                print(f"round {number + 1}: a leader after {led[-1]:.2f} s, servers back {back}")
                print(
                    f"  first grant after {served[-1]:.2f} s; the broker: {status.note or 'well'}"
                )
            if (number + 1) % 10 == 0 or number + 1 == rounds:
                print(_so_far(number + 1, led, served, lost, truth), flush=True)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        brokers.stop()


def _so_far(rounds: int, led: list[float], served: list[float], lost: int, truth: Truth) -> str:
    return (
        f"{rounds} rounds, {len(truth.grants)} grants: {len(truth.double)} double, {lost} lost, "
        f"{len(truth.refused)} refused; leads again after {statistics.median(led):.2f} s "
        f"(most {max(led):.2f}), first grant after {statistics.median(served):.2f} s "
        f"(most {max(served):.2f}); {truth.old} commands of old epochs refused"
        + (f"; {truth.double[:3]}" if truth.double else "")
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stores", default="none,sqlite,etcd1,etcd3")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--kill", choices=("sqlite", "etcd1", "etcd", "etcd3"))
    parser.add_argument("--members", action="store_true")
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    kinds = options.stores.split(",")
    if etcd_cluster.MISSING:
        print(etcd_cluster.MISSING, file=sys.stderr)
        kinds = [each for each in kinds if not each.startswith("etcd")]
    if options.members:
        with tempfile.TemporaryDirectory(dir=Path.home()) as folder:
            with etcd_cluster.cluster(Path(folder), 3) as cluster:
                asyncio.run(member_rounds(cluster, options.rounds))
    elif options.kill:
        with place(options.kill) as state:
            asyncio.run(kill_rounds(state, options.rounds))
    else:
        measure_speed(kinds, options.seconds)


if __name__ == "__main__":
    main()
