"""The process of a worker: ``python -m cupool.pool_server.session.process --control-fd N``.

Warm first: everything is imported, then `Ready` is said. One `Open` makes it a session, at whose
end the process ends. It dies with the thread that started it, and when the control socket closes.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import importlib
import os
import resource
import signal
import socket
import sys
import traceback
import warnings
from collections.abc import Sequence

from cupool.errors import ConfigurationError, PoolError
from cupool.pool_server.devices.base import Device
from cupool.pool_server.devices.registry import KINDS, open_device, warm
from cupool.pool_server.session.control import Close, Ended, Open, Opened, Ready
from cupool.pool_server.session.link import ControlLink
from cupool.pool_server.session.serving import Serving
from cupool.pool_server.session.share_table import ShareTable
from cupool.pool_server.session.turns import MemoryShare, Turns
from cupool.pool_server.session.worker import SessionCore
from cupool.transport.channel import Listener, listen

_PR_SET_PDEATHSIG = 1
_MAX_FILES = 4096


def main(argv: Sequence[str] | None = None) -> int:
    """Run a worker; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m cupool.pool_server.session.process")
    parser.add_argument("--control-fd", type=int, required=True, help="socket to the daemon")
    parser.add_argument(
        "--warm", "--device-kind", dest="warm", choices=KINDS, default="mock", help="what to import"
    )
    parser.add_argument("--shares-fd", type=int, default=-1, help="the table of shares")
    options = parser.parse_args(argv)
    if not _die_with_parent():
        return 0
    _limit()
    warnings.simplefilter("ignore")  # NumPy's are for the user, who is elsewhere
    later = warm(options.warm)
    gc.collect()
    gc.freeze()
    # Batches are many small lists without cycles: looking through them often is a waste.
    gc.set_threshold(50_000, 20, 50)
    control = ControlLink(socket.socket(fileno=options.control_fd))
    control.send(Ready(os.getpid()))
    opening = _wait_for_open(control, later)
    if opening is None:
        return 0
    table = ShareTable(options.shares_fd) if options.shares_fd >= 0 else None
    ended = _session(opening, control, table)
    control.send(ended)
    control.close()
    return 1 if ended.state == "failed" else 0


def _die_with_parent() -> bool:
    """Ask the kernel to kill this process with its parent; False if that is gone already."""
    parent = os.getppid()
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    return os.getppid() == parent


def _limit() -> None:
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C in the daemon's terminal is for the daemon
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    files = _MAX_FILES if hard == resource.RLIM_INFINITY else min(_MAX_FILES, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))


def _wait_for_open(control: ControlLink, later: Sequence[str]) -> Open | None:
    """Wait to become a session; import what is rarely needed as long as nobody asks."""
    modules = list(later)
    while not control.closed:
        for message in control.receive(0 if modules else None):
            if isinstance(message, Open):
                return message
            if isinstance(message, Close):
                return None
        if modules:
            try:
                importlib.import_module(modules.pop(0))
            except ImportError:
                continue  # an operation that needs it will say so
    return None


def _session(opening: Open, control: ControlLink, table: ShareTable | None) -> Ended:
    listeners: list[Listener] = []
    try:
        _limit_cuda(opening)
        device = open_device(
            opening.device,
            opening.server,
            opening.ordinal,
            opening.memory_bytes,
            opening.options,
        )
        turns = _turns(opening, table, device)
        if not opening.urls:
            raise ConfigurationError("a session needs an address to listen at")
        listeners += [listen(url) for url in opening.urls]
    except Exception as exc:
        for listener in listeners:
            listener.close()
        traceback.print_exc()
        text = exc.message if isinstance(exc, PoolError) else f"{type(exc).__name__}: {exc}"
        return Ended(opening.session, "failed", f"the device could not be opened: {text}")
    control.send(Opened(opening.session, [listener.url for listener in listeners]))
    core = SessionCore(device, turns=turns, exchange_urls=opening.urls)
    try:
        return Serving(opening, core, listeners, control).run()
    except Exception as exc:  # a fault of ours; the daemon tells the client
        traceback.print_exc()
        return Ended(opening.session, "failed", f"{type(exc).__name__}: {exc}")


def _turns(opening: Open, table: ShareTable | None, device: Device) -> Turns | None:
    """Let the device's sessions share it: its memory, and its time."""
    if table is None or opening.row < 0:
        return None
    label = f"GPU {opening.ordinal} of server {opening.server}"
    device.use_share(MemoryShare(table, opening.row, device.info.memory_bytes, label))
    settle = device.synchronize if opening.device in ("cuda", "rocm") else None
    return Turns(table, opening.row, opening.ordinal, opening.cap_milli, settle)


def _limit_cuda(opening: Open) -> None:
    """Where CUDA's MPS runs, let it limit the session's share of the processors, too."""
    pipe = os.environ.get("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps")
    milli = opening.cap_milli or (opening.share_milli if opening.share_milli < 1000 else 0)
    if opening.device == "cuda" and milli and os.path.exists(os.path.join(pipe, "control")):
        os.environ["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] = str(max(1, round(milli / 10)))


if __name__ == "__main__":
    sys.exit(main())
