"""`time_range`: named ranges on a profiler's timeline."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

from cupool.client_shim import session as _session
from cupool.client_shim.cupy import cuda
from cupool.errors import OperationNotSupported

__all__ = ["time_range"]


class time_range:
    """Marks a `with` block, or each call of a decorated function.

    Args:
        message: name of the range; of the function, by default, when it decorates one.
        color_id, argb_color: its color, one of them.
        sync: waits for the device at both ends.

    Raises:
        RuntimeError: the device has no NVTX.
        ValueError: two colors, or a block without a name.
    """

    def __init__(
        self,
        message: str | None = None,
        color_id: int | None = None,
        argb_color: int | None = None,
        sync: bool = False,
    ) -> None:
        if not getattr(_nvtx(), "available", True):
            raise RuntimeError("nvtx is not installed")
        if color_id is not None and argb_color is not None:
            raise ValueError("Only either color_id or argb_color can be specified")
        self.message = message
        self.color_id = -1 if color_id is None else color_id
        self.argb_color = argb_color
        self.sync = sync

    def __enter__(self) -> time_range:
        if self.message is None:
            raise ValueError("when used as a context manager, the message argument cannot be None")
        self._wait()
        if self.argb_color is not None:
            _mark("RangePushC", self.message, self.argb_color)
        else:
            _mark("RangePush", self.message, self.color_id)
        return self

    def __exit__(self, *exc: object) -> None:
        self._wait()
        _mark("RangePop")

    def _wait(self) -> None:
        if self.sync:
            _session.session().synchronize()

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def inner(*args: Any, **kwargs: Any) -> Any:
            if self.message is None:
                self.message = func.__name__
            with self:
                return func(*args, **kwargs)

        return inner


def _nvtx() -> Any:
    return getattr(cuda, "nvtx", None)


def _mark(name: str, *args: Any) -> None:
    function = getattr(_nvtx(), name, None)
    if function is not None:
        with contextlib.suppress(OperationNotSupported):  # there is no timeline to mark
            function(*args)
