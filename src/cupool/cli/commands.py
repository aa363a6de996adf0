"""The commands of `cupool`, by typer. Heavy modules are imported where they are used."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from cupool import __version__
from cupool.cli import kubernetes
from cupool.cli.admin import add_commands
from cupool.cli.hold import hold
from cupool.cli.serving import serve, server_extra
from cupool.cli.simulate import simulate
from cupool.errors import PoolError

os.environ.setdefault("GRPC_VERBOSITY", "ERROR")  # gRPC prints notices of its own otherwise

app = typer.Typer(
    name="cupool",
    help="GPUs that live anywhere, used as if they were here.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_ALL_HIS_OWN = {"allow_extra_args": True, "ignore_unknown_options": True}


def run_app(arguments: list[str]) -> int:
    """Run a command; returns the exit status. Errors of cupool are told without a traceback."""
    try:
        result = app(args=arguments, prog_name="cupool", standalone_mode=False)
    except PoolError as exc:
        print(f"cupool: {exc}", file=sys.stderr)
        return 2
    except typer.Abort:
        print("cupool: interrupted", file=sys.stderr)
        return 130
    except KeyboardInterrupt:
        return 130
    except Exception as exc:
        show = getattr(exc, "show", None)  # click's usage errors
        if show is None:
            raise
        show()
        return int(getattr(exc, "exit_code", 2))
    return result if isinstance(result, int) else 0


def _version(value: bool) -> None:
    if value:
        print(f"cupool {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """GPUs that live anywhere, used as if they were here."""


@app.command(context_settings=_ALL_HIS_OWN, add_help_option=False)
def run(context: typer.Context) -> int:
    """Run a script whose `import cupy` reaches the pool."""
    from cupool.cli import main

    return main(["run", *context.args])  # here only for the list of commands, and completion


@app.command()
def broker(
    listen: Annotated[
        str | None, typer.Option(help="Where to listen, grpc://HOST:PORT; port 0: any free one.")
    ] = None,
    url_file: Annotated[
        str, typer.Option(help="Write the real address to this file once the broker answers.")
    ] = "",
    audit_log: Annotated[
        str | None, typer.Option(help="Write every decision to this file, as JSON lines.")
    ] = None,
    state: Annotated[
        str | None,
        typer.Option(help="Keep leases and quotas in this file, or in etcd[s]://HOST:PORT,..."),
    ] = None,
    admin_token: Annotated[
        str,
        typer.Option(
            envvar="CUPOOL_ADMIN_TOKEN",
            show_envvar=True,
            help="Commands of administrators must carry it; without, they must come from here.",
        ),
    ] = "",
    tenants: Annotated[
        str | None, typer.Option(help="File of the tenants' and servers' tokens.")
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(help="How a place is chosen for requests that do not say: bestfit, fgd, ..."),
    ] = None,
    tls_cert: Annotated[str | None, typer.Option(help="File of the TLS certificate.")] = None,
    tls_key: Annotated[str | None, typer.Option(help="File of its private key.")] = None,
    insecure_bind: Annotated[
        bool, typer.Option("--insecure-bind", help="Let other machines in though it is unsafe.")
    ] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose")] = False,
) -> None:
    """Run a broker: it decides who gets which GPU."""
    from cupool.config import load

    given = {"listen": listen, "audit_log": audit_log, "state": state}
    given |= {"tenants": tenants, "policy": policy, "tls_cert": tls_cert, "tls_key": tls_key}
    settings = load(given).settings
    with server_extra():
        from cupool.pool_server import lifecycle, logs
        from cupool.pool_server.broker import process
    logs.configure(verbose=verbose)
    lifecycle.run(
        process.serve(
            settings.listen,
            insecure_bind=insecure_bind,
            url_file=url_file,
            audit_log=settings.audit_log,
            state=settings.state,
            admin_token=admin_token,
            tenants=settings.tenants,
            policy=settings.policy,
            tls=(settings.tls_cert, settings.tls_key),
            etcd_tls=(settings.etcd_ca, settings.etcd_cert, settings.etcd_key),
        )
    )


app.command()(serve)


@app.command()
def status(
    pool: Annotated[str | None, typer.Option(help="Address of the broker.")] = None,
    tenant: Annotated[
        str | None, typer.Option(help="Only what this tenant may see [CUPOOL_TENANT].")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the pool: servers, GPUs, sessions, and who waits."""
    from cupool.cli import pool_status
    from cupool.config import load

    settings = load({"pool": pool, "tenant": tenant}).settings
    reply = pool_status.fetch(settings.pool or settings.broker, settings.tenant)
    if as_json:
        print(pool_status.as_json(reply))
    else:
        pool_status.show(reply)


@app.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
def config(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print each setting, its value and where it came from. Takes `run`'s options, too."""
    from cupool.cli import launch, settings_table

    settings_table.show(as_json=as_json, flags=launch.flags_of(context.args))


app.command(context_settings=_ALL_HIS_OWN)(hold)
app.command()(simulate)
app.command()(kubernetes.webhook)
app.command()(kubernetes.publish)

service_app = typer.Typer(help="systemd services for the broker and the server.")
app.add_typer(service_app, name="service")


@service_app.command("install")
def service_install(
    user: Annotated[
        bool, typer.Option("--user", help="For this user's own systemd, without root.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the units, write nothing.")
    ] = False,
    directory: Annotated[
        str, typer.Option(help="Write the units there instead of systemd's folder.")
    ] = "",
) -> None:
    """Write cupool-broker.service and cupool-server.service."""
    from cupool.cli import services

    services.install(user=user, dry_run=dry_run, directory=directory)


add_commands(app)
