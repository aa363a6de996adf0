"""SQLite as a store: crashes at any point, and files that are not as they should be."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from cupool.pool_server.broker import changes as c
from cupool.pool_server.broker.books import Books
from cupool.pool_server.broker.store import sqlite
from cupool.pool_server.broker.store.base import (
    StoreError,
    StoreUnusable,
    Superseded,
    Term,
    Timings,
)
from cupool.pool_server.broker.store.rows import books_of
from cupool.pool_server.broker.store.sqlite import SqliteStore

Drive: TypeAlias = Callable[[Coroutine[Any, Any, None]], None]
ROUNDS = 4


async def won(store: SqliteStore) -> Term:
    term = await store.campaign("me", "grpc://me")
    assert term is not None
    return term


async def read(path: Path) -> Books:
    store = SqliteStore(path)
    try:
        return books_of(await store.load(await won(store)))
    finally:
        await store.close()


def start(path: Path, seed: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.unit.store_child", str(path), str(seed)]
    root = str(Path(__file__).parent.parent.parent)
    paths = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"PYTHONPATH": paths}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def kill_after(child: subprocess.Popen[str], writes: int) -> list[str]:
    """Let a program write so often, kill it, and return all that it said."""
    assert child.stdout is not None
    lines = []
    try:
        while lines.count("done") < writes:
            line = child.stdout.readline().strip()
            assert line, f"it ended by itself: {child.wait()}"
            lines.append(line)
    finally:
        child.send_signal(signal.SIGKILL)
        rest, _ = child.communicate()
    whole, _, _ = rest.rpartition("\n")  # the last line may have been cut
    return lines + whole.split("\n")


def replayed(books: Books, lines: list[str]) -> tuple[list[set[str]], int]:
    """Return the leases after each grant that was tried, and how many were told to be done."""
    states = [set(books.leases)]
    for line in lines:
        if line.startswith("try "):
            change = c.decode(line[4:].encode())
            books.apply(change)
            if isinstance(change, c.LeaseGranted):
                states.append(set(books.leases))
    return states, lines.count("done")


def test_after_a_kill_nothing_is_lost_and_nothing_is_held_twice(
    tmp_path: Path, drive: Drive
) -> None:
    async def check(books: Books, lines: list[str]) -> None:
        found = await read(path)
        states, done = replayed(books, lines)
        assert set(found.leases) in states[done:], f"{done} of {len(states) - 1} were durable"
        assert all(taken.leases == taken.whole == 1 for taken in found.taken.values())
        books_left.append(found)

    path, dice = tmp_path / "broker.db", random.Random(7)
    books_left = [Books()]
    for seed in range(ROUNDS):
        lines = kill_after(start(path, seed), dice.randrange(1, 60))
        drive(check(books_left[-1], lines))


def test_a_leader_that_was_killed_is_followed_at_once(tmp_path: Path, drive: Drive) -> None:
    path = tmp_path / "broker.db"
    child = start(path, 1)
    assert child.stdout is not None and child.stdout.readline().startswith("try")

    async def main() -> None:
        store = SqliteStore(path, Timings(lease_s=3600.0))
        leader = await store.leader()
        assert leader is not None and leader.holder == "child1"
        assert await store.campaign("me", "grpc://me") is None
        waiting = asyncio.ensure_future(store.vacancy(leader, 3600.0))
        child.send_signal(signal.SIGKILL)
        await waiting
        await won(store)
        await store.close()

    try:
        drive(main())
    finally:
        child.kill()
        child.communicate()


def test_a_new_file_that_another_broker_is_opening_is_waited_for(
    tmp_path: Path, drive: Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = sqlite3.connect(tmp_path / "broker.db", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    pauses: list[float] = []

    def pause(for_s: float) -> None:
        pauses.append(for_s)
        other.execute("ROLLBACK")

    monkeypatch.setattr(sqlite, "sleep", pause)

    async def test() -> None:
        store = SqliteStore(tmp_path / "broker.db")
        await won(store)
        await store.close()

    drive(test())
    other.close()
    assert len(pauses) == 1


def test_a_file_that_stays_locked_is_not_waited_for_without_end(
    tmp_path: Path, drive: Drive
) -> None:
    other = sqlite3.connect(tmp_path / "broker.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    async def test() -> None:
        store = SqliteStore(tmp_path / "broker.db", Timings(call_s=0.05))
        with pytest.raises(StoreError, match="database is locked"):
            await won(store)
        await store.close()

    drive(test())
    other.close()


def test_a_full_disk_loses_nothing_and_keeps_the_leader(tmp_path: Path, drive: Drive) -> None:
    async def main() -> None:
        store = SqliteStore(tmp_path / "broker.db")
        term = await won(store)
        await store.commit(term, {"a": b"1"})
        assert store._db is not None
        (pages,) = store._db.execute("PRAGMA page_count").fetchone()
        store._db.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StoreError, match="full"):
            await store.commit(term, {"a": b"2", "b": b"x" * 100_000})
        await store.renew(term)
        assert await store.load(term) == {"a": b"1"}
        store._db.execute("PRAGMA max_page_count = 100000")
        await store.commit(term, {"a": b"2", "b": b"x" * 100_000})
        await store.close()

    drive(main())


def test_a_read_only_file_keeps_the_leader_and_says_so(tmp_path: Path, drive: Drive) -> None:
    async def main() -> None:
        store = SqliteStore(tmp_path / "broker.db")
        term = await won(store)
        assert store._db is not None
        store._db.execute("PRAGMA query_only = ON")
        with pytest.raises(StoreError, match="readonly"):
            await store.commit(term, {"a": b"2"})
        await store.renew(term)
        await store.close()

    drive(main())


def test_a_file_that_was_removed_ends_the_term(tmp_path: Path, drive: Drive) -> None:
    async def main() -> None:
        path = tmp_path / "broker.db"
        store = SqliteStore(path)
        first = await won(store)
        await store.commit(first, {"a": b"1"})
        path.unlink()
        for attempt in (store.commit(first, {"b": b"1"}), store.renew(first), store.load(first)):
            with pytest.raises(Superseded, match="removed"):
                await attempt
        for suffix in ("-wal", "-shm"):
            (tmp_path / f"broker.db{suffix}").unlink(missing_ok=True)
        second = await won(store)
        assert second.epoch > first.epoch
        assert await store.load(second) == {}
        await store.close()

    drive(main())


def test_files_that_are_no_store_are_left_alone(tmp_path: Path, drive: Drive) -> None:
    foreign, newer, text = tmp_path / "f.db", tmp_path / "n.db", tmp_path / "t.db"
    with sqlite3.connect(foreign) as db:
        db.execute("CREATE TABLE mine (x)")
    db.close()
    text.write_text("this is no database, " * 100)

    async def main() -> None:
        store = SqliteStore(newer)
        await won(store)
        await store.close()
        db = sqlite3.connect(newer)
        db.execute("PRAGMA user_version = 99")
        db.close()
        for path, why in (
            (foreign, "another program"),
            (newer, "format 99"),
            (text, "not a database"),
            (tmp_path, "unable to open"),
            (tmp_path / "no" / "folder.db", "unable to open"),
        ):
            store = SqliteStore(path)
            with pytest.raises(StoreUnusable, match=why):
                await store.campaign("me", "grpc://me")
            await store.close()

    drive(main())
    assert text.read_text().startswith("this is no database")
