"""`cupool serve`: its options."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Annotated

import typer

from cupool.errors import ConfigurationError

_MockModel = Annotated[
    str | None, typer.Option(help="Model that they mimic: H100, A100, MI300X, ...")
]
_MockMemoryCheck = Annotated[
    bool | None,
    typer.Option("--mock-memory-check/--no-mock-memory-check", help="Check what kernels touch."),
]


def serve(
    broker: Annotated[
        str | None, typer.Option(help="Address of the broker to join, grpc://HOST:PORT.")
    ] = None,
    mock: Annotated[int, typer.Option(min=0, max=64, help="Offer so many mock GPUs.")] = 0,
    mock_memory: Annotated[str | None, typer.Option(help="Memory of each mock GPU.")] = None,
    mock_model: _MockModel = None,
    mock_kernel_time: Annotated[str | None, typer.Option(help="A kernel's limit.")] = None,
    mock_memory_check: _MockMemoryCheck = None,
    cuda: Annotated[
        str, typer.Option(help="auto: offer the GPUs that CuPy finds; none: leave them alone.")
    ] = "auto",
    null: Annotated[int, typer.Option(min=0, max=64, help="GPUs that compute nothing.")] = 0,
    name: Annotated[str | None, typer.Option(help="Name of this server in the pool.")] = None,
    zone: Annotated[str | None, typer.Option(help="Zone (room, site) of this server.")] = None,
    rack: Annotated[str | None, typer.Option(help="Rack of this server.")] = None,
    partition: Annotated[
        str | None, typer.Option(help="Sub-pool for whose tenants it is there.")
    ] = None,
    partition_hosts: Annotated[
        str | None, typer.Option(help="Where a partition's sessions listen: NAME=HOST,...")
    ] = None,
    link: Annotated[str | None, typer.Option(help="Its network, e.g. 100Gbit.")] = None,
    taints: Annotated[
        str | None, typer.Option(help="Only requests that tolerate these come here.")
    ] = None,
    cost: Annotated[str | None, typer.Option(help="Relative price of its GPUs, e.g. 2.5.")] = None,
    data_host: Annotated[str | None, typer.Option(help="Where sessions listen.")] = None,
    encrypt: Annotated[str | None, typer.Option(help="Sessions' data: auto, on or off.")] = None,
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
        bool, typer.Option("--insecure-bind", help="Let other machines in though it is unsafe.")
    ] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose")] = False,
) -> None:
    """Offer this machine's GPUs to a pool."""
    if cuda not in ("auto", "none"):
        raise typer.BadParameter("must be auto or none", param_hint="--cuda")
    given: dict[str, object] = {"broker": broker, "mock_memory": mock_memory, "name": name}
    given |= {"mock_kernel_time": mock_kernel_time, "mock_memory_check": mock_memory_check}
    given |= {"mock_model": mock_model, "server_zone": zone, "rack": rack, "partition": partition}
    given |= {"partition_hosts": partition_hosts, "link": link, "taints": taints, "warm": warm}
    given |= {"data_host": data_host, "cost": cost, "grace": grace, "drain_timeout": drain_timeout}
    given["encrypt"] = encrypt
    with server_extra():
        from cupool.pool_server import lifecycle, logs, process
    logs.configure(verbose=verbose)
    options = process.options(
        given, cuda == "auto", mock, null, ready_file, insecure_bind=insecure_bind
    )
    lifecycle.run(process.serve(options))


@contextlib.contextmanager
def server_extra() -> Iterator[None]:
    """Turn a missing package of the server's side into an error that says what to install."""
    try:
        yield
    except ModuleNotFoundError as exc:
        raise ConfigurationError(
            f"the package {exc.name} is missing",
            remedy="install the server's side:   pip install 'cupool[server]'",
        ) from None
