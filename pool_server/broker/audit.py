"""The audit log: what was decided, for whom and when, one JSON object a line.

Grants, releases, places in line, quotas and all else that is durable are written as their change
records; beside them refusals, commands of administrators, servers that come, go or are turned
away, and who leads. The file is rotated by size and the number of old ones is bounded. The last
records are kept in memory for `cupool audit`, with a file also those of an earlier broker.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import logging.handlers
import os
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable
from typing import Any

import msgspec

from cupool.errors import ConfigurationError
from cupool.pool_server.broker import changes as c
from cupool.pool_server.broker.news import Changes

FILE_BYTES = 16 << 20
OLD_FILES = 8
KEPT_RECORDS = 1000
_TAIL_BYTES = 1 << 20
_LOOK_S = 60.0


class Audit:
    """Writes records.

    Args:
        path: of the file; "" = memory only.
        clock: wall time, seconds since 1970.

    Raises:
        ConfigurationError: the file cannot be written.
    """

    def __init__(
        self,
        path: str = "",
        *,
        file_bytes: int = FILE_BYTES,
        old_files: int = OLD_FILES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.records: deque[dict[str, Any]] = deque(maxlen=KEPT_RECORDS)
        self.written = 0
        self._clock = clock
        self._news = Changes()
        self._handler: logging.handlers.RotatingFileHandler | None = None
        if path:
            try:
                self._handler = logging.handlers.RotatingFileHandler(
                    path, maxBytes=file_bytes, backupCount=old_files, encoding="utf-8"
                )
            except OSError as exc:
                raise ConfigurationError(
                    f"the audit log {path} cannot be written: {exc.strerror}",
                    remedy="name another file:   cupool broker --audit-log FILE",
                ) from None
            records, whole = _tail(path)
            if not whole and self._handler.stream is not None:
                self._handler.stream.write("\n")
            self.records.extend(records)
            self.written = len(self.records)

    def write(self, what: str, **fields: Any) -> None:
        """Write one record; the time is added."""
        record = {"at": round(self._clock(), 3), "what": what, **fields}
        self.records.append(record)
        self.written += 1
        self._news.notify()
        if self._handler is not None:
            line = msgspec.json.encode(record).decode()
            self._handler.emit(logging.LogRecord("audit", logging.INFO, "", 0, line, (), None))

    def changes(self, changes: Iterable[c.Change], epoch: int) -> None:
        """Write what became durable; secrets are left out."""
        for change in changes:
            fields = msgspec.to_builtins(change)
            what = fields.pop("type")
            for each in (fields, fields.get("wish", {})):
                each.pop("job_token_hash", None)
            self.write(what, epoch=epoch, **fields)

    async def read(self, *, follow: bool) -> AsyncGenerator[dict[str, Any]]:
        """Yield the records that are kept, oldest first; then (`follow`) each new one, for ever.

        A reader that is too slow for what is kept is told how many records it has missed.
        """
        seen = self.written - len(self.records)
        while True:
            missed = self.written - len(self.records) - seen
            if missed > 0:
                yield {"at": round(self._clock(), 3), "what": "records-missed", "records": missed}
            found = list(itertools.islice(self.records, max(0, -missed), None))
            seen = self.written
            for record in found:
                yield record
            if not follow:
                return
            if seen == self.written:
                await self._news.wait(_LOOK_S)

    def close(self) -> None:
        if self._handler is not None:
            self._handler.close()


def _tail(path: str) -> tuple[list[dict[str, Any]], bool]:
    """Return a file's last records, and whether its last line is whole: a crash may cut it."""
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _TAIL_BYTES))
        lines = (text := file.read(_TAIL_BYTES)).splitlines()
    found: list[dict[str, Any]] = []
    for line in lines[-KEPT_RECORDS:]:
        with contextlib.suppress(msgspec.MsgspecError):
            record = msgspec.json.decode(line, type=dict[str, Any])
            if isinstance(record.get("at"), int | float) and isinstance(record.get("what"), str):
                found.append(record)  # others may write into that file, too
    return found, text[-1:] in (b"", b"\n")
