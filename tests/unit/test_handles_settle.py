"""The client's account of memory when several threads settle it at once."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any, cast

from cupool.client_shim.handles import settle


def test_only_one_thread_settles_at_a_time() -> None:
    """Two would both correct the same difference, and the account be too low."""
    others: list[bool] = []

    def ask(*_: Any, **__: Any) -> dict[str, int]:
        other = threading.Thread(
            target=lambda: others.append(session.settling.acquire(blocking=False))
        )
        other.start()
        other.join()
        return {"used": 40, "outside": 20}

    session = cast(Any, SimpleNamespace(used_bytes=100, settling=threading.RLock(), ask=ask))
    settle(session, ())
    assert others == [False] and session.used_bytes == 60
