"""`reshape`, `ravel`, `shape`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import core, views

__all__ = ["ravel", "reshape", "shape"]
ndarray = core.ndarray


def shape(a: Any) -> tuple[int, ...]:
    """Return the lengths of the axes, of anything array-like."""
    return a.shape if isinstance(a, ndarray) else np.shape(a)


def reshape(a: Any, newshape: Any, order: str = "C", *, copy: bool | None = None) -> ndarray:
    """Return `a` in another shape, a view where possible.

    Args:
        copy: True copies always; False refuses to copy.

    Raises:
        ValueError: the sizes differ, or a copy would be needed and is refused.
    """
    return views.reshape(views.require(a), newshape, order, copy)


def ravel(a: Any, order: str = "C") -> ndarray:
    """Return `a` with one axis, a view where possible."""
    return views.ravel(views.require(a), order)
