"""Child processes that measure on demand: one JSON line in, one JSON line out.

Each subject of a benchmark (a client on a pool, a bare socket, NumPy) lives in a process of its own
for the whole run. The benchmark asks them in turn, a little each time, so that a machine which
is slow for a moment is slow for all of them.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ANSWER_WITHIN_S = 120.0
_PR_SET_PDEATHSIG = 1

Measures = Mapping[str, Callable[..., Any]]


def answer(measures: Measures) -> None:
    """In a child: say "ready", then measure whatever is asked for until stdin ends."""
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        name, arguments = json.loads(line)
        print(json.dumps(measures[name](**arguments)), flush=True)


def timed(call: Callable[[], object]) -> float:
    """Return how long a call takes, in seconds."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def tail(log: Any) -> str:
    """Return the end of what the processes said on stderr."""
    return Path(log.name).read_text(errors="replace")[-3000:]


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def environment() -> dict[str, str]:
    """Return this process's environment without settings of cupool.

    Bytecode is cached, as it is for users: without, a third of an import is compiling.
    """
    drop = ("CUPOOL_", "PYTHONDONTWRITEBYTECODE")
    return {name: value for name, value in os.environ.items() if not name.startswith(drop)}


def start(command: Sequence[str], log: Any, **options: Any) -> subprocess.Popen[str]:
    """Start a process that ends with this one; what it says on stderr goes to the log."""
    return subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment(),
        stderr=log,
        text=True,
        preexec_fn=_die_with_parent,
        **options,
    )


class Child:
    """A subject in its process."""

    def __init__(self, command: Sequence[str], log: Any) -> None:
        self.process = start(command, log, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._log = log
        self.first_line = ""

    def read(self) -> Any:
        """Return the next answer."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            command = " ".join(map(str, self.process.args))  # type: ignore[arg-type]
            raise RuntimeError(f"{command} ended:\n{tail(self._log)}")
        return json.loads(line)

    def ask(self, measure: str, **arguments: Any) -> Any:
        """Let it measure and return what it found."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([measure, arguments]) + "\n")
        self.process.stdin.flush()
        return self.read()

    def close(self) -> None:
        """End it; it finishes by itself when its stdin does."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        stop(self.process, 5.0, signal.SIGTERM)


def stop(process: subprocess.Popen[str], wait_s: float, *signals: signal.Signals) -> None:
    """Wait for a process to end, with more pressure each time it has not."""
    for pressure in (*signals, signal.SIGKILL):
        try:
            process.wait(wait_s)
            break
        except subprocess.TimeoutExpired:
            process.send_signal(pressure)
    else:
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


@contextlib.contextmanager
def pool(folder: Path, name: str, log: Any, *devices: str) -> Iterator[str]:
    """Run a broker and one server; give the broker's address."""
    url_file, ready_file = folder / f"{name}.url", folder / f"{name}.ready"
    cupool = [sys.executable, "-m", "cupool"]
    listen = ["--listen", "grpc://127.0.0.1:0", "--url-file", str(url_file)]
    broker = start([*cupool, "broker", *listen], log)
    server = None
    try:
        url = _read(url_file, broker)
        join = ["--broker", url, "--name", name, "--ready-file", str(ready_file)]
        server = start([*cupool, "serve", "--cuda", "none", *devices, *join], log)
        _read(ready_file, server)
        yield url
    finally:
        for process in (server, broker):
            if process is not None:
                process.terminate()
                stop(process, 10.0)


def _read(path: Path, process: subprocess.Popen[str]) -> str:
    end = time.monotonic() + ANSWER_WITHIN_S
    while not path.exists():
        if process.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"{' '.join(map(str, process.args))} did not start")  # type: ignore[arg-type]
        time.sleep(0.02)
    return path.read_text(encoding="utf-8").strip()
