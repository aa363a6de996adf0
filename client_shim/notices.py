"""Notices of the pool to the script: its GPU will be taken away, and why.

Each is printed once on stderr. A script that can save its state asks for more: a function
(`cupool.on_notice`), or a signal (`--notice-signal SIGUSR1`), as batch systems send it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cupool.config import load
from cupool.proto import messages as m


@dataclass(frozen=True)
class Notice:
    """What the pool announces.

    Attributes:
        reason: "preempted" (a more urgent job needs the GPU), "deadline" (--max-time), "drain"
            (the server is taken out of use), or "withdrawn": an earlier one no longer holds.
        message: why, for people.
        within_s: seconds from now until the session ends.
    """

    reason: str
    message: str
    within_s: float


_functions: list[Callable[[Notice], object]] = []
_last: tuple[str, str] | None = None


def on_notice(function: Callable[[Notice], object]) -> Callable[[Notice], object]:
    """Call `function(notice)`, in a thread of its own, when a GPU will be taken away.

    Usable as a decorator. GPU work is still possible meanwhile: save what matters.
    """
    _functions.append(function)
    return function


def take(received: Sequence[m.Notice]) -> None:
    """Take what a session's server says; several sessions may say the same."""
    global _last
    for each in received:
        notice = Notice(each.reason, each.message, each.within_s)
        if _last == (notice.reason, notice.message):
            continue
        _last = (notice.reason, notice.message)
        print(_words(notice), file=sys.stderr, flush=True)
        for function in list(_functions):
            threading.Thread(
                target=function, args=(notice,), name="cupool-notice", daemon=True
            ).start()
        name = load().settings.notice_signal
        if name and notice.reason != "withdrawn":
            os.kill(os.getpid(), signal.Signals[name])


def _words(notice: Notice) -> str:
    if notice.reason == "withdrawn":
        return f"cupool: {notice.message}"
    return (
        f"cupool: your GPU will be taken away in {notice.within_s:.0f} s: {notice.message}; "
        "save your work now"
    )
