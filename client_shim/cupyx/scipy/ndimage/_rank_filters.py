"""Filters that pick one of the neighbours: the smallest, the largest, one of a rank."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupyx.scipy._declared import Spec, declared, send
from cupool.client_shim.cupyx.scipy.ndimage import _util
from cupool.client_shim.cupyx.scipy.ndimage._filters import _axis
from cupool.client_shim.cupyx.scipy.ndimage._util import like

__all__ = [
    "maximum_filter",
    "maximum_filter1d",
    "median_filter",
    "minimum_filter",
    "minimum_filter1d",
    "percentile_filter",
    "rank_filter",
]
ndarray = core.ndarray
_operation = declared("scipy.ndimage")
_BY_RANK = ("rank_filter", "median_filter", "percentile_filter")


def footprint_shape(count: int, size: Any, footprint: Any, structure: Any = None) -> Any:
    """Return the lengths of a filter by size, footprint or structuring element.

    Raises:
        RuntimeError: neither, or not one length for each axis.
        ValueError: an element without elements.
    """
    element = structure if footprint is None else footprint
    if element is None:
        if size is None:
            raise RuntimeError("no footprint or filter size provided")
        return tuple(_util.sequence(size, count, "size", int))
    if size is not None:
        name = "structure" if footprint is None else "footprint"
        warnings.warn(f"ignoring size because {name} is set", UserWarning, stacklevel=4)
    if element.size == 0:
        raise ValueError("All-zero footprint is not supported")
    if element.ndim != count:
        raise RuntimeError("footprint array has incorrect shape")
    return element.shape


def _needs_one_mode(footprint: Any, structure: Any, by_rank: bool) -> bool:
    """Whether all axes share one boundary mode: where the filter is not one of lines.

    A footprint is looked at for that, as CuPy does: a wait.

    Raises:
        ValueError: a footprint without elements.
    """
    if footprint is None:
        return structure is not None or by_rank
    elements = footprint.get()
    if not elements.any():
        raise ValueError("all-zero footprint is not supported")
    return structure is not None or by_rank or not elements.all()


def ranked(
    name: str,
    input: Any,
    size: Any,
    footprint: Any,
    output: Any,
    mode: Any,
    cval: Any,
    origin: Any,
    axes: Any,
    **more: Any,
) -> ndarray:
    """Check and send a filter that picks one of the neighbours."""
    if cval is np.nan:
        raise NotImplementedError("NaN cval is unsupported")
    found = _util.check_axes(axes, input.ndim)
    footprint = None if footprint is None else _util.on_device(footprint).astype(bool, copy=False)
    structure = more.get("structure")
    widths = footprint_shape(len(found), size, footprint, structure)
    one_mode = _needs_one_mode(footprint, structure, name.endswith(_BY_RANK))
    _util.check_modes((mode,) if one_mode else mode, 1 if one_mode else len(found))
    _util.check_origins(origin, widths)
    given = {"input": input, **more, "output": output, "mode": mode, "cval": cval}
    given["origin"] = origin
    if footprint is not None:
        given["footprint"] = footprint
    elif structure is None:
        given["size"] = widths
    if len(found) < input.ndim:
        given["axes"] = found
    result: ndarray = send(name, given, like(input, output))
    return result


def minimum_filter(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    axes: Any = None,
) -> ndarray:
    """Return the smallest of the neighbours.

    Raises:
        RuntimeError: neither size nor footprint, or not one that fits.
        ValueError: an origin outside of the filter.
    """
    name = "scipy.ndimage.minimum_filter"
    return ranked(name, input, size, footprint, output, mode, cval, origin, axes)


def maximum_filter(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    axes: Any = None,
) -> ndarray:
    """Return the largest of the neighbours; see `minimum_filter`."""
    name = "scipy.ndimage.maximum_filter"
    return ranked(name, input, size, footprint, output, mode, cval, origin, axes)


def _extreme_line(input: Any, size: Any, axis: Any, output: Any, mode: Any, origin: Any) -> Spec:
    if size < 1:
        raise RuntimeError("incorrect filter size")
    _axis(axis, input.ndim)
    _util.check_origins(origin, (size,))
    _util.check_modes(mode, 1)
    return like(input, output)


@_operation
def minimum_filter1d(
    input: Any,
    size: int,
    axis: int = -1,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
) -> Any:
    """Return the smallest of `size` neighbours along an axis."""
    return _extreme_line(input, size, axis, output, mode, origin)


@_operation
def maximum_filter1d(
    input: Any,
    size: int,
    axis: int = -1,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
) -> Any:
    """Return the largest of `size` neighbours along an axis."""
    return _extreme_line(input, size, axis, output, mode, origin)


def rank_filter(
    input: Any,
    rank: int,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    axes: Any = None,
) -> ndarray:
    """Return the neighbour of a rank; a negative one counts from the largest.

    Raises:
        RuntimeError: more than there are neighbours (with a footprint, when it is computed).
    """
    name = "scipy.ndimage.rank_filter"
    if footprint is None and size is not None:
        widths = _util.sequence(size, len(_util.check_axes(axes, input.ndim)), "size", int)
        if not -np.prod(widths) <= rank < np.prod(widths):
            raise RuntimeError("rank not within filter footprint size")
    return ranked(name, input, size, footprint, output, mode, cval, origin, axes, rank=int(rank))


def median_filter(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    axes: Any = None,
) -> ndarray:
    """Return the median of the neighbours."""
    name = "scipy.ndimage.median_filter"
    return ranked(name, input, size, footprint, output, mode, cval, origin, axes)


def percentile_filter(
    input: Any,
    percentile: float,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    axes: Any = None,
) -> ndarray:
    """Return a percentile of the neighbours; a negative one counts from 100.

    Raises:
        RuntimeError: outside of -100 to 100.
    """
    percentile = float(percentile)
    if not -100.0 <= percentile <= 100.0:
        raise RuntimeError("invalid percentile")
    name = "scipy.ndimage.percentile_filter"
    return ranked(
        name, input, size, footprint, output, mode, cval, origin, axes, percentile=percentile
    )
