"""`cupy.fft.config.get_plan_cache()`: which cuFFT plans are kept, and how many may be.

The device keeps its plans by itself. Which ones follows from the transforms, so it is known here:
the least recently used is given up where there are too many, or they take too much memory
(https://docs.cupy.dev/en/stable/user_guide/fft.html#fft-plan-cache). Limits, and that all are
forgotten, are told to the device.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

from cupool.client_shim import session as _session

__all__ = ["PlanCache", "remember", "show_all", "this_devices"]

_PLANS = 16
_UNLIMITED = -1


class _Node:
    """One plan of a cache.

    Attributes:
        memsize: bytes of its work area on this device.
        gpus: the devices that share it, () = it is of one device.
    """

    def __init__(self, key: Hashable, plan: Any) -> None:
        self.key = key
        self.plan = plan
        self.memsize = int(plan.work_area.mem.size)
        self.gpus = tuple(plan.gpus or ())

    def __repr__(self) -> str:
        return f"{type(self.plan).__name__} {self.key}: {self.memsize} bytes"


class PlanCache:
    """The plans of one device, as one thread uses it; iterates over them, the latest used first.

    Args:
        size: how many plans are kept, -1 = any number, 0 = none.
        memsize: how many bytes their work areas may take, -1 = any number.
        dev: the device, -1 = the current one.
    """

    def __init__(self, size: int = _PLANS, memsize: int = _UNLIMITED, dev: int = -1) -> None:
        self._size, self._memsize = _limit(size), _limit(memsize)
        self._device = _session.current.device if dev < 0 else dev
        self._nodes: OrderedDict[Hashable, _Node] = OrderedDict()
        self._used_bytes = 0

    def __getitem__(self, key: Hashable) -> Any:
        """Return a plan, which is the latest used one then.

        Raises:
            KeyError: it is not kept.
        """
        node = self._nodes[key]
        self._nodes.move_to_end(key)
        return node.plan

    def __setitem__(self, key: Hashable, plan: Any) -> None:
        """Keep a plan.

        Raises:
            RuntimeError: it alone takes more memory than all of them may.
        """
        if not self._size:
            return
        node = self._fitting(key, plan)
        if key in self._nodes:
            del self[key]
        self._nodes[key] = node
        self._used_bytes += node.memsize
        self._evict()

    def __delitem__(self, key: Hashable) -> None:
        """Forget a plan; one that several devices share is forgotten by all of them."""
        node = self._nodes.pop(key)
        self._used_bytes -= node.memsize
        for device in node.gpus:
            other = _caches.by_device.get(device)
            if other is not None and key in other._nodes:
                del other[key]

    def _fitting(self, key: Hashable, plan: Any) -> _Node:
        node = _Node(key, plan)
        if self._memsize != _UNLIMITED and node.memsize > self._memsize:
            raise RuntimeError(
                f"cannot insert the plan -- plan memsize is too large for device {self._device}: "
                f"it takes {node.memsize} bytes, and {self._memsize} is the limit of all plans "
                "(cupy.fft.config.get_plan_cache().set_memsize)"
            )
        return node

    def __iter__(self) -> Iterator[tuple[Hashable, _Node]]:
        order = list(reversed(self._nodes))
        at = 0
        while at < len(order):
            key = order[at]
            yield key, self._nodes[key]
            if key not in self._nodes:
                return
            order = list(reversed(self._nodes))  # as it is by now: who looks a plan up moves it
            at = order.index(key) + 1

    def __repr__(self) -> str:
        size, memsize = _shown(self._size), _shown(self._memsize)
        lines = [
            f"cuFFT plan cache of device {self._device}, the latest used plan first",
            f"plans:  {len(self._nodes)} / {size} (counts)",
            f"memory: {self._used_bytes} / {memsize} (bytes)",
            *(str(node) for _, node in self),
        ]
        return "\n".join(lines)

    def get(self, key: Hashable, default: Any = None) -> Any:
        """Return a plan, which is the latest used one then, or the default."""
        return self[key] if key in self._nodes else default

    def get_size(self) -> int:
        """Return how many plans may be kept."""
        return self._size

    def set_size(self, size: int) -> None:
        """Set how many plans may be kept; -1 is without a limit, 0 keeps none."""
        self._size = _limit(size)
        self._evict()
        self._tell()

    def get_memsize(self) -> int:
        """Return how many bytes of work areas may be kept."""
        return self._memsize

    def set_memsize(self, memsize: int) -> None:
        """Set how many bytes of work areas may be kept; -1 is without a limit."""
        self._memsize = _limit(memsize)
        self._evict()
        self._tell()

    def get_curr_size(self) -> int:
        """Return how many plans are kept."""
        return len(self._nodes)

    def get_curr_memsize(self) -> int:
        """Return the bytes of their work areas."""
        return self._used_bytes

    def clear(self) -> None:
        """Forget all plans."""
        for key in list(self._nodes):
            if key in self._nodes:
                del self[key]
        self._tell(clear=True)

    def show_info(self) -> None:
        """Print the limits and the plans."""
        print(self)

    def _evict(self) -> None:
        nodes = self._nodes
        while nodes and (0 <= self._size < len(nodes) or 0 <= self._memsize < self._used_bytes):
            del self[next(iter(nodes))]

    def _tell(self, *, clear: bool = False) -> None:
        limits = (self._size, self._memsize, clear)
        _session.sessions()[self._device].submit(("plan_cache", (), limits, None))


def _limit(value: int) -> int:
    number = int(value)
    if number < _UNLIMITED:
        raise ValueError(f"a limit is -1 (none) or more, not {value!r}")
    return number


def _shown(limit: int) -> str:
    return "(unlimited)" if limit == _UNLIMITED else str(limit)


class _Caches(threading.local):
    def __init__(self) -> None:
        self.by_device: dict[int, PlanCache] = {}


_caches = _Caches()


def _forget() -> None:
    global _caches
    _caches = _Caches()


_session.on_reset(_forget)


def this_devices() -> PlanCache:
    """Return the current device's cache of this thread."""
    return _of(_session.current.device)


def _of(device: int) -> PlanCache:
    found = _caches.by_device.get(device)
    if found is None:
        found = _caches.by_device[device] = PlanCache(dev=device)
    return found


def remember(key: Hashable, make: Callable[[], Any], gpus: Sequence[int] = ()) -> None:
    """A transform uses a plan: make it the latest used one, or make it.

    Args:
        gpus: the devices that share it, none = the current one has it.

    Raises:
        RuntimeError: it takes more memory than all plans of a device may.
    """
    caches = [_of(device) for device in gpus] or [this_devices()]
    known = [cache.get(key) is not None for cache in caches]
    if all(known):
        return
    if any(cache.get_size() for cache in caches):
        plan = make()
        for cache in caches:
            cache._fitting(key, plan)
        for cache in caches:  # first, as who forgets a plan makes all others forget it
            if key in cache._nodes:
                del cache[key]
        for cache in caches:
            cache[key] = plan


def show_all() -> None:
    """Print this thread's caches of all devices."""
    for device in range(len(_session.sessions())):
        cache = _caches.by_device.get(device)
        print(f"cuFFT plan cache of device {device}: uninitialized" if cache is None else cache)
