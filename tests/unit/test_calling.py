"""Calls to brokers: what they leave behind in the process that makes them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent import futures

import grpc
import pytest

from cupool import calling
from cupool.proto.v1 import pool_pb2 as pb
from cupool.proto.v1 import pool_pb2_grpc as rpc


class _Line(rpc.BrokerServicer):
    """A broker in which nobody gets anything."""

    def __init__(self) -> None:
        self.over = threading.Event()

    def Acquire(
        self, request: pb.AcquireRequest, context: grpc.ServicerContext
    ) -> Iterator[pb.AcquireEvent]:
        context.add_callback(self.over.set)
        yield pb.AcquireEvent(queued=pb.Queued(position=1, length=1))
        self.over.wait(60)


@pytest.fixture
def line() -> Iterator[tuple[_Line, str]]:
    broker = _Line()
    server = grpc.server(futures.ThreadPoolExecutor(2))
    rpc.add_BrokerServicer_to_server(broker, server)  # type: ignore[no-untyped-call]
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield broker, f"grpc://127.0.0.1:{port}"
    server.stop(None).wait()


def test_who_waits_in_line_has_no_thread_of_grpcs(line: tuple[_Line, str]) -> None:
    """A thread that the interpreter's end catches with the call's lock would keep it for ever."""
    broker, url = line
    with calling.channel(url, "") as channel:
        before = set(threading.enumerate())
        call = rpc.BrokerStub(channel).Acquire(  # type: ignore[no-untyped-call]
            pb.AcquireRequest(), timeout=60
        )
        assert next(call).queued.position == 1
        ours = {each.name for each in set(threading.enumerate()) - before}
        assert not {name for name in ours if not name.startswith("ThreadPoolExecutor")}
        call.cancel()
        with pytest.raises(grpc.RpcError) as caught:
            next(call)
    assert caught.value.code() is grpc.StatusCode.CANCELLED
    assert broker.over.wait(10)
