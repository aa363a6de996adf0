"""`cupool status`: ask the broker, draw a table."""

from __future__ import annotations

import json
from typing import Any

from cupool.errors import PoolUnreachable

_WITHIN_S = 5.0


def fetch(url: str) -> Any:
    """Return the broker's StatusReply.

    Raises:
        PoolUnreachable: it does not answer.
    """
    from rich.console import Console

    console = Console(stderr=True)
    with console.status(f"asking {url}") if console.is_terminal else _nothing():
        return _fetch(url)


def _nothing() -> Any:
    import contextlib

    return contextlib.nullcontext()


def _fetch(url: str) -> Any:
    import os

    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    import grpc

    from cupool.addresses import grpc_target
    from cupool.proto.v1 import pool_pb2 as pb
    from cupool.proto.v1 import pool_pb2_grpc as rpc

    with grpc.insecure_channel(grpc_target(url)) as channel:
        try:
            stub = rpc.BrokerStub(channel)  # type: ignore[no-untyped-call]
            return stub.Status(pb.StatusRequest(), timeout=_WITHIN_S)
        except grpc.RpcError as exc:
            code = getattr(exc, "code", lambda: "unknown")()
            raise PoolUnreachable(
                f"no broker answers at {url} ({getattr(code, 'name', code)})",
                remedy="start one:      cupool broker\nor name it:     cupool status --pool URL",
            ) from None


def as_json(reply: Any) -> str:
    """Return a StatusReply as JSON with the field names of the protocol."""
    from google.protobuf.json_format import MessageToDict

    table = MessageToDict(
        reply, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )
    return json.dumps(_numbers(table), indent=2)


def _numbers(value: Any, name: str = "") -> Any:
    """Protobuf writes 64-bit numbers as texts; sizes are numbers to everybody else."""
    if isinstance(value, dict):
        return {key: _numbers(each, key) for key, each in value.items()}
    if isinstance(value, list):
        return [_numbers(each, name) for each in value]
    if isinstance(value, str) and (name.endswith("_bytes") or name == "operations"):
        return int(value)
    return value


def show(reply: Any) -> None:
    """Print the pool for people, in the words of nvidia-smi."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("Server", "GPU", "Name", "Memory used/granted/total", "Session", "User"):
        table.add_column(column, overflow="fold")
    for server in reply.servers:
        label = server.name if server.state == "up" else f"{server.name} ({server.state})"
        for device in server.devices:
            memory = "/".join(
                _human(size)
                for size in (device.used_bytes, device.granted_bytes, device.device.memory_bytes)
            )
            first = [label, str(device.device.ordinal), device.device.name, memory]
            for session in device.sessions or [None]:
                who = [session.session_id, session.client] if session else ["-", "-"]
                table.add_row(*first, *who)
                first = ["", "", "", ""]
        if not server.devices:
            table.add_row(label, "-", "-", "-", "-", "-")
    console.print(table if reply.servers else "no server has joined this pool")
    console.print(
        f"\nbroker {reply.broker}, up {reply.uptime_s:.0f} s, {len(reply.waiting)} waiting"
    )
    for waiting in reply.waiting:
        console.print(
            f"  {waiting.position}. {waiting.client}: {waiting.gpus} GPU(s), {waiting.reason}"
        )


def _human(size: int) -> str:
    return f"{size / (1 << 30):.2f}G" if size >= 1 << 30 else f"{size / (1 << 20):.0f}M"
