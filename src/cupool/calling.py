"""gRPC channels to brokers: plain for `grpc://` and local sockets, TLS for `grpcs://`.

The server must prove that it is the host of its address (RFC 6125) by a certificate that the file
`ca` vouches for, or without one what gRPC trusts by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cupool.addresses import grpc_target
from cupool.errors import ConfigurationError

Options = Sequence[tuple[str, Any]]

_NO_THREAD = ("SingleThreadedUnaryStream", 1)
"""`grpc.experimental.ChannelOptions.SingleThreadedUnaryStream`: who reads a stream of answers does
so in his own thread. Otherwise gRPC starts one, a daemon; if the interpreter ends while it holds
the call's lock, and an exception still knows the call, the call's `__del__` waits for ever."""


def channel(url: str, ca: str, options: Options = ()) -> Any:
    """Open a channel to a broker.

    Raises:
        ConfigurationError: that is no address, or the file cannot be read.
    """
    import grpc

    options = (*options, _NO_THREAD)
    if not is_secure(url):
        return grpc.insecure_channel(grpc_target(url), options=options)
    return grpc.secure_channel(grpc_target(url), _credentials(ca), options=options)


def aio_channel(url: str, ca: str, options: Options = ()) -> Any:
    """Open a channel of asyncio to a broker; as `channel` otherwise."""
    import grpc.aio

    if not is_secure(url):
        return grpc.aio.insecure_channel(grpc_target(url), options=options)
    return grpc.aio.secure_channel(grpc_target(url), _credentials(ca), options=options)


def is_secure(url: str) -> bool:
    return url.startswith("grpcs://")


def tls_remedy(url: str, details: str) -> str:
    """Return what to do about a call that failed with these words of gRPC, "" if TLS is not why."""
    if "CERTIFICATE_VERIFY_FAILED" in details or "Hostname Verification" in details:
        return (
            "its certificate has expired, is of another host name, or is not vouched for:\n"
            "name the file of the authority that signed it:   export CUPOOL_CA=FILE"
        )
    if is_secure(url) and "WRONG_VERSION_NUMBER" in details:
        return f"it does not speak TLS:   CUPOOL_POOL={url.replace('grpcs://', 'grpc://')}"
    if not is_secure(url) and url.startswith("grpc://") and "Socket closed" in details:
        return f"if it speaks TLS:   CUPOOL_POOL={url.replace('grpc://', 'grpcs://')}"
    return ""


def read_pem(path: str, what: str, setting: str) -> bytes:
    """Read a file of certificates or of a key.

    Raises:
        ConfigurationError: it cannot be read, or holds something else.
    """
    try:
        with open(path, "rb") as file:
            found = file.read(1 << 20)
    except OSError as exc:
        raise ConfigurationError(
            f"{what} in {path} cannot be read: {exc.strerror}", remedy=f"see {setting}"
        ) from None
    if b"-----BEGIN " not in found:
        raise ConfigurationError(f"{path} holds nothing in PEM format", remedy=f"see {setting}")
    return found


def _credentials(ca: str) -> Any:
    import grpc

    roots = read_pem(ca, "the trusted certificates", "CUPOOL_CA") if ca else None
    return grpc.ssl_channel_credentials(roots)
