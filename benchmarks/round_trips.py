"""Count what a script waits for from its start to its first result. Run under `cupool run`.

A round trip on the data plane is a message received after one was sent: whatever was sent
before it, the script waited once. On the control plane it is a call of gRPC. Opening a connection
costs its carrier's own handshake besides, which is not counted.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import grpc

TRIPS: list[str] = []
_sent = False


class _Calls(grpc.UnaryStreamClientInterceptor, grpc.UnaryUnaryClientInterceptor):
    def intercept_unary_stream(self, go_on: Any, details: Any, request: Any) -> Any:
        TRIPS.append(details.method.rpartition("/")[2])
        return go_on(details, request)

    def intercept_unary_unary(self, go_on: Any, details: Any, request: Any) -> Any:
        return self.intercept_unary_stream(go_on, details, request)


def _count_calls() -> None:
    plain = grpc.insecure_channel
    grpc.insecure_channel = lambda *args, **options: grpc.intercept_channel(
        plain(*args, **options), _Calls()
    )


def _count_messages() -> None:
    from cupool.transport import channel

    plain = channel.connect

    def counting(url: str, timeout_s: float = 10.0) -> Any:
        opened: Any = plain(url, timeout_s)
        kind = type(opened)
        if not hasattr(kind.send, "counted"):
            kind.send, kind.receive = _sending(kind.send), _receiving(kind.receive)
            kind.send.counted = True
        return opened

    channel.connect = counting


def _sending(send: Callable[..., Any]) -> Callable[..., Any]:
    def counted(self: Any, frames: Any, *args: Any) -> Any:
        global _sent
        _sent = True
        return send(self, frames, *args)

    return counted


def _receiving(receive: Callable[..., Any]) -> Callable[..., Any]:
    def counted(self: Any, *args: Any) -> Any:
        global _sent
        frames = receive(self, *args)
        if frames is not None and _sent:
            from cupool.proto.messages import decode

            _sent = False
            TRIPS.append(type(decode(frames)).__name__)
        return frames

    return counted


def main() -> None:
    """Print the name of each answer that was waited for."""
    _count_calls()
    _count_messages()
    import cupy as cp

    a = cp.arange(1000)
    assert float((a + a).sum()) == 999000
    print(json.dumps(TRIPS), flush=True)


if __name__ == "__main__":
    main()
