"""Streams of the mock as ordered queues, for programs that forgot to order them.

An operation may begin once what CUDA puts before it is done: what came before in its stream,
events that the stream waits for, and the legacy default stream's rule (the null stream waits
for all blocking streams, and they for it). What is left unordered runs in an order drawn by a
seed: a stream is preferred for a while, then another, since a missing wait shows when one stream
runs far ahead. The same program with the same seed takes the same order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from random import Random

NULL = 0
MAX_QUEUED = 2048
"""Operations that wait at most; the oldest run when there are more."""
_CHANGE = 0.125
"""How likely another stream is preferred after an operation."""


class Node:
    """An operation that was issued and not yet run."""

    __slots__ = ("done", "run", "waits")

    def __init__(self, run: Callable[[], None], waits: list[Node]) -> None:
        self.run = run
        self.waits = waits
        self.done = False

    @property
    def ready(self) -> bool:
        return all(node.done for node in self.waits)


class RaceSchedule:
    """Queues of one device.

    Args:
        seed: draws the order.
    """

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._queues: dict[Hashable, deque[Node]] = {}
        self._last: dict[Hashable, Node] = {}
        self._joins: dict[Hashable, list[Node]] = {}
        self._blocking: set[Hashable] = set()
        self._ranks: dict[Hashable, float] = {}
        self._queued = 0

    def add(self, stream: Hashable, run: Callable[[], None], blocking: bool = True) -> Node:
        """Queue an operation of a stream (0 is the null stream).

        Args:
            run: does it; must not raise.
            blocking: whether the stream keeps to the null stream's rule.
        """
        waits = self._joins.pop(stream, [])
        if stream in self._last:
            waits.append(self._last[stream])
        if stream == NULL:
            waits += [self._last[other] for other in self._blocking if other in self._last]
        elif blocking:
            self._blocking.add(stream)
            if NULL in self._last:
                waits.append(self._last[NULL])
        node = Node(run, [wait for wait in waits if not wait.done])
        self._last[stream] = node
        self._queues.setdefault(stream, deque()).append(node)
        self._queued += 1
        while self._queued > MAX_QUEUED:
            self._step()
        return node

    def busy(self, stream: Hashable) -> bool:
        """Is there work of a stream, or for the null stream of one that it waits for?"""
        streams = [stream, *self._blocking] if stream == NULL else [stream]
        return any(one in self._last for one in streams)

    def join(self, stream: Hashable, node: Node | None) -> None:
        """Let what comes later in a stream wait for an operation of another."""
        if node is not None and not node.done:
            self._joins.setdefault(stream, []).append(node)

    def finish(self, node: Node | None) -> None:
        """Run until an operation is done, and whatever the seed puts before it."""
        while node is not None and not node.done:
            self._step()

    def drain(self, stream: Hashable) -> None:
        """Run until a stream's work is done; the null stream's includes what it waits for."""
        if stream == NULL:
            for other in [s for s in self._blocking if s in self._last]:
                self.finish(self._last[other])
        self.finish(self._last.get(stream))
        for node in self._joins.get(stream, []):
            self.finish(node)

    def drain_all(self) -> None:
        """Run everything."""
        while self._queued:
            self._step()

    def _step(self) -> None:
        heads = [(s, q[0]) for s, q in self._queues.items() if q and q[0].ready]
        if self._random.random() < _CHANGE:
            self._ranks.clear()
        for stream, _ in heads:
            if stream not in self._ranks:
                self._ranks[stream] = self._random.random()
        stream, node = max(heads, key=lambda head: self._ranks[head[0]])
        queue = self._queues[stream]
        queue.popleft()
        if not queue:
            del self._queues[stream]
        self._queued -= 1
        node.done = True
        node.waits = []
        node.run()
        if self._last.get(stream) is node:
            del self._last[stream]
            self._blocking.discard(stream)
