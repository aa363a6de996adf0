"""What a decision means for those outside: a command for a server, an event for a client."""

from __future__ import annotations

import asyncio
import logging
from typing import TypeAlias

from cupool.pool_server.broker import convert
from cupool.pool_server.broker.decisions import (
    CloseSession,
    Decision,
    DropLink,
    Notify,
    OpenSession,
    TellGrant,
    TellQueued,
    TellRefusal,
)
from cupool.proto.v1 import pool_pb2 as pb

log = logging.getLogger("cupool.broker")

News: TypeAlias = tuple[int, pb.NodeCommand | None] | TellQueued | TellGrant | TellRefusal
"""For a server's stream (None ends it), or for a client."""


def news_of(decision: Decision) -> News:
    """Put a decision into words, as things are now."""
    match decision:
        case OpenSession():
            return decision.link, convert.open_command(decision)
        case CloseSession():
            close = pb.CloseSession(session_id=decision.session_id, reason=decision.reason)
            return decision.link, pb.NodeCommand(close=close)
        case Notify():
            return decision.link, convert.notice_command(decision)
        case DropLink():
            log.warning("a server's stream is dropped", extra={"why": decision.reason})
            return decision.link, None
        case TellQueued() | TellGrant() | TellRefusal():
            return decision


class Changes:
    """Wakes everybody who waits for the books to change."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def notify(self) -> None:
        self._event.set()
        self._event = asyncio.Event()

    async def wait(self, timeout_s: float) -> None:
        """Return at the next change, or after the time."""
        try:
            await asyncio.wait_for(self._event.wait(), timeout_s)
        except TimeoutError:
            pass
