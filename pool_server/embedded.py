"""A pool for one job: broker, server and one GPU in one process, on abstract sockets.

Started by the first process of a job that needs a GPU while no pool is configured. Lives until
the job's main process (and the one that asked) is gone and no session is open, then leaves
nothing: no file, no socket, no process. Who does not carry the job's token is refused; other
users can see abstract sockets.

The order below is for speed: the worker process starts before this one has imported anything.
"""

from __future__ import annotations

import os

STATUS_FD = 3
"""Where the starter hears "ready", "busy" (another process was first) or what went wrong."""


def main() -> None:
    """Become a daemon, run the pool, tell the starter how it went."""
    if os.fork():
        os._exit(0)  # the script's child ends here; the pool is nobody's child
    _close_inherited()
    os.chdir("/")
    try:
        _serve()
    except BaseException:
        import traceback

        os.write(STATUS_FD, traceback.format_exc().encode()[-4000:])
        raise


def _close_inherited() -> None:
    """Close what the user's process left open to its children: pipes would never end."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > STATUS_FD:
            try:
                os.close(int(name))
            except OSError:
                pass  # the descriptor of the listing itself


def _serve() -> None:
    import errno
    import socket

    from cupool.addresses import embedded_address

    token = os.environ["CUPOOL_JOB_TOKEN"]
    address = embedded_address(token)
    lock = socket.socket(socket.AF_UNIX)
    try:
        lock.bind(f"\0{address.partition(':')[2]}-lock")
    except OSError as exc:
        if exc.errno != errno.EADDRINUSE:
            raise
        os.write(STATUS_FD, b"busy\n")
        return
    users = _users()
    first = shares = None
    if not _real_gpu_possible():
        from cupool.pool_server.session.share_table import ShareTable
        from cupool.pool_server.workers import Worker

        shares = ShareTable()
        first = Worker("mock", shares=shares)
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    import asyncio

    from cupool.pool_server import embedded_pool

    asyncio.run(embedded_pool.run(address, token, users, first, _ready, shares))


def _users() -> list[int]:
    """Return pidfds of the processes to outlive: the job's main one, and the one that asked."""
    users = []
    for name in ("CUPOOL_MAIN_PID", "CUPOOL_STARTER_PID"):
        try:
            users.append(os.pidfd_open(int(os.environ[name])))
        except ProcessLookupError:
            pass  # gone already
    return users


def _ready() -> None:
    """Say so, and let go of the terminal."""
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 2)
    os.write(STATUS_FD, b"ready\n")
    os.dup2(null, STATUS_FD)
    os.close(null)


def _real_gpu_possible() -> bool:
    if int(os.environ.get("CUPOOL_MOCK") or 0) or not os.path.exists("/dev/nvidiactl"):
        return False
    from importlib.util import find_spec

    return find_spec("cupy") is not None


if __name__ == "__main__":
    main()
