"""`show_config`: what this session is; nothing of the local machine is looked for."""

from __future__ import annotations

import sys

__all__ = ["show_config"]


def show_config(*, _full: bool = False) -> None:
    """Print `cupyx.get_runtime_info()`: versions, the pool, the session and its devices."""
    from cupool.client_shim.cupyx import get_runtime_info

    sys.stdout.write(str(get_runtime_info(full=_full)))
