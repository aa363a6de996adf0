"""`cupy.fuse`: the function is called with the arrays themselves, operation by operation.

CuPy traces the function and makes one kernel of it. Queued operations give the same values and
dtypes; what is kept of fusion are its rules: which arguments it takes, that the function must not
look at an element, what it may return, and that what it returns is not an argument itself.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupy._core._fusion_thread_local import fusing, is_fusing
from cupool.client_shim.cupy._creation.basic import full

__all__ = ["fuse"]
_SCALARS = (np.generic, int, float, complex, bool)
_VALUES = (core.ndarray, *_SCALARS)
_ACCEPTED = (core.ndarray, np.ndarray, *_SCALARS, type(None))


class Fusion:
    """A fused function; calling it computes on the device.

    Attributes:
        func: the function as it was written.
        name: of the kernel that CuPy would make.
    """

    def __init__(self, func: Callable[..., Any], name: str | None = None) -> None:
        self.func = func
        self.name = name or func.__name__

    def __repr__(self) -> str:
        return f"<Fusion '{self.name}'>"

    def __call__(self, *args: Any) -> Any:
        """Call the function. Without a device array among the arguments it is a plain call.

        Raises:
            TypeError: an argument that is neither array, scalar nor None; the function wants the
                value of an element.
            ValueError: the function returns something else than arrays, scalars, a tuple of them
                or None.
        """
        if is_fusing() or not any(isinstance(a, core.ndarray) for a in args):
            return self.func(*args)
        if not all(isinstance(a, _ACCEPTED) for a in args):
            types = ", ".join(repr(type(a)) for a in args)
            raise TypeError(f"Invalid argument type for '{self.name}': ({types})")
        with fusing():
            result = self.func(*args)
        return _returned(result, args)

    def clear_cache(self) -> None:
        """Do nothing: no kernel is kept."""


def _returned(result: Any, args: tuple[Any, ...]) -> Any:
    """Check what a fused function returned, and make each array of it the caller's own.

    A kernel writes its results to new memory: an argument that is returned comes as a copy, a
    scalar as an array of the arguments' common shape.
    """
    if result is None:
        return None
    if isinstance(result, _VALUES):
        return _fresh(result, args, ())
    if not isinstance(result, tuple):
        raise ValueError(
            "The return value of fused functions must be `None`, ndarray or a tuple of ndarays."
        )
    if not all(isinstance(item, _VALUES) for item in result):
        raise ValueError("All elements of the tuple that a fused function returns must be arrays.")
    return tuple(_fresh(item, args, result[:i]) for i, item in enumerate(result))


def _fresh(value: Any, args: tuple[Any, ...], before: tuple[Any, ...]) -> Any:
    if not isinstance(value, core.ndarray):
        shapes = [a.shape for a in args if isinstance(a, core.ndarray)]
        return full(np.broadcast_shapes(*shapes), value, np.dtype(type(value)))
    return value.copy() if any(value is other for other in (*args, *before)) else value


def fuse(*args: Any, **kwargs: Any) -> Any:
    """Decorate a function so that it counts as one element-wise or reduction kernel.

    Args:
        kernel_name: name of the kernel; by default the function's.

    Used with and without a call: ``@cupy.fuse`` and ``@cupy.fuse(kernel_name="f")``.
    """

    def wrapper(func: Callable[..., Any], kernel_name: str | None = None) -> Fusion:
        made = Fusion(func, kernel_name)
        functools.update_wrapper(made, func)
        return made

    if len(args) == 1 and not kwargs and callable(args[0]):
        return wrapper(args[0])
    return lambda func: wrapper(func, *args, **kwargs)
