"""The client's account of memory when several threads settle it at once."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any, cast

import pytest

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


def session_that(*answers: Any) -> Any:
    """A session of 100 bytes in use whose device gives these answers, the last one again."""
    told = list(answers)

    def ask(name: str, refs: list[Any], **_: Any) -> dict[str, int]:
        answer = told.pop(0) if len(told) > 1 else told[0]
        if isinstance(answer, Exception) and refs:
            raise answer
        return {"used": 40, "outside": 20}

    return cast(Any, SimpleNamespace(used_bytes=100, settling=threading.RLock(), ask=ask))


def test_arrays_that_were_not_made_take_nothing_once() -> None:
    """The device's word leaves them out already; to subtract them, too, was once too often."""
    session, handle = (
        session_that(MemoryError("own")),
        SimpleNamespace(ref=(0, 7), charged_bytes=30),
    )
    with pytest.raises(MemoryError, match="own"):
        settle(session, [cast(Any, handle)])
    assert handle.charged_bytes == 0 and session.used_bytes == 60


def test_an_error_of_another_threads_arrays_leaves_these_counted() -> None:
    session = session_that(MemoryError("another's"), None)
    handle = SimpleNamespace(ref=(0, 7), charged_bytes=30)
    with pytest.raises(MemoryError, match="another's"):
        settle(session, [cast(Any, handle)])
    assert handle.charged_bytes == 30 and session.used_bytes == 60
