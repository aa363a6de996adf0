"""Adding and removing axes, and broadcasting: all of them views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import core, views
from cupool.client_shim.cupy._core._kernel import broadcast_shapes
from cupool.client_shim.cupy._creation.from_data import asarray

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast",
    "broadcast_arrays",
    "broadcast_to",
    "expand_dims",
    "squeeze",
]
ndarray = core.ndarray


def _at_least(widen: Callable[[Any], Any], arys: tuple[Any, ...]) -> Any:
    made = []
    for a in arys:
        array = asarray(a)
        wide = widen(array._shadow)
        made.append(array if wide is array._shadow else core.view_of(array, wide))
    return made[0] if len(made) == 1 else made


def atleast_1d(*arys: Any) -> Any:
    """Return each input with at least one axis; a list if there are several."""
    return _at_least(np.atleast_1d, arys)


def atleast_2d(*arys: Any) -> Any:
    """Return each input with at least two axes; a list if there are several."""
    return _at_least(np.atleast_2d, arys)


def atleast_3d(*arys: Any) -> Any:
    """Return each input with at least three axes; a list if there are several."""
    return _at_least(np.atleast_3d, arys)


class broadcast:
    """The common shape of arrays, and the arrays stretched to it.

    Attributes:
        values: the inputs, device arrays as views of the common shape.
        shape, size, nd: of the common shape.

    Raises:
        ValueError: the shapes do not broadcast.
    """

    def __init__(self, *arrays: Any) -> None:
        shapes = [a.shape for a in arrays if isinstance(a, ndarray)]
        self.shape: tuple[int, ...] = broadcast_shapes(shapes) if shapes else ()
        self.nd = len(self.shape)
        self.size = int(np.prod(self.shape, dtype=np.int64))
        self.values = tuple(
            views.broadcast_to(a, self.shape) if isinstance(a, ndarray) else a for a in arrays
        )


def broadcast_arrays(*args: Any) -> tuple[Any, ...]:
    """Return the arrays as views of their common shape; scalars stay as they are."""
    return broadcast(*args).values


def broadcast_to(array: Any, shape: Any) -> ndarray:
    """Return `array` stretched to a shape, a view.

    Raises:
        ValueError: it does not broadcast to that shape.
    """
    array = views.require(array)
    lengths = tuple(int(n) for n in shape) if np.iterable(shape) else (int(shape),)
    if array.ndim > len(lengths):
        raise ValueError("input operand has more dimensions than allowed by the axis remapping")
    for have, want in zip(array.shape, lengths[len(lengths) - array.ndim :], strict=True):
        if have not in (want, 1):
            raise ValueError(
                f"operands could not be broadcast together with shape {array.shape} and"
                f" requested shape {lengths}"
            )
    return views.broadcast_to(array, lengths)


def expand_dims(a: Any, axis: Any) -> ndarray:
    """Return `a` with axes of length one at the given positions of the result, a view.

    Raises:
        AxisError: out of range.
        ValueError: an axis named twice.
    """
    a = views.require(a)
    return core.view_of(a, np.expand_dims(a._shadow, axis))


def squeeze(a: Any, axis: Any = None) -> ndarray:
    """Return `a` without axes of length one, a view.

    Raises:
        AxisError: out of range.
        ValueError: a named axis is longer than one.
    """
    return views.squeeze(views.require(a), axis)
