"""The one interface of all carriers, and the registry that finds a carrier by URL scheme."""

from __future__ import annotations

import importlib
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TypeAlias

from cupool.addresses import is_local
from cupool.errors import ConfigurationError, PoolUnreachable
from cupool.proto.messages import Frame

Frames: TypeAlias = list[Frame]

_RETRY_FIRST_S = 0.01
_RETRY_LAST_S = 0.2


class ChannelClosed(ConnectionError):
    """The peer is gone, or this end was closed; the text says which and how it was noticed."""


class Channel(ABC):
    """An ordered, reliable, bounded way to one peer; what is sent and received are whole messages.

    One thread may send while another receives. A message is a list of frames; frame boundaries
    are kept.
    """

    url: str
    """Address of the peer, for messages to people."""

    @abstractmethod
    def send(self, frames: Sequence[Frame], timeout_s: float | None = None) -> None:
        """Send one message.

        Frames may be reused by the caller when this returns (frames below the carrier's copy
        threshold are copied; for larger ones the call waits until the carrier is done with them).
        Blocks while the peer takes nothing and the carrier's bounded buffer is full.

        Raises:
            TimeoutError: nothing was sent within the time.
            ChannelClosed: the peer is gone.
        """

    @abstractmethod
    def receive(self, timeout_s: float | None = None) -> Frames | None:
        """Return the next message, or None if none came within the time.

        `timeout_s=0` never blocks; None waits without end, yet returns on close.

        Raises:
            ChannelClosed: the peer is gone and everything that it sent was received.
            ProtocolViolation: the peer sent a frame over the limit.
        """

    @property
    @abstractmethod
    def gone(self) -> bool:
        """Whether the peer has ended, as far as is known; it may have left messages unread."""

    @abstractmethod
    def close(self, linger_s: float = 1.0) -> None:
        """Close this end; wait up to `linger_s` for what was sent to leave. May be called twice."""

    @abstractmethod
    def abandon(self) -> None:
        """Forget the channel in a forked child, without touching what the parent shares."""


class Listener(ABC):
    """Accepts one peer after another, each as a `Channel`."""

    url: str
    """Where peers connect to: with the port or name that was really bound."""

    @abstractmethod
    def accept(self, timeout_s: float | None = None) -> Channel | None:
        """Return the next peer's channel, or None if none came within the time.

        Raises:
            ChannelClosed: the listener was closed.
        """

    @abstractmethod
    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until a peer can be accepted, or a channel has a message or has ended.

        For a loop of one thread: ``wait``, then ``accept(0)`` and each channel's ``receive(0)``
        until they return None. False if nothing happened within the time.
        """

    @abstractmethod
    def close(self) -> None:
        """Stop accepting, close every accepted channel, remove socket files."""

    @abstractmethod
    def abandon(self) -> None:
        """Forget the listener in a forked child, without touching what the parent shares."""


CARRIERS: dict[str, str] = {
    "inproc": "cupool.transport.inproc",
    "zmq+tcp": "cupool.transport.zeromq",
    "zmq+curve": "cupool.transport.zeromq",
    "unix": "cupool.transport.unix",
    "zmq+ipc": "cupool.transport.zeromq",
    "grpc": "cupool.transport.grpc_stream",
}
"""URL scheme -> module with `connect(url, timeout_s)` and `listen(url)`."""

LOCAL_CARRIERS = frozenset({"unix", "zmq+ipc"})
"""Those that reach only the same machine."""
ENCRYPTED = {"zmq+tcp": "zmq+curve"}
"""Carriers between machines, and what they are called encrypted."""


def is_private(url: str) -> bool:
    """Whether nobody on the network can read what goes to a listener's URL."""
    scheme, _, rest = url.partition("://")
    host = rest.rpartition(":")[0].removeprefix("[").removesuffix("]")
    return (
        scheme in LOCAL_CARRIERS
        or scheme in ENCRYPTED.values()
        or rest.startswith("unix-abstract:")
        or is_local(host)
    )


def _carrier(url: str) -> object:
    scheme, separator, _ = url.partition("://")
    if not separator or scheme not in CARRIERS:
        known = ", ".join(f"{name}://" for name in CARRIERS)
        raise ConfigurationError(f"no carrier for address {url!r}; known are {known}")
    return importlib.import_module(CARRIERS[scheme])


def unreachable(url: str, timeout_s: float, detail: str = "") -> PoolUnreachable:
    """Return the error for an address where nobody answered in time."""
    return PoolUnreachable(
        f"nobody answered at {url} within {timeout_s:.3g} s {detail}".rstrip(),
        remedy="is the pool running there, and is the address right?",
    )


def retry_until(deadline: float, attempt: Callable[[], Channel | None]) -> Channel | None:
    """Try to connect, again and again with growing pauses; None when the time is over."""
    pause = _RETRY_FIRST_S
    while True:
        channel = attempt()
        if channel is not None:
            return channel
        left = deadline - time.monotonic()
        if left <= 0:
            return None
        time.sleep(min(pause, left))
        pause = min(2 * pause, _RETRY_LAST_S)


def connect(url: str, timeout_s: float = 10.0) -> Channel:
    """Open a channel to a listener's URL.

    Raises:
        ConfigurationError: no such carrier, or a malformed address.
        PoolUnreachable: nobody answered within the time.
    """
    channel = _carrier(url).connect(url, timeout_s)  # type: ignore[attr-defined]
    assert isinstance(channel, Channel)
    return channel


def listen(url: str) -> Listener:
    """Listen at a URL; port 0 and an empty ipc name let the system choose.

    Raises:
        ConfigurationError: no such carrier, a malformed address, or it is taken.
    """
    listener = _carrier(url).listen(url)  # type: ignore[attr-defined]
    assert isinstance(listener, Listener)
    return listener
