"""A subject: CuPy calls of a script under `cupool run`, on whatever device was granted."""

from __future__ import annotations

import time
from typing import Any

import cupy as cp
import numpy as np

from benchmarks.children import answer, timed
from cupool.client_shim import session

LENGTH = 1000
_host: dict[int, Any] = {}


def queued(count: int) -> float:
    """Return seconds for one `a + b` that nobody waits for."""
    a, b = _operands()
    start = time.perf_counter()
    for _ in range(count):
        a + b
    seconds = time.perf_counter() - start
    cp.cuda.Device().synchronize()
    return seconds / count


def awaited(count: int) -> list[float]:
    """Return seconds for each `(a + b).get()`."""
    a, b = _operands()
    return [timed(lambda: (a + b).get()) for _ in range(count)]


def chain(count: int) -> dict[str, float]:
    """Return seconds and waits of `count` dependent additions and a fetch."""
    x, b = _operands()
    x.get()
    waits = session.session().pipeline.counters.waits
    start = time.perf_counter()
    for _ in range(count):
        x = x + b
    result = x.get()
    seconds = time.perf_counter() - start
    _check(result[0], count + 1)
    return {"seconds": seconds, "waits": session.session().pipeline.counters.waits - waits}


def bulk(size_bytes: int) -> dict[str, float]:
    """Return seconds to move a host array up and down, into new memory and into old."""
    host = _host.get(size_bytes)
    if host is None:
        host = _host[size_bytes] = np.random.default_rng(0).random(size_bytes // 8)
    synchronize = cp.cuda.Device().synchronize
    back = np.zeros_like(host)
    start = time.perf_counter()
    array = cp.asarray(host)
    synchronize()
    up = time.perf_counter() - start
    start = time.perf_counter()
    array.set(host)
    synchronize()
    up_in_place = time.perf_counter() - start
    down_in_place = timed(lambda: array.get(out=back))
    _check(back[-1], host[-1])
    down = timed(array.get)
    return {"up": up, "up_in_place": up_in_place, "down": down, "down_in_place": down_in_place}


def _operands() -> tuple[Any, Any]:
    a, b = cp.ones(LENGTH, dtype=cp.float32), cp.ones(LENGTH, dtype=cp.float32)
    cp.cuda.Device().synchronize()
    return a, b


def _check(found: float, expected: float) -> None:
    if session.session().info.kind != "null" and found != expected:
        raise AssertionError(f"{found} came back, not {expected}")


if __name__ == "__main__":
    session.sessions()
    answer({"queued": queued, "awaited": awaited, "chain": chain, "bulk": bulk})
