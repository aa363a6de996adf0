"""Every change of what must outlive a broker, as one record each.

`Books.apply` is the only way in which grants, quotas, partitions and cordons change, so that
applying a broker's records in order to empty books gives its books. A record is plain data:
`encode` and `decode` are for those who keep it. Times are of the broker's clock.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from cupool.pool_server.broker.model import NEVER, Partition, Placement, Quota, Terms, Wish


class _Change(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class LeaseGranted(_Change, frozen=True, tag="lease-granted"):
    """A job got devices; `adopted`: a server told of a lease that this broker did not know."""

    lease_id: str
    job_id: str
    job_token_hash: str
    client: str
    since: float
    size: int
    terms: Terms
    placements: dict[int, Placement]
    ends_at: float | None = None
    adopted: bool = False


class PlacementAdded(_Change, frozen=True, tag="placement-added"):
    """A server told of one more device of an adopted lease."""

    lease_id: str
    index: int
    placement: Placement


class PlacementLost(_Change, frozen=True, tag="placement-lost"):
    """The server of one of the lease's devices is gone."""

    lease_id: str
    index: int


class LeaseNoticed(_Change, frozen=True, tag="lease-noticed"):
    """A lease will be taken back, or (`reason` "") will not after all."""

    lease_id: str
    reason: str
    request_id: int = 0
    ends_at: float | None = None


class LeaseClosing(_Change, frozen=True, tag="lease-closing"):
    """Nobody may join the lease any more."""

    lease_id: str


class LeaseEnded(_Change, frozen=True, tag="lease-ended"):
    """Its devices are free; `why`: what ended its last session."""

    lease_id: str
    why: str = ""


class RequestWaiting(_Change, frozen=True, tag="request-waiting"):
    """A request could not be served at once; `place`s grow along the line."""

    place: int
    since: float
    wish: Wish


class RequestOver(_Change, frozen=True, tag="request-over"):
    """A request waits no more: it was granted, refused, or its client left."""

    place: int
    why: str = ""


class QuotaSet(_Change, frozen=True, tag="quota-set"):
    quota: Quota


class QuotaRemoved(_Change, frozen=True, tag="quota-removed"):
    tenant: str


class PartitionSet(_Change, frozen=True, tag="partition-set"):
    partition: Partition


class PartitionRemoved(_Change, frozen=True, tag="partition-removed"):
    name: str


class ServerCordoned(_Change, frozen=True, tag="server-cordoned"):
    """No new leases on a server; `draining`: those that it has will end."""

    server: str
    reason: str
    draining: bool = False


class ServerUncordoned(_Change, frozen=True, tag="server-uncordoned"):
    server: str


Change: TypeAlias = (
    LeaseGranted
    | PlacementAdded
    | PlacementLost
    | LeaseNoticed
    | LeaseClosing
    | LeaseEnded
    | RequestWaiting
    | RequestOver
    | QuotaSet
    | QuotaRemoved
    | PartitionSet
    | PartitionRemoved
    | ServerCordoned
    | ServerUncordoned
)

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[Change] = msgspec.json.Decoder(Change)


def encode(change: Change) -> bytes:
    """Write a record as JSON."""
    return _encoder.encode(change)


def decode(data: bytes) -> Change:
    """Read what `encode` wrote.

    Raises:
        msgspec.ValidationError: it is no such record.
    """
    return _decoder.decode(data)


def known(time: float) -> float | None:
    """Write a time that may be never."""
    return None if time == NEVER else time
