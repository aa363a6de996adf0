"""Descriptors are given back once: a number that was closed may be somebody else's by then."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cupool.pool_server.broker.store.sqlite import SqliteStore
from cupool.pool_server.session.share_table import ShareTable
from cupool.transport.sleeper import Sleeper


def owned(opener: Callable[[], Any]) -> tuple[Any, set[int]]:
    """Return what was opened, and the descriptors that it has."""
    before = _open()
    made = opener()
    return made, _open() - before


def _open() -> set[int]:
    found: set[int] = set()
    for number in range(1024):
        with contextlib.suppress(OSError):
            os.fstat(number)
            found.add(number)
    return found


@pytest.fixture
def others(request: pytest.FixtureRequest) -> Iterator[Callable[[set[int]], list[int]]]:
    """Take descriptors of these numbers for a pipe of somebody else."""
    kept: list[int] = []

    def take(numbers: set[int]) -> list[int]:
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        kept.extend((reader, writer))
        for number in numbers - {reader, writer}:
            os.dup2(writer, number)
            kept.append(number)
        return [reader, *kept]

    yield take
    for each in kept:
        os.close(each)  # fails if it was closed


def test_a_sleeper_that_is_closed_touches_nothing(others: Callable[[set[int]], list[int]]) -> None:
    sleeper, numbers = owned(Sleeper)
    assert numbers
    sleeper.asleep = True  # somebody who did not wake up in time
    sleeper.close()
    reader = others(numbers)[0]
    sleeper.wake()
    sleeper.close()
    with pytest.raises(BlockingIOError):
        os.read(reader, 8)


def test_a_table_of_shares_is_closed_once(others: Callable[[set[int]], list[int]]) -> None:
    table, numbers = owned(ShareTable)
    assert numbers
    table.close()
    others(numbers)
    table.close()


def test_the_lock_of_a_store_is_given_back_once(
    tmp_path: Path, others: Callable[[set[int]], list[int]]
) -> None:
    store = SqliteStore(tmp_path / "broker.db")
    _, numbers = owned(store._take_lock)
    assert numbers
    store._free_lock()
    others(numbers)
    store._free_lock()
