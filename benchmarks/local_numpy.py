"""A subject: the same calls on NumPy in this process; nothing travels."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.children import answer, timed

LENGTH = 1000


def queued(count: int) -> float:
    """Return seconds for one `a + b`."""
    a = b = np.ones(LENGTH, np.float32)
    start = time.perf_counter()
    for _ in range(count):
        a + b
    return (time.perf_counter() - start) / count


def awaited(count: int) -> list[float]:
    """Return seconds for each `(a + b).copy()`: what a host result costs here."""
    a = b = np.ones(LENGTH, np.float32)
    return [timed(lambda: (a + b).copy()) for _ in range(count)]


def chain(count: int) -> dict[str, float]:
    """Return seconds of dependent additions."""
    x = b = np.ones(LENGTH, np.float32)
    start = time.perf_counter()
    for _ in range(count):
        x = x + b
    return {"seconds": time.perf_counter() - start, "waits": 0}


def bulk(size_bytes: int) -> dict[str, float]:
    """Return seconds of one memory copy, into new memory and into old."""
    host = np.random.default_rng(0).random(size_bytes // 8)
    old = np.zeros_like(host)
    into_old = timed(lambda: np.copyto(old, host))
    into_new = timed(host.copy)
    return {"up": into_new, "down": into_new, "up_in_place": into_old, "down_in_place": into_old}


if __name__ == "__main__":
    answer({"queued": queued, "awaited": awaited, "chain": chain, "bulk": bulk})
