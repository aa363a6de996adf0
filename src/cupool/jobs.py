"""A job: the processes that share one lease, known by an id and proven by a token."""

from __future__ import annotations

import os
from collections.abc import MutableMapping


def begin(environ: MutableMapping[str, str]) -> None:
    """Make this process the main one of a new job; its children inherit the variables.

    Where a lease is held for the job already (`cupool hold`), the job is that one.
    """
    held = environ.get("CUPOOL_LEASE") and environ.get("CUPOOL_JOB")
    if not (held and environ.get("CUPOOL_JOB_TOKEN")):
        environ["CUPOOL_JOB"] = os.urandom(8).hex()
        environ["CUPOOL_JOB_TOKEN"] = os.urandom(24).hex()
    environ["CUPOOL_MAIN_PID"] = str(os.getpid())


def token_of(key: bytes, job_id: str) -> str:
    """Derive a job's token, so that all machines with the key make the same one (HMAC-SHA256)."""
    import hmac

    return hmac.digest(key, job_id.encode(), "sha256").hex()
