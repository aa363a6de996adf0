"""Which of a pool's brokers to ask: one of them leads, the others name it.

Used by clients, servers and commands; needs the standard library only.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any, TypeVar

from cupool.addresses import split_host_port
from cupool.errors import ConfigurationError, PoolUnreachable

_T = TypeVar("_T")
_PAUSE_S = (0.1, 0.5)

TAKEOVER_S = 10.0
"""So long clients wait for a broker to lead: a takeover takes 7 s at most."""


class NotServed(Exception):
    """A broker did not serve a call.

    Args:
        error: what to tell the user if no other one does either.
        answered: it is there, and says that it does not lead (now).
        leader: the address that it says does, "" = none.
    """

    def __init__(self, error: PoolUnreachable, *, answered: bool, leader: str = "") -> None:
        super().__init__(str(error))
        self.error = error
        self.answered = answered
        self.leader = leader


class Brokers:
    """The addresses of a pool's brokers, and whose turn it is.

    Args:
        url: `grpc://a:7475,b:7475,c:7475`, or a single address.

    Raises:
        ConfigurationError: one of them is no address.
    """

    def __init__(self, url: str) -> None:
        self.urls = split_brokers(url)
        self._turn = 0

    @property
    def current(self) -> str:
        return self.urls[self._turn]

    def go_on(self, leader: str = "") -> None:
        """Turn to the leader, if it is one of those that the user named, or else to the next."""
        if leader in self.urls and leader != self.current:
            self._turn = self.urls.index(leader)
        else:
            self._turn = (self._turn + 1) % len(self.urls)


def split_brokers(url: str) -> list[str]:
    """Return the addresses in a list of brokers; all but the first may leave the scheme out.

    Raises:
        ConfigurationError: one of them is no address.
    """
    if url.startswith("unix-abstract:"):
        return [url]
    found: list[str] = []
    for part in (each.strip() for each in url.split(",")):
        each = part if "://" in part or not found else f"{found[0].partition('://')[0]}://{part}"
        split_host_port(each)
        found.append(each.rstrip("/"))
    if len({each.partition("://")[0] for each in found}) > 1:
        raise ConfigurationError(
            f"{url!r} names brokers with TLS and without", remedy="write grpcs:// for all or none"
        )
    if len(set(found)) != len(found):
        raise ConfigurationError(f"{url!r} names a broker twice", remedy="name each once")
    return found


def ask_leader(url: str, ask: Callable[[str], _T], within_s: float) -> _T:
    """Call `ask` with one address after the other until a broker serves it.

    Args:
        ask: raises `NotServed` if the broker at the address does not.
        within_s: how long to look for one that leads. If none of them is even there, the
            error comes after one round.

    Raises:
        PoolUnreachable: no broker serves the call.
    """
    brokers = Brokers(url)
    end = time.monotonic() + within_s
    silent = 0
    pause_s, most_s = _PAUSE_S
    while True:
        try:
            return ask(brokers.current)
        except NotServed as exc:
            silent = 0 if exc.answered else silent + 1
            if silent >= len(brokers.urls):
                raise _nobody(brokers, exc.error) from None
            if time.monotonic() >= end:
                raise exc.error from None
            named = exc.leader in brokers.urls and exc.leader != brokers.current
            brokers.go_on(exc.leader)
            if not named and exc.answered:
                time.sleep(pause_s * random.uniform(0.5, 1.0))
                pause_s = min(most_s, 2 * pause_s)


def _nobody(brokers: Brokers, last: PoolUnreachable) -> PoolUnreachable:
    if len(brokers.urls) == 1:
        return last
    text = f"none of the brokers {', '.join(brokers.urls)} answers; the last one: {last.message}"
    return PoolUnreachable(text, remedy=last.remedy)


def not_leading(exc: Any) -> tuple[bool, str]:
    """Return whether a gRPC error says that a broker does not lead, and who does."""
    metadata = dict(exc.trailing_metadata() or ())
    refused = metadata.get("cupool-reason") == "not_leader"
    return refused, str(metadata.get("cupool-leader", "")) if refused else ""
