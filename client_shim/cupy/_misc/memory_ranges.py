"""`may_share_memory`, `shares_memory`: known here, from layouts; the device is not asked."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import core, views

__all__ = ["may_share_memory", "shares_memory"]


def _same_owner(a: core.ndarray, b: core.ndarray) -> bool:
    first = a if a._owner is None else a._owner
    second = b if b._owner is None else b._owner
    return first is second


def may_share_memory(a: Any, b: Any, max_work: Any = None) -> bool:
    """Return whether two arrays' byte ranges overlap.

    Raises:
        NotImplementedError: `max_work` is given.
    """
    if max_work is not None:
        raise NotImplementedError("Only supported for `max_work` is `None`")
    a, b = views.require(a), views.require(b)
    return _same_owner(a, b) and np.may_share_memory(a._shadow, b._shadow)


def shares_memory(a: Any, b: Any, max_work: Any = None) -> bool:
    """Return whether two arrays have an element in common.

    Args:
        max_work: None or "MAY_SHARE_EXACT" for the exact answer, "MAY_SHARE_BOUNDS" for that of
            `may_share_memory`.

    Raises:
        NotImplementedError: another `max_work`.
    """
    if max_work == "MAY_SHARE_BOUNDS":
        return may_share_memory(a, b)
    if max_work not in (None, "MAY_SHARE_EXACT"):
        raise NotImplementedError("Not supported for integer `max_work`.")
    a, b = views.require(a), views.require(b)
    return _same_owner(a, b) and np.shares_memory(a._shadow, b._shadow)
