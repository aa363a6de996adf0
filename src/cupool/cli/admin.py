"""Commands for those in line and for administrators: queue, explain, drain, quota, pool, ..."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cupool.cli.audit import audit
from cupool.config import PRIORITIES, duration, size, urgency
from cupool.errors import ConfigurationError

_Pool = Annotated[str | None, typer.Option("--pool", help="Address of the broker.")]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
_Tenant = Annotated[str | None, typer.Option(help="Only what this tenant may see.")]

quota_app = typer.Typer(help="What tenants may use.", no_args_is_help=True)
pool_app = typer.Typer(help="Partitions: sub-pools for some tenants.", no_args_is_help=True)


def add_commands(app: typer.Typer) -> None:
    """Add these commands to `cupool`."""
    for command in (queue, explain, drain, cordon, uncordon, release):
        app.command()(command)
    app.command()(audit)
    app.add_typer(quota_app, name="quota")
    app.add_typer(pool_app, name="pool")


# ---------------------------------------------------------------- those in line


def queue(pool: _Pool = None, tenant: _Tenant = None, as_json: _Json = False) -> None:
    """Show who waits, in the order in which they are served, and when it is expected."""
    from cupool.cli import pool_status

    settings = _settings(pool, tenant)
    reply = pool_status.fetch(settings.pool or settings.broker, settings.tenant)
    if as_json:
        print(pool_status.as_json_list(reply.waiting))
    else:
        pool_status.show_queue(reply.waiting)


def explain(
    name: Annotated[str, typer.Argument(help="A lease, a session, or a request (r17).")],
    pool: _Pool = None,
    tenant: _Tenant = None,
    as_json: _Json = False,
) -> None:
    """Say why a request waits (what is missing, who has it, until when) or what a lease holds."""
    from cupool.cli import pool_status
    from cupool.proto.v1 import pool_pb2 as pb

    settings = _settings(pool, tenant)
    request = pb.WhyRequest(id=name, tenant=settings.tenant)
    reply = _ask(settings, "Broker", "Why", request)
    if as_json:
        print(pool_status.as_json(reply))
        return
    print(reply.summary)
    for sentence in reply.details:
        print(f"  {sentence}")
    if reply.state == "waiting":
        when = pool_status.expected(reply.expected_in_s)
        print(f"  expected: {when}")
    if reply.state == "unknown":
        raise typer.Exit(1)


# ---------------------------------------------------------------- servers and leases


def drain(
    server: Annotated[str, typer.Argument(help="Name of the server.")],
    within: Annotated[
        str, typer.Option(help="End its sessions, with notice, after so long; 0: never.")
    ] = "5m",
    reason: Annotated[str, typer.Option(help="Told to those who are concerned.")] = "",
    pool: _Pool = None,
    as_json: _Json = False,
) -> None:
    """Take a server out of use: no new leases, and an end to those that it has."""
    from cupool.proto.v1 import pool_pb2 as pb

    within_s = _read("--within", within, duration)
    request = pb.DrainRequest(server=server, within_s=within_s, reason=reason)
    _admin(pool, "Drain", request, as_json)


def cordon(
    server: Annotated[str, typer.Argument(help="Name of the server.")],
    reason: Annotated[str, typer.Option(help="For those who wonder.")] = "",
    pool: _Pool = None,
    as_json: _Json = False,
) -> None:
    """No new leases on a server; those that it has go on."""
    from cupool.proto.v1 import pool_pb2 as pb

    _admin(pool, "Cordon", pb.CordonRequest(server=server, reason=reason), as_json)


def uncordon(
    server: Annotated[str, typer.Argument(help="Name of the server.")],
    pool: _Pool = None,
    as_json: _Json = False,
) -> None:
    """A cordoned or draining server takes leases again."""
    from cupool.proto.v1 import pool_pb2 as pb

    _admin(pool, "Cordon", pb.CordonRequest(server=server, off=True), as_json)


def release(
    lease: Annotated[str, typer.Argument(help="Id of the lease, as `cupool status` shows it.")],
    pool: _Pool = None,
    as_json: _Json = False,
) -> None:
    """End a lease and all its sessions, at once."""
    from cupool.proto.v1 import pool_pb2 as pb

    settings = _settings(pool)
    known = _ask(settings, "Broker", "Why", pb.WhyRequest(id=lease))
    if known.state != "granted":
        raise ConfigurationError(
            f"there is no lease {lease!r}", remedy="see the leases:   cupool status"
        )
    _ask(settings, "Broker", "Release", pb.ReleaseRequest(lease_id=lease))
    _say(pb.AdminReply(changed=True, message=f"released: {known.summary}", leases=[lease]), as_json)


# ---------------------------------------------------------------- quotas


@quota_app.command("set")
def quota_set(
    tenant: Annotated[str, typer.Argument(help="Name of the tenant.")],
    gpus: Annotated[float, typer.Option(help="GPUs that it can count on, e.g. 4 or 0.5.")],
    memory: Annotated[str, typer.Option(help="GPU memory likewise; 0: not counted.")] = "0",
    borrow: Annotated[
        str, typer.Option(help="GPUs more while others leave them: a number, or any.")
    ] = "0",
    weight: Annotated[float, typer.Option(help="Of its fair share.")] = 1.0,
    max_priority: Annotated[str, typer.Option(help=", ".join(PRIORITIES))] = "urgent",
    pool: _Pool = None,
    as_json: _Json = False,
) -> None:
    """Say what a tenant may use."""
    from cupool.proto.v1 import pool_pb2 as pb

    borrowed = -1 if borrow == "any" else _milli("--borrow", borrow)
    request = pb.Quota(
        tenant=tenant,
        milli=_milli("--gpus", gpus),
        memory_bytes=_read("--memory", memory, size),
        borrow_milli=borrowed,
        weight=weight,
        max_priority=_read("--max-priority", max_priority, urgency),
    )
    _admin(pool, "SetQuota", request, as_json)


@quota_app.command("list")
def quota_list(pool: _Pool = None, as_json: _Json = False) -> None:
    """Show every quota and what is used of it."""
    from cupool.cli import pool_status
    from cupool.proto.v1 import pool_pb2 as pb

    reply = _ask(_settings(pool), "Admin", "ListQuotas", pb.ListRequest())
    if as_json:
        print(pool_status.as_json_list(reply.quotas))
        return
    rows = []
    for each in reply.quotas:
        borrow = "any" if each.borrow_milli < 0 else f"{each.borrow_milli / 1000:g}"
        memory = pool_status.human(each.memory_bytes) if each.memory_bytes else "-"
        used = f"{each.used_milli / 1000:g}, {pool_status.human(each.used_memory_bytes)}"
        gpus = f"{each.milli / 1000:g}"
        rows.append([each.tenant, gpus, memory, borrow, f"{each.weight:g}", used])
    columns = ["Tenant", "GPUs", "Memory", "Borrows", "Weight", "In use"]
    pool_status.print_table(columns, rows, "no tenant has a quota")


@quota_app.command("remove")
def quota_remove(
    tenant: Annotated[str, typer.Argument(help="Name of the tenant.")],
    pool: _Pool = None,
    as_json: _Json = False,
) -> None:
    """Limit a tenant no more."""
    from cupool.proto.v1 import pool_pb2 as pb

    _admin(pool, "RemoveQuota", pb.NameRequest(name=tenant), as_json)


# ---------------------------------------------------------------- partitions


@pool_app.command("add")
def pool_add(
    name: Annotated[str, typer.Argument(help="Name of the partition.")],
    tenant: Annotated[list[str] | None, typer.Option(help="Who may use it; repeat it.")] = None,
    server: Annotated[
        list[str] | None, typer.Option(help="A server, or SERVER/GPU; repeat it.")
    ] = None,
    pool: _Pool = None,
    as_json: _Json = False,
) -> None:
    """Set GPUs aside for some tenants, who use no others. The same name again changes it."""
    from cupool.proto.v1 import pool_pb2 as pb

    request = pb.Partition(name=name, tenants=tenant or [], servers=server or [])
    _admin(pool, "SetPartition", request, as_json)


@pool_app.command("list")
def pool_list(pool: _Pool = None, as_json: _Json = False) -> None:
    """Show every partition."""
    from cupool.cli import pool_status
    from cupool.proto.v1 import pool_pb2 as pb

    reply = _ask(_settings(pool), "Admin", "ListPartitions", pb.ListRequest())
    if as_json:
        print(pool_status.as_json_list(reply.partitions))
        return
    rows = [
        [each.name, ", ".join(each.tenants), ", ".join(each.servers)] for each in reply.partitions
    ]
    pool_status.print_table(["Partition", "Tenants", "Servers"], rows, "there is no partition")


@pool_app.command("remove")
def pool_remove(
    name: Annotated[str, typer.Argument(help="Name of the partition.")],
    pool: _Pool = None,
    as_json: _Json = False,
) -> None:
    """Give a partition's GPUs and tenants back to the common pool."""
    from cupool.proto.v1 import pool_pb2 as pb

    _admin(pool, "RemovePartition", pb.NameRequest(name=name), as_json)


# ---------------------------------------------------------------- helpers


def _settings(pool: str | None, tenant: str | None = None) -> Any:
    from cupool.config import load

    return load({"pool": pool, "tenant": tenant}).settings


def _ask(settings: Any, service: str, method: str, request: Any) -> Any:
    from cupool.cli import pool_status

    return pool_status.ask(settings.pool or settings.broker, service, method, request)


def _admin(pool: str | None, method: str, request: Any, as_json: bool) -> None:
    _say(_ask(_settings(pool), "Admin", method, request), as_json)


def _say(reply: Any, as_json: bool) -> None:
    from cupool.cli import pool_status

    if as_json:
        print(pool_status.as_json(reply))
        return
    print(reply.message)
    for lease in reply.leases:
        print(f"  lease {lease}")


def _read(option: str, value: str, reader: Any) -> Any:
    try:
        return reader(value)
    except ValueError as exc:
        raise ConfigurationError(f"{option} is {value!r}: {exc}") from None


def _milli(option: str, value: object) -> int:
    try:
        number = float(str(value))
    except ValueError:
        number = -1.0
    if not 0 <= number < 1e9:
        raise ConfigurationError(f"{option} is {value!r}: must be a number of GPUs, e.g. 4 or 0.5")
    return round(number * 1000)
