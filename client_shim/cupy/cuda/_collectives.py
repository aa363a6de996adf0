"""Collective operations between devices, of one process or of many: offers and pulls.

Each member of a group knows where the others' sessions give arrays. The n-th array from one
member to another has the n-th token of that pair on both sides, so a transfer takes one record
at either side and no word between the processes. Sending never waits; receiving makes the
receiver's device wait, not its program. Sums are taken in the order of the ranks, so every
member gets the same bits.
"""

from __future__ import annotations

import itertools
from collections import Counter, deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from cupool.client_shim import exchange
from cupool.client_shim import session as _session
from cupool.client_shim import shadow as _shadow
from cupool.client_shim.cupy._core import core
from cupool.client_shim.exchange import Address

ndarray = core.ndarray
PAIRS, ALL = "pair", "all"
"""Lanes: what goes from one to another, and what all do together, are counted apart; within a
group of calls the two may come in another order."""


class Group:
    """One member's view of a group.

    Args:
        name: of the group, the same for all members and no other group's.
        rank: this member's number.
        addresses: where each member's session gives arrays, by rank.
        session: this member's.

    Raises:
        RuntimeError: this member's server cannot reach another's.
    """

    def __init__(
        self, name: str, rank: int, addresses: Sequence[Address], session: _session.DeviceSession
    ) -> None:
        self.name = name
        self.rank = rank
        self.size = len(addresses)
        self.session = session
        self._counts: Counter[tuple[str, int, int]] = Counter()  # of transfers: lane, from, to
        self._to_self: deque[ndarray] = deque()
        self._addresses = addresses
        self._secrets = [address.secret for address in addresses]
        self._urls = [
            "" if peer == rank else exchange.reach(address, session)
            for peer, address in enumerate(addresses)
        ]
        for peer, url in enumerate(self._urls):
            if peer != rank and not url:
                raise RuntimeError(
                    f"the server of rank {rank} ({session.granted.server}) cannot reach that of"
                    f" rank {peer}; see docs/several-gpus.md"
                )

    def part(self, name: str, ranks: Sequence[int]) -> Group:
        """Return this member's view of a group of some of the members, in this order."""
        addresses = [self._addresses[rank] for rank in ranks]
        return Group(name, ranks.index(self.rank), addresses, self.session)

    # From one to another; all arrays are contiguous and of one axis

    def _token(self, lane: str, giver: int, taker: int) -> str:
        key = lane, giver, taker
        self._counts[key] += 1
        return f"{self.name}-{lane}-{giver}-{taker}-{self._counts[key]}"

    def send(self, array: ndarray, *peers: int, lane: str = PAIRS) -> None:
        """Give a copy of an array to each of some members."""
        if self.rank in peers:
            self._to_self.append(array.copy())
        tokens = [self._token(lane, self.rank, peer) for peer in peers if peer != self.rank]
        if tokens:
            self.session.before_close = partial(exchange.see_off, self.session)
            exchange.offer(core.handle_of(array), tokens)

    def receive(self, size: int, dtype: np.dtype[Any], peer: int, lane: str = PAIRS) -> ndarray:
        """Return the next array of a member; it must have this size and dtype."""
        if peer == self.rank:
            return self._to_self.popleft()
        token = self._token(lane, peer, self.rank)
        layout = ((size,), dtype, "C")
        made = _shadow.make(*layout)
        where = self._urls[peer], self._secrets[peer], token
        return core.wrap(made, exchange.pull(*where, layout, self.session, f"rank {peer}"))

    def receive_into(self, target: ndarray, peer: int, lane: str = PAIRS) -> None:
        """Fill an array with the next of a member."""
        target[...] = self.receive(target.size, target.dtype, peer, lane)

    # Of all

    def _others(self) -> list[int]:
        return [peer for peer in range(self.size) if peer != self.rank]

    def broadcast(self, array: ndarray, root: int) -> None:
        """Fill the array of each member with the root's."""
        if self.rank == root:
            self.send(array, *self._others(), lane=ALL)
        else:
            self.receive_into(array, root, ALL)

    def _combined(self, mine: ndarray, combine: Callable[..., Any]) -> ndarray:
        """Receive an array of each other member and combine all in the order of the ranks."""
        result: ndarray | None = None
        for peer in range(self.size):
            one = mine
            if peer != self.rank:
                one = self.receive(mine.size, mine.dtype, peer, ALL)
            result = one if result is None else combine(result, one)
        assert result is not None
        return result

    def reduce(
        self, source: ndarray, target: ndarray | None, root: int, combine: Callable[..., Any]
    ) -> None:
        """Combine the members' arrays in the root's `target`."""
        if self.rank != root:
            self.send(source, root, lane=ALL)
        elif target is not None:
            target[...] = self._combined(source, combine)

    def _scattered(self, pieces: Sequence[ndarray], combine: Callable[..., Any]) -> ndarray:
        for peer in self._others():
            self.send(pieces[peer], peer, lane=ALL)
        return self._combined(pieces[self.rank], combine)

    def reduce_scatter(
        self, source: ndarray, target: ndarray, count: int, combine: Callable[..., Any]
    ) -> None:
        """Combine the members' arrays, and give `count` elements of the result to each."""
        pieces = [source[i * count : (i + 1) * count] for i in range(self.size)]
        target[:count] = self._scattered(pieces, combine)

    def all_reduce(self, source: ndarray, target: ndarray, combine: Callable[..., Any]) -> None:
        """Combine the members' arrays in the `target` of each.

        Each member combines one piece and gives it to all: what a member sends and receives is
        twice the array, however many they are.
        """
        bounds = [source.size * i // self.size for i in range(self.size + 1)]
        spans = [slice(a, b) for a, b in itertools.pairwise(bounds)]
        mine = self._scattered([source[span] for span in spans], combine)
        self.send(mine, *self._others(), lane=ALL)
        target[spans[self.rank]] = mine
        for peer in self._others():
            self.receive_into(target[spans[peer]], peer, ALL)

    def all_gather(self, source: ndarray, target: ndarray, count: int) -> None:
        """Put `count` elements of each member in a row, at each member."""
        mine = source[:count]
        self.send(mine, *self._others(), lane=ALL)
        target[self.rank * count : (self.rank + 1) * count] = mine
        for peer in self._others():
            self.receive_into(target[peer * count : (peer + 1) * count], peer, ALL)
