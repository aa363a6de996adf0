"""Addresses of the control plane: `grpc://host:port`, with TLS `grpcs://host:port`, and
`unix-abstract:name`.

Where peers do not prove who they are, everything listens on loopback or local sockets only; other
addresses must be asked for by name.
"""

from __future__ import annotations

from cupool.errors import ConfigurationError

DEFAULT_PORT = 7475
DEFAULT_BROKER = f"grpc://127.0.0.1:{DEFAULT_PORT}"
_FORMS = f"write grpc://HOST:PORT, e.g. {DEFAULT_BROKER}, grpcs://HOST:PORT or unix-abstract:NAME"


def split_host_port(url: str) -> tuple[str, int]:
    """Return host and port of `grpc[s]://host[:port]`; an IPv6 host comes without its brackets.

    Raises:
        ConfigurationError: not such an address.
    """
    scheme, separator, rest = url.partition("://")
    rest = rest.rstrip("/")
    host, colon, port = rest.rpartition(":")
    if not colon or rest.endswith("]"):
        host, port = rest, str(DEFAULT_PORT)
    host = host.removeprefix("[").removesuffix("]")
    if scheme not in ("grpc", "grpcs") or not separator or not host or not port.isdecimal():
        raise ConfigurationError(f"{url!r} is no address of a broker", remedy=_FORMS)
    if int(port) > 65535 or "/" in host:
        raise ConfigurationError(f"{url!r} is no address of a broker", remedy=_FORMS)
    return host, int(port)


def grpc_target(url: str) -> str:
    """Return what gRPC calls the target of a broker's URL.

    Raises:
        ConfigurationError: the address has another form.
    """
    if url.startswith("unix-abstract:"):
        return url
    host, port = split_host_port(url)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_local(host: str) -> bool:
    """Whether only this machine can reach an address of this host name."""
    import ipaddress

    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_bind(host: str, missing: str, remedy: str, *, insecure: bool) -> str:
    """Decide whether to listen at a host; return a warning for people, or "".

    Args:
        missing: what keeps strangers from being kept out, "" = nothing is missing.
        remedy: what to set for that.

    Raises:
        ConfigurationError: other machines could reach it, something is missing, and nobody asked
            for that.
    """
    if is_local(host) or not missing:
        return ""
    if not insecure:
        raise ConfigurationError(
            f"{host} can be reached from other machines, and {missing}",
            remedy=f"{remedy}\nor listen on 127.0.0.1, or accept the risk with --insecure-bind",
        )
    return f"{host} can be reached from other machines, and {missing}"


def machine() -> str:
    """Return what tells this machine (and network namespace) from others, "" if unknown.

    Two processes with the same answer can reach each other's local sockets.
    """
    import os

    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip()
        return f"{boot}/{os.readlink('/proc/self/ns/net')}"
    except OSError:
        return ""


def embedded_address(job_token: str) -> str:
    """Return where the pool of one job listens: an abstract socket, nothing on disk."""
    import hashlib

    return f"unix-abstract:cupool-{hashlib.sha256(job_token.encode()).hexdigest()[:32]}"
