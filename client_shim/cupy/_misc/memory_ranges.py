"""`may_share_memory`, `shares_memory`: known here, from layouts; the device is not asked."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim import shadow as _shadow
from cupool.client_shim.cupy._core import core, views
from cupool.client_shim.handles import Handle, PlacedHandle
from cupool.client_shim.shadow import Shadow

__all__ = ["may_share_memory", "shares_memory"]


def _placed(a: core.ndarray) -> tuple[Handle, Shadow]:
    """Return the allocation that an array lies in, and the array's shadow from its beginning."""
    handle = core.handle_of(a if a._owner is None else a._owner)
    if not isinstance(handle, PlacedHandle) or not a.size:
        return handle, a._shadow
    begin = handle.origin_bytes + _shadow.offset_bytes(a._shadow)
    return handle.root, _shadow.at(a.shape, a.dtype, begin, a.strides)


def may_share_memory(a: Any, b: Any, max_work: Any = None) -> bool:
    """Return whether two arrays' byte ranges overlap.

    Raises:
        NotImplementedError: `max_work` is given.
    """
    if max_work is not None:
        raise NotImplementedError("Only supported for `max_work` is `None`")
    (first, a), (second, b) = map(_placed, (views.require(a), views.require(b)))
    return first is second and np.may_share_memory(a, b)


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
    (first, a), (second, b) = map(_placed, (views.require(a), views.require(b)))
    return first is second and np.shares_memory(a, b)
