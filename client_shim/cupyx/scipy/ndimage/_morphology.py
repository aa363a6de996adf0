"""Morphology: binary and grey."""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls, core
from cupool.client_shim.cupyx.scipy._declared import Spec, send
from cupool.client_shim.cupyx.scipy.ndimage import _util

__all__ = [
    "binary_closing",
    "binary_dilation",
    "binary_erosion",
    "binary_fill_holes",
    "binary_hit_or_miss",
    "binary_opening",
    "binary_propagation",
    "generate_binary_structure",
    "iterate_structure",
]
ndarray = core.ndarray
_BOOL = np.dtype(np.bool_)


def generate_binary_structure(rank: int, connectivity: int) -> ndarray:
    """Return the 3 x 3 x ... neighbours at a squared distance of at most `connectivity`."""
    shape = (3,) * max(rank, 0)
    args = (rank, connectivity)
    return calls.call_one("scipy.ndimage.generate_binary_structure", args, None, shape, _BOOL)


def iterate_structure(structure: Any, iterations: int, origin: Any = None) -> Any:
    """Dilate a structuring element with itself.

    Returns:
        the element, and the origin times `iterations` if one was given.
    """
    if iterations < 2:
        return structure.copy()
    shape = tuple(n + (iterations - 1) * (n - 1) for n in structure.shape)
    args = (structure, iterations)
    name = "scipy.ndimage.iterate_structure"
    result = calls.call_one(name, args, None, shape, _BOOL)
    if origin is None:
        return result
    origins = _util.sequence(origin, structure.ndim, "origin", int)
    return result, [iterations * one for one in origins]


def _element(structure: Any, count: int) -> Any:
    """Return a structuring element as the device has it; sizes stand for one of ones.

    Raises:
        RuntimeError: empty, or with other axes than those that are filtered.
    """
    if structure is None:
        return None
    if isinstance(structure, int):
        structure = (structure,) * count
    if isinstance(structure, (tuple, list)):
        from cupool.client_shim.cupy._creation.basic import ones

        if not structure:
            raise RuntimeError("structure must not be empty")
        return ones(tuple(structure), bool)
    if structure.ndim != count:
        raise RuntimeError("structure and input must have same dimensionality")
    if structure.size < 1:
        raise RuntimeError("structure must not be empty")
    return structure


def _predict(input: Any, output: Any) -> Spec:
    """Predict a binary result.

    Raises:
        TypeError: complex input or output.
        RuntimeError: an output of another shape.
    """
    if input.dtype.kind == "c":
        raise TypeError("Complex type not supported")
    if not isinstance(output, ndarray):
        return Spec(input.shape, _BOOL)
    if output.dtype.kind == "c":
        raise TypeError("Complex output type not supported")
    if output.shape != input.shape:
        raise RuntimeError("output shape not correct")
    return Spec(input.shape, output.dtype)


def _binary(
    name: str,
    input: Any,
    structure: Any,
    mask: Any,
    output: Any,
    origin: Any,
    axes: Any,
    **more: Any,
) -> ndarray:
    prediction = _predict(input, output)
    found = _util.check_axes(axes, input.ndim)
    if "iterations" in more:
        try:
            more["iterations"] = operator.index(more["iterations"])
        except TypeError:
            raise TypeError("iterations parameter should be an integer") from None
    structure = _element(structure, len(found))
    if mask is not None and mask.shape != input.shape:
        raise RuntimeError("mask and input must have equal sizes")
    _util.sequence(origin, len(found), "origin", int)
    given = {"input": input, "structure": structure, **more, "origin": origin}
    given["output"] = output if isinstance(output, ndarray) else None
    if mask is not None:
        given["mask"] = mask
    if len(found) < input.ndim:
        given["axes"] = found
    result: ndarray = send(f"scipy.ndimage.{name}", given, prediction)
    return result


def binary_erosion(
    input: Any,
    structure: Any = None,
    iterations: int = 1,
    mask: Any = None,
    output: Any = None,
    border_value: int = 0,
    origin: Any = 0,
    brute_force: bool = False,
    *,
    axes: Any = None,
) -> ndarray:
    """Keep the elements whose neighbours are all set.

    Args:
        iterations: how often; below 1 until nothing changes.
        mask: elements where it is false stay as they are.

    Raises:
        TypeError: complex input or output, iterations that are no integer.
        RuntimeError: a structuring element or a mask that does not fit.
    """
    more = {"iterations": iterations, "border_value": border_value, "brute_force": brute_force}
    return _binary("binary_erosion", input, structure, mask, output, origin, axes, **more)


def binary_dilation(
    input: Any,
    structure: Any = None,
    iterations: int = 1,
    mask: Any = None,
    output: Any = None,
    border_value: int = 0,
    origin: Any = 0,
    brute_force: bool = False,
    *,
    axes: Any = None,
) -> ndarray:
    """Set the elements that have a neighbour; see `binary_erosion`."""
    more = {"iterations": iterations, "border_value": border_value, "brute_force": brute_force}
    return _binary("binary_dilation", input, structure, mask, output, origin, axes, **more)


def binary_opening(
    input: Any,
    structure: Any = None,
    iterations: int = 1,
    output: Any = None,
    origin: Any = 0,
    mask: Any = None,
    border_value: int = 0,
    brute_force: bool = False,
    *,
    axes: Any = None,
) -> ndarray:
    """Erode, then dilate; see `binary_erosion`."""
    more = {"iterations": iterations, "border_value": border_value, "brute_force": brute_force}
    return _binary("binary_opening", input, structure, mask, output, origin, axes, **more)


def binary_closing(
    input: Any,
    structure: Any = None,
    iterations: int = 1,
    output: Any = None,
    origin: Any = 0,
    mask: Any = None,
    border_value: int = 0,
    brute_force: bool = False,
    *,
    axes: Any = None,
) -> ndarray:
    """Dilate, then erode; see `binary_erosion`."""
    more = {"iterations": iterations, "border_value": border_value, "brute_force": brute_force}
    return _binary("binary_closing", input, structure, mask, output, origin, axes, **more)


def binary_hit_or_miss(
    input: Any,
    structure1: Any = None,
    structure2: Any = None,
    output: Any = None,
    origin1: Any = 0,
    origin2: Any = None,
    *,
    axes: Any = None,
) -> Any:
    """Find where one element fits the set and another what is not set.

    Returns:
        the result, or None if it was written into an array `output`.
    """
    prediction = _predict(input, output)
    found = _util.check_axes(axes, input.ndim)
    given: dict[str, Any] = {"input": input}
    given["structure1"] = _element(structure1, len(found))
    given["structure2"] = _element(structure2, len(found))
    given["output"] = output if isinstance(output, ndarray) else None
    given["origin1"] = _util.sequence(origin1, len(found), "origin1", int)
    if origin2 is not None:
        given["origin2"] = _util.sequence(origin2, len(found), "origin2", int)
    if len(found) < input.ndim:
        given["axes"] = found
    result = send("scipy.ndimage.binary_hit_or_miss", given, prediction)
    return None if isinstance(output, ndarray) else result


def binary_propagation(
    input: Any,
    structure: Any = None,
    mask: Any = None,
    output: Any = None,
    border_value: int = 0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> ndarray:
    """Dilate within a mask until nothing changes; see `binary_erosion`."""
    more = {"border_value": border_value}
    return _binary("binary_propagation", input, structure, mask, output, origin, axes, **more)


def binary_fill_holes(
    input: Any,
    structure: Any = None,
    output: Any = None,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """Set the elements that the outside does not reach."""
    if any(_util.sequence(origin, len(_util.check_axes(axes, input.ndim)), "origin", int)):
        warnings.warn("origin=0 is faster: holes are then found by labels", stacklevel=2)
    return _binary("binary_fill_holes", input, structure, None, output, origin, axes)
