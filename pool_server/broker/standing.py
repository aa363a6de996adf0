"""Whether a broker serves: it leads, or says who does."""

from __future__ import annotations

from cupool.pool_server.broker import words
from cupool.pool_server.broker.store.base import Leader, StoreError
from cupool.pool_server.broker.store.journal import Journal


class NotLeading(Exception):
    """This broker cannot serve a call; `leader` is the address of the one that can, "" = none."""

    def __init__(self, message: str, leader: str = "") -> None:
        super().__init__(message)
        self.leader = leader


class Standing:
    """Of one broker. Without an election it leads for ever, and keeps nothing.

    Attributes:
        journal: where what it decides is made durable, None = nowhere.
    """

    def __init__(self) -> None:
        self.journal: Journal | None = None
        self._refusal: NotLeading | None = None

    @property
    def trouble(self) -> str:
        """Why nothing can be written at the moment, "" = it can."""
        return self.journal.trouble if self.journal is not None else ""

    def lead(self, journal: Journal) -> None:
        self.journal, self._refusal = journal, None

    def follow(self, leader: Leader | None, why: str) -> bool:
        """Lead no more; returns whether it did until now."""
        led = self._refusal is None
        self.journal = None
        address = leader.address if leader is not None else ""
        text = words.follows(address) if address else words.no_leader(why)
        self._refusal = NotLeading(text, address)
        return led

    def refusal(self) -> NotLeading | None:
        """Return why calls are not served, None = they are."""
        if self._refusal is None:
            return None
        return NotLeading(str(self._refusal), self._refusal.leader)

    async def written(self) -> None:
        """Return when all that was decided is durable.

        Raises:
            NotLeading: it is not, at least not yet.
        """
        if self.journal is not None:
            try:
                await self.journal.flushed()
            except StoreError as exc:
                raise NotLeading(words.store(str(exc))) from None
