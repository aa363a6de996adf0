"""What encrypting the data costs: the same channel plain and by CurveZMQ, between two processes.

    python benchmarks/encryption.py                 about half a minute
    python benchmarks/encryption.py --rounds 3 --megabytes 8

Both are TCP on loopback, where the link itself costs next to nothing: over a network the share of
encryption is smaller. Rounds are interleaved, ratios are taken within a round.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.children import Child, timed
from benchmarks.report import Row, machine, show
from cupool.transport.channel import Channel, Frames, connect, listen

PLAIN, ENCRYPTED = "zmq+tcp", "zmq+curve"
WITHIN_S = 60.0
TRIPS = 300
SMALL = bytes(64)
CHUNK = bytes(1_000_000)
COUNT, PULL = b"count", b"pull"


def serve(scheme: str) -> None:
    """In a child: echo, send what is asked for, and say how often a chunk has come."""
    listener = listen(f"{scheme}://127.0.0.1:0")
    print(json.dumps(listener.url), flush=True)
    channel = listener.accept(WITHIN_S)
    assert channel is not None
    chunks = 0
    while (message := _received(channel)) is not None:
        first = bytes(message[0]) if len(message[0]) < len(CHUNK) else b""
        if not first:
            chunks += 1
        elif first == COUNT:
            channel.send([str(chunks).encode()], WITHIN_S)
            chunks = 0
        elif first == PULL:
            for _ in range(int(bytes(message[1]))):
                channel.send([CHUNK], WITHIN_S)
        else:
            channel.send(message, WITHIN_S)
    listener.close()


def _received(channel: Channel) -> Frames | None:
    """Return the next message, None once the client has gone."""
    with contextlib.suppress(ConnectionError):
        return channel.receive(WITHIN_S)
    return None


def trips(channel: Channel) -> None:
    """Wait for TRIPS answers, one after the other."""
    for _ in range(TRIPS):
        channel.send([SMALL], WITHIN_S)
        assert channel.receive(WITHIN_S) is not None


def up(channel: Channel, chunks: int) -> None:
    """Send chunks and wait until all have come."""
    for _ in range(chunks):
        channel.send([CHUNK], WITHIN_S)
    channel.send([COUNT], WITHIN_S)
    answer = channel.receive(WITHIN_S)
    assert answer is not None and int(bytes(answer[0])) == chunks


def down(channel: Channel, chunks: int) -> None:
    """Ask for chunks and take them."""
    channel.send([PULL, str(chunks).encode()], WITHIN_S)
    for _ in range(chunks):
        answer = channel.receive(WITHIN_S)
        assert answer is not None and len(answer[0]) == len(CHUNK)


def measure(channels: dict[str, Channel], rounds: int, chunks: int) -> list[Row]:
    """Return the rows, filled."""
    size_gb = chunks * len(CHUNK) / 1e9
    subjects: list[tuple[str, str, Callable[[Channel], None], Callable[[float], float]]] = [
        ("64 bytes there and back", "us", trips, lambda seconds: seconds / TRIPS * 1e6),
        (f"{chunks} MB up", "GB/s", partial(up, chunks=chunks), lambda s: size_gb / s),
        (f"{chunks} MB down", "GB/s", partial(down, chunks=chunks), lambda s: size_gb / s),
    ]
    rows = []
    for name, unit, move, convert in subjects:
        plain = Row(name, PLAIN, unit)
        encrypted = Row(name, ENCRYPTED, unit, [], plain)
        for _ in range(rounds):
            for row in (plain, encrypted):
                seconds = timed(partial(move, channels[row.subject]))
                row.rounds.append(convert(seconds))
        rows += [plain, encrypted]
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--megabytes", type=int, default=64, help="10^6 bytes")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--serve", choices=(PLAIN, ENCRYPTED), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(options.serve)
    with tempfile.TemporaryFile("w") as log, contextlib.ExitStack() as stack:
        channels = {}
        for scheme in (PLAIN, ENCRYPTED):
            server = Child([sys.executable, __file__, "--serve", scheme], log)
            stack.callback(server.close)
            channels[scheme] = connect(server.read(), 10)
            stack.callback(channels[scheme].close)
        rows = measure(channels, options.rounds, options.megabytes)
    return show(rows, machine(), options.rounds)


if __name__ == "__main__":
    main()
