"""Copies from one device to another: server to server where the two can reach each other.

The client makes a token and queues two records, `offer` at the source and `pull` at the target:
nothing waits, and the bytes do not come here. Whether the target's server reaches the source's
is asked once for each pair. If it does not, the array goes by way of this process.
"""

from __future__ import annotations

import secrets
import threading
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from cupool.client_shim import session as _session
from cupool.errors import PoolError
from cupool.proto import messages as m
from cupool.proto import versions
from cupool.proto.values import LIST
from cupool.transport.channel import connect

if TYPE_CHECKING:
    from cupool.client_shim.handles import Handle
    from cupool.client_shim.placement import OutLayout
    from cupool.client_shim.session import DeviceSession

SEE_OFF_S = 30.0
"""How long a process that ends waits for others to pull what it has given them."""
_CONNECT_S, _LOOK_S = 2.0, 0.02
DIRECT = "from server to server"
BY_CLIENT = "by way of this process"


class Address(NamedTuple):
    """Where a session's offers can be pulled."""

    urls: tuple[str, ...]
    secret: str


class _Ways:
    """What is known of a session as a source."""

    def __init__(self) -> None:
        self.address: Address | None = None
        self.reached_at: WeakKeyDictionary[DeviceSession, str] = WeakKeyDictionary()
        self.counts: dict[str, int] = {}
        self.offered = 0  # tokens


_ways: WeakKeyDictionary[DeviceSession, _Ways] = WeakKeyDictionary()
_lock = threading.Lock()


def _of(source: DeviceSession) -> _Ways:
    with _lock:
        return _ways.setdefault(source, _Ways())


def counts(source: DeviceSession) -> dict[str, int]:
    """Return how many arrays left a session's device for another, by the way that they took."""
    return dict(_of(source).counts)


def address_of(source: DeviceSession) -> Address:
    """Return where a session's offers can be pulled; the first time this waits."""
    ways = _of(source)
    if ways.address is None:
        urls, secret = source.ask("exchange", (), quiet=True)
        ways.address = Address(tuple(urls), secret)
    return ways.address


def reach(address: Address, target: DeviceSession) -> str:
    """Return the address at which a target's server reaches a giver, "" for none; this waits."""
    if not address.urls:
        return ""
    position = target.ask("reach", ((LIST, list(address.urls)), address.secret), quiet=True)
    return address.urls[position] if 0 <= position < len(address.urls) else ""


def offer(handle: Handle, tokens: list[str]) -> None:
    """Queue and send an offer: a copy of the array as it is then, for one pull by each token."""
    source = handle.session
    source.check()
    _refuse_in_capture(source, "offer")
    source.submit(("offer", (), (handle.ref, (LIST, tokens)), None))
    _of(source).offered += len(tokens)
    source.pipeline.flush()  # the other side waits for it, and nobody may look here for long


def see_off(source: DeviceSession) -> None:
    """Wait until others have pulled what a session has offered, but not for long.

    Asks the thread that gives, since the session's own may wait for somebody in its turn.
    """
    ways = _of(source)
    if ways.address is None or not ways.offered:
        return
    until = monotonic() + SEE_OFF_S
    hello = m.Hello(versions.MINIMUM, versions.CURRENT, ways.address.secret, "")
    pause = threading.Event()
    with suppress(PoolError, TimeoutError):
        source.pipeline.flush()
        channel = connect(ways.address.urls[0], _CONNECT_S)
        try:
            while monotonic() < until:
                channel.send([m.encode(hello)], _CONNECT_S)
                frames = channel.receive(_CONNECT_S)
                answer = None if frames is None else m.decode(frames)
                if not isinstance(answer, m.Pong) or answer.token >= ways.offered:
                    return
                pause.wait(_LOOK_S)
        finally:
            channel.close(0)


def pull(
    url: str,
    secret: str,
    token: str,
    layout: OutLayout,
    target: DeviceSession,
    giver: str = "another device",
) -> Handle:
    """Queue a pull of what another session offers; return the new array at once.

    Args:
        giver: who offers it, for the message if it fails.
    """
    _refuse_in_capture(target, "pull")
    return target.emit("pull", (url, secret, token, giver), None, [layout])[0]


def _refuse_in_capture(session: DeviceSession, name: str) -> None:
    """No part of a graph can be what another session gives or waits for, as with a read."""
    if _session.gate is not None:
        _session.gate(session, name, True)


def copy(handle: Handle, layout: OutLayout, target: DeviceSession) -> Handle:
    """Copy an array to another device.

    Args:
        layout: shape and dtype of the array; order "F" if it is F contiguous and not C, else "C".

    Returns:
        the handle of the copy.
    """
    source = handle.session
    source.check()
    ways = _of(source)
    _refuse_in_capture(target, "pull")  # before anything is offered
    url = ways.reached_at.get(target)
    if url is None:
        url = ways.reached_at[target] = reach(address_of(source), target)
    way = DIRECT if url else BY_CLIENT
    ways.counts[way] = ways.counts.get(way, 0) + 1
    if not url:
        host = np.asarray(source.fetch(handle))
        return target.upload("upload", (), host, layout)[0]
    token = secrets.token_hex(16)
    offer(handle, [token])
    giver = f"device {source.ordinal}"
    return pull(url, address_of(source).secret, token, layout, target, giver)
