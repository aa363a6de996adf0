"""A broker's books as rows: one per lease, waiting request, quota, partition and cordon.

A row holds the change records that make its entry from nothing, so that reading rows is replaying
records, and the size of a store follows what there is, not what has been.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from cupool.pool_server.broker import changes as c
from cupool.pool_server.broker.books import Books
from cupool.pool_server.broker.model import Lease
from cupool.pool_server.broker.store.base import StoreUnusable


class Row(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """An entry: its number in the order of leases (0 for other entries), and its records."""

    number: int
    records: list[c.Change]


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Row)


def rows_of(changes: Iterable[c.Change], books: Books) -> dict[str, bytes | None]:
    """Return the rows that changes have touched, as they are in the books now.

    What gives devices back comes before what takes some: a store that has to cut the rows into
    several transactions never holds a device twice.
    """
    touched = dict.fromkeys(_key(change) for change in changes)
    taking = {_key(each) for each in changes if isinstance(each, c.LeaseGranted | c.PlacementAdded)}
    order = sorted(touched, key=lambda key: key in taking)
    return {_name(*key): _row(*key, books) for key in order}


def _key(change: c.Change) -> tuple[str, str]:
    match change:
        case c.QuotaSet():
            return "quota", change.quota.tenant
        case c.QuotaRemoved():
            return "quota", change.tenant
        case c.PartitionSet():
            return "partition", change.partition.name
        case c.PartitionRemoved():
            return "partition", change.name
        case c.RequestWaiting() | c.RequestOver():
            return "waiting", str(change.place)
        case c.ServerCordoned() | c.ServerUncordoned():
            return "cordon", change.server
        case _:
            return "lease", change.lease_id


def _name(kind: str, name: str) -> str:
    return f"{kind}/{name}"


def _row(kind: str, name: str, books: Books) -> bytes | None:
    records: list[c.Change] = []
    number = 0
    if kind == "lease" and (lease := books.leases.get(name)) is not None:
        number, records = lease.number, _lease(lease)
    elif kind == "waiting" and (waiting := books.waiting.get(int(name))) is not None:
        records = [waiting]
    elif kind == "quota" and (quota := books.quotas.get(name)) is not None:
        records = [c.QuotaSet(quota)]
    elif kind == "partition" and (partition := books.partitions.get(name)) is not None:
        records = [c.PartitionSet(partition)]
    elif kind == "cordon" and (cordon := books.cordons.get(name)) is not None:
        records = [c.ServerCordoned(name, cordon.reason, cordon.draining)]
    return _encoder.encode(Row(number, records)) if records else None


def _lease(lease: Lease) -> list[c.Change]:
    records: list[c.Change] = [
        c.LeaseGranted(
            lease.lease_id,
            lease.job_id,
            lease.job_token_hash,
            lease.client,
            lease.since,
            lease.size,
            lease.terms,
            dict(lease.placements),
            c.known(lease.ends_at),
        )
    ]
    if lease.notice:
        ends_at = c.known(lease.notice_ends_at)
        records.append(c.LeaseNoticed(lease.lease_id, lease.notice, lease.notice_for, ends_at))
    if lease.closing:
        records.append(c.LeaseClosing(lease.lease_id))
    return records


def books_of(rows: Mapping[str, bytes]) -> Books:
    """Rebuild books from all rows.

    Raises:
        StoreUnusable: a row is not what this version writes.
    """
    books = Books()
    found: list[tuple[int, str, list[c.Change]]] = []
    for key, data in rows.items():
        try:
            row = _decoder.decode(data)
        except msgspec.MsgspecError as exc:
            raise StoreUnusable(
                f"the row {key!r} cannot be read ({exc}): damaged, or of another version"
            ) from None
        found.append((row.number, key, row.records))
    for number, key, records in sorted(found, key=lambda row: row[:2]):
        books.revision = number  # which the lease had, and gets again
        for record in records:
            try:
                books.apply(record)
            except KeyError as exc:
                raise StoreUnusable(f"the row {key!r} contradicts the others: {exc}") from None
    books.changes.clear()
    return books
