"""The audit log: what was decided, for whom and when, one JSON object a line.

Grants, releases, quotas and all else that is durable are written as their change records;
refusals, commands of administrators and servers that were turned away beside them. The file is
rotated by size and the number of old ones is bounded; without a file the last records are kept.
"""

from __future__ import annotations

import logging
import logging.handlers
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from cupool.errors import ConfigurationError
from cupool.pool_server.broker import changes as c

FILE_BYTES = 16 << 20
OLD_FILES = 8
KEPT_RECORDS = 1000


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
        self._clock = clock
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

    def write(self, what: str, **fields: Any) -> None:
        """Write one record; the time is added."""
        record = {"at": round(self._clock(), 3), "what": what, **fields}
        self.records.append(record)
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

    def close(self) -> None:
        if self._handler is not None:
            self._handler.close()
