"""How a process of the user's comes by its devices: ask the broker once, then leave it alone.

With no pool configured, the job's own pool is started first (`cupool.pool_server.embedded`, as
a program; this package never imports it). After the grant no connection to the broker remains.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from cupool import addresses, calling
from cupool.brokers import TAKEOVER_S, NotServed, ask_leader, not_leading
from cupool.client_shim import grants
from cupool.client_shim.grants import GrantedDevice, Lease
from cupool.config import Settings
from cupool.errors import (
    AccessDenied,
    ConfigurationError,
    NoDeviceAvailable,
    PoolError,
    PoolUnreachable,
)

__all__ = ["GrantedDevice", "Lease", "acquire", "explain", "start_embedded_pool"]

if TYPE_CHECKING:
    from cupool.client_shim.waiting import Progress

_EMBEDDED_WITHIN_S = 30.0
_CONNECT_WITHIN_S = 5.0
_EXPLAIN_WITHIN_S = 2.0
_POLL_S = 0.005
_POOL_GONE = ("server_lost", "the pool of this run is gone: its process died")
_CHANNEL_OPTIONS = (
    ("grpc.keepalive_time_ms", 2000),
    ("grpc.keepalive_timeout_ms", 2000),
    ("grpc.http2.ping_timeout_ms", 2000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.enable_retries", 0),
    ("grpc.use_local_subchannel_pool", 1),
)


current: Lease | None = None
"""What this process was granted last."""


# ---------------------------------------------------------------- the pool of one's own


@dataclass(frozen=True)
class _Start:
    """A pool that this process has begun to start; `status` is the pipe on which it reports."""

    pid: int
    status: int


_start: _Start | None = None


def start_embedded_pool(settings: Settings) -> None:
    """Begin to start the job's own pool, if none is configured and none runs; do not wait.

    Raises:
        ConfigurationError: this process belongs to no job.
    """
    global _start
    if settings.pool or _answers(_embedded_address()):
        return
    if _start is not None and _start.pid == os.getpid():
        return  # it is on its way
    reader, writer = os.pipe()
    try:
        _spawn(writer, settings)
    except OSError as exc:
        os.close(reader)
        raise PoolUnreachable(f"the pool of this run cannot be started: {exc}") from exc
    finally:
        os.close(writer)
    _start = _Start(os.getpid(), reader)


def _spawn(writer: int, settings: Settings) -> None:
    target = 3
    inheritable = os.dup(writer) if writer == target else writer
    try:
        child = os.posix_spawn(
            sys.executable,
            [sys.executable, "-P", "-m", "cupool.pool_server.embedded"],
            _environment(settings),
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_DUP2, inheritable, target),
            ],
            setsid=True,
        )
    finally:
        if inheritable != writer:
            os.close(inheritable)
    try:
        os.waitpid(child, 0)  # it forks at once; the pool itself is nobody's child
    except ChildProcessError:
        pass  # the script ignores SIGCHLD


def _environment(settings: Settings) -> dict[str, str]:
    """The pool's environment: ours, without the injection of our `cupy`."""
    environment = dict(os.environ)
    bootstrap = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bootstrap")
    paths = environment.get("PYTHONPATH", "").split(os.pathsep)
    environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path != bootstrap)
    environment["CUPOOL_STARTER_PID"] = str(os.getpid())
    environment["CUPOOL_MOCK"] = str(settings.mock)
    environment["CUPOOL_MOCK_MEMORY"] = str(settings.mock_memory)
    environment["CUPOOL_MOCK_MODEL"] = settings.mock_model
    environment["CUPOOL_MOCK_RACE"] = str(settings.mock_race)
    environment["CUPOOL_MOCK_KERNEL_TIME"] = str(settings.mock_kernel_time)
    environment["CUPOOL_MOCK_MEMORY_CHECK"] = str(int(settings.mock_memory_check))
    return environment


def _embedded_address() -> str:
    token = os.environ.get("CUPOOL_JOB_TOKEN", "")
    if not token or not os.environ.get("CUPOOL_MAIN_PID"):
        raise ConfigurationError(
            "no pool is configured, and this process was not started by cupool",
            remedy="run the script with:   cupool run SCRIPT\n"
            "or begin it with:      import cupool.auto",
        )
    return addresses.embedded_address(token)


def _answers(address: str) -> bool:
    """Whether a process of this user listens at an abstract socket."""
    import socket
    import struct

    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(_CONNECT_WITHIN_S)
        try:
            probe.connect("\0" + address.partition(":")[2])
        except OSError:
            return False
        peer = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        uid: int = struct.unpack("3i", peer)[1]
    if uid != os.getuid():
        raise AccessDenied(f"the address of this run's pool is held by another user ({uid})")
    return True


def _await_embedded(address: str) -> None:
    """Wait until the job's pool can be reached; afterwards a new one may be started.

    Raises:
        PoolUnreachable: it failed to start; says why.
    """
    global _start
    end = time.monotonic() + _EMBEDDED_WITHIN_S
    start, _start = _start, None
    if start is not None and start.pid == os.getpid():
        report = _read_status(start, end)
        if report == "ready":
            return
        if report != "busy":
            raise PoolUnreachable(
                f"the pool of this run did not start:\n{report or 'it ended without a word'}",
                remedy="see what is missing:   python -m cupool.pool_server.session.process --help",
            )
    while not _answers(address):
        if time.monotonic() > end:
            raise PoolUnreachable(
                f"the pool of this run did not answer within {_EMBEDDED_WITHIN_S:g} s"
            )
        time.sleep(_POLL_S)


def _read_status(start: _Start, end: float) -> str:
    import select

    data = b""
    poll = select.poll()
    poll.register(start.status, select.POLLIN)
    while not data.endswith(b"\n") or data not in (b"ready\n", b"busy\n"):
        if not poll.poll(max(0.0, end - time.monotonic()) * 1000):
            data = b"it did not answer in time"
            break
        part = os.read(start.status, 8192)
        if not part:
            break
        data += part
    os.close(start.status)
    return data.decode(errors="replace").strip()


# ---------------------------------------------------------------- the broker


def acquire(settings: Settings, *, hold: bool = False) -> Lease:
    """Get the devices of this process; waits in line as long as the settings say.

    Args:
        hold: they are for later processes of its job; the lease stays until it is released.

    Raises:
        NoDeviceAvailable: the pool is full, too small, or the wait was too long.
        PoolUnreachable: no broker answers.
        AccessDenied: the job's token is wrong.
    """
    from cupool.client_shim.waiting import Progress

    global current
    with Progress() as progress:
        if not settings.pool:
            progress.show("cupool: starting a pool of this run's own")
            start_embedded_pool(settings)
            _await_embedded(_embedded_address())
        end = time.monotonic() + settings.wait

        def ask(url: str) -> Lease:
            left = replace(settings, wait=max(0.0, end - time.monotonic()))
            try:
                return _ask(left, url, progress, hold)
            except NotServed as exc:
                # Who has been in line waits for a broker that restarts.
                answered = exc.answered or (progress.in_line and settings.pool != "")
                raise NotServed(exc.error, answered=answered, leader=exc.leader) from None

        current = ask_leader(_place(settings), ask, max(settings.wait, TAKEOVER_S))
        return current


def _ask(settings: Settings, url: str, progress: Progress, hold: bool) -> Lease:
    if settings.pool:
        _check_reachable(url)
    grpc, pb, rpc = _import_grpc()
    channel = calling.channel(url, settings.ca, _CHANNEL_OPTIONS)
    try:
        lease = _wait_in_line(settings, channel, pb, rpc, progress, hold=hold)
        for each in lease.devices if hold else ():  # the job's processes get sessions of their own
            request = pb.ReleaseRequest(session_id=each.session_id)
            rpc.BrokerStub(channel).Release(
                request, metadata=_metadata(settings), timeout=_CONNECT_WITHIN_S
            )
        return lease
    except grpc.RpcError as exc:
        progress.show("cupool: waiting for a broker that leads this pool")
        raise _not_served(url, exc) from None
    finally:
        channel.close()


def _wait_in_line(
    settings: Settings,
    channel: Any,
    pb: Any,
    rpc: Any,
    progress: Progress,
    *,
    hold: bool,
) -> Lease:
    call = rpc.BrokerStub(channel).Acquire(
        grants.request(settings, pb, hold=hold),
        metadata=_metadata(settings, hold=hold),
        timeout=settings.wait + 60.0,
    )
    try:
        for event in call:
            if event.HasField("queued"):
                queued = event.queued
                progress.in_line = True
                place = f"{queued.position} of {queued.length} in line"
                why = f"{queued.reason}; more: cupool explain {queued.request}"
                progress.show(f"cupool: waiting for a GPU, {place} ({why})")
            elif event.HasField("refusal"):
                raise _refused(settings, event.refusal)
            else:
                progress.end()
                lease = grants.granted(event.grant, settings)
                if not event.grant.joined:
                    _announce(settings, lease)
                return lease
    finally:
        call.cancel()
    raise PoolUnreachable("the broker ended the call without an answer")


def _announce(settings: Settings, lease: Lease) -> None:
    """One line on stderr: which GPUs, if asked for; and if it is a mock that nobody chose."""
    if not settings.pool and lease.devices[0].kind == "mock":
        print(
            "cupool: the GPU is a mock, computed by this machine's CPU (no pool is configured; "
            "a real GPU: cupool run --pool grpc://HOST:PORT)",
            file=sys.stderr,
        )
    elif settings.verbose:
        parts = [
            f"{each.name} (GPU {each.ordinal} of {each.server}"
            + (f", {each.share:g} of its compute" if 0 < each.share < 1 else "")
            + ")"
            for each in lease.devices
        ]
        print(f"cupool: granted {', '.join(parts)}, lease {lease.lease_id}", file=sys.stderr)


def _refused(settings: Settings, refusal: Any) -> PoolError:
    kind: type[PoolError] = AccessDenied if refusal.reason == "denied" else NoDeviceAvailable
    if refusal.reason == "invalid":
        kind = ConfigurationError
    remedy = _embedded_remedy(refusal.reason) if not settings.pool else refusal.remedy
    return kind(refusal.message, remedy=remedy, reference=refusal.reason)


def _embedded_remedy(reason: str) -> str:
    """What helps in a pool of one's own, where nobody else can be asked or waited for."""
    if reason == "too_large":
        return "make the mock pool larger:   cupool run --mock 4 --mock-memory 16GiB ..."
    return ""


# ---------------------------------------------------------------- a lost session


def explain(settings: Settings, session_id: str) -> tuple[str, str]:
    """Ask what became of a session whose link broke; takes at most about 2 s.

    Returns:
        A state ("worker_died", "server_lost", "released", "running", "unknown", ... or
        "broker_unreachable") and a sentence that says which part died.
    """
    try:
        if not settings.pool and not _answers(_embedded_address()):
            return _POOL_GONE
        return ask_leader(
            _place(settings),
            lambda url: _explain(settings, url, session_id),
            _EXPLAIN_WITHIN_S,
        )
    except PoolError as exc:
        return "broker_unreachable", exc.message


def _explain(settings: Settings, url: str, session_id: str) -> tuple[str, str]:
    if settings.pool:
        _check_reachable(url, _EXPLAIN_WITHIN_S)
    grpc, pb, rpc = _import_grpc()
    channel = calling.channel(url, settings.ca, _CHANNEL_OPTIONS)
    try:
        reply = rpc.BrokerStub(channel).Explain(
            pb.ExplainRequest(session_id=session_id),
            metadata=_metadata(settings),
            timeout=_EXPLAIN_WITHIN_S,
        )
        return reply.state, reply.message
    except grpc.RpcError as exc:
        if not settings.pool and exc.code() is grpc.StatusCode.UNAVAILABLE:
            return _POOL_GONE  # it still took the connection, with its last breath
        raise _not_served(url, exc) from None
    finally:
        channel.close()


# ---------------------------------------------------------------- gRPC


def _import_grpc() -> tuple[Any, Any, Any]:
    """Import gRPC late, and so that a forked child may use it, too; it must not print."""
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "1")
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    import grpc

    from cupool.proto.v1 import pool_pb2, pool_pb2_grpc

    return grpc, pool_pb2, pool_pb2_grpc


def _place(settings: Settings) -> str:
    return settings.pool or _embedded_address()


def _metadata(settings: Settings, *, hold: bool = False) -> tuple[tuple[str, str], ...]:
    """Return the secrets that a call carries; batch systems (`hold`) may be administrators."""
    secrets = {
        "cupool-job-token": os.environ.get("CUPOOL_JOB_TOKEN", ""),
        "cupool-tenant-token": settings.tenant_token,
        "cupool-admin-token": os.environ.get("CUPOOL_ADMIN_TOKEN", "") if hold else "",
    }
    return tuple((key, secret) for key, secret in secrets.items() if secret)


def _check_reachable(url: str, timeout_s: float = _CONNECT_WITHIN_S) -> None:
    """Try to connect, for a clear and early error.

    Raises:
        NotServed: nobody accepts connections there.
    """
    import socket

    if url.startswith("unix-abstract:"):
        if not _answers(url):
            raise _nobody(url, "nobody listens there")
        return
    try:
        socket.create_connection(addresses.split_host_port(url), timeout_s).close()
    except OSError as exc:
        raise _nobody(url, exc.strerror or str(exc)) from None


def _nobody(url: str, why: str) -> NotServed:
    error = PoolUnreachable(
        f"no broker answers at {url}: {why}",
        remedy="start one there:            cupool broker\n"
        "or use a pool of your own:  cupool run --pool '' ...",
    )
    return NotServed(error, answered=False)


def _not_served(url: str, exc: Any) -> Exception:
    """Return what a failed call means: another broker leads, or this one is lost."""
    code = getattr(exc.code(), "name", "UNKNOWN")
    details = str(exc.details() or "no details")
    if code == "UNAUTHENTICATED":
        return AccessDenied(details)
    answered, leader = not_leading(exc)
    place = "this run's own address" if url.startswith("unix-abstract:") else url
    text = f"the broker at {place} does not answer ({code}: {details})"
    remedy = calling.tls_remedy(url, details)
    error = PoolUnreachable(details if answered else text, remedy=remedy)
    return NotServed(error, answered=answered, leader=leader)
