"""Who calls: the secrets that a call carries, and where it comes from."""

from __future__ import annotations

import hmac
import ipaddress
from typing import Any, TypeAlias
from urllib.parse import unquote

import grpc

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


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
