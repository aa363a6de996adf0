"""Checks and predictions that the functions of `cupyx.scipy.ndimage` share."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupy._creation.from_data import asarray
from cupool.client_shim.cupyx.scipy._declared import Spec

__all__ = [
    "check_array",
    "check_axes",
    "check_cval",
    "check_modes",
    "check_origins",
    "like",
    "on_device",
    "output_dtype",
    "sequence",
]
ndarray = core.ndarray

_MODES = frozenset(
    "reflect constant nearest mirror wrap grid-mirror grid-wrap grid-reflect".split()
)


def check_array(input: Any) -> None:
    """Check that the picture is a device array."""
    if not isinstance(input, ndarray):
        raise TypeError(f"input must be a cupy.ndarray, not {type(input)}")


def on_device(value: Any) -> Any:
    """Return a footprint or structuring element as a device array; None stays None."""
    return None if value is None else asarray(value)


def sequence(
    value: Any, length: int, name: str, convert: Callable[[Any], Any] = lambda x: x
) -> Any:
    """Return a parameter of every axis as a list: one value is repeated.

    Raises:
        RuntimeError: as many values as axes are needed.
    """
    if isinstance(value, str) or not isinstance(value, Iterable):
        return [convert(value)] * length
    if isinstance(value, (ndarray, np.ndarray)) and value.ndim == 0:
        return [convert(value)] * length
    values = [convert(v) for v in value]
    if len(values) != length:
        raise RuntimeError(f"{name} must have length equal to input rank")
    return values


def check_axes(axes: Any, ndim: int) -> tuple[int, ...]:
    """Return the axes to filter, not negative; all for None.

    Raises:
        AxisError: out of range.
        ValueError: repeated, or no axes at all.
    """
    if axes is None:
        return tuple(range(ndim))
    if np.isscalar(axes):
        axes = (axes,)
    elif not isinstance(axes, Iterable):
        raise ValueError("axes must be an integer, iterable of integers, or None")
    found = [operator.index(a) for a in axes]
    for axis in found:
        if not -ndim <= axis < ndim:
            raise np.exceptions.AxisError(f"specified axis: {axis} is out of range")
    positive = tuple(a % ndim for a in found)
    if len(set(positive)) != len(positive):
        raise ValueError("axes must be unique")
    return positive


def check_modes(mode: Any, length: int) -> None:
    """Check the boundary modes: RuntimeError for one that does not exist."""
    for one in sequence(mode, length, "mode", str):
        if one not in _MODES:
            raise RuntimeError(f"boundary mode not supported (actual: {one})")


def check_origins(origin: Any, widths: Any, least: int = 0) -> None:
    """Check that each origin lies within its filter: ValueError if not.

    Filters narrower than `least` change nothing and are not looked at.
    """
    for one, width in zip(sequence(origin, len(widths), "origin", int), widths, strict=True):
        if width >= least and not 0 <= width // 2 + one < width:
            raise ValueError("invalid origin")


def check_cval(mode: Any, cval: Any, dtype: np.dtype[Any]) -> None:
    """Check that integers are not filled with nan or infinities.

    Raises:
        NotImplementedError: they would be.
    """
    modes = (mode,) if isinstance(mode, str) else tuple(mode)
    if "constant" in modes and dtype.kind in "iu" and not np.isfinite(cval):
        raise NotImplementedError(
            "Non-finite cval is not supported for outputs with integer dtype."
        )


def _is_integer_output(output: Any, input: Any) -> bool:
    """Return whether a filter's result has an integer dtype; CuPy's tests ask it."""
    if output is None or isinstance(output, ndarray):
        return (input if output is None else output).dtype.kind in "iu"
    return np.dtype(output).kind in "iu"


def output_dtype(
    input: Any, output: Any, shape: tuple[int, ...], complex_output: bool = False
) -> np.dtype[Any]:
    """Return the dtype of a filter's result, by its argument `output`.

    Raises:
        RuntimeError: an output of another shape, or real where the result is complex.
    """
    if output is None:
        dtype: np.dtype[Any] = input.dtype
        return np.promote_types(dtype, np.complex64) if complex_output else dtype
    if isinstance(output, ndarray):
        if output.shape != shape:
            raise RuntimeError("output shape not correct")
        if complex_output and output.dtype.kind != "c":
            raise RuntimeError("output must have complex dtype")
        return output.dtype
    made: np.dtype[Any] = np.dtype(output)
    if complex_output and made.kind != "c":
        if isinstance(output, str):
            raise RuntimeError("output must have complex dtype")
        warnings.warn("promoting specified output dtype to complex", stacklevel=5)
        made = np.promote_types(made, np.complex64)
    return made


def like(input: Any, output: Any, complex_output: bool | None = None) -> Spec:
    """Predict a result of the input's shape; complex if the input is, or as told."""
    if complex_output is None:
        complex_output = input.dtype.kind == "c"
    return Spec(input.shape, output_dtype(input, output, input.shape, complex_output))
