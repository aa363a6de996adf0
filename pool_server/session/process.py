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
from cupool.pool_server.devices.registry import KINDS, open_device, warm
from cupool.pool_server.session.control import Close, Ended, Open, Opened, Ready
from cupool.pool_server.session.link import ControlLink
from cupool.pool_server.session.serving import Serving
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
    ended = _session(opening, control)
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


def _session(opening: Open, control: ControlLink) -> Ended:
    listeners: list[Listener] = []
    try:
        device = open_device(
            opening.device,
            opening.server,
            opening.ordinal,
            opening.memory_bytes,
            opening.options,
        )
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
    try:
        return Serving(opening, SessionCore(device), listeners, control).run()
    except Exception as exc:  # a fault of ours; the daemon tells the client
        traceback.print_exc()
        return Ended(opening.session, "failed", f"{type(exc).__name__}: {exc}")


if __name__ == "__main__":
    sys.exit(main())
