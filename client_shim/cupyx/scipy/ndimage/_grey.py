"""Morphology of grey values."""

from __future__ import annotations

from typing import Any

from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupyx.scipy.ndimage import _util
from cupool.client_shim.cupyx.scipy.ndimage._rank_filters import ranked

__all__ = [
    "black_tophat",
    "grey_closing",
    "grey_dilation",
    "grey_erosion",
    "grey_opening",
    "morphological_gradient",
    "morphological_laplace",
    "white_tophat",
]
ndarray = core.ndarray


def _grey(
    name: str,
    input: Any,
    size: Any,
    footprint: Any,
    structure: Any,
    output: Any,
    mode: Any,
    cval: Any,
    origin: Any,
    axes: Any,
) -> ndarray:
    if size is None and footprint is None and structure is None:
        raise ValueError("size, footprint or structure must be specified")
    more = {} if structure is None else {"structure": _util.on_device(structure)}
    path = f"scipy.ndimage.{name}"
    result: ndarray = ranked(path, input, size, footprint, output, mode, cval, origin, axes, **more)
    return result


def grey_erosion(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> ndarray:
    """Return the smallest of the neighbours, less the structuring element.

    Raises:
        ValueError: neither size, footprint nor structure; an origin outside of them.
        RuntimeError: an unknown mode, an output of another shape.
    """
    name = "grey_erosion"
    return _grey(name, input, size, footprint, structure, output, mode, cval, origin, axes)


def grey_dilation(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> ndarray:
    """Return the largest of the neighbours, plus the structuring element; see `grey_erosion`."""
    name = "grey_dilation"
    return _grey(name, input, size, footprint, structure, output, mode, cval, origin, axes)


def grey_closing(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> ndarray:
    """Dilate, then erode; see `grey_erosion`."""
    name = "grey_closing"
    return _grey(name, input, size, footprint, structure, output, mode, cval, origin, axes)


def grey_opening(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> ndarray:
    """Erode, then dilate; see `grey_erosion`."""
    name = "grey_opening"
    return _grey(name, input, size, footprint, structure, output, mode, cval, origin, axes)


def morphological_gradient(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> ndarray:
    """Return the dilation less the erosion; see `grey_erosion`."""
    name = "morphological_gradient"
    output = output if isinstance(output, ndarray) else None  # CuPy takes no dtype here
    return _grey(name, input, size, footprint, structure, output, mode, cval, origin, axes)


def morphological_laplace(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> ndarray:
    """Return the dilation plus the erosion less twice the input; see `grey_erosion`."""
    name = "morphological_laplace"
    output = output if isinstance(output, ndarray) else None  # CuPy takes no dtype here
    return _grey(name, input, size, footprint, structure, output, mode, cval, origin, axes)


def white_tophat(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> ndarray:
    """Return the input less its opening; see `grey_erosion`."""
    name = "white_tophat"
    return _grey(name, input, size, footprint, structure, output, mode, cval, origin, axes)


def black_tophat(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> ndarray:
    """Return the closing less the input; see `grey_erosion`."""
    name = "black_tophat"
    return _grey(name, input, size, footprint, structure, output, mode, cval, origin, axes)
