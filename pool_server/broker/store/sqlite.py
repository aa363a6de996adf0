"""A store in one file of this machine: SQLite, each commit forced to the disk before it returns.

Several brokers of one machine may share the file. Who leads holds a lock on `FILE.leader`, which
the kernel frees when its process dies, however it dies: the next one leads at once. A leader that
hangs keeps the lock, but not its lease: then the next one takes over by a higher epoch, and what
the first still writes is refused.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import sleep
from typing import Any, TypeVar

from cupool.pool_server.broker.store.base import (
    FORMAT,
    Leader,
    Store,
    StoreError,
    StoreUnusable,
    Superseded,
    Term,
    Timings,
    Writes,
    elapsed,
    next_epoch,
)

_T = TypeVar("_T")
_APPLICATION = 0x63757031  # "cup1", in the file's header
_POLL_S = 0.1
_BUSY_S = 0.01
_SCHEMA = """
CREATE TABLE rows (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE leader (
    one INTEGER PRIMARY KEY CHECK (one = 1), holder TEXT NOT NULL, address TEXT NOT NULL,
    epoch INTEGER NOT NULL, boot TEXT NOT NULL, expires_at REAL NOT NULL
);
"""
_LEADER = "SELECT holder, address, epoch, boot, expires_at FROM leader"
_UNUSABLE = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_CANTOPEN", "SQLITE_PERM")


class SqliteStore(Store):
    """One broker's access to a file.

    Args:
        path: of the file; it is made if it is not there. Its folder must be writable.
    """

    def __init__(self, path: str | Path, timings: Timings | None = None) -> None:
        self.path = Path(path)
        self._timings = timings or Timings()
        # One thread: a disk that is slow holds up the store, not the broker's loop.
        self._thread = ThreadPoolExecutor(1, "cupool-store")
        self._db: sqlite3.Connection | None = None
        self._file = (0, 0)
        self._lock = -1
        self._suspect = 0
        self._boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()

    async def _do(self, action: Callable[[], _T]) -> _T:
        """Run in the store's thread; who gives up waiting leaves it to finish."""
        work = asyncio.get_running_loop().run_in_executor(self._thread, self._translated, action)
        return await asyncio.shield(work)

    def _translated(self, action: Callable[[], _T]) -> _T:
        try:
            return action()
        except sqlite3.Error as exc:
            name = getattr(exc, "sqlite_errorname", "")
            kind = StoreUnusable if name.startswith(_UNUSABLE) else StoreError
            raise kind(f"{self.path}: {exc}") from None
        except OSError as exc:
            raise StoreError(f"{self.path}: {exc.strerror or exc}") from None

    # ------------------------------------------------------------ the file

    def _connect(self) -> sqlite3.Connection:
        if self._db is not None and not self._replaced():
            return self._db
        self._disconnect()
        db = sqlite3.connect(
            self.path,
            timeout=self._timings.call_s,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            self._prepare(db)
        except BaseException:
            db.close()
            raise
        found = os.stat(self.path)
        self._db, self._file = db, (found.st_dev, found.st_ino)
        return db

    def _prepare(self, db: sqlite3.Connection) -> None:
        _write_ahead(db, self._timings.call_s)
        db.execute("PRAGMA synchronous = FULL")
        application, version, tables = _identity(db)
        if (application, version) == (0, 0) and not tables:
            with _transaction(db):
                (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
                if not tables:  # another broker may have been quicker
                    for statement in filter(str.strip, _SCHEMA.split(";")):
                        db.execute(statement)
                    db.execute(f"PRAGMA application_id = {_APPLICATION}")
                    db.execute(f"PRAGMA user_version = {FORMAT}")
        elif application != _APPLICATION:
            raise StoreUnusable(f"{self.path} is a database of another program")
        elif version != FORMAT:
            raise StoreUnusable(
                f"{self.path} has format {version}; this version of cupool reads {FORMAT}"
            )

    def _replaced(self) -> bool:
        """Whether the file at the path is not the one that is open."""
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            return True
        return (found.st_dev, found.st_ino) != self._file

    def _disconnect(self) -> None:
        if self._db is not None:
            with contextlib.suppress(sqlite3.Error):
                self._db.close()
        self._db = None

    def _mine(self, term: Term) -> sqlite3.Connection:
        """Return the open file of a term.

        Raises:
            Superseded: it was removed or replaced: what is written there, nobody would find.
        """
        if self._db is None or self._replaced():
            raise Superseded(f"{self.path} was removed or replaced")
        return self._db

    # ------------------------------------------------------------ who leads

    async def campaign(self, holder: str, address: str) -> Term | None:
        return await self._do(lambda: self._campaign(holder, address))

    def _campaign(self, holder: str, address: str) -> Term | None:
        db = self._connect()
        locked = self._take_lock()
        with _transaction(db):
            row = db.execute(_LEADER).fetchone()
            if not locked and not self._hangs(row):
                return None
            epoch = next_epoch(row[2] if row else 0)
            expires_at = elapsed() + self._timings.lease_s
            db.execute(
                "REPLACE INTO leader VALUES (1, ?, ?, ?, ?, ?)",
                (holder, address, epoch, self._boot, expires_at),
            )
        return Term(epoch)

    def _hangs(self, row: tuple[Any, ...] | None) -> bool:
        """Whether a lease is over although somebody holds the lock, and was so the last time.

        The first time it may be that he who holds it has just taken it, and is about to lead.
        """
        if row is None or self._alive(row):
            return False
        suspected, self._suspect = self._suspect, int(row[2])
        return suspected == self._suspect

    def _alive(self, row: tuple[Any, ...]) -> bool:
        return bool(row[3] == self._boot and elapsed() < row[4])

    def _present(self, db: sqlite3.Connection) -> Leader | None:
        row = db.execute(_LEADER).fetchone()
        return Leader(*row[:3]) if row is not None and self._alive(row) else None

    def _take_lock(self) -> bool:
        if self._lock >= 0:
            return True
        lock = os.open(f"{self.path}.leader", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return False
        self._lock = lock
        return True

    def _free_lock(self) -> None:
        lock, self._lock = self._lock, -1
        if lock >= 0:
            os.close(lock)

    async def leader(self) -> Leader | None:
        return await self._do(lambda: self._present(self._connect()))

    async def vacancy(self, known: Leader | None, timeout_s: float) -> None:
        end = elapsed() + (timeout_s if known is not None else _POLL_S)
        while not await self._do(lambda: self._vacant(known)) and elapsed() < end:
            await asyncio.sleep(_POLL_S)

    def _vacant(self, known: Leader | None) -> bool:
        if self._present(self._connect()) != known:
            return True
        free = self._lock < 0 and self._take_lock()
        if free:
            self._free_lock()
        return free

    async def renew(self, term: Term) -> None:
        await self._do(lambda: self._renew(term))

    def _renew(self, term: Term) -> None:
        db = self._mine(term)
        expires_at = elapsed() + self._timings.lease_s
        try:
            found = db.execute(
                "UPDATE leader SET expires_at = ? WHERE epoch = ?", (expires_at, term.epoch)
            ).rowcount
        except sqlite3.OperationalError:
            # Full or read-only: nobody else can begin a term either, as long as ours is written.
            found = db.execute("SELECT 1 FROM leader WHERE epoch = ?", (term.epoch,)).fetchone()
        if not found:
            self._free_lock()
            raise Superseded("another broker leads")
        self._take_lock()

    async def resign(self, term: Term) -> None:
        await self._do(lambda: self._resign(term))

    def _resign(self, term: Term) -> None:
        try:
            if self._db is not None:
                self._db.execute("UPDATE leader SET expires_at = 0 WHERE epoch = ?", (term.epoch,))
        finally:
            self._free_lock()

    # ------------------------------------------------------------ rows

    async def load(self, term: Term) -> dict[str, bytes]:
        return await self._do(lambda: self._load(term))

    def _load(self, term: Term) -> dict[str, bytes]:
        db = self._mine(term)
        with _transaction(db, "DEFERRED"):
            self._check(db, term)
            return {key: bytes(value) for key, value in db.execute("SELECT * FROM rows")}

    async def commit(self, term: Term, writes: Writes) -> None:
        await self._do(lambda: self._commit(term, writes))

    def _commit(self, term: Term, writes: Writes) -> None:
        db = self._mine(term)
        gone = [(key,) for key, value in writes.items() if value is None]
        there = [(key, value) for key, value in writes.items() if value is not None]
        with _transaction(db):
            self._check(db, term)
            db.executemany("DELETE FROM rows WHERE key = ?", gone)
            db.executemany("REPLACE INTO rows VALUES (?, ?)", there)

    def _check(self, db: sqlite3.Connection, term: Term) -> None:
        row = db.execute("SELECT epoch FROM leader").fetchone()
        if row is None or row[0] != term.epoch:
            raise Superseded("another broker leads")

    async def close(self) -> None:
        await self._do(self._close)
        self._thread.shutdown(wait=False)

    def _close(self) -> None:
        self._disconnect()
        self._free_lock()


def _write_ahead(db: sqlite3.Connection, within_s: float) -> None:
    """Have the file keep a write-ahead log. While another broker just opens the new file, SQLite
    calls it locked at once, whatever time the connection may wait."""
    end = elapsed() + within_s
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as exc:
            if exc.sqlite_errorname != "SQLITE_BUSY" or elapsed() >= end:
                raise
        sleep(_BUSY_S)


def _identity(db: sqlite3.Connection) -> tuple[int, int, int]:
    """Return application, format and number of tables, as they were at one moment: another
    broker may be making the database just now."""
    db.execute("BEGIN")
    try:
        (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        (application,) = db.execute("PRAGMA application_id").fetchone()
        (version,) = db.execute("PRAGMA user_version").fetchone()
    finally:
        db.execute("ROLLBACK")
    return application, version, tables


@contextlib.contextmanager
def _transaction(db: sqlite3.Connection, kind: str = "IMMEDIATE") -> Iterator[None]:
    db.execute(f"BEGIN {kind}")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
