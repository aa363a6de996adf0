"""Arrays as text, by NumPy's rules and print options; each call waits for the data."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._creation.from_data import asnumpy

__all__ = [
    "array2string",
    "array_repr",
    "array_str",
    "format_float_positional",
    "format_float_scientific",
]


def array_repr(
    arr: Any, max_line_width: Any = None, precision: Any = None, suppress_small: Any = None
) -> str:
    """Return what `repr` of the array shows, with other limits."""
    return np.array_repr(asnumpy(arr), max_line_width, precision, suppress_small)


def array_str(
    arr: Any, max_line_width: Any = None, precision: Any = None, suppress_small: Any = None
) -> str:
    """Return what `str` of the array shows, with other limits."""
    return np.array_str(asnumpy(arr), max_line_width, precision, suppress_small)


def array2string(a: Any, *args: Any, **kwargs: Any) -> str:
    """Return `numpy.array2string` of the array."""
    return np.array2string(asnumpy(a), *args, **kwargs)


def format_float_positional(x: Any, *args: Any, **kwargs: Any) -> str:
    """Return a floating-point scalar in positional notation."""
    return np.format_float_positional(asnumpy(x), *args, **kwargs)


def format_float_scientific(x: Any, *args: Any, **kwargs: Any) -> str:
    """Return a floating-point scalar in scientific notation."""
    return np.format_float_scientific(asnumpy(x), *args, **kwargs)
