"""What `cupool run --stats` prints: what travelled, and where the script waited."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from cupool.client_shim import exchange

if TYPE_CHECKING:
    from cupool.client_shim.session import DeviceSession

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def user_line() -> str:
    """Return "file:line" of the caller outside cupool, for --stats."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def print_stats(one: DeviceSession) -> None:
    """Print what a session sent and where the script waited."""
    c = one.pipeline.counters
    lines = [
        f"cupool: GPU {one.ordinal}: {c.operations} operations in {c.batches} batches,"
        f" {c.waits} waits, {c.sent_bytes:,} bytes sent, {c.received_bytes:,} received"
    ]
    for way, times in exchange.counts(one).items():
        lines.append(f"cupool:   {times:6d} arrays to other GPUs {way}")
    for site, count in sorted((one.wait_sites or {}).items(), key=lambda x: -x[1])[:20]:
        lines.append(f"cupool:   {count:6d} waits at {site}")
    for name, count in sorted(one.pipeline.relaid.items()):
        lines.append(f"cupool:   {count:6d} results of '{name}' re-laid")
    print("\n".join(lines), file=sys.stderr)
