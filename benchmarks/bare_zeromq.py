"""The bare DEALER and ROUTER of `bare.py`."""

from __future__ import annotations

import json
import os

import zmq

from benchmarks.bare import CREDITS, PING, Fill, Store, measure, request, requested

_CREDIT, _DONE = b"c", b"e"


def serve(kind: str) -> None:
    """Echo pings, take streams, send streams."""
    router = zmq.Context().socket(zmq.ROUTER)
    router.bind(f"ipc://@cupool-bench-{os.getpid()}" if kind == "zmq+ipc" else "tcp://127.0.0.1:*")
    endpoint = bytes(router.getsockopt(zmq.LAST_ENDPOINT))
    print(json.dumps(endpoint.rstrip(bytes(1)).decode()), flush=True)
    store = Store()
    while True:
        key, head = router.recv_multipart()
        if head == PING:
            router.send_multipart((key, head))
            continue
        what, new, size_bytes = requested(head)
        if what == "u":
            target = store.target(size_bytes, new)
            while target.left:
                router.recv()
                target.place(router.recv(copy=False).buffer)
                router.send_multipart((key, _CREDIT if target.left else _DONE))
        else:
            credit = CREDITS
            for chunk in store.chunks(size_bytes):
                while not credit:
                    router.recv_multipart()
                    credit += 1
                router.send(key, zmq.SNDMORE)
                router.send(chunk, copy=False)
                credit -= 1
            while credit < CREDITS - 1:  # the last chunk earns none
                router.recv_multipart()
                credit += 1


def client(address: str) -> None:
    """Measure against a server."""
    dealer = zmq.Context().socket(zmq.DEALER)
    dealer.connect(address)
    store = Store()

    def ping() -> None:
        dealer.send(PING)
        dealer.recv()

    def up(size_bytes: int, new: bool) -> None:
        dealer.send(request("u", size_bytes, new))
        credit = CREDITS
        for chunk in store.chunks(size_bytes):
            while not credit:
                dealer.recv()
                credit += 1
            dealer.send(chunk, copy=False)
            credit -= 1
        while dealer.recv() != _DONE:
            pass

    def down(target: Fill) -> None:
        dealer.send(request("d", target.left))
        while target.left:
            target.place(dealer.recv(copy=False).buffer)
            if target.left:
                dealer.send(_CREDIT)

    measure(ping, up, down)
