"""A job: the processes that share one lease, known by an id and proven by a token."""

from __future__ import annotations

import os
from collections.abc import MutableMapping


def begin(environ: MutableMapping[str, str]) -> None:
    """Make this process the main one of a new job; its children inherit the variables."""
    environ["CUPOOL_JOB"] = os.urandom(8).hex()
    environ["CUPOOL_JOB_TOKEN"] = os.urandom(24).hex()
    environ["CUPOOL_MAIN_PID"] = str(os.getpid())
