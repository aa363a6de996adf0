"""The bare gRPC stream of `bare.py`: raw bytes, no protobuf, no credit but HTTP/2's own."""

from __future__ import annotations

import json
import queue
from collections.abc import Iterator
from concurrent import futures
from typing import Any

import grpc

from benchmarks.bare import PING, Fill, Store, measure, request, requested

_METHOD = "/bare.Stream/Open"
_OPTIONS = [
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.use_local_subchannel_pool", 1),
]


class _Handlers(grpc.GenericRpcHandler):
    def service(self, details: grpc.HandlerCallDetails) -> Any:
        return grpc.stream_stream_rpc_method_handler(_serve_stream)


def _serve_stream(parts: Iterator[bytes], context: object) -> Iterator[bytes]:
    store = Store()
    for head in parts:
        if head == PING:
            yield head
            continue
        what, new, size_bytes = requested(head)
        if what == "u":
            target = store.target(size_bytes, new)
            while target.left:
                target.place(next(parts))
            yield PING
        else:
            for chunk in store.chunks(size_bytes):
                yield bytes(chunk)


def serve(kind: str) -> None:
    """Echo pings, take streams, send streams."""
    server = grpc.server(futures.ThreadPoolExecutor(2), handlers=[_Handlers()], options=_OPTIONS)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(json.dumps(f"127.0.0.1:{port}"), flush=True)
    server.wait_for_termination()


def client(address: str) -> None:
    """Measure against a server."""
    channel = grpc.insecure_channel(address, options=_OPTIONS)
    outgoing: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    method: Any = channel.stream_stream(_METHOD)
    stream = method(iter(outgoing.get, None), wait_for_ready=True)
    store = Store()

    def ping() -> None:
        outgoing.put(PING)
        next(stream)

    def up(size_bytes: int, new: bool) -> None:
        outgoing.put(request("u", size_bytes, new))
        for chunk in store.chunks(size_bytes):
            outgoing.put(bytes(chunk))
        next(stream)

    def down(target: Fill) -> None:
        outgoing.put(request("d", target.left))
        while target.left:
            target.place(next(stream))

    measure(ping, up, down)
    stream.cancel()
    channel.close()
