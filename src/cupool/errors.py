"""Every error that cupool itself raises: what happened, whose fault it is, what to do next.

PoolError                      .remedy: commands to paste or settings to change
 |- ConfigurationError         yours: a setting is missing or wrong
 |- PoolUnreachable            the network's or the pool's: nobody answered at URL
 |- ProtocolMismatch           two versions cannot talk; names both and which to upgrade
 |- ProtocolViolation          the peer sent what the protocol does not allow
 |- AccessDenied               a token is missing or wrong
 |- NoDeviceAvailable          the pool is full, or the wait was too long
 |- LeaseLost                  you held a GPU and no longer do: worker, server or broker ended it
 |- SessionClosed              you closed it, or it belongs to another process
 |- OperationNotSupported      also NotImplementedError; names the operation
 |- PredictionMismatch         ours: the shim promised another shape or dtype than the device made
 '- RemoteError                the operation failed on the device with an error of no known class

Errors of the operations themselves (ValueError, LinAlgError, OutOfMemoryError, ...) keep
the classes that CuPy and NumPy give them; `proto.failures` lists which may cross the wire.
"""

from __future__ import annotations


class PoolError(Exception):
    """Base of all errors of cupool.

    Args:
        message: what happened, with the numbers.
        remedy: what to do next, one suggestion a line.
        reference: an id to look for in the server's log.
    """

    default_remedy = ""

    def __init__(self, message: str = "", *, remedy: str = "", reference: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy or self.default_remedy
        self.reference = reference

    def __str__(self) -> str:
        lines = [self.message]
        lines += [f"  {line}" for line in self.remedy.splitlines()]
        if self.reference:
            lines.append(f"[{type(self).__name__}, {self.reference}]")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.message, self.remedy, self.reference)


def _rebuild(cls: type[PoolError], message: str, remedy: str, reference: str) -> PoolError:
    return cls(message, remedy=remedy, reference=reference)


class ConfigurationError(PoolError):
    """A setting is missing or wrong."""

    default_remedy = "see every setting and where it came from:   cupool config"


class PoolUnreachable(PoolError):
    """Nobody answered at the pool's address."""


class ProtocolMismatch(PoolError):
    """Client and server speak no common protocol version."""


class ProtocolViolation(PoolError):
    """The peer sent something that the protocol does not allow."""

    default_remedy = "this is a fault of cupool or of the peer; please report it"


class AccessDenied(PoolError):
    """A token is missing or wrong."""


class NoDeviceAvailable(PoolError):
    """No device could be granted, now or within the time allowed."""


class LeaseLost(PoolError, RuntimeError):
    """The device was taken away: its worker, its server or the link to it died."""


class SessionClosed(PoolError, RuntimeError):
    """The session was closed on this side, or belongs to another process."""


class OperationNotSupported(PoolError, NotImplementedError, AttributeError):
    """CuPy has this name, cupool does not support it yet.

    Also an AttributeError, so that ``hasattr`` and ``getattr(..., default)`` feature tests
    of other libraries come out as "not there".
    """


class PredictionMismatch(PoolError, RuntimeError):
    """The shim promised another shape or dtype than the device produced."""

    default_remedy = "this is a fault of cupool, not of your script; please report the operation"


class RemoteError(PoolError, RuntimeError):
    """The operation failed on the device with an error whose class has no twin here."""
