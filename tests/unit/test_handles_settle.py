"""The client's account of memory when several threads settle it at once."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any, cast

from cupool.client_shim.handles import settle

_DEVICE_BYTES = 60


def test_two_threads_do_not_correct_one_difference_twice() -> None:
    both = threading.Barrier(2)

    def ask(*_: Any, **__: Any) -> dict[str, int]:
        try:
            both.wait(0.5)  # passes at once if the other thread may ask meanwhile
        except threading.BrokenBarrierError:
            pass
        return {"used": _DEVICE_BYTES, "outside": 0}

    session = cast(Any, SimpleNamespace(used_bytes=100, settling=threading.RLock(), ask=ask))
    threads = [threading.Thread(target=settle, args=(session, ())) for _ in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(10)
    assert session.used_bytes == _DEVICE_BYTES
