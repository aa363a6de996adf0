"""The administrators' side of a broker on the wire; see `administration.py` for what it does."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import grpc
import msgspec

from cupool.pool_server.broker import convert
from cupool.pool_server.broker.administration import Done, Refused
from cupool.pool_server.broker.service import BrokerService, Context, abort
from cupool.proto.v1 import pool_pb2 as pb
from cupool.proto.v1 import pool_pb2_grpc as rpc


class AdminService(rpc.AdminServicer):
    """Carries out what administrators ask for, and writes it down."""

    def __init__(self, broker: BrokerService) -> None:
        self._broker = broker

    async def Cordon(self, request: pb.CordonRequest, context: Context) -> pb.AdminReply:
        state, now = self._broker.state, self._broker.now()
        if request.off:
            return await self._do(context, lambda: state.uncordon(request.server, now))
        return await self._do(context, lambda: state.cordon(request.server, request.reason, now))

    async def Drain(self, request: pb.DrainRequest, context: Context) -> pb.AdminReply:
        state, now = self._broker.state, self._broker.now()
        return await self._do(
            context, lambda: state.drain(request.server, request.within_s, request.reason, now)
        )

    async def SetQuota(self, request: pb.Quota, context: Context) -> pb.AdminReply:
        state, now = self._broker.state, self._broker.now()
        return await self._do(context, lambda: state.set_quota(convert.quota(request), now))

    async def RemoveQuota(self, request: pb.NameRequest, context: Context) -> pb.AdminReply:
        state, now = self._broker.state, self._broker.now()
        return await self._do(context, lambda: state.remove_quota(request.name, now))

    async def ListQuotas(self, request: pb.ListRequest, context: Context) -> pb.QuotaList:
        await self._broker.authorise_look(context)
        state = self._broker.state
        quotas = sorted(state.ledger.books.quotas.values(), key=lambda quota: quota.tenant)
        return pb.QuotaList(
            quotas=[
                convert.quota_message(each, used.milli, used.memory_bytes)
                for each in quotas
                for used in (state.tenants.used(each.tenant),)
            ]
        )

    async def SetPartition(self, request: pb.Partition, context: Context) -> pb.AdminReply:
        state, now = self._broker.state, self._broker.now()
        partition = convert.partition(request)
        return await self._do(context, lambda: state.set_partition(partition, now))

    async def RemovePartition(self, request: pb.NameRequest, context: Context) -> pb.AdminReply:
        state, now = self._broker.state, self._broker.now()
        return await self._do(context, lambda: state.remove_partition(request.name, now))

    async def ListPartitions(self, request: pb.ListRequest, context: Context) -> pb.PartitionList:
        await self._broker.authorise_look(context)
        partitions = self._broker.state.ledger.books.partitions
        found = [convert.partition_message(each) for _, each in sorted(partitions.items())]
        return pb.PartitionList(partitions=found)

    async def Audit(
        self, request: pb.AuditRequest, context: Context
    ) -> AsyncIterator[pb.AuditRecord]:
        await self._broker.authorise_look(context)
        async for record in self._broker.audit.read(follow=request.follow):
            await self._broker.authorise_look(context)  # it may lead no more
            yield pb.AuditRecord(json=msgspec.json.encode(record).decode())

    async def _do(self, context: Context, action: Callable[[], Done]) -> pb.AdminReply:
        await self._broker.authorise_admin(context)
        try:
            done = action()
        except Refused as exc:
            self._broker.audit.write("admin-refused", peer=context.peer(), message=str(exc))
            await abort(context, grpc.StatusCode.INVALID_ARGUMENT, "refused", str(exc))
        self._broker.apply(done.decisions)
        await self._broker.written(context)
        self._broker.audit.write("admin", peer=context.peer(), message=done.message)
        return pb.AdminReply(changed=done.changed, message=done.message, leases=done.leases)
