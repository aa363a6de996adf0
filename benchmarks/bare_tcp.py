"""The raw TCP socket of `bare.py`."""

from __future__ import annotations

import json
import socket

from benchmarks.bare import PING, Fill, Store, measure, request, requested

_HEAD = 64


def serve(kind: str) -> None:
    """Echo pings, take streams, send streams."""
    listener = socket.create_server(("127.0.0.1", 0))
    print(json.dumps(f"127.0.0.1:{listener.getsockname()[1]}"), flush=True)
    link, _ = listener.accept()
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    store = Store()
    while head := _exactly(link, _HEAD):
        if head == PING:
            link.sendall(head)
            continue
        what, new, size_bytes = requested(head)
        if what == "u":
            _take(link, store.target(size_bytes, new))
            link.sendall(PING)
        else:
            for chunk in store.chunks(size_bytes):
                link.sendall(chunk)


def client(address: str) -> None:
    """Measure against a server."""
    host, _, port = address.partition(":")
    link = socket.create_connection((host, int(port)))
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    store = Store()

    def ping() -> None:
        link.sendall(PING)
        _exactly(link, _HEAD)

    def up(size_bytes: int, new: bool) -> None:
        link.sendall(request("u", size_bytes, new).ljust(_HEAD))
        for chunk in store.chunks(size_bytes):
            link.sendall(chunk)
        _exactly(link, _HEAD)

    def down(target: Fill) -> None:
        link.sendall(request("d", target.left).ljust(_HEAD))
        _take(link, target)

    measure(ping, up, down)


def _take(link: socket.socket, target: Fill) -> None:
    while target.left:
        target.advance(link.recv_into(target.room()))


def _exactly(link: socket.socket, size: int) -> bytes:
    data = link.recv(size)
    while data and len(data) < size:
        data += link.recv(size - len(data))
    return data
