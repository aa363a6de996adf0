"""`cupool broker`: the broker as a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import grpc.aio
from google.protobuf.runtime_version import VersionError

from cupool.addresses import check_bind, split_host_port
from cupool.calling import is_secure, read_pem
from cupool.errors import ConfigurationError
from cupool.pool_server import lifecycle
from cupool.pool_server.broker.access import Access
from cupool.pool_server.broker.admin_service import AdminService
from cupool.pool_server.broker.audit import Audit
from cupool.pool_server.broker.model import Limits
from cupool.pool_server.broker.placement import POLICIES
from cupool.pool_server.broker.service import SERVER_OPTIONS, BrokerService, NodeService
from cupool.pool_server.broker.store.base import Store, StoreError, StoreUnusable
from cupool.pool_server.broker.store.election import Election
from cupool.pool_server.broker.store.opening import NO_TLS, open_store
from cupool.pool_server.broker.tokens import TenantTokens
from cupool.pool_server.notify import feed_watchdog, notify
from cupool.proto.v1 import pool_pb2 as pb
from cupool.proto.v1 import pool_pb2_grpc as rpc

log = logging.getLogger("cupool.broker")

_LAST_WORD_S = 0.5
_TLS = "give both:   cupool broker --tls-cert FILE --tls-key FILE"
_SAFE = f"{_TLS}\nand --tenants FILE with [servers] and others = false, see docs/security.md"


async def serve(
    listen: str,
    *,
    insecure_bind: bool = False,
    url_file: str = "",
    audit_log: str = "",
    state: str = "",
    admin_token: str = "",
    tenants: str = "",
    policy: str = "",
    tls: tuple[str, str] = ("", ""),
    etcd_tls: tuple[str, str, str] = NO_TLS,
) -> None:
    """Run a broker until SIGTERM.

    Args:
        listen: `grpc[s]://host:port` (0 lets the system choose) or `unix-abstract:name`.
        url_file: the real address is written there once the broker answers.
        audit_log: file of the audit log, "" = none.
        state: the store, see `open_store`; "" = nothing outlives this process.
        admin_token: what commands of administrators must carry, "" = they must come from here.
        tenants: file of their tokens, "" = a tenant is who he says he is.
        policy: of placement, for requests that name none; "" = best fit.
        tls: files of the certificate chain and of its key; given, the broker speaks only TLS.
        etcd_tls: of the store, see `open_store`.

    Raises:
        ConfigurationError: the address is wrong, taken, or open to other machines; there can be
            no such store or policy; or the tenants' tokens cannot be read.
    """
    stop = lifecycle.Stop()
    audit = Audit(audit_log)
    server = grpc.aio.server(options=SERVER_OPTIONS)
    tokens = TenantTokens(tenants) if tenants else None
    url = _bind(server, listen, _missing(tls, tokens), tls, insecure=insecure_bind)
    clock = _wall_clock() if state else time.monotonic
    who_may = Access(admin_token=admin_token, tenants=tokens)
    broker = BrokerService(url, _limits(policy), audit=audit, clock=clock, who_may=who_may)
    store = await _open(state, etcd_tls) if state else None
    election: asyncio.Task[None] | None = None
    if store is not None:
        election = _elect(store, broker, url)
    _add_services(broker, server)
    health = await _add_extras(server)
    await server.start()
    _announce(url, url_file)
    watchdog = asyncio.create_task(feed_watchdog())
    await lifecycle.until_stopped(stop, election)
    notify("STOPPING=1")
    watchdog.cancel()
    if health is not None:
        await health.enter_graceful_shutdown()
    if election is not None and store is not None:
        election.cancel()  # it resigns
        await asyncio.gather(election, return_exceptions=True)
        await store.close()
    broker.close()
    with contextlib.suppress(asyncio.CancelledError):
        await server.stop(_LAST_WORD_S)
    log.info("broker stopped; sessions go on without it")


def _elect(store: Store, broker: BrokerService, url: str) -> asyncio.Task[None]:
    """Take part in the election of the broker that leads."""
    broker.follow(None, "it has just started")
    holder = f"{os.uname().nodename}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
    return asyncio.create_task(Election(store, broker, holder, url).run())


def _announce(url: str, url_file: str) -> None:
    log.info("broker listens", extra={"url": url})
    if url_file:
        lifecycle.write_atomically(url_file, url + "\n")
    notify(f"READY=1\nSTATUS=listening at {url}")


def _limits(policy: str) -> Limits:
    if policy and policy not in POLICIES:
        raise ConfigurationError(
            f"no placement policy is named {policy!r}",
            remedy=f"choose one of {', '.join(POLICIES)}",
        )
    return Limits(policy=policy) if policy else Limits()


def _add_services(broker: BrokerService, server: grpc.aio.Server) -> None:
    rpc.add_BrokerServicer_to_server(broker, server)  # type: ignore[no-untyped-call]
    rpc.add_NodeServicer_to_server(NodeService(broker), server)  # type: ignore[no-untyped-call]
    rpc.add_AdminServicer_to_server(AdminService(broker), server)  # type: ignore[no-untyped-call]


def _wall_clock() -> Callable[[], float]:
    """Return a clock that other brokers read alike, and that never jumps."""
    offset = time.time() - time.monotonic()
    return lambda: time.monotonic() + offset


async def _open(state: str, etcd_tls: tuple[str, str, str]) -> Store:
    """Open the store; one that is away for the moment is no error, it may come.

    Raises:
        ConfigurationError: it will never be usable as it is.
    """
    store = open_store(state, tls=etcd_tls)
    try:
        await store.leader()
    except StoreUnusable as exc:
        raise ConfigurationError(
            f"the broker's state cannot be kept: {exc}",
            remedy="name a place of its own:   cupool broker --state /var/lib/cupool/broker.db",
        ) from None
    except StoreError as exc:
        log.warning("the store does not answer yet", extra={"why": str(exc)})
    return store


def _missing(tls: tuple[str, str], tokens: TenantTokens | None) -> str:
    """Return what keeps strangers on the network from being kept out."""
    readable = "" if all(tls) else "what it is told can be read on the way"
    unproven = "nobody has to prove who they are" if tokens is None else tokens.missing()
    return " and ".join(fault for fault in (readable, unproven) if fault)


def _bind(
    server: grpc.aio.Server, listen: str, missing: str, tls: tuple[str, str], *, insecure: bool
) -> str:
    """Open the port; return the URL with the port that was really bound."""
    credentials = _credentials(listen, tls)
    if listen.startswith("unix-abstract:"):
        target = listen
    else:
        host, port = split_host_port(listen)
        warning = check_bind(host, missing, _SAFE, insecure=insecure)
        if warning:
            log.warning(warning)
        host = f"[{host}]" if ":" in host else host
        target = f"{host}:{port}"
    try:
        if credentials is None:
            bound = server.add_insecure_port(target)
        else:
            bound = server.add_secure_port(target, credentials)
    except RuntimeError:
        raise ConfigurationError(
            f"{listen} cannot be bound: it is in use or not this machine's",
            remedy="choose another:   cupool broker --listen grpc://127.0.0.1:0",
        ) from None
    scheme = "grpc" if credentials is None else "grpcs"
    return listen if target == listen else f"{scheme}://{host}:{bound}"


def _credentials(listen: str, tls: tuple[str, str]) -> grpc.ServerCredentials | None:
    if not any(tls):
        if is_secure(listen):
            raise ConfigurationError(
                f"{listen} asks for TLS, which needs a certificate", remedy=_TLS
            )
        return None
    if not all(tls) or listen.startswith("unix-abstract:"):
        raise ConfigurationError(
            "TLS needs a certificate, its key, and a network address", remedy=_TLS
        )
    chain = read_pem(tls[0], "the broker's certificate", "CUPOOL_TLS_CERT")
    key = read_pem(tls[1], "the broker's key", "CUPOOL_TLS_KEY")
    return grpc.ssl_server_credentials([(key, chain)])


@contextlib.contextmanager
def _optional(what: str) -> Iterator[None]:
    """Do without a service whose package is missing, or older or newer than protobuf allows."""
    try:
        yield
    except ModuleNotFoundError:
        return
    except VersionError as exc:
        log.warning("a service is left out", extra={"service": what, "why": str(exc)})


async def _add_extras(server: grpc.aio.Server) -> Any:
    """Serve grpc.health.v1 and reflection where their packages are installed."""
    names = [f"cupool.v1.{name}" for name in pb.DESCRIPTOR.services_by_name]
    servicer = None
    with _optional("grpc.health.v1"):
        from grpc_health.v1 import health, health_pb2, health_pb2_grpc

        servicer = health.aio.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
        status = health_pb2.HealthCheckResponse.SERVING
        for name in names:
            await servicer.set(name, status)
        names.append(health.SERVICE_NAME)
    with _optional("reflection"):
        from grpc_reflection.v1alpha import reflection

        reflection.enable_server_reflection([*names, reflection.SERVICE_NAME], server)
    return servicer
