"""A program that grants and ends leases on a SQLite store until it is killed.

Usage: python -m tests.unit.store_child FILE SEED. Before each change it prints "try CHANGE", and
"done" once the change is durable.
"""

from __future__ import annotations

import asyncio
import random
import sys

from cupool.pool_server.broker import changes as c
from cupool.pool_server.broker.model import Placement, Terms
from cupool.pool_server.broker.store.base import Timings
from cupool.pool_server.broker.store.journal import Journal
from cupool.pool_server.broker.store.rows import books_of, rows_of
from cupool.pool_server.broker.store.sqlite import SqliteStore

DEVICES = 6


async def main(path: str, seed: int) -> None:
    dice = random.Random(seed)
    store = SqliteStore(path)
    term = await store.campaign(f"child{seed}", "grpc://child")
    assert term is not None
    books = books_of(await store.load(term))
    journal = Journal(store, term, Timings(), lambda: True)
    writing = asyncio.ensure_future(journal.run())
    number = 0
    while True:
        lease_id, device = f"{seed}-{number}", dice.randrange(DEVICES)
        holders = books.on_device.get(("s", device), {})
        changes: list[c.Change] = [c.LeaseEnded(each) for each in holders]
        place = Placement("s", device, 1 << 30, True)
        changes.append(
            c.LeaseGranted(
                lease_id, "", "", "x" * dice.randrange(3000), 0.0, 1, Terms(), {0: place}
            )
        )
        for change in changes:
            books.apply(change)
            print("try", c.encode(change).decode())
        journal.submit(rows_of(changes, books), lambda: print("done", flush=True))
        sys.stdout.flush()
        if dice.random() < 0.7:
            await journal.flushed()
        number += 1
        if writing.done():
            writing.result()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
