"""What commands ask the broker, and how its answers are drawn."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from cupool.calling import Options
from cupool.errors import ConfigurationError, PoolUnreachable

_WHO = ("admin", "job")  # whose tokens a command carries, if the environment has them
_WITHIN_S = 5.0
_STREAM_OPTIONS = (
    # A stream has no deadline: a broker that hangs, or whose machine is gone, is noticed by pings.
    ("grpc.keepalive_time_ms", 2000),
    ("grpc.keepalive_timeout_ms", 2000),
    ("grpc.http2.ping_timeout_ms", 2000),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.min_reconnect_backoff_ms", int(_WITHIN_S * 1000)),  # the bound of connecting, too
    ("grpc.use_local_subchannel_pool", 1),
)
_REMEDY = "start one:      cupool broker\nor name it:     cupool status --pool URL"


def fetch(url: str, tenant: str = "") -> Any:
    """Return the broker's StatusReply, of what a tenant or ("") an administrator may see.

    Raises:
        PoolUnreachable: it does not answer.
    """
    from rich.console import Console

    from cupool.proto.v1 import pool_pb2 as pb

    console = Console(stderr=True)
    with console.status(f"asking {url}") if console.is_terminal else _nothing():
        return ask(url, "Broker", "Status", pb.StatusRequest(tenant=tenant))


def _nothing() -> Any:
    import contextlib

    return contextlib.nullcontext()


def ask(url: str, service: str, method: str, request: Any) -> Any:
    """Call one method of the broker.

    Raises:
        PoolUnreachable: it does not answer.
        ConfigurationError: it refuses, and says why.
    """
    return _call(url, service, method, request, lambda call: call(_WITHIN_S))


def stream(
    url: str, service: str, method: str, request: Any, read: Callable[[Any], None], *, endless: bool
) -> None:
    """Call a method that answers more than once: `read` gets each answer.

    Args:
        endless: until the stream breaks, as it does for a broker that answers no pings; otherwise
            the answers come within seconds, and all of them, or it is an error.

    Raises:
        PoolUnreachable, ConfigurationError: as `ask`; of an endless one where no answer came.
    """
    import grpc

    def every(call: Callable[[float | None], Any]) -> None:
        came = False
        try:
            answers = call(None) if endless else list(call(_WITHIN_S))
            for answer in answers:
                came = True
                read(answer)
        except grpc.RpcError:
            if not came:
                raise

    _call(url, service, method, request, every, _STREAM_OPTIONS if endless else ())


def _call(
    url: str,
    service: str,
    method: str,
    request: Any,
    run: Callable[[Callable[[Any], Any]], Any],
    options: Options = (),
) -> Any:
    """Let `run` make a call; it gives how long that may take, in seconds, None = for ever."""
    import os

    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    import grpc

    from cupool.brokers import ask_leader
    from cupool.calling import channel
    from cupool.config import load
    from cupool.proto.v1 import pool_pb2_grpc as rpc

    tokens = {
        f"cupool-{who}-token": os.environ.get(f"CUPOOL_{who.upper()}_TOKEN", "") for who in _WHO
    }
    settings = load().settings
    tokens["cupool-tenant-token"] = settings.tenant_token
    metadata = tuple((key, token) for key, token in tokens.items() if token)

    def one(address: str) -> Any:
        with channel(address, settings.ca, options) as opened:
            try:
                asked = getattr(getattr(rpc, f"{service}Stub")(opened), method)
                return run(lambda within_s: asked(request, timeout=within_s, metadata=metadata))
            except grpc.RpcError as exc:
                raise _failure(address, exc) from None

    return ask_leader(url, one, _WITHIN_S)


def _failure(url: str, exc: Any) -> Exception:
    from cupool.brokers import NotServed, not_leading
    from cupool.calling import tls_remedy

    code = getattr(exc.code(), "name", "UNKNOWN")
    if code == "INVALID_ARGUMENT":
        return ConfigurationError(str(exc.details()), remedy="see the pool:   cupool status")
    if code == "PERMISSION_DENIED":
        remedy = "on the broker's machine, or with the token in CUPOOL_ADMIN_TOKEN"
        if "tenant " in str(exc.details()):
            remedy = "give the tenant's token:   export CUPOOL_TENANT_TOKEN=..."
        return ConfigurationError(f"the broker at {url} refuses: {exc.details()}", remedy=remedy)
    if code == "UNIMPLEMENTED":
        text = f"the broker at {url} is of an older version and cannot do that"
        return PoolUnreachable(text, remedy="upgrade it:   pip install --upgrade cupool")
    answered, leader = not_leading(exc)
    text = str(exc.details()) if answered else f"no broker answers at {url} ({code})"
    remedy = "try again in a few seconds" if answered else _REMEDY
    remedy = tls_remedy(url, str(exc.details())) or remedy
    return NotServed(PoolUnreachable(text, remedy=remedy), answered=answered, leader=leader)


# ---------------------------------------------------------------- JSON


def as_json(reply: Any) -> str:
    """Return a message as JSON with the field names of the protocol."""
    return json.dumps(_table(reply), indent=2)


def as_json_list(replies: Iterable[Any]) -> str:
    """Return messages as a JSON list."""
    return json.dumps([_table(each) for each in replies], indent=2)


def _table(reply: Any) -> Any:
    from google.protobuf.json_format import MessageToDict

    table = MessageToDict(
        reply, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )
    return _numbers(table)


def _numbers(value: Any, name: str = "") -> Any:
    """Protobuf writes 64-bit numbers as texts; sizes are numbers to everybody else."""
    if isinstance(value, dict):
        return {key: _numbers(each, key) for key, each in value.items()}
    if isinstance(value, list):
        return [_numbers(each, name) for each in value]
    counts = name.endswith(("_bytes", "milli")) or name in ("operations", "epoch")
    return int(value) if isinstance(value, str) and counts else value


# ---------------------------------------------------------------- tables


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], empty: str) -> None:
    """Print a table for people, or a sentence if it has no rows."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*row)
    Console().print(table if rows else empty)


def show(reply: Any) -> None:
    """Print the pool for people, in the words of nvidia-smi."""
    columns = ["Server", "GPU", "Name", "Memory used/granted/total", "Compute", "Session", "User"]
    rows: list[list[str]] = []
    for server in reply.servers:
        label = server.name if server.state == "up" else f"{server.name} ({server.state})"
        for device in server.devices:
            memory = "/".join(
                human(size)
                for size in (device.used_bytes, device.granted_bytes, device.device.memory_bytes)
            )
            name = device.device.name + (" (unhealthy)" if device.device.unhealthy else "")
            compute = f"{device.granted_milli / 10:.0f}%"
            first = [label, str(device.device.ordinal), name, memory, compute]
            for session in device.sessions or [None]:
                who = [session.session_id, session.client] if session else ["-", "-"]
                rows.append([*first, *who])
                first = [""] * 5
        if not server.devices:
            rows.append([label, *["-"] * 6])
    print_table(columns, rows, "no server has joined this pool")
    for server in reply.servers:
        if server.note:
            print(f"{server.name}: {server.note}")
    _show_leases(reply.leases)
    print(f"\nbroker {reply.broker}, up {reply.uptime_s:.0f} s, {len(reply.waiting)} waiting")
    if reply.note:
        print(reply.note)
    if reply.waiting:
        show_queue(reply.waiting)


def _show_leases(leases: Any) -> None:
    if not leases:
        return
    rows = []
    for each in leases:
        ends = f"in {span(each.terms.ends_in_s)}" if each.terms.ends_in_s else "-"
        devices = ", ".join(each.devices)
        rank = _priority(each.terms.priority)
        rows.append([each.lease_id, devices, each.client, each.terms.tenant, rank, ends, each.note])
    print()
    columns = ["Lease", "GPUs", "User", "Tenant", "Priority", "Ends", "Note"]
    print_table(columns, rows, "")


def show_queue(waiting: Any) -> None:
    """Print who waits, for people."""
    rows = []
    for each in waiting:
        wants = f"{each.gpus}"
        if each.memory_bytes:
            wants += f" x {human(each.memory_bytes)}"
        if each.share_milli:
            wants += f" x {each.share_milli / 1000:g}"
        rank = _priority(each.priority)
        rows.append(
            [
                f"{each.position}",
                each.request,
                each.client,
                f"{each.tenant} ({rank})",
                wants,
                span(each.waited_s),
                expected(each.expected_in_s),
                each.reason,
            ]
        )
    columns = ["", "Request", "User", "Tenant", "GPUs", "Waited", "Expected", "Why"]
    print_table(columns, rows, "nobody waits")


def _priority(level: int) -> str:
    from cupool.config import PRIORITIES

    return PRIORITIES[level] if level < len(PRIORITIES) else str(level)


def expected(seconds: float) -> str:
    """Say when something is expected; negative = nobody knows."""
    return "unknown" if seconds < 0 else f"in {span(seconds)} at the latest"


def span(seconds: float) -> str:
    """Write a time for people: "12s", "5m", "2h"."""
    if seconds < 90:
        return f"{seconds:.0f}s"
    return f"{seconds / 60:.0f}m" if seconds < 90 * 60 else f"{seconds / 3600:.0f}h"


def human(size: int) -> str:
    """Write a size for people."""
    return f"{size / (1 << 30):.2f}G" if size >= 1 << 30 else f"{size / (1 << 20):.0f}M"
