"""What a process does when it ends, also as a child of `multiprocessing`."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Callable


def at_exit(action: Callable[[], None]) -> None:
    """Call `action` when this process ends, before what was registered earlier; once or twice.

    A child of `multiprocessing` runs no exit handlers, only finalizers of its own.
    """
    atexit.unregister(action)
    atexit.register(action)
    util = sys.modules.get("multiprocessing.util")
    if util is not None:
        util.Finalize(None, action, exitpriority=100)
