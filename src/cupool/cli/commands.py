"""The commands of `cupool`, by typer. Heavy modules are imported where they are used."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any

import typer

from cupool import __version__
from cupool.errors import PoolError

os.environ.setdefault("GRPC_VERBOSITY", "ERROR")  # gRPC prints notices of its own otherwise

app = typer.Typer(
    name="cupool",
    help="GPUs that live anywhere, used as if they were here.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_PERSON = {"allow_interspersed_args": False, "ignore_unknown_options": False}


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


@app.command(context_settings=_PERSON)
def run(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="SCRIPT [ARGS]... | -- COMMAND...", show_default=False),
    ] = None,
    module: Annotated[
        str | None, typer.Option("-m", metavar="MODULE", help="Run a module, as python -m does.")
    ] = None,
    code: Annotated[
        str | None, typer.Option("-c", metavar="CODE", help="Run code, as python -c does.")
    ] = None,
    pool: Annotated[
        str | None, typer.Option(help="Address of the broker; none: a pool of one's own.")
    ] = None,
    gpus: Annotated[
        int | None,
        typer.Option(help="How many GPUs the script sees; all mock GPUs of one's own pool."),
    ] = None,
    memory: Annotated[
        str | None, typer.Option(help="Memory on each, e.g. 2GiB; else the whole GPU, alone.")
    ] = None,
    wait: Annotated[
        str | None, typer.Option(help="How long to wait in line, e.g. 30m [default: 10s].")
    ] = None,
    carrier: Annotated[
        str | None, typer.Option(help="How data travels: auto, unix, ipc, tcp or grpc.")
    ] = None,
    mock: Annotated[int | None, typer.Option(help="Mock GPUs of one's own pool.")] = None,
    mock_memory: Annotated[str | None, typer.Option(help="Memory of each mock GPU.")] = None,
    stats: Annotated[
        bool, typer.Option("--stats", help="Print what travelled and what waited, at the end.")
    ] = False,
    blocking: Annotated[
        bool, typer.Option("--blocking", help="Wait after each operation: errors at their line.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="Say which GPUs were granted.")
    ] = False,
) -> int:
    """Run a script whose `import cupy` reaches the pool.

    The first word that is no option ends cupool's options; the rest belongs to the script.
    """
    from cupool.cli import launch

    given = {"pool": pool, "gpus": gpus, "memory": memory, "wait": wait, "carrier": carrier}
    given |= {"mock": mock, "mock_memory": mock_memory}
    flags = {name: str(value) for name, value in given.items() if value is not None}
    switches = {"stats": stats, "blocking": blocking, "verbose": verbose}
    flags |= {name: "1" for name, on in switches.items() if on}
    words = list(arguments or [])
    if module is not None:
        words = ["-m", module, *words]
    elif code is not None:
        words = ["-c", code, *words]
    if not words:
        raise typer.BadParameter("name a script, -m MODULE, -c CODE, or -- COMMAND")
    return launch.start(launch.Plan(flags, python=words))


@app.command()
def broker(
    listen: Annotated[
        str | None, typer.Option(help="Where to listen, grpc://HOST:PORT; port 0: any free one.")
    ] = None,
    url_file: Annotated[
        str, typer.Option(help="Write the real address to this file once the broker answers.")
    ] = "",
    insecure_bind: Annotated[
        bool, typer.Option("--insecure-bind", help="Let other machines in, unauthenticated.")
    ] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose")] = False,
) -> None:
    """Run a broker: it decides who gets which GPU."""
    from cupool.config import load

    settings = load({"listen": listen}).settings
    with _server_extra():
        from cupool.pool_server import lifecycle, logs
        from cupool.pool_server.broker import process
    logs.configure(verbose=verbose)
    lifecycle.run(process.serve(settings.listen, insecure_bind=insecure_bind, url_file=url_file))


@app.command()
def serve(
    broker: Annotated[
        str | None, typer.Option(help="Address of the broker to join, grpc://HOST:PORT.")
    ] = None,
    mock: Annotated[int, typer.Option(min=0, max=64, help="Offer so many mock GPUs.")] = 0,
    mock_memory: Annotated[str | None, typer.Option(help="Memory of each mock GPU.")] = None,
    cuda: Annotated[
        str, typer.Option(help="auto: offer the GPUs that CuPy finds; none: leave them alone.")
    ] = "auto",
    null: Annotated[
        int, typer.Option(min=0, max=64, help="Offer so many GPUs that compute nothing.")
    ] = 0,
    name: Annotated[str | None, typer.Option(help="Name of this server in the pool.")] = None,
    data_host: Annotated[str | None, typer.Option(help="Where sessions listen.")] = None,
    warm: Annotated[int | None, typer.Option(help="Workers to keep ready.")] = None,
    grace: Annotated[
        str | None, typer.Option(help="How long to keep a session whose client is away.")
    ] = None,
    drain_timeout: Annotated[
        str | None, typer.Option(help="How long to wait for sessions when told to stop.")
    ] = None,
    ready_file: Annotated[
        str, typer.Option(help="Write the server's name to this file once it has joined.")
    ] = "",
    insecure_bind: Annotated[
        bool, typer.Option("--insecure-bind", help="Let other machines in, unauthenticated.")
    ] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose")] = False,
) -> None:
    """Offer this machine's GPUs to a pool."""
    from cupool.config import load

    if cuda not in ("auto", "none"):
        raise typer.BadParameter("must be auto or none", param_hint="--cuda")
    given = {"broker": broker, "mock_memory": mock_memory, "name": name, "data_host": data_host}
    settings = load(
        {**given, "warm": warm, "grace": grace, "drain_timeout": drain_timeout}
    ).settings
    with _server_extra():
        from cupool.pool_server import lifecycle, logs, process
    logs.configure(verbose=verbose)
    options = process.ServeOptions(
        broker=settings.broker,
        name=settings.name,
        cuda=cuda == "auto",
        mock=mock,
        mock_memory_bytes=settings.mock_memory,
        null=null,
        data_host=settings.data_host,
        warm=settings.warm,
        grace_s=settings.grace,
        drain_timeout_s=settings.drain_timeout,
        insecure_bind=insecure_bind,
        ready_file=ready_file,
    )
    lifecycle.run(process.serve(options))


@app.command()
def status(
    pool: Annotated[str | None, typer.Option(help="Address of the broker.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the pool: servers, GPUs, sessions, and who waits."""
    from cupool.cli import pool_status
    from cupool.config import load

    settings = load({"pool": pool}).settings
    reply = pool_status.fetch(settings.pool or settings.broker)
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


class _server_extra:
    """Turns a missing package of the server's side into an error that says what to install."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, exc: Any, traceback: Any) -> None:
        if isinstance(exc, ModuleNotFoundError):
            from cupool.errors import ConfigurationError

            raise ConfigurationError(
                f"the package {exc.name} is missing",
                remedy="install the server's side:   pip install 'cupool[server]'",
            ) from None
