"""Worker processes as the daemon sees them: start, talk, find out how they ended.

One worker serves one session. Warm ones wait, with everything imported, to become one.
A worker's end is seen through its pidfd, not by polling; what it last wrote to stderr is kept,
to be told to the user whose session it was.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence

from cupool.errors import ProtocolViolation
from cupool.pool_server.session.control import Control, Framer, Ready, encode
from cupool.pool_server.session.share_table import ShareTable

log = logging.getLogger("cupool.server")

WORKER_COMMAND = (sys.executable, "-P", "-m", "cupool.pool_server.session.process")
_STDERR_KEPT_BYTES = 4096
_TOKEN = re.compile("CUPOOL_(?!JOB_).*TOKEN")

_ALLOCATOR = {"MALLOC_MMAP_THRESHOLD_": str(1 << 30), "MALLOC_TRIM_THRESHOLD_": str(2 << 30)}
"""glibc keeps freed blocks up to these sizes (bytes): a mock array's pages are then not mapped
afresh each time, which took longer than filling them."""


def _environment() -> dict[str, str]:
    """Return this process's environment without the tokens of servers, tenants and administrators.

    A worker runs users' kernels. A job's token stays: where the pool itself runs within a job of
    another pool, its devices are reached with it.
    """
    kept = {name: value for name, value in os.environ.items() if not _TOKEN.fullmatch(name)}
    return _ALLOCATOR | kept


class Worker:
    """One worker process. `start` may be called before there is an event loop; then `attach`.

    Args:
        kind: of the device that it warms up for: "mock", "cuda" or "null".
        command: what to start; the control socket and device kind are appended.
        shares: what sessions of a device know of each other; inherited.
    """

    def __init__(
        self,
        kind: str,
        command: Sequence[str] = WORKER_COMMAND,
        shares: ShareTable | None = None,
    ) -> None:
        self.kind = kind
        self.ready = False
        self.on_message: Callable[[Control], None] = lambda message: None
        self.on_exit: Callable[[], None] = lambda: None
        ours, theirs = socket.socketpair()
        out, stderr = os.pipe()
        try:
            given = [theirs.fileno()]
            arguments = ["--control-fd", str(given[0]), "--device-kind", kind]
            if shares is not None:
                given.append(shares.descriptor)
                arguments += ["--shares-fd", str(shares.descriptor)]
            self._process = subprocess.Popen(
                [*command, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=stderr,
                stderr=stderr,
                pass_fds=given,
                env=_environment(),
            )
        except BaseException:
            ours.close()
            os.close(out)
            raise
        finally:
            theirs.close()
            os.close(stderr)
        ours.setblocking(False)
        os.set_blocking(out, False)
        self.pid = self._process.pid
        self._control: socket.socket | None = ours
        self._stderr: int | None = out
        self._pidfd: int | None = os.pidfd_open(self.pid)
        self._framer = Framer()
        self._written = b""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._deadline: asyncio.TimerHandle | None = None

    def attach(self) -> None:
        """Watch the process from the running event loop."""
        assert self._control is not None and self._pidfd is not None and self._stderr is not None
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._control.fileno(), self._read_control)
        self._loop.add_reader(self._stderr, self._read_stderr)
        self._loop.add_reader(self._pidfd, self._reap)

    # ------------------------------------------------------------ talking

    def send(self, message: Control) -> None:
        """Send a control message; a worker that does not read is killed."""
        if self._control is None:
            return
        data = encode(message)
        try:
            if self._control.send(data) != len(data):
                raise BlockingIOError
        except BlockingIOError:
            log.error("a worker reads no messages and is killed", extra={"pid": self.pid})
            self.kill()
        except OSError:
            pass  # it is gone; the pidfd tells

    def kill(self) -> None:
        if self._process.returncode is None:
            self._process.kill()

    def kill_after(self, seconds: float) -> None:
        """Kill the process unless it ends, or `spare` is called, within the time."""
        self.spare()
        if self._loop is not None and self.alive:
            self._deadline = self._loop.call_later(seconds, self.kill)

    def spare(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    @property
    def alive(self) -> bool:
        return self._pidfd is not None

    # ------------------------------------------------------------ listening

    def _read_control(self) -> None:
        assert self._loop is not None
        if self._control is None:
            return
        try:
            data = self._control.recv(1 << 16)
            messages = self._framer.feed(data)
        except BlockingIOError:
            return
        except (OSError, ProtocolViolation, ValueError) as exc:
            log.error("a worker's control socket failed", extra={"pid": self.pid, "why": str(exc)})
            data, messages = b"", []
            self.kill()
        for message in messages:
            if isinstance(message, Ready):
                self.ready = True
            self.on_message(message)
        if not data and self._control is not None:
            self._loop.remove_reader(self._control.fileno())
            self._control.close()
            self._control = None

    def _read_stderr(self) -> None:
        assert self._loop is not None
        if self._stderr is None:
            return
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._stderr, 1 << 16):
                self._written = (self._written + data)[-_STDERR_KEPT_BYTES:]
                text = data.decode(errors="replace").rstrip()
                log.debug("a worker wrote", extra={"pid": self.pid, "text": text})
            self._loop.remove_reader(self._stderr)
            os.close(self._stderr)
            self._stderr = None

    def _reap(self) -> None:
        """The process has ended: take what it left behind, close everything, tell the owner."""
        if self._pidfd is None or self._process.poll() is None:
            return
        while self._control is not None:
            before = self._control
            self._read_control()
            if self._control is before and not _readable(before):
                self._drop_control()
        self._read_stderr()
        self.detach()
        self.on_exit()

    def _drop_control(self) -> None:
        assert self._loop is not None and self._control is not None
        self._loop.remove_reader(self._control.fileno())
        self._control.close()
        self._control = None

    def detach(self) -> None:
        """Close everything that belongs to this process on our side."""
        self.spare()
        if self._control is not None:
            self._drop_control()
        if self._loop is not None:
            for descriptor in (self._stderr, self._pidfd):
                if descriptor is not None:
                    self._loop.remove_reader(descriptor)
        for descriptor in (self._stderr, self._pidfd):
            if descriptor is not None:
                os.close(descriptor)
        self._stderr = self._pidfd = None

    # ------------------------------------------------------------ its end

    def how_it_ended(self) -> str:
        """Say for people how the process ended, e.g. "was killed by signal 9 (SIGKILL)"."""
        status = self._process.returncode
        if status is None:
            return "is still running"
        if status < 0:
            try:
                name = signal.Signals(-status).name
            except ValueError:
                name = "unknown"
            return f"was killed by signal {-status} ({name})"
        lines = self._written.decode(errors="replace").strip().splitlines()
        said = f": {lines[-1].strip()}" if lines else ""
        return f"ended with exit status {status}{said}"


def _readable(control: socket.socket) -> bool:
    try:
        return bool(control.recv(1, socket.MSG_PEEK))
    except OSError:
        return False


class WorkerPool:
    """Keeps `warm` workers of each kind ready; gives them away one by one.

    Args:
        kinds: device kinds that the server has.
        warm: how many to keep ready of each.
        shares: the table that the workers inherit; a new one by default.
    """

    def __init__(
        self,
        kinds: Sequence[str],
        warm: int,
        command: Sequence[str] = WORKER_COMMAND,
        shares: ShareTable | None = None,
    ) -> None:
        self.shares = shares or ShareTable()
        self._kinds = tuple(dict.fromkeys(kinds))
        self._warm = warm
        self._command = command
        self._idle: dict[str, list[Worker]] = {kind: [] for kind in self._kinds}
        self._failures = 0
        self._refill_at: asyncio.TimerHandle | None = None
        self._closed = False

    def adopt(self, worker: Worker) -> None:
        """Add a worker that was started before the loop ran."""
        worker.attach()
        self._watch(worker)

    def _watch(self, worker: Worker) -> None:
        self._idle.setdefault(worker.kind, []).append(worker)
        worker.on_message = self._idle_message
        worker.on_exit = lambda: self._idle_exit(worker)

    def _idle_message(self, message: Control) -> None:
        if isinstance(message, Ready):
            self._failures = 0

    def _idle_exit(self, worker: Worker) -> None:
        """A warm worker died: start another one, ever later if that goes on."""
        self._idle[worker.kind].remove(worker)
        if self._closed:
            return
        self._failures += 1
        log.error("a warm worker ended", extra={"pid": worker.pid, "how": worker.how_it_ended()})
        self._refill_later(min(60.0, 0.5 * 2.0 ** min(self._failures, 10)))

    def take(self, kind: str) -> Worker:
        """Return a worker that nobody else uses, the longest waiting first.

        Raises:
            OSError: no process can be started.
        """
        idle = self._idle.setdefault(kind, [])
        idle.sort(key=lambda worker: not worker.ready)
        if idle:
            worker = idle.pop(0)
        else:
            worker = Worker(kind, self._command, self.shares)
            worker.attach()
        self._refill_later(0.2)
        return worker

    def _refill_later(self, delay_s: float) -> None:
        if self._warm and self._refill_at is None and not self._closed:
            loop = asyncio.get_running_loop()
            self._refill_at = loop.call_later(delay_s, self.fill)

    def fill(self) -> None:
        """Start workers until each kind has its number of warm ones."""
        self._refill_at = None
        for kind in self._kinds:
            while len(self._idle[kind]) < self._warm and not self._closed:
                try:
                    worker = Worker(kind, self._command, self.shares)
                except OSError as exc:
                    log.error("no worker can be started", extra={"why": str(exc)})
                    self._refill_later(5.0)
                    return
                worker.attach()
                self._watch(worker)

    @property
    def warm(self) -> int:
        """How many workers are ready."""
        return sum(worker.ready for idle in self._idle.values() for worker in idle)

    def close(self) -> None:
        """Kill the idle workers and start no more."""
        self._closed = True
        if self._refill_at is not None:
            self._refill_at.cancel()
            self._refill_at = None
        for idle in self._idle.values():
            for worker in idle:
                worker.kill()

    @property
    def gone(self) -> bool:
        return not any(self._idle.values())
