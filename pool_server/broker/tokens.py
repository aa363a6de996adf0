"""Tenants that are who they say they are: a file of their tokens, read again when it changes.

others = false          # tenants that are not named here are refused; true if left out
[tokens]
vision = "6f1d..."      # at least 16 characters
"""

from __future__ import annotations

import logging
import os
import stat
import tomllib

import msgspec

from cupool.errors import ConfigurationError
from cupool.pool_server.broker.access import equal

log = logging.getLogger("cupool.broker")

_LEAST_CHARS = 16
_MOST_BYTES = 4 << 20


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tokens: dict[str, str] = {}
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
        for tenant, token in found.tokens.items():
            if len(token) < _LEAST_CHARS or not (token.isascii() and token.isprintable()):
                raise _unusable(
                    f"the token of tenant {tenant!r} in {self._path} must have at least "
                    f"{_LEAST_CHARS} characters, all of them printable ASCII"
                )
        if mode & stat.S_IROTH:
            log.warning("others can read the tenants' tokens", extra={"path": self._path})
        return found


def _unusable(why: str) -> ConfigurationError:
    return ConfigurationError(
        why, remedy='name one in each line, after [tokens]:   vision = "TOKEN"'
    )
