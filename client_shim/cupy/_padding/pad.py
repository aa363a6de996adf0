"""`pad`."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls, core, views
from cupool.client_shim.cupy._core.routines_indexing import assign
from cupool.client_shim.cupy._creation.basic import empty

__all__ = ["pad"]
ndarray = core.ndarray
Pairs = list[tuple[Any, Any]]

_OPTION = {
    "constant": "constant_values",
    "edge": None,
    "empty": None,
    "linear_ramp": "end_values",
    "maximum": "stat_length",
    "mean": "stat_length",
    "minimum": "stat_length",
    "reflect": "reflect_type",
    "symmetric": "reflect_type",
    "wrap": None,
}
"""Mode -> the one keyword argument that it takes."""


def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> ndarray:
    """Return an array with borders added.

    Args:
        array: device array.
        pad_width: int, pair, or a pair of ints (before, after) for each axis.
        mode: "constant", "edge", "empty", "linear_ramp", "maximum", "mean", "minimum", "reflect",
            "symmetric", "wrap", or a function that writes the borders of a vector in place:
            `function(vector, (before, after), axis, kwargs)`.
        kwargs: `constant_values`, `end_values`, `stat_length`, `reflect_type`, as the mode has it.

    Raises:
        TypeError: widths that are not integers.
        ValueError: negative widths, an unknown mode or keyword, an empty axis that the mode
            cannot extend.
    """
    array = views.require(array)
    widths = _widths(pad_width, array.ndim)
    if callable(mode):
        return _by_function(array, widths, mode, kwargs)
    if mode not in _OPTION:
        raise ValueError(f"mode '{mode}' is not supported")
    unknown = set(kwargs) - {_OPTION[mode]}
    if unknown:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {unknown}")
    options = {name: _pairs(value, array.ndim, name) for name, value in kwargs.items()}
    if mode not in ("constant", "empty"):
        for axis, (length, width) in enumerate(zip(array.shape, widths, strict=True)):
            if length == 0 and any(width):
                raise ValueError(
                    f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'"
                )
    if array.ndim == 0:
        return views.copy(array)
    shape = _padded_shape(array, widths)
    order = "F" if array.flags.fnc else "C"
    args = (array, tuple(widths), mode)
    return calls.call_one("pad", args, options, shape, array.dtype, order)


def _padded_shape(array: ndarray, widths: Pairs) -> tuple[int, ...]:
    rows = zip(array.shape, widths, strict=True)
    return tuple(before + length + after for length, (before, after) in rows)


def _widths(pad_width: Any, ndim: int) -> Pairs:
    """Return a pair of ints for each axis."""
    if isinstance(pad_width, Integral):
        host = np.asarray(pad_width)
    else:
        host = np.asarray(pad_width)
        if host.dtype.kind != "i":
            raise TypeError("`pad_width` must be of integral type.")
    if (host < 0).any():
        raise ValueError("index can't contain negative values")
    return [(int(before), int(after)) for before, after in np.broadcast_to(host, (ndim, 2))]


def _pairs(value: Any, ndim: int, name: str) -> Any:
    """Check an option's host value and bring it into a form that can be sent.

    Raises:
        ValueError: negative lengths, or a shape that does not fit the axes.
    """
    if value is None or isinstance(value, (str, bool, int, float, complex, np.generic)):
        if name == "stat_length" and value is not None:
            _check_lengths(np.asarray(value))
        return value
    host = np.asarray(value)
    if name == "stat_length":
        host = np.round(host).astype(np.intp)
        _check_lengths(host)
    np.broadcast_to(host, (ndim, 2))
    return host.tolist()


def _check_lengths(host: np.ndarray[Any, Any]) -> None:
    if (host < 0).any():
        raise ValueError("index can't contain negative values")


def _by_function(
    array: ndarray, widths: Pairs, function: Callable[..., Any], kwargs: dict[str, Any]
) -> ndarray:
    """Call the caller's function on every vector of a zero-padded array, axis by axis."""
    order = "F" if array.flags.fnc else "C"
    made = empty(_padded_shape(array, widths), array.dtype, order)
    assign(made, 0)
    rows = zip(array.shape, widths, strict=True)
    inner = tuple(slice(before, before + length) for length, (before, _) in rows)
    made[inner] = array
    for axis in range(made.ndim):
        lanes = core.view_of(made, np.moveaxis(made._shadow, axis, -1))
        for index in np.ndindex(lanes.shape[:-1]):
            function(lanes[(*index, ...)], widths[axis], axis, kwargs)
    return made
