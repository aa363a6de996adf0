"""A worker process that speaks the control protocol and does nothing else.

Modes: "good", "stillborn" (exits at once), "failing" (cannot open), "deaf" (never opens).
"""

from __future__ import annotations

import os
import socket
import sys

from cupool.pool_server.session.control import (
    Close,
    Ended,
    Framer,
    Open,
    Opened,
    Ready,
    Report,
    encode,
)


def main() -> int:
    mode = sys.argv[1]
    if mode == "stillborn":
        print("some noise\nImportError: no such device", file=sys.stderr)
        return 1
    control = socket.socket(fileno=int(sys.argv[sys.argv.index("--control-fd") + 1]))
    framer = Framer()
    control.sendall(encode(Ready(os.getpid())))
    while data := control.recv(1 << 16):
        for message in framer.feed(data):
            if isinstance(message, Open) and mode == "failing":
                control.sendall(encode(Ended(message.session, "failed", "out of everything")))
                return 1
            if isinstance(message, Open) and mode == "good":
                urls = [f"{url}{message.memory_bytes}" for url in message.urls]
                control.sendall(encode(Opened(message.session, urls)))
                control.sendall(encode(Report(message.session, True, 5, 7)))
            if isinstance(message, Close) and mode == "good":
                control.sendall(encode(Ended("", message.reason, message.message)))
                return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
