"""Logs of the daemons: for people on a terminal, JSON lines elsewhere.

Modules log with the standard library (`extra=` carries the fields); this module decides how it
looks. structlog does it where it is installed, as the `server` extra has it.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

_PLAIN = frozenset(logging.LogRecord("", 0, "", 0, "", (), None).__dict__) | {"message", "asctime"}


class _Fields(logging.Formatter):
    """Without structlog: the message, then key=value."""

    def format(self, record: logging.LogRecord) -> str:
        extra = {key: value for key, value in vars(record).items() if key not in _PLAIN}
        fields = "".join(f" {key}={value}" for key, value in extra.items())
        return f"{super().format(record)}{fields}"


def configure(*, verbose: bool = False) -> None:
    """Send logs to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_formatter(sys.stderr.isatty()))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    logging.getLogger("cupool").setLevel(logging.DEBUG if verbose else logging.INFO)


def _formatter(terminal: bool) -> logging.Formatter:
    try:
        import structlog
    except ModuleNotFoundError:
        return _Fields("%(asctime)s %(levelname)-7s %(name)s: %(message)s")
    renderer = structlog.dev.ConsoleRenderer() if terminal else structlog.processors.JSONRenderer()
    before: list[Any] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if not terminal:
        before.append(structlog.processors.format_exc_info)
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=before,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
    )
