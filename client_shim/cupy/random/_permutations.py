"""`shuffle` and `permutation`, with the current device's state."""

from __future__ import annotations

from typing import Any

from cupool.client_shim.cupy.random import _generator

__all__ = ["permutation", "shuffle"]


def shuffle(a: Any) -> None:
    """Reorder an array along its first axis, in place; see `RandomState.shuffle`."""
    _generator.get_random_state().shuffle(a)


def permutation(a: Any) -> Any:
    """Return a reordered copy, or a permutation of `range(a)`."""
    return _generator.get_random_state().permutation(a)
