"""Parameters, shapes and checks that both random APIs share.

A parameter of a distribution stays on the host if it is a number; lists and NumPy arrays go to the
device. Values are checked here where the host has them, and by the device where it has: where CuPy
itself waits for such a check, the call waits; elsewhere its error is raised at the next wait.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupy._creation.from_data import asarray

__all__ = ["as_parameter", "reject", "result_shape", "shape_of"]
ndarray = core.ndarray
Shape = tuple[int, ...]


def as_parameter(value: Any) -> Any:
    """Return a number or a device array.

    Raises:
        TypeError, ValueError: what cannot be on the device.
    """
    if isinstance(value, (ndarray, bool, int, float)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return value.item()
    return asarray(value)


def shape_of(size: Any) -> Shape:
    """Return a `size` argument as a shape; None is 0-d.

    Raises:
        TypeError: not integers.
        ValueError: negative lengths.
    """
    if size is None:
        return ()
    lengths = size if isinstance(size, (tuple, list)) else None
    if lengths is None:
        try:
            lengths = (operator.index(size),)
        except TypeError:
            lengths = tuple(size)
    shape = tuple(operator.index(n) for n in lengths)
    if any(n < 0 for n in shape):
        raise ValueError("negative dimensions are not allowed")
    return shape


def result_shape(size: Any, parameters: tuple[Any, ...]) -> Shape:
    """Return the shape of a draw: `size`, or that of the parameters together.

    Raises:
        ValueError: the parameters do not broadcast to it.
    """
    shapes = [p.shape for p in parameters if isinstance(p, ndarray)]
    if size is None:
        return np.broadcast_shapes(*shapes)
    shape = shape_of(size)
    if shapes and np.broadcast_shapes(shape, *shapes) != shape:
        raise ValueError(
            "operands could not be broadcast together with shapes"
            f" {' '.join(str(s) for s in (shape, *shapes))}"
        )
    return shape


def reject(value: Any, bad: Callable[[Any], Any], text: str) -> None:
    """Raise ValueError if a parameter that the host knows has a bad value."""
    if isinstance(value, ndarray):
        return
    if bool(np.any(bad(np.asarray(value)))):
        raise ValueError(text)
