"""What a person sees while the script waits in line: one line of a terminal, after 2 s."""

from __future__ import annotations

import sys
import threading

_QUIET_S = 2.0


class Progress:
    """Shows the place in line on stderr, only on a terminal and only if it takes long.

    Attributes:
        in_line: a broker has taken the request, and has not answered it yet.
    """

    def __init__(self) -> None:
        self.in_line = False
        self._line = ""
        self._visible = False
        self._timer: threading.Timer | None = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *exc: object) -> None:
        self.end()

    def show(self, line: str) -> None:
        """Take news, in one line."""
        self._line = line
        if self._visible:
            self._write()
        elif self._timer is None and sys.stderr is not None and sys.stderr.isatty():
            self._timer = threading.Timer(_QUIET_S, self._begin)
            self._timer.daemon = True
            self._timer.start()

    def _begin(self) -> None:
        self._visible = True
        self._write()

    def _write(self) -> None:
        print(f"\r\033[K{self._line}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Take the line away."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._visible:
            self._visible = False
            print("\r\033[K", end="", file=sys.stderr, flush=True)
