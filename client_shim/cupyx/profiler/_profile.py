"""`profile`: collecting with a profiler that is attached to the device's process."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from cupool.client_shim.cupy_backends.cuda.api import runtime
from cupool.errors import OperationNotSupported

__all__ = ["profile"]


def _tell(name: str) -> None:
    """Call a function of the runtime; without it no profiler can be attached either."""
    function = getattr(runtime, name, None)
    if function is not None:
        with contextlib.suppress(OperationNotSupported):
            function()


@contextlib.contextmanager
def profile() -> Iterator[None]:
    """Let an attached profiler collect during a `with` block."""
    _tell("profilerStart")
    try:
        yield
    finally:
        _tell("profilerStop")
