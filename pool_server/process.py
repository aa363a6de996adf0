"""`cupool serve`: the daemon of one machine as a process."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from cupool.addresses import check_bind, is_local, machine, split_host_port
from cupool.brokers import split_brokers
from cupool.calling import is_secure
from cupool.config import load
from cupool.errors import ConfigurationError
from cupool.pool_server import lifecycle
from cupool.pool_server.dialing import Dialer
from cupool.pool_server.notify import feed_watchdog, notify
from cupool.pool_server.offers import (
    Location,
    Offer,
    cuda_offers,
    mock_offers,
    network_links,
    null_offers,
)
from cupool.pool_server.server import Daemon
from cupool.pool_server.workers import WorkerPool

log = logging.getLogger("cupool.server")

_CLOSE_WITHIN_S = 6.0
_SAFE = "reach the broker by TLS (grpcs://), and leave --encrypt on or auto"


@dataclass(frozen=True)
class ServeOptions:
    """What `cupool serve` was asked for; see its --help."""

    broker: str
    name: str = ""
    cuda: bool = True
    mock: int = 0
    mock_memory_bytes: int = 4 << 30
    mock_model: str = ""
    mock_race: int = 0
    mock_kernel_s: float = 60.0
    mock_memory_check: bool = True
    null: int = 0
    data_host: str = "127.0.0.1"
    encrypt: str = "auto"
    ca: str = ""
    server_token: str = field(default="", repr=False)
    warm: int = 1
    grace_s: float = 30.0
    drain_timeout_s: float = 25.0
    insecure_bind: bool = False
    ready_file: str = ""
    location: Location = field(default_factory=Location)


def options(
    given: Mapping[str, object],
    cuda: bool,
    mock: int,
    null: int,
    ready_file: str,
    *,
    insecure_bind: bool,
) -> ServeOptions:
    """Read the settings of `serve`; `given` are those of the command line.

    Raises:
        ConfigurationError: a setting is wrong.
    """
    settings = load(given).settings
    location = Location(
        settings.server_zone,
        settings.rack,
        settings.partition,
        settings.taints,
        {"link": settings.link} if settings.link else network_links(),
        _hosts(settings.partition_hosts),
        settings.cost,
    )
    return ServeOptions(
        broker=settings.broker,
        name=settings.name,
        cuda=cuda,
        mock=mock,
        mock_memory_bytes=settings.mock_memory,
        mock_model=settings.mock_model,
        mock_race=settings.mock_race,
        mock_kernel_s=settings.mock_kernel_time,
        mock_memory_check=settings.mock_memory_check,
        null=null,
        data_host=settings.data_host,
        encrypt=settings.encrypt,
        ca=settings.ca,
        server_token=settings.server_token,
        warm=settings.warm,
        grace_s=settings.grace,
        drain_timeout_s=settings.drain_timeout,
        insecure_bind=insecure_bind,
        ready_file=ready_file,
        location=location,
    )


def _hosts(given: tuple[str, ...]) -> dict[str, str]:
    """Read `PARTITION=HOST` pairs.

    Raises:
        ConfigurationError: one is no such pair.
    """
    hosts = {}
    for pair in given:
        name, equals, host = pair.partition("=")
        if not name or not equals or not host:
            raise ConfigurationError(
                f"{pair!r} does not say where a partition's sessions listen",
                remedy="write NAME=HOST:   cupool serve --partition-hosts red=10.1.0.2 ...",
            )
        hosts[name] = host
    return hosts


async def find_offers(options: ServeOptions) -> list[Offer]:
    """Collect this machine's devices: real ones first, mocks and nulls only if asked for.

    Raises:
        ConfigurationError: there is none.
    """
    offers = await cuda_offers() if options.cuda else []
    offers += mock_offers(
        options.mock,
        options.mock_memory_bytes,
        len(offers),
        options.mock_model,
        options.mock_race,
        options.mock_kernel_s,
        options.mock_memory_check,
    )
    offers += null_offers(options.null, len(offers))
    for offer in offers:
        offer.device.cost = options.location.cost
    if not offers:
        raise ConfigurationError(
            "this machine has no GPU that CuPy finds",
            remedy="install CuPy for it:   pip install 'cupool[cuda13]'   (or cuda12)\n"
            "or offer a mock GPU:   cupool serve --mock 1",
        )
    return offers


async def serve(options: ServeOptions) -> None:
    """Offer this machine's devices until SIGTERM, then drain.

    Raises:
        ConfigurationError: no device, or an address that is wrong or open to other machines.
    """
    stop = lifecycle.Stop()
    for host in (options.data_host, *options.location.hosts.values()):
        warning = check_bind(host, _missing(options), _SAFE, insecure=options.insecure_bind)
        if warning:
            log.warning(warning)
    dialer = Dialer(options.broker, options.ca, options.server_token)
    offers = await find_offers(options)
    name = options.name or os.uname().nodename
    workers = WorkerPool([offer.device.kind for offer in offers], options.warm)
    daemon = Daemon(
        name,
        offers,
        dialer,
        workers,
        data_host=options.data_host,
        encrypt=options.encrypt,
        host=machine(),
        grace_s=options.grace_s,
        location=options.location,
    )
    workers.fill()
    notify("READY=1\nSTATUS=joining the pool")  # a broker may come later; sessions outlive it
    running = asyncio.create_task(daemon.run())
    tasks = [running, asyncio.create_task(feed_watchdog())]
    tasks.append(asyncio.create_task(_announce(daemon, options)))
    try:
        await lifecycle.until_stopped(stop, running)
        notify("STOPPING=1")
        await _drain(daemon, stop, options.drain_timeout_s)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await dialer.close()


def _missing(options: ServeOptions) -> str:
    """Return what keeps strangers on the network from being kept out of sessions."""
    if options.encrypt == "off":
        return "what travels can be read on the way"
    if is_secure(options.broker) or options.broker.startswith("unix-abstract:"):
        return ""
    local = all(is_local(split_host_port(url)[0]) for url in split_brokers(options.broker))
    return "" if local else "the broker's tokens and keys can be read on the way"


async def _announce(daemon: Daemon, options: ServeOptions) -> None:
    await daemon.registered.wait()
    names = ", ".join(offer.device.name for offer in daemon.offers.values())
    log.info("serving", extra={"server": daemon.name, "devices": names, "broker": options.broker})
    if options.ready_file:
        lifecycle.write_atomically(options.ready_file, daemon.name + "\n")
    notify(f"STATUS=serving {names}")


async def _drain(daemon: Daemon, stop: lifecycle.Stop, timeout_s: float) -> None:
    """Let running sessions end by themselves for a while, then end them."""
    daemon.drain()
    log.info("draining", extra={"sessions": daemon.sessions, "timeout_s": timeout_s})
    idle = asyncio.create_task(daemon.idle())
    urged = asyncio.create_task(stop.urged.wait())
    await asyncio.wait([idle, urged], timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    idle.cancel()
    urged.cancel()
    if daemon.sessions:
        log.warning("sessions are ended", extra={"sessions": daemon.sessions})
    with contextlib.suppress(TimeoutError):
        message = f"server {daemon.name} is shutting down"
        await asyncio.wait_for(daemon.close("drained", message), _CLOSE_WITHIN_S)
