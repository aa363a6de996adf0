"""Tell systemd how we are: the notify protocol, without a library.

The watchdog is fed from the serving event loop, so that a loop which hangs is noticed.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Mapping


def notify(state: str, environ: Mapping[str, str] = os.environ) -> bool:
    """Send e.g. "READY=1" to the service manager; return whether there is one that took it."""
    address = environ.get("NOTIFY_SOCKET", "")
    if address[:1] not in ("/", "@"):
        return False
    if address.startswith("@"):
        address = "\0" + address[1:]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
        try:
            sender.connect(address)
            sender.sendall(state.encode())
        except OSError:
            return False
    return True


def watchdog_interval_s(environ: Mapping[str, str] = os.environ) -> float | None:
    """Return how often to feed the watchdog, half of what systemd allows; None if it has none."""
    if environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    microseconds = environ.get("WATCHDOG_USEC", "")
    return int(microseconds) / 2e6 if microseconds.isdecimal() and int(microseconds) else None


async def feed_watchdog(environ: Mapping[str, str] = os.environ) -> None:
    """Say "I serve" at the interval that systemd asks for; ends at once if it asks for none."""
    interval_s = watchdog_interval_s(environ)
    while interval_s is not None:
        notify("WATCHDOG=1", environ)
        await asyncio.sleep(interval_s)
