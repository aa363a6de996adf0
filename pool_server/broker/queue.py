"""The line of waiting requests, in the order in which they are served.

Order: urgency (its priority, and one level for each `aging_s` that it has waited), then those
within their quota before those who would borrow, then the tenant with the least weighted share,
then who came first. Within a tenant and priority it is first come, first served.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import takewhile

from cupool.pool_server.broker.model import Request
from cupool.pool_server.broker.tenants import Tenants


class Queue:
    """Requests by tenant and priority.

    Args:
        aging_s: a request that has waited so long counts as one priority higher.
    """

    def __init__(self, tenants: Tenants, aging_s: float) -> None:
        self._tenants = tenants
        self._aging_s = aging_s
        self._requests: dict[int, Request] = {}
        self._buckets: dict[tuple[int, str], dict[int, Request]] = {}
        self._jobs: dict[str, dict[int, Request]] = {}

    def __len__(self) -> int:
        return len(self._requests)

    def __contains__(self, request: object) -> bool:
        return isinstance(request, Request) and request.request_id in self._requests

    def __iter__(self) -> Iterator[Request]:
        """In the order of arrival."""
        return iter(sorted(self._requests.values(), key=lambda request: request.place))

    def get(self, request_id: int) -> Request | None:
        return self._requests.get(request_id)

    def of_job(self, job_id: str) -> list[Request]:
        """Return the waiting requests of a job."""
        return list(self._jobs.get(job_id, {}).values()) if job_id else []

    @property
    def jobs(self) -> list[str]:
        return list(self._jobs)

    def add(self, request: Request) -> None:
        """Put a request in its place, which it may have had before."""
        wish = request.wish
        self._requests[request.request_id] = request
        key = (wish.priority, wish.tenant)
        bucket = self._buckets.setdefault(key, {})
        behind = list(takewhile(lambda place: place > request.place, reversed(bucket)))
        bucket[request.place] = request
        for each in reversed(behind):  # it came back: those who came later go behind it
            bucket[each] = bucket.pop(each)
        if wish.job_id:
            self._jobs.setdefault(wish.job_id, {})[request.request_id] = request

    def remove(self, request: Request) -> None:
        """Take a request out; it is no error if it is not there."""
        wish = request.wish
        if self._requests.pop(request.request_id, None) is None:
            return
        key = (wish.priority, wish.tenant)
        bucket = self._buckets[key]
        del bucket[request.place]
        if not bucket:
            del self._buckets[key]
        if wish.job_id:
            job = self._jobs[wish.job_id]
            del job[request.request_id]
            if not job:
                del self._jobs[wish.job_id]

    def in_order(
        self, now: float, skipped: set[tuple[int, str]] | None = None
    ) -> Iterator[Request]:
        """Yield requests as they are to be served; whole buckets that are `skipped` are left out.

        The line must not change meanwhile; a bucket may be added to `skipped`.
        """
        heap: list[tuple[tuple[float, ...], tuple[int, str], Request, Iterator[Request]]] = []
        shares = {tenant: self._tenants.share(tenant) for _, tenant in self._buckets}
        for key, bucket in self._buckets.items():
            waiting = iter(bucket.values())
            first = next(waiting)
            heap.append((self._rank(first, shares, now), key, first, waiting))
        heapq.heapify(heap)
        while heap:
            _, key, request, waiting = heap[0]
            if skipped is not None and key in skipped:
                heapq.heappop(heap)
                continue
            yield request
            following = next(waiting, None)
            if following is None:
                heapq.heappop(heap)
            else:
                rank = self._rank(following, shares, now)
                heapq.heapreplace(heap, (rank, key, following, waiting))

    def _rank(self, request: Request, shares: dict[str, float], now: float) -> tuple[float, ...]:
        wish = request.wish
        return (
            -self.level(request, now),
            self._tenants.would_borrow(wish),
            shares[wish.tenant],
            request.place,
        )

    def level(self, request: Request, now: float) -> int:
        """Return how urgent a request is by now."""
        return request.wish.priority + int((now - request.since) / self._aging_s)

    def before(self, one: Request, other: Request, now: float) -> bool:
        """Whether one request comes before another."""
        shares = {each: self._tenants.share(each) for each in (one.wish.tenant, other.wish.tenant)}
        return self._rank(one, shares, now) < self._rank(other, shares, now)
