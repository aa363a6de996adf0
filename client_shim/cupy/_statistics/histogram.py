"""`bincount`, `digitize`, `histogram`, `histogram2d`, `histogramdd`."""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np

from cupool.client_shim import shadow as _shadow
from cupool.client_shim.cupy._core import calls, core, views
from cupool.client_shim.cupy._creation.from_data import asarray

__all__ = ["bincount", "digitize", "histogram", "histogram2d", "histogramdd"]
ndarray = core.ndarray

_INT = np.dtype(np.int64)
_FLOAT = np.dtype(np.float64)


def _check_range(limits: Any) -> tuple[Any, Any]:
    first, last = limits
    first = first.item() if isinstance(first, ndarray) else first
    last = last.item() if isinstance(last, ndarray) else last
    if first > last:
        raise ValueError("max must be larger than min in range parameter.")
    if not (np.isfinite(first) and np.isfinite(last)):
        raise ValueError(f"supplied range of [{first}, {last}] is not finite")
    return first, last


def _bin_count(bins: Any) -> int:
    try:
        count = operator.index(bins)
    except TypeError:
        raise TypeError("`bins` must be an integer, a string, or an array") from None
    if count < 1:
        raise ValueError("`bins` must be positive, when an integer")
    return count


def _edges(bins: Any) -> ndarray:
    """Return bin edges as a device array; those of the host are checked here."""
    if isinstance(bins, ndarray):
        return bins
    host = np.asarray(bins)
    if bool((host[:-1] > host[1:]).any()):
        raise ValueError("`bins` must increase monotonically, when an array")
    return asarray(host)


def _rests_on_values(x: ndarray, edges: Any, limits: Any) -> bool:
    """Tell whether values on the device decide if a call is right: edges, or what sets a range."""
    if isinstance(edges, ndarray):
        return True
    return np.ndim(edges) == 0 and limits is None and x.dtype.kind == "f"


def _check_weights(x: ndarray, weights: Any) -> None:
    if weights is None:
        return
    if not isinstance(weights, ndarray):
        raise ValueError("weights must be a cupy.ndarray")
    if weights.shape != x.shape:
        raise ValueError("weights should have the same shape as a.")


def _weighted(dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.kind == "c":
        return np.dtype(np.complex128)
    return _INT if dtype.kind in "biu" else _FLOAT


def histogram(
    x: Any, bins: Any = 10, range: Any = None, density: bool = False, weights: Any = None
) -> tuple[ndarray, ndarray]:
    """Count how many elements fall into bins.

    Args:
        bins: a number of equal bins, or their edges.
        range: lowest and highest edge, with a number of bins; those of the data by default.
        weights: of the elements, same shape.

    Returns:
        the counts (or densities, or sums of weights), and the edges.

    Raises:
        ValueError: bad bins, range or weights. Edges on the device, and a range that is taken
            from floating-point data, cost a wait, as with CuPy.
        NotImplementedError: complex input, rules for bins by name.
    """
    if x.dtype.kind == "c":
        raise NotImplementedError("complex number is not supported")
    if not isinstance(x, ndarray):
        raise ValueError("x must be a cupy.ndarray")
    if x.dtype.kind == "b":
        warnings.warn(
            f"Converting input from {x.dtype} to uint8 for compatibility.",
            RuntimeWarning,
            stacklevel=2,
        )
        x = x.astype(np.uint8)
    _check_weights(x, weights)
    if isinstance(bins, str):
        raise NotImplementedError("only integer and array bins are implemented")
    given: ndarray | None = None
    judged = _rests_on_values(x, bins, range)
    if isinstance(bins, ndarray) or np.ndim(bins) == 1:
        given = bins = _edges(bins)
        edges_spec = (given.shape, given.dtype, _shadow.order_of(given._shadow))
        range = None
    elif np.ndim(bins) == 0:
        bins = _bin_count(bins)
        kinds: tuple[Any, ...] = ()
        if range is not None:
            range = kinds = _check_range(range)
        dtype = np.result_type(x.dtype, *kinds)
        if dtype.kind in "iu":
            dtype = np.result_type(dtype, float)
        edges_spec = ((bins + 1,), dtype, "C")
    else:
        raise ValueError("`bins` must be 1d, when an array")
    counted = _INT if weights is None else _weighted(weights.dtype)
    if density:
        counted = np.result_type(counted, _FLOAT)
    spec = ((edges_spec[0][0] - 1,), counted, "C")
    args = (x, bins, range, bool(density), weights)
    counts, edges = calls.call("histogram", args, None, spec, edges_spec)
    if judged:
        core.session_of(x).synchronize()
    return counts, edges if given is None else given


def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool = False
) -> tuple[ndarray, list[ndarray]]:
    """Count how many points fall into cells.

    Args:
        sample: (points, axes), or a sequence of coordinate vectors.
        bins: a number of bins, or one number or array of edges for each axis.
        range: lowest and highest edge of each axis, None for those of the data.

    Returns:
        the counts as float64, and a list of the edges of each axis.

    Raises:
        ValueError: bins, range or weights that do not fit; waits as `histogram` does.
    """
    if isinstance(sample, ndarray):
        if sample.ndim == 1:
            sample = sample[:, None]
    else:
        from cupool.client_shim.cupy._manipulation.join import stack

        sample = stack(sample, axis=-1)
    axes = sample.shape[1]
    if weights is not None:
        weights = asarray(weights)
    try:
        if len(bins) != axes:
            raise ValueError("The dimension of bins must equal that of the sample x.")
        bins = list(bins)
    except TypeError:
        bins = axes * [bins]
    limits = (None,) * axes if range is None else tuple(range)
    if len(limits) != axes:
        raise ValueError("range argument must have one entry per dimension")
    specs: list[Any] = []
    for i, (wanted, limit) in enumerate(zip(bins, limits, strict=True)):
        if isinstance(wanted, ndarray) and wanted.ndim == 1:
            specs.append((wanted.shape, wanted.dtype, "C"))
        elif np.ndim(wanted if not isinstance(wanted, ndarray) else wanted.shape) == 0:
            bins[i] = int(wanted)
            if bins[i] < 1:
                raise ValueError(f"`bins[{i}]` must be positive, when an integer")
            kind = _FLOAT if limit is not None else np.result_type(sample.dtype, 1.0)
            if limit is not None:
                _check_range(limit)
            specs.append(((bins[i] + 1,), kind, "C"))
        elif np.ndim(wanted) == 1:
            raise ValueError("array-like bins not supported")
        else:
            raise ValueError(f"`bins[{i}]` must be a scalar or 1d array")
    args = (sample, bins, [None if x is None else tuple(x) for x in limits], weights, bool(density))
    shape = tuple(s[0][0] - 1 for s in specs)
    counts, *edges = calls.call("histogramdd", args, None, (shape, _FLOAT, "C"), *specs)
    if any(_rests_on_values(sample, *axis) for axis in zip(bins, limits, strict=True)):
        core.session_of(sample).synchronize()
    return counts, [
        bins[i] if isinstance(bins[i], ndarray) else edge for i, edge in enumerate(edges)
    ]


def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: Any = None
) -> tuple[ndarray, ndarray, ndarray]:
    """Count how many points fall into the cells of a grid; see `histogramdd`.

    Returns:
        the counts, the edges along x, the edges along y.
    """
    try:
        count = len(bins)
    except TypeError:
        count = 1
    if count not in (1, 2):
        if not isinstance(bins, ndarray):
            raise ValueError("array-like bins not supported in CuPy")
        bins = [bins, bins]
    counts, edges = histogramdd([x, y], bins, range, weights, bool(density))
    return counts, edges[0], edges[1]


def bincount(x: Any, weights: Any = None, minlength: Any = None) -> ndarray:
    """Count how often each non-negative integer occurs, or sum the weights of it.

    The length depends on data: this waits.

    Raises:
        ValueError: negative elements, shapes that do not fit, not one axis.
        TypeError: floating-point input.
    """
    x = views.require(x)
    if x.ndim > 1:
        raise ValueError("object too deep for desired array")
    if x.ndim < 1:
        raise ValueError("object of too small depth for desired array")
    if x.dtype.kind == "f":
        raise TypeError("x must be int array")
    if weights is not None and x.shape != weights.shape:
        raise ValueError("The weights and list don't have the same length.")
    if minlength is not None:
        minlength = int(minlength)
        if minlength < 0:
            raise ValueError("minlength must be non-negative")
    if x.size == 0:
        return calls.call_one("zeros", ((minlength or 0,), _INT), None, (minlength or 0,), _INT)
    return calls.call_unknown("bincount", (x, weights, minlength))[0]


def digitize(x: Any, bins: Any, right: bool = False) -> ndarray:
    """Return in which of the bins each element lies.

    Raises:
        ValueError: `bins` has not one axis.
        TypeError: complex input.
    """
    x, bins = views.require(x), views.require(bins)
    if x.dtype.kind == "c":
        raise TypeError("x may not be complex")
    if bins.ndim > 1:
        raise ValueError("object too deep for desired array")
    if bins.ndim < 1:
        raise ValueError("object of too small depth for desired array")
    return calls.call_one("digitize", (x, bins, bool(right)), None, x.shape, _INT)
