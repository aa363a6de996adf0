"""A store of many machines: etcd, by the messages and stubs of `aetcd`.

What is ours: several endpoints, bounded calls, one stream that keeps the leader's lease alive, the
election, and writes that count once. Below `/cupool/v1/NAME/`:

    leader     who leads; goes away with the lease of its term
    epoch      of the last term
    written    "EPOCH:N": the N-th commit of that term
    rows/KEY   the rows

A commit compares `leader` with the term, and `written` with the commit before: one that was given
up and arrives late, perhaps by way of another member, changes nothing any more.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

import grpc.aio
import msgspec
from aetcd import rpc

from cupool.pool_server.broker.store.base import (
    Leader,
    Store,
    StoreError,
    StoreUnusable,
    Superseded,
    Term,
    Timings,
    Writes,
    elapsed,
    next_epoch,
)

_PAGE = 1000
_PART_BYTES = 1 << 20
"""etcd takes 1.5 MiB in a request."""
_LEAST_S = 0.2
"""So long each member has to answer before the next one is asked."""
_POLL_S = 0.1
_OPTIONS = (
    ("grpc.max_receive_message_length", 64 << 20),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 500),
    ("grpc.enable_retries", 0),
    ("grpc.use_local_subchannel_pool", 1),
)
_BROKEN = (grpc.aio.AioRpcError, asyncio.InvalidStateError)
"""How a stream fails; the second if it had ended before it was written to."""
_leaders = msgspec.json.Decoder(Leader)


class _Member:
    """One endpoint and its stubs."""

    def __init__(self, endpoint: str, credentials: grpc.ChannelCredentials | None) -> None:
        self.endpoint = endpoint
        self.is_secure = credentials is not None
        self.channel = (
            grpc.aio.insecure_channel(endpoint, options=_OPTIONS)
            if credentials is None
            else grpc.aio.secure_channel(endpoint, credentials, options=_OPTIONS)
        )
        self.kv = rpc.KVStub(self.channel)
        self.lease = rpc.LeaseStub(self.channel)
        self.watch = rpc.WatchStub(self.channel)


class EtcdStore(Store):
    """One broker's access to a cluster.

    Args:
        endpoints: `HOST:PORT` of its members; any of them will do.
        name: of the pool, so that several can share a cluster.
        credentials: for TLS, None = the connection is plain.
    """

    most_rows = 100  # etcd takes 128 operations in a transaction

    def __init__(
        self,
        endpoints: Sequence[str],
        name: str = "pool",
        timings: Timings | None = None,
        credentials: grpc.ChannelCredentials | None = None,
    ) -> None:
        self._endpoints = tuple(endpoints)
        self._credentials = credentials
        self._members: dict[str, _Member] = {}
        self._turn = 0
        self._timings = timings or Timings()
        base = f"/cupool/v1/{name}/"
        self._leader, self._epoch, self._written = (
            f"{base}{each}".encode() for each in ("leader", "epoch", "written")
        )
        self._rows = f"{base}rows/".encode()
        self._beat: Any = None
        self._commits = 0

    # ------------------------------------------------------------ calls

    def _member(self) -> _Member:
        endpoint = self._endpoints[self._turn % len(self._endpoints)]
        if endpoint not in self._members:
            self._members[endpoint] = _Member(endpoint, self._credentials)
        return self._members[endpoint]

    async def _call(self, method: Callable[[_Member], Any], request: Any) -> Any:
        """Ask a member, and if it does not answer the others; all calls may be made twice."""
        end = elapsed() + self._timings.call_s
        for left in range(len(self._endpoints), 0, -1):
            member = self._member()
            timeout_s = max(_LEAST_S, (end - elapsed()) / left)
            try:
                return await method(member)(request, timeout=timeout_s)
            except _BROKEN as exc:
                error = _translated(member, exc)
                self._turn += 1
            if isinstance(error, StoreUnusable) or elapsed() >= end:
                break
        raise error

    async def _range(self, key: bytes, end: bytes = b"", **more: Any) -> Any:
        request = rpc.RangeRequest(key=key, range_end=end, **more)
        return await self._call(lambda member: member.kv.Range, request)

    async def _transact(self, compare: list[Any], then: list[Any], otherwise: list[Any]) -> Any:
        request = rpc.TxnRequest(compare=compare, success=then, failure=otherwise)
        return await self._call(lambda member: member.kv.Txn, request)

    # ------------------------------------------------------------ who leads

    async def campaign(self, holder: str, address: str) -> Term | None:
        if (await self._range(self._leader)).kvs:
            return None
        last = (await self._range(self._epoch)).kvs
        epoch = next_epoch(int(last[0].value) if last else 0)
        request = rpc.LeaseGrantRequest(TTL=math.ceil(self._timings.lease_s))
        lease = (await self._call(lambda member: member.lease.LeaseGrant, request)).ID
        leader = msgspec.json.encode(Leader(holder, address, epoch))
        try:
            reply = await self._transact(
                [_created(self._leader, 0), _modified(self._epoch, last)],
                [
                    _put(self._leader, leader, lease),
                    _put(self._epoch, str(epoch).encode()),
                    _put(self._written, f"{epoch}:0".encode()),
                ],
                [],
            )
        except BaseException:
            await self._revoke(lease)  # it may have been won all the same
            raise
        if not reply.succeeded:
            await self._revoke(lease)
            return None
        self._commits = 0
        return Term(epoch, reply.header.revision, lease)

    async def _revoke(self, lease: int) -> None:
        request = rpc.LeaseRevokeRequest(ID=lease)
        with contextlib.suppress(StoreError):
            await self._call(lambda member: member.lease.LeaseRevoke, request)

    async def leader(self) -> Leader | None:
        return _read(await self._range(self._leader))

    async def vacancy(self, known: Leader | None, timeout_s: float) -> None:
        found = await self._range(self._leader)
        if _read(found) != known:
            return
        if known is None:
            await asyncio.sleep(min(_POLL_S, timeout_s))
            return
        member = self._member()
        try:
            async with asyncio.timeout(timeout_s):
                await self._event(member, found.header.revision + 1)
        except TimeoutError:
            pass
        except _BROKEN as exc:
            self._turn += 1
            raise _translated(member, exc) from None

    async def _event(self, member: _Member, revision: int) -> None:
        """Return when something happens to the leader's key from a revision on."""
        watch = member.watch.Watch()
        try:
            create = rpc.WatchCreateRequest(key=self._leader, start_revision=revision)
            await watch.write(rpc.WatchRequest(create_request=create))
            while True:
                reply = await watch.read()
                if reply is grpc.aio.EOF or reply.canceled or reply.events:
                    return  # whatever it is, the leader is looked up next
        finally:
            watch.cancel()

    async def renew(self, term: Term) -> None:
        member = self._member()
        try:
            async with asyncio.timeout(self._timings.call_s):
                left_s = await self._keep_alive(member, term.handle)
        except BaseException as exc:
            self._drop_beat()
            self._turn += 1
            if isinstance(exc, TimeoutError):
                raise StoreError(f"etcd at {member.endpoint} does not answer") from None
            if isinstance(exc, _BROKEN):
                raise _translated(member, exc) from None
            raise
        if left_s <= 0:
            raise Superseded("its lease is gone: it came too late, or the store was replaced")

    async def _keep_alive(self, member: _Member, lease: int) -> int:
        if self._beat is None:
            self._beat = member.lease.LeaseKeepAlive()
        await self._beat.write(rpc.LeaseKeepAliveRequest(ID=lease))
        reply = await self._beat.read()
        if reply is grpc.aio.EOF:
            raise StoreError(f"etcd at {member.endpoint} ended the stream")
        return int(reply.TTL)

    def _drop_beat(self) -> None:
        if self._beat is not None:
            self._beat.cancel()
        self._beat = None

    async def resign(self, term: Term) -> None:
        self._drop_beat()
        await self._revoke(term.handle)

    # ------------------------------------------------------------ rows

    async def load(self, term: Term) -> dict[str, bytes]:
        rows: dict[str, bytes] = {}
        start, revision = self._rows, 0
        async for page in self._pages(start, revision):
            rows.update({each.key[len(self._rows) :].decode(): each.value for each in page.kvs})
        leader = (await self._range(self._leader)).kvs
        if not leader or leader[0].create_revision != term.fence:
            raise Superseded("another broker leads")
        return rows

    async def _pages(self, start: bytes, revision: int) -> AsyncIterator[Any]:
        more = True
        while more:
            page = await self._range(start, _after(self._rows), limit=_PAGE, revision=revision)
            yield page
            more = page.more
            if more:
                start, revision = page.kvs[-1].key + b"\0", revision or page.header.revision

    async def commit(self, term: Term, writes: Writes) -> None:
        for part in _parts(writes, self.most_rows):
            await self._commit(term, part)

    async def _commit(self, term: Term, writes: Writes) -> None:
        before = f"{term.epoch}:{self._commits}".encode()
        after = f"{term.epoch}:{self._commits + 1}".encode()
        operations = [_put(self._written, after)]
        for key, value in writes.items():
            name = self._rows + key.encode()
            operations.append(_delete(name) if value is None else _put(name, value))
        same = rpc.Compare(
            result=rpc.Compare.EQUAL, target=rpc.Compare.VALUE, key=self._written, value=before
        )
        reply = await self._transact(
            [_created(self._leader, term.fence), same], operations, [_get(self._written)]
        )
        if not reply.succeeded:
            found = reply.responses[0].response_range.kvs
            if not found or found[0].value != after:
                raise Superseded("another broker leads, or the store was replaced")
            # An earlier attempt was written, only its answer was lost.
        self._commits += 1

    async def close(self) -> None:
        self._drop_beat()
        for member in self._members.values():
            await member.channel.close()


# ---------------------------------------------------------------- messages


def _created(key: bytes, revision: int) -> Any:
    return rpc.Compare(
        result=rpc.Compare.EQUAL,
        target=rpc.Compare.CREATE,
        key=key,
        create_revision=revision,
    )


def _modified(key: bytes, found: Sequence[Any]) -> Any:
    return rpc.Compare(
        result=rpc.Compare.EQUAL,
        target=rpc.Compare.MOD,
        key=key,
        mod_revision=found[0].mod_revision if found else 0,
    )


def _put(key: bytes, value: bytes, lease: int = 0) -> Any:
    return rpc.RequestOp(request_put=rpc.PutRequest(key=key, value=value, lease=lease))


def _delete(key: bytes) -> Any:
    return rpc.RequestOp(request_delete_range=rpc.DeleteRangeRequest(key=key))


def _get(key: bytes) -> Any:
    return rpc.RequestOp(request_range=rpc.RangeRequest(key=key))


def _after(prefix: bytes) -> bytes:
    """Return the first key behind those with a prefix."""
    return prefix[:-1] + bytes([prefix[-1] + 1])


def _read(reply: Any) -> Leader | None:
    if not reply.kvs:
        return None
    try:
        return _leaders.decode(reply.kvs[0].value)
    except msgspec.MsgspecError:
        raise StoreUnusable("the leader's key in etcd was not written by cupool") from None


def _parts(writes: Writes, most_rows: int) -> Iterator[dict[str, bytes | None]]:
    """Cut rows into what one transaction takes, in their order."""
    part: dict[str, bytes | None] = {}
    size = 0
    for key, value in writes.items():
        more = len(key) + len(value or b"")
        if part and (len(part) >= most_rows or size + more > _PART_BYTES):
            yield part
            part, size = {}, 0
        part[key] = value
        size += more
    if part:
        yield part


def _translated(
    member: _Member, exc: grpc.aio.AioRpcError | asyncio.InvalidStateError
) -> StoreError:
    if isinstance(exc, asyncio.InvalidStateError):
        return StoreError(f"etcd at {member.endpoint} ended the stream")
    unusable = exc.code() in (
        grpc.StatusCode.UNIMPLEMENTED,
        grpc.StatusCode.PERMISSION_DENIED,
        grpc.StatusCode.UNAUTHENTICATED,
    )
    kind = StoreUnusable if unusable else StoreError
    details = exc.details() or exc.code().name
    return kind(f"etcd at {member.endpoint}: {details}{_tls_hint(member.is_secure, details)}")


def _tls_hint(is_secure: bool, details: str) -> str:
    """Return what is wrong with TLS if these words of gRPC mean that."""
    if not is_secure:
        return "; if it speaks TLS: --state etcds://..." if "Socket closed" in details else ""
    if "CERTIFICATE_VERIFY_FAILED" in details or "Hostname Verification" in details:
        return (
            "; its certificate has expired, is of another host name, or is not vouched for by"
            " CUPOOL_ETCD_CA"
        )
    if "WRONG_VERSION_NUMBER" in details:
        return "; it does not speak TLS: --state etcd://..."
    if any(word in details for word in ("TSI_DATA_CORRUPTED", "BAD_CERTIFICATE", "REQUIRED")):
        return "; it does not accept the broker's certificate: CUPOOL_ETCD_CERT, CUPOOL_ETCD_KEY"
    return ""
