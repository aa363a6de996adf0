"""Places in line, which outlive the broker: who waited before a restart goes on where he was.

Each request that waits has a place, written down with its wish when it begins to wait. A broker
that takes over knows the places but has no link to anybody. A job that asks again for the same,
with its token, gets its place and the time that it has waited; for a moment the line waits for
those who may still come back, so that nobody overtakes them by being quicker.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

from cupool.pool_server.broker import changes as c
from cupool.pool_server.broker.books import Books
from cupool.pool_server.broker.model import Limits, Request, Wish
from cupool.pool_server.broker.queue import Queue
from cupool.pool_server.broker.tenants import Tenants


class Places:
    """Who is in line, as the books have it.

    Args:
        now: the time of the broker's start.

    Attributes:
        absent: requests of the earlier broker that have not come back.
        held_until: so long the line waits for them.
        forgotten_at: then their places are given up.
    """

    def __init__(self, books: Books, tenants: Tenants, limits: Limits, now: float) -> None:
        self._books = books
        self._numbers = itertools.count(1 + max(books.waiting, default=0))
        self.absent = Queue(tenants, limits.aging_s)
        for place, wait in sorted(books.waiting.items()):
            since = min(wait.since, now)
            self.absent.add(Request(-place, wait.wish, since, now, place=place))
        self.held_until = now + limits.return_s
        self.forgotten_at = now + limits.remember_lost_s

    def take(self, request: Request) -> None:
        """Give a new request its place: the one that it had, or one behind all others."""
        wish = _same(request.wish)
        if wish.job_id and wish.job_token_hash:
            for before in self.absent.of_job(wish.job_id):
                if _same(before.wish) == wish:
                    self.absent.remove(before)
                    request.place, request.since = before.place, before.since
                    return
        request.place = next(self._numbers)

    def record(self, request: Request) -> None:
        """It waits."""
        if request.place not in self._books.waiting:
            change = c.RequestWaiting(request.place, request.since, request.wish)
            self._books.apply(change)

    def strike(self, request: Request, why: str) -> None:
        """It waits no more."""
        if request.place in self._books.waiting:
            self._books.apply(c.RequestOver(request.place, why))

    def overtakes(self, request: Request, now: float) -> bool:
        """Whether to serve a request would be unfair to one that may still come back."""
        if now >= self.held_until:
            return False
        first = next(self.absent.in_order(now), None)
        return first is not None and self.absent.before(first, request, now)

    def forget(self) -> None:
        """Give up the places of those who have not come back."""
        for request in list(self.absent):
            self.absent.remove(request)
            self.strike(request, "did not come back after a restart of the broker")


def _same(wish: Wish) -> Wish:
    """Return what must be equal in both requests; the rest is of the connection, or passes."""
    return replace(wish, wait_s=0.0, host="", carriers=(), client="")
