"""What both daemons share: the event loop, signals, and handing their address on."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Coroutine
from typing import Any

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def run(main: Coroutine[Any, Any, None]) -> None:
    """Run a daemon on uvloop where it is installed; the signals' handlers are given back."""
    try:
        import uvloop

        factory = uvloop.new_event_loop
    except ModuleNotFoundError:
        factory = None
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    try:
        with asyncio.Runner(loop_factory=factory) as runner:
            runner.run(main)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Stop:
    """SIGTERM and SIGINT: the first asks to stop, the second to do it at once."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.urged = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._signal)

    def _signal(self) -> None:
        if self.asked.is_set():
            self.urged.set()
        self.asked.set()


async def until_stopped(stop: Stop, running: asyncio.Task[None] | None) -> None:
    """Wait until asked to stop; raises what went wrong with a task that never returns."""
    asked = asyncio.create_task(stop.asked.wait())
    tasks = {asked} if running is None else {asked, running}
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    asked.cancel()
    if running is not None and running.done():
        running.result()


def write_atomically(path: str, text: str) -> None:
    """Write a small file in one step, so that a reader sees all of it or nothing."""
    temporary = f"{path}.{os.getpid()}"
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
