"""Pools of real processes for the end-to-end tests, and proof that nothing of them is left."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.e2e.running import environment

WITHIN_S = 60.0


class Pool:
    """A broker and servers on this machine; each process carries a mark in its environment."""

    def __init__(self) -> None:
        self.mark = uuid.uuid4().hex
        self.url = ""
        self.broker: subprocess.Popen[str] | None = None
        self.servers: dict[str, subprocess.Popen[str]] = {}
        self.scripts: list[subprocess.Popen[str]] = []

    def environment(self) -> dict[str, str]:
        return environment() | {"CUPOOL_TEST_MARK": self.mark}

    def _start(self, *arguments: str, cwd: Path | None = None, **more: Any) -> Any:
        return subprocess.Popen(
            [sys.executable, "-m", "cupool", *arguments],
            env=self.environment(),
            cwd=cwd,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **more,
        )

    def start_broker(self, url: str = "grpc://127.0.0.1:0", *options: str) -> None:
        self.broker = self._start("broker", "--listen", url, *options)
        assert self.broker is not None
        self.url = str(said(self.broker, "broker listens")["url"])

    def start_server(self, name: str, *arguments: str) -> None:
        command: tuple[str, ...] = (
            "serve",
            "--broker",
            self.url,
            "--name",
            name,
            "--cuda",
            "none",
            "--grace",
            "0",
        )
        command += arguments
        self.servers[name] = self._start(*command)
        said(self.servers[name], "serving")

    def run(self, *arguments: str, cwd: Path, pool: bool = True) -> subprocess.Popen[str]:
        """Start `cupool run`; the script's output comes by pipe."""
        where = ("--pool", self.url) if pool else ()
        script: subprocess.Popen[str] = self._start("run", *where, *arguments, cwd=cwd)
        self.scripts.append(script)
        return script

    def plain(self, *arguments: str, cwd: Path) -> subprocess.Popen[str]:
        """Start Python itself, without `cupool run`."""
        script = subprocess.Popen(
            [sys.executable, *arguments],
            env=self.environment(),
            cwd=cwd,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.scripts.append(script)
        return script

    def status(self) -> dict[str, Any]:
        command = [sys.executable, "-m", "cupool", "status", "--json", "--pool", self.url]
        out = subprocess.check_output(command, env=self.environment(), timeout=WITHIN_S)
        table: dict[str, Any] = json.loads(out)
        return table

    def worker_of(self, server: str) -> int:
        """Return the pid of the worker of a server's only session."""
        (found,) = [each for each in self.status()["servers"] if each["name"] == server]
        (session,) = [s for device in found["devices"] for s in device["sessions"]]
        pid: int = session["worker_pid"]
        return pid

    def processes(self) -> dict[int, str]:
        """Return every process that carries the mark, with its command line."""
        found = {}
        for entry in os.listdir("/proc"):
            if entry.isdecimal() and int(entry) != os.getpid():
                with contextlib.suppress(OSError):
                    if self.mark.encode() in Path(f"/proc/{entry}/environ").read_bytes():
                        line = Path(f"/proc/{entry}/cmdline").read_bytes()
                        found[int(entry)] = line.replace(b"\0", b" ").decode()
        return found

    def wait_until_gone(self, within_s: float = 15.0) -> None:
        """Wait until no process with the mark is left; fails with a list of those that are."""
        end = time.monotonic() + within_s
        while left := self.processes():
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    wait_for_end(pid, end - time.monotonic())
            assert time.monotonic() < end, f"still there: {left}"

    def stop(self) -> None:
        """End everything in the polite way, then prove that nothing is left."""
        for script in self.scripts:
            script.kill()
        for process in [*self.servers.values(), *([self.broker] if self.broker else [])]:
            process.send_signal(signal.SIGCONT)
            process.terminate()
        for process in [
            *self.scripts,
            *self.servers.values(),
            *([self.broker] if self.broker else []),
        ]:
            process.communicate(timeout=WITHIN_S)
        self.wait_until_gone()
        names = Path("/proc/net/unix").read_text()
        assert self.mark not in names


def wait_for_end(pid: int, within_s: float) -> None:
    """Wait until a process is gone, whoever's child it is."""
    pidfd = os.pidfd_open(pid)
    try:
        poll = select.poll()
        poll.register(pidfd, select.POLLIN)
        poll.poll(max(0.0, within_s) * 1000)
    finally:
        os.close(pidfd)


def said(process: subprocess.Popen[str], event: str) -> dict[str, Any]:
    """Read a daemon's log (JSON lines) up to an event."""
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line)
        with contextlib.suppress(ValueError):
            found: dict[str, Any] = json.loads(line)
            if found.get("event") == event:
                return found
    raise AssertionError(f"{event!r} was not said, but:\n{''.join(lines)}")


@contextlib.contextmanager
def a_pool(**servers: tuple[str, ...]) -> Iterator[Pool]:
    """Run a broker and servers (name -> arguments), and leave nothing behind."""
    pool = Pool()
    try:
        pool.start_broker()
        for name, arguments in servers.items():
            pool.start_server(name, *arguments)
        yield pool
    finally:
        pool.stop()


@contextlib.contextmanager
def no_pool() -> Iterator[Pool]:
    """For embedded pools: no broker, but the same proof that nothing is left."""
    pool = Pool()
    try:
        yield pool
    finally:
        pool.stop()
