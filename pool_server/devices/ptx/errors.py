"""What goes wrong before a kernel runs."""

from __future__ import annotations


class PtxError(Exception):
    """PTX that cannot be translated: what, and the line of the PTX."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(f"{message} (PTX line {line})")
        self.message = message
        self.line = line
