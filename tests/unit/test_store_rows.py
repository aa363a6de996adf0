"""Rows of a store make the same books again."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cupool.pool_server.broker import changes as c
from cupool.pool_server.broker.books import Books
from cupool.pool_server.broker.model import Partition, Placement, Quota, Terms, Wish
from cupool.pool_server.broker.store.base import StoreUnusable
from cupool.pool_server.broker.store.rows import books_of, rows_of


def granted(lease_id: str, device: int, gpus: int = 1) -> c.LeaseGranted:
    places = {n: Placement("a/b", device + n, 1 << 30, True) for n in range(gpus)}
    return c.LeaseGranted(
        lease_id, f"job-{lease_id}", "hash", "me", 12.5, gpus, Terms(), places, 99.0
    )


def every_kind_of_change() -> list[c.Change]:
    return [
        c.QuotaSet(Quota("t", 1000, weight=2.5)),
        c.QuotaSet(Quota("gone", 1)),
        c.QuotaRemoved("gone"),
        c.PartitionSet(Partition("p", ("t",), ("s", "s/0"))),
        c.PartitionSet(Partition("gone")),
        c.PartitionRemoved("gone"),
        c.ServerCordoned("s", "fan", True),
        c.ServerCordoned("s2", ""),
        c.ServerUncordoned("s2"),
        granted("one", 0, 3),
        granted("two", 8),
        granted("three", 9),
        c.PlacementLost("one", 1),
        c.PlacementAdded("one", 1, Placement("c", 0, 5, False, 250, 100)),
        c.PlacementLost("one", 2),
        c.LeaseNoticed("one", "preempted", 7, 50.0),
        c.LeaseNoticed("two", "drain", 0, 51.0),
        c.LeaseNoticed("two", ""),
        c.LeaseClosing("two"),
        c.LeaseEnded("three", "closed"),
        c.RequestWaiting(4, 20.5, Wish(2, job_id="j", tolerations=frozenset({"x"}))),
        c.RequestWaiting(5, 21.5, Wish(models=("H100", "A100"))),
        c.RequestOver(4, "granted"),
    ]


def test_after_each_change_the_rows_make_the_same_books() -> None:
    books = Books()
    rows: dict[str, bytes] = {}
    for change in every_kind_of_change():
        books.apply(change)
        for key, value in rows_of([change], books).items():
            rows.pop(key, None)
            if value is not None:
                rows[key] = value
        assert books_of(rows).same_as(books)
    kinds = {type(each) for each in every_kind_of_change()}
    assert kinds == set(c.Change.__args__)
    kept = ["cordon/s", "lease/one", "lease/two", "partition/p", "quota/t", "waiting/5"]
    assert sorted(rows) == kept


def test_the_order_of_leases_survives_several_brokers() -> None:
    books, rows = Books(), {}
    for generation in range(3):
        for n in (2, 1):
            change = granted(f"{n}-{generation}", 10 * generation + n)
            books.apply(change)
            rows.update(rows_of([change], books))
        books = books_of({key: value for key, value in rows.items() if value is not None})
    numbers = {lease.lease_id: lease.number for lease in books.leases.values()}
    assert sorted(numbers, key=numbers.__getitem__) == ["2-0", "1-0", "2-1", "1-1", "2-2", "1-2"]


@given(st.lists(st.integers(0, 5), max_size=30))
@settings(deadline=None)
def test_no_prefix_of_a_batch_holds_a_device_twice(devices: list[int]) -> None:
    """Leases follow each other on devices; a store may stop after any row of the batch."""
    books, changes, holder = Books(), [], dict[int, str]()
    for n, device in enumerate(devices):
        if device in holder:
            changes.append(c.LeaseEnded(holder[device]))
            books.apply(changes[-1])
        holder[device] = f"l{n}"
        changes.append(granted(f"l{n}", device))
        books.apply(changes[-1])
        if n == len(devices) // 2:
            before = rows_of(changes, books)
            changes.clear()
    rows = {key: value for key, value in (before if devices else {}).items() if value is not None}
    for key, value in rows_of(changes, books).items():
        rows.pop(key, None)
        if value is not None:
            rows[key] = value
        assert all(taken.leases == 1 for taken in books_of(rows).taken.values())


@pytest.mark.parametrize(
    "row",
    [b"", b"{}", b"[1]", b'[0,[{"type":"lease-granted"}]]', b'[0,[{"type":"no-such-thing"}]]'],
)
def test_a_damaged_row_is_named(row: bytes) -> None:
    with pytest.raises(StoreUnusable, match="lease/x"):
        books_of({"lease/x": row})


def test_rows_that_contradict_each_other_are_refused() -> None:
    books = Books()
    books.apply(granted("one", 0))
    row = rows_of([granted("one", 0)], books)["lease/one"]
    assert row is not None
    with pytest.raises(StoreUnusable, match="contradicts"):
        books_of({"lease/one": row, "lease/two": row})
