"""SciPy's multimethod protocol: `scipy.fft.set_backend(cupyx.scipy.fft)` and the like.

SciPy hands over its own function and marked arguments; ours of the same name takes them. SciPy is
not needed here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupy._creation.from_data import asarray

__all__ = ["convert", "function_of"]


def convert(dispatchables: Any, coerce: bool) -> Any:
    """Return the arguments as they are passed on, or NotImplemented if they are not for us."""
    replaced = []
    for marked in dispatchables:
        value = marked.value
        if marked.type is np.ndarray:
            if coerce and marked.coercible:
                try:
                    value = asarray(value)
                except TypeError:
                    return NotImplemented
            if not isinstance(value, core.ndarray):
                return NotImplemented
        replaced.append(value)
    return replaced


def function_of(functions: Mapping[str, Callable[..., Any]]) -> Callable[..., Any]:
    """Return the `__ua_function__` that answers with functions of the same names."""

    def answer(method: Any, args: Any, kwargs: Any) -> Any:
        function = functions.get(getattr(method, "__name__", ""))
        return NotImplemented if function is None else function(*args, **kwargs)

    return answer
