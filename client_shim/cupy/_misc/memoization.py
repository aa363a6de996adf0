"""`memoize`, `clear_memo`: results remembered by arguments, and by device if asked for."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from cupool.client_shim import session as _session

__all__ = ["clear_memo", "memoize"]

_memos: list[dict[Any, Any]] = []


def memoize(for_each_device: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that calls a function once for the same arguments.

    Args:
        for_each_device: remember the results of each device apart.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        memo: dict[Any, Any] = {}
        _memos.append(memo)

        @functools.wraps(function)
        def remembered(*args: Any, **kwargs: Any) -> Any:
            device = _session.current.device if for_each_device else -1
            key: tuple[Any, ...] = (device, args)
            if kwargs:
                key = (*key, frozenset(kwargs.items()))
            if key not in memo:
                memo.setdefault(key, function(*args, **kwargs))
            return memo[key]

        return remembered

    return decorate


def clear_memo() -> None:
    """Forget what all functions made by `memoize` remember."""
    for memo in _memos:
        memo.clear()


# What is remembered may be of the sessions that are given up: compiled kernels, plans.
_session.on_reset(clear_memo)
