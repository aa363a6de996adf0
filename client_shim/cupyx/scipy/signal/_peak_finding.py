"""Peaks and relative extrema."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupy._creation.from_data import asarray
from cupool.client_shim.cupyx.scipy._declared import declared, send

__all__ = [
    "argrelextrema",
    "argrelmax",
    "argrelmin",
    "find_peaks",
    "peak_prominences",
    "peak_widths",
]
ndarray = core.ndarray
_operation = declared("scipy.signal")

_PROPERTIES = {
    "plateau_size": ("plateau_sizes", "left_edges", "right_edges"),
    "height": ("peak_heights",),
    "threshold": ("left_thresholds", "right_thresholds"),
    "prominence": ("prominences", "left_bases", "right_bases"),
    "width": ("widths", "width_heights", "left_ips", "right_ips"),
}


def find_peaks(
    x: Any,
    height: Any = None,
    threshold: Any = None,
    distance: Any = None,
    prominence: Any = None,
    width: Any = None,
    wlen: Any = None,
    rel_height: float = 0.5,
    plateau_size: Any = None,
) -> tuple[ndarray, dict[str, ndarray]]:
    """Return the indices of the peaks that meet the conditions, and their properties by name.

    Args:
        height, threshold, prominence, width, plateau_size: a least value, or least and greatest.
        distance: between peaks, in samples.

    Raises:
        ValueError: more than one axis, a distance below 1.
    """
    x = asarray(x)
    if x.ndim != 1:
        raise ValueError("`x` must be a 1-D array")
    if distance is not None and distance < 1:
        raise ValueError("`distance` must be greater or equal to 1")
    conditions = {
        "plateau_size": plateau_size,
        "height": height,
        "threshold": threshold,
        "prominence": prominence,
        "width": width,
    }
    names: list[str] = []
    for condition, value in conditions.items():
        if value is not None or (condition == "prominence" and width is not None):
            names.extend(_PROPERTIES[condition])
    given = {"x": x, **conditions, "distance": distance, "wlen": wlen, "rel_height": rel_height}
    results = send("scipy.signal.find_peaks", given, 1 + len(names))
    if not names:
        return results, {}
    return results[0], dict(zip(names, results[1:], strict=True))


@_operation
def peak_prominences(x: Any, peaks: Any, wlen: Any = None) -> Any:
    """Return how far each peak stands out, and the bases on both sides of it."""
    return 3


@_operation
def peak_widths(
    x: Any, peaks: Any, rel_height: float = 0.5, prominence_data: Any = None, wlen: Any = None
) -> Any:
    """Return each peak's width, its height there, and where it is crossed on both sides."""
    return 4


def argrelextrema(
    data: Any, comparator: Callable[..., Any], axis: int = 0, order: int = 1, mode: str = "clip"
) -> Any:
    """Return the indices of elements that compare true with `order` neighbours on both sides.

    Args:
        comparator: of two arrays, e.g. `cupy.less`.
        mode: "clip" or "wrap": what lies beyond the edges.

    Raises:
        ValueError: an order below 1.
        NotImplementedError: mode "raise".
    """
    from cupool.client_shim import cupy

    if int(order) != order or order < 1:
        raise ValueError("Order must be an int >= 1")
    if mode == "raise":
        raise NotImplementedError("CuPy `take` doesn't support `mode='raise'`.")
    length = data.shape[axis]
    places = cupy.arange(length)
    result = cupy.ones(data.shape, dtype=bool)
    for step in range(1, order + 1):
        for shifted in (places + step, places - step):
            if mode == "clip":
                shifted = cupy.clip(shifted, 0, length - 1)
            result &= comparator(data, data.take(shifted % length, axis=axis))
    return cupy.nonzero(result)


def argrelmin(data: Any, axis: int = 0, order: int = 1, mode: str = "clip") -> Any:
    """Return the indices of relative minima; see `argrelextrema`."""
    from cupool.client_shim import cupy

    return argrelextrema(data, cupy.less, axis, order, mode)


def argrelmax(data: Any, axis: int = 0, order: int = 1, mode: str = "clip") -> Any:
    """Return the indices of relative maxima; see `argrelextrema`."""
    from cupool.client_shim import cupy

    return argrelextrema(data, cupy.greater, axis, order, mode)
