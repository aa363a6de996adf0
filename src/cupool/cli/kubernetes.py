"""Commands for Kubernetes: the webhook that pods pass, and the pool's GPUs in its API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from cupool.cli.serving import server_extra
from cupool.errors import ConfigurationError


def webhook(
    cert: Annotated[str, typer.Option(help="Certificate, a PEM file; read again when it changes.")],
    key: Annotated[str, typer.Option(help="Its key, a PEM file.")],
    pool: Annotated[
        str | None, typer.Option(help="Address of the broker, as pods reach it [CUPOOL_POOL].")
    ] = None,
    listen: Annotated[str, typer.Option(help="HOST:PORT.")] = "0.0.0.0:8443",
    wait: Annotated[str, typer.Option(help="How long a pod that says nothing waits.")] = "10m",
    verbose: Annotated[bool, typer.Option("-v", "--verbose")] = False,
) -> None:
    """Answer the Kubernetes API: send pods that ask for cupool.dev/gpu to the pool."""
    import logging
    import threading

    from cupool.brokers import split_brokers
    from cupool.config import load

    settings = load({"pool": pool, "wait": wait}).settings
    if not settings.pool:
        raise ConfigurationError("no pool is configured", remedy="cupool webhook --pool URL ...")
    split_brokers(settings.pool)  # complain now, not in every pod
    with server_extra():
        from cupool.pool_server import logs
        from cupool.pool_server.kubernetes import webhook as served
        from cupool.pool_server.kubernetes.mutation import Target
    logs.configure(verbose=verbose)
    server = served.server(listen, cert, key, Target(settings.pool, wait))
    _at_the_end(lambda: threading.Thread(target=server.shutdown).start())
    address = f"{server.server_address[0]!s}:{server.server_address[1]}"
    logging.getLogger("cupool.webhook").info("webhook listens", extra={"address": address})
    server.serve_forever()
    server.server_close()


def publish(
    pool: Annotated[str | None, typer.Option(help="Address of the broker [CUPOOL_POOL].")] = None,
    api: Annotated[
        str, typer.Option(help="URL of the Kubernetes API; empty: that of this pod.")
    ] = "",
    label: Annotated[
        str, typer.Option(help="Tells this pool's slices from those of others.")
    ] = "pool",
    interval: Annotated[str, typer.Option(help="How often to look at the pool.")] = "15s",
    once: Annotated[bool, typer.Option("--once", help="Publish once and end.")] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose")] = False,
) -> None:
    """Publish the pool's GPUs as ResourceSlices of Kubernetes (DRA)."""
    import threading

    from cupool.cli import pool_status
    from cupool.config import duration, load

    settings = load({"pool": pool}).settings
    url = settings.pool or settings.broker
    try:
        interval_s = max(1.0, duration(interval))
    except ValueError as exc:
        raise ConfigurationError(f"--interval is {interval!r}: {exc}") from None
    with server_extra():
        from cupool.pool_server import logs
        from cupool.pool_server.kubernetes import publisher, slices
    logs.configure(verbose=verbose)
    if slices.object_name(label, 20) != label:
        raise ConfigurationError(
            f"--label is {label!r}: must be small letters, digits and -, at most 20"
        )
    there = publisher.Api(api) if api else publisher.Api.of_pod()
    if once:
        print(f"{publisher.publish(there, pool_status.fetch(url), label)} objects changed")
        return
    stop = threading.Event()
    _at_the_end(stop.set)
    publisher.keep(there, lambda: pool_status.fetch(url), label, interval_s, stop)


def _at_the_end(do: Callable[[], None]) -> None:
    import signal

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: do())
