"""Host functions of streams: called one after the other, in a thread of their own."""

from __future__ import annotations

import queue
import threading
import traceback
from collections.abc import Callable
from typing import Any

_ALIVE_S = 1.0

Follow = Callable[[], "BaseException | None"]
Function = Callable[["BaseException | None"], object]


class _Item:
    __slots__ = ("done", "follow", "function", "stream")

    def __init__(self, follow: Follow, function: Function, stream: Any) -> None:
        self.follow = follow
        self.function = function
        self.stream = stream
        self.done = threading.Event()


class Callbacks:
    """Calls functions in the order in which they were put, each once its work is done."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[_Item] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._open: list[_Item] = []
        self._lock = threading.Lock()

    def put(self, follow: Follow, function: Function, stream: Any) -> None:
        """Let a function be called after `follow` has waited for the work before it."""
        item = _Item(follow, function, stream)
        with self._lock:
            self._open.append(item)
            self._queue.put(item)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="cupool-callbacks", daemon=True
                )
                self._thread.start()

    def wait(self, *streams: Any) -> None:
        """Wait for the functions of streams, or for all; not from within such a function."""
        thread = self._thread
        if thread is None or threading.current_thread() is thread:
            return
        with self._lock:
            items = [item for item in self._open if not streams or item.stream in streams]
        for item in items:
            while not item.done.wait(_ALIVE_S) and thread.is_alive():
                pass

    def _run(self) -> None:
        while True:
            item = self._queue.get()
            try:
                item.function(item.follow())
            except Exception:
                traceback.print_exc()  # as an exception in any thread: nobody else can see it
            finally:
                with self._lock:
                    self._open.remove(item)
                item.done.set()
            del item
