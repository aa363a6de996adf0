"""Tenants and servers that are who they say: a file of their tokens, read again when it changes.

others = false          # tenants that are not named here are refused; true if left out
[tokens]
vision = "6f1d..."      # at least 16 characters
[servers]               # if there are any, servers have to prove that they may join
lab-a = "90ab..."
blue-a = { token = "c04e...", partition = "blue" }      # and only for this partition
"*" = "77c1..."         # of all that are not named
"""

from __future__ import annotations

import logging
import os
import stat
import tomllib
from collections.abc import Collection

import msgspec

from cupool.errors import ConfigurationError
from cupool.pool_server.broker.access import equal

log = logging.getLogger("cupool.broker")

_LEAST_CHARS = 16
_MOST_BYTES = 4 << 20


class _Server(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    token: str
    partition: str = ""


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tokens: dict[str, str] = {}
    servers: dict[str, str | _Server] = {}
    others: bool = True


class TenantTokens:
    """Says whether a call may speak for a tenant.

    Raises:
        ConfigurationError: there is no such file, or it is not as it should be.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._read: tuple[int, ...] = ()
        self._file = self._load()

    def fault(self, tenant: str, given: str) -> str:
        """Say why a call with this token may not speak for the tenant, "" if it may."""
        self._refresh()
        token = self._file.tokens.get(tenant)
        if token is None:
            return "" if self._file.others else f"this pool knows no tenant {tenant!r}"
        if not given:
            return f"tenant {tenant!r} is protected by a token, and none was given"
        return "" if equal(given, token) else f"the token is not that of tenant {tenant!r}"

    def proves(self, tenant: str, given: str) -> bool:
        """Whether the tenant has a token, and this is it."""
        self._refresh()
        token = self._file.tokens.get(tenant)
        return token is not None and equal(given, token)

    def server_fault(self, name: str, given: str, partitions: Collection[str] = ()) -> str:
        """Say why a server with this token may not join under a name, "" if it may.

        Args:
            partitions: that it names for its GPUs, "" for one with none.
        """
        self._refresh()
        servers = self._file.servers
        if not servers:
            return ""
        known = servers.get(name) or servers.get("*")
        if known is None:
            return f"this pool knows no server {name!r}"
        token, bound = (known, "") if isinstance(known, str) else (known.token, known.partition)
        if not given:
            return f"server {name!r} has to prove with a token that it may join, and gave none"
        if not equal(given, token):
            return f"the token is not that of server {name!r}"
        if bound and (others := {*partitions} - {bound}):
            named = ", ".join(sorted(each[:200] or "none" for each in others))
            return f"server {name!r} may join partition {bound!r} only, and names {named}"
        return ""

    def missing(self) -> str:
        """Say who need prove nothing, "" if everybody must."""
        faults = [] if self._file.servers else ["servers need not prove that they may join"]
        if self._file.others:
            faults.append("tenants that are not named need prove nothing")
        return " and ".join(faults)

    def _refresh(self) -> None:
        try:
            if self._version() != self._read:
                self._file = self._load()
                log.info("tenants' tokens were read again", extra={"path": self._path})
        except (OSError, ConfigurationError) as exc:
            if self._read:
                log.error("tenants' tokens stay as they were", extra={"why": str(exc)})
            self._read = ()

    def _version(self) -> tuple[int, ...]:
        found = os.stat(self._path)
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _load(self) -> _File:
        try:
            self._read = self._version()
            with open(self._path, "rb") as source:
                mode = os.fstat(source.fileno()).st_mode
                found = msgspec.convert(
                    tomllib.loads(source.read(_MOST_BYTES).decode()), type=_File
                )
        except (OSError, ValueError) as exc:
            why = exc.strerror if isinstance(exc, OSError) else str(exc)
            raise _unusable(f"the tenants' tokens in {self._path} cannot be read: {why}") from None
        servers = {n: s if isinstance(s, str) else s.token for n, s in found.servers.items()}
        for kind, table in (("tenant", found.tokens), ("server", servers)):
            for name, token in table.items():
                if len(token) < _LEAST_CHARS or not (token.isascii() and token.isprintable()):
                    raise _unusable(
                        f"the token of {kind} {name!r} in {self._path} must have at least "
                        f"{_LEAST_CHARS} characters, all of them printable ASCII"
                    )
        if mode & stat.S_IROTH:
            log.warning("others can read the tenants' tokens", extra={"path": self._path})
        return found


def _unusable(why: str) -> ConfigurationError:
    return ConfigurationError(
        why, remedy='name one in each line, after [tokens]:   vision = "TOKEN"'
    )
