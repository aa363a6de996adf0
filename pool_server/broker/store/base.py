"""The one interface of all stores: rows that only the present leader may write.

A store holds small rows by key, and who leads. Leading has a term: `campaign` begins one, with an
epoch above all earlier ones; `renew` keeps it; every `commit` is one transaction that fails if
the term is over. So of two brokers that both believe to lead, one at most can write.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

Writes: TypeAlias = Mapping[str, bytes | None]
"""New values by key; None deletes. A key that is not there may be deleted."""

FORMAT = 1
"""Of the rows; a store with another number is left alone."""


class StoreError(Exception):
    """A store cannot do it now: away, slow, full, read-only. Says why; to try again may help."""


class StoreUnusable(StoreError):
    """A store will not become usable by itself: damaged, of another version, no such place."""


class Superseded(Exception):
    """The term is over: another broker leads, or the store was replaced."""


@dataclass(frozen=True, slots=True)
class Leader:
    """Who leads, as the store says: an identity of its own, its address, its epoch."""

    holder: str
    address: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Term:
    """A time of leading.

    Attributes:
        epoch: above those of all earlier terms of this store, also of one that was wiped.
        fence: what the store compares at each commit, if it is not the epoch.
        handle: of what keeps the term alive, if there is such a thing.
    """

    epoch: int
    fence: int = 0
    handle: int = 0


@dataclass(frozen=True, slots=True)
class Timings:
    """Of leading, in seconds."""

    lease_s: float = 5.0
    """Others may take over from a leader that was silent for so long."""
    renew_s: float = 1.5
    step_down_s: float = 3.5
    """A leader that could not renew for so long leads no more: before its lease is over."""
    call_s: float = 1.0
    """A call of the store that takes longer has failed."""


class Store(ABC):
    """Rows, and who leads. Every method may raise `StoreError`.

    Attributes:
        most_rows: so many rows fit into one transaction; more are cut, in their order.
    """

    most_rows = 10_000

    @abstractmethod
    async def campaign(self, holder: str, address: str) -> Term | None:
        """Try to begin a term; None if another broker leads."""

    @abstractmethod
    async def leader(self) -> Leader | None:
        """Return who leads."""

    @abstractmethod
    async def vacancy(self, known: Leader | None, timeout_s: float) -> None:
        """Return when `known` leads no more, or after the time."""

    @abstractmethod
    async def renew(self, term: Term) -> None:
        """Keep a term alive for another `lease_s`.

        Raises:
            Superseded: it is over.
        """

    @abstractmethod
    async def resign(self, term: Term) -> None:
        """End a term, so that another broker may lead at once; no error if it is over."""

    @abstractmethod
    async def load(self, term: Term) -> dict[str, bytes]:
        """Return all rows.

        Raises:
            Superseded: the term is over.
        """

    @abstractmethod
    async def commit(self, term: Term, writes: Writes) -> None:
        """Write rows durably, all or none; after an error the same writes are tried again.

        One commit at a time: the next may begin when this one has succeeded, or is tried again.

        Raises:
            Superseded: the term is over; nothing was written.
        """

    async def close(self) -> None:
        """Let go of everything; a store that holds nothing has nothing to do."""
        return


def next_epoch(before: int) -> int:
    """Return the epoch of a new term.

    Epochs are at least the milliseconds since 1970, so that a store that was wiped does not begin
    with epochs that servers have seen already.
    """
    return max(before + 1, int(time.time() * 1000))


def elapsed() -> float:
    """Seconds of a clock that counts while the machine sleeps: what a lease lasts by."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
