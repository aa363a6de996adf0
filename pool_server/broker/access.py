"""Who calls: the secrets that a call carries, and where it comes from."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Collection
from typing import Any, Protocol, TypeAlias
from urllib.parse import unquote

import grpc

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class Tokens(Protocol):
    """See `tokens.TenantTokens`."""

    def fault(self, tenant: str, given: str) -> str: ...

    def proves(self, tenant: str, given: str) -> bool: ...

    def server_fault(self, name: str, given: str, partitions: Collection[str]) -> str: ...


def metadata(context: Context, key: str) -> str:
    """Return what a call carries under a key, "" if nothing."""
    return str(dict(context.invocation_metadata() or ()).get(key, ""))


def equal(given: str, secret: str) -> bool:
    """Compare in a time that tells nothing of the secret."""
    return hmac.compare_digest(given.encode(), secret.encode())


def carries(context: Context, key: str, secret: str) -> bool:
    """Whether a call carries a secret under a key."""
    return equal(metadata(context, key), secret)


def is_local(peer: str) -> bool:
    """Whether a gRPC peer, such as `ipv4:127.0.0.1:58752`, is on this machine."""
    kind, _, rest = unquote(peer).partition(":")
    if kind not in ("ipv4", "ipv6"):
        return kind in ("unix", "unix-abstract")
    try:
        address = ipaddress.ip_address(rest.rpartition(":")[0].strip("[]"))
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


class Access:
    """Who may do what. Each method says why a call may not, "" if it may.

    Args:
        job_token: if set, every call must carry it; for a pool of one job.
        admin_token: if set, commands of administrators must carry it; if not, they must come from
            this machine.
        tenants: whose tokens are known; None = a tenant is who he says he is.
    """

    def __init__(
        self, job_token: str = "", admin_token: str = "", tenants: Tokens | None = None
    ) -> None:
        self._job_token = job_token
        self._admin_token = admin_token
        self._tenants = tenants

    def job(self, context: Context) -> str:
        """May the call be made at all?"""
        if not self._job_token or carries(context, "cupool-job-token", self._job_token):
            return ""
        return "this pool serves one job, and the job's token is missing or wrong"

    def administer(self, context: Context) -> str:
        """May it change the pool?"""
        if not self._admin_token:
            if is_local(context.peer()):
                return ""
            return "commands of administrators are taken from the broker's own machine only"
        if carries(context, "cupool-admin-token", self._admin_token):
            return ""
        return "the administrators' token is missing or wrong"

    def speak_for(self, context: Context, tenant: str) -> str:
        """May it ask on a tenant's account? The administrators' token speaks for every tenant."""
        if self._tenants is None:
            return ""
        if self._admin_token and carries(context, "cupool-admin-token", self._admin_token):
            return ""
        return self._tenants.fault(tenant, metadata(context, "cupool-tenant-token"))

    def is_tenant(self, context: Context, tenant: str) -> bool:
        """Whether it is proven to come from a tenant."""
        given = metadata(context, "cupool-tenant-token")
        return self._tenants is not None and self._tenants.proves(tenant, given)

    def join(self, context: Context, server: str, partitions: Collection[str]) -> str:
        """May it offer GPUs of these partitions as this server?"""
        if self._tenants is None:
            return ""
        given = metadata(context, "cupool-server-token")
        return self._tenants.server_fault(server, given, partitions)

    def look(self, context: Context, tenant: str) -> str:
        """May it see what a tenant sees, or ("") everything?"""
        if tenant or self._tenants is None:
            return self.speak_for(context, tenant)
        fault = self.administer(context)
        if fault:
            fault = f"tenants see only what is theirs (--tenant NAME, CUPOOL_TENANT), and {fault}"
        return fault
