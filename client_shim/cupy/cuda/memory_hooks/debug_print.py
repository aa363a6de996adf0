"""`DebugPrintHook`: a line of JSON for each allocation and release."""

from __future__ import annotations

import json
import sys
from typing import Any

from cupool.client_shim.cupy.cuda.memory_hook import MemoryHook


class DebugPrintHook(MemoryHook):
    """Prints what is allocated and freed within it.

    Args:
        file: where to.
        flush: after each line.
    """

    __module__ = "cupy.cuda.memory_hooks"
    name = "DebugPrintHook"

    def __init__(self, file: Any = None, flush: bool = True) -> None:
        self.file = sys.stdout if file is None else file
        self.flush = flush

    def _print(self, hook: str, told: dict[str, Any]) -> None:
        if "pmem_id" in told:
            told["pmem_id"] = hex(told["pmem_id"])
        self.file.write(json.dumps({"hook": hook, **told}) + "\n")
        if self.flush:
            self.file.flush()

    def alloc_postprocess(self, **kwargs: Any) -> None:
        """Print an allocation from the device."""
        self._print("alloc", kwargs)

    def malloc_postprocess(self, **kwargs: Any) -> None:
        """Print an allocation from a pool."""
        self._print("malloc", kwargs)

    def free_postprocess(self, **kwargs: Any) -> None:
        """Print a release."""
        self._print("free", kwargs)
