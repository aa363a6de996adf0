"""`moveaxis`, `rollaxis`, `swapaxes`, `transpose`, `permute_dims`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import core, views

__all__ = ["matrix_transpose", "moveaxis", "permute_dims", "rollaxis", "swapaxes", "transpose"]
ndarray = core.ndarray


def moveaxis(a: Any, source: Any, destination: Any) -> ndarray:
    """Return `a` with axes at other positions, a view."""
    a = views.require(a)
    return core.view_of(a, np.moveaxis(a._shadow, source, destination))


def rollaxis(a: Any, axis: int, start: int = 0) -> ndarray:
    """Return `a` with an axis rolled back to a position, a view."""
    a = views.require(a)
    return core.view_of(a, np.rollaxis(a._shadow, axis, start))


def swapaxes(a: Any, axis1: int, axis2: int) -> ndarray:
    """Return `a` with two axes exchanged, a view."""
    return views.swapaxes(views.require(a), axis1, axis2)


def transpose(a: Any, axes: Any = None) -> ndarray:
    """Return `a` with its axes permuted, a view."""
    return views.transpose(views.require(a), axes)


def permute_dims(a: Any, axes: Any = None) -> ndarray:
    """Return `a` with its axes permuted, a view (array API name)."""
    return views.transpose(views.require(a), axes)


def matrix_transpose(x: Any, /) -> ndarray:
    """Return `x` with its last two axes exchanged, a view."""
    return views.require(x).mT  # type: ignore[no-any-return]
