"""`amax`, `amin`, `ptp`, `percentile`, `quantile` and their relatives."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import _reduction, calls, core, views
from cupool.client_shim.cupy._core._dtype import check_sortable
from cupool.client_shim.cupy._core.routines_indexing import normalize_axes
from cupool.client_shim.cupy._creation.from_data import array

__all__ = [
    "amax",
    "amin",
    "max",
    "min",
    "nanmax",
    "nanmin",
    "percentile",
    "ptp",
    "quantile",
]
ndarray = core.ndarray

_TAKES_ELEMENTS = ("lower", "higher", "nearest")
_INTERPOLATES = ("linear", "midpoint")
_NOT_IN_CUPY = (
    "inverted_cdf",
    "averaged_inverted_cdf",
    "closest_observation",
    "interpolated_inverted_cdf",
    "hazen",
    "weibull",
    "median_unbiased",
    "normal_unbiased",
)


def amin(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Return the minimum along axes; nan if there is one.

    Raises:
        ValueError: no elements.
    """
    return a.min(axis=axis, out=out, keepdims=keepdims)


def amax(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Return the maximum along axes; nan if there is one.

    Raises:
        ValueError: no elements.
    """
    return a.max(axis=axis, out=out, keepdims=keepdims)


min = amin
max = amax


def nanmin(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> ndarray:
    """Return the minimum along axes of what is not nan; nan where there is nothing else.

    CuPy's warning about such slices is not given: it would cost a wait.
    """
    return _reduction.reduce("nanmin", a, axis, None, out, keepdims)


def nanmax(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> ndarray:
    """Return the maximum along axes of what is not nan; nan where there is nothing else.

    CuPy's warning about such slices is not given: it would cost a wait.
    """
    return _reduction.reduce("nanmax", a, axis, None, out, keepdims)


def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Return maximum - minimum along axes."""
    return a.ptp(axis=axis, out=out, keepdims=keepdims)


def _old_name(method: str, interpolation: str, name: str) -> str:
    warnings.warn(
        f"the `interpolation=` argument to {name} was renamed to `method=`",
        DeprecationWarning,
        stacklevel=4,
    )
    if method != "linear":
        raise TypeError("You shall not pass both `method` and `interpolation`!")
    return interpolation


def _check_method(method: str) -> None:
    if method in _NOT_IN_CUPY:
        raise ValueError(f"'{method}' method is not yet supported. Please use any other method.")
    if method not in _TAKES_ELEMENTS and method not in _INTERPOLATES:
        raise ValueError(
            f"Unexpected interpolation method.\nActual: '{method}' not in ('linear', 'lower',"
            " 'higher', 'midpoint')"
        )


def _probabilities(q: Any, scale: float) -> tuple[Any, tuple[int, ...], Any]:
    """Return q as the wire takes it, its shape, and what it is to the promotion rules.

    Host values are checked here; device arrays are checked on the device.
    """
    if isinstance(q, ndarray):
        kind: Any = q.dtype if scale == 1 or q.dtype.kind == "f" else np.dtype(np.float64)
        return q, q.shape, kind
    host = np.asarray(q)
    if host.size and not bool(np.all((host >= 0) & (host <= scale))):
        if scale == 1:
            raise ValueError("Quantiles must be in the range [0, 1]")
        raise ValueError("Percentiles must be in the range [0, 100]")
    if isinstance(q, (int, float)) and not isinstance(q, np.generic):
        return q, (), 0.5 if scale != 1 else q
    kind = (host / scale).dtype if scale != 1 else host.dtype
    if isinstance(q, np.ndarray) and host.ndim:
        return array(host), host.shape, kind
    return host.tolist() if host.ndim else host[()], host.shape, kind


def _quantile(
    name: str,
    scale: float,
    a: Any,
    q: Any,
    axis: Any,
    out: Any,
    overwrite_input: bool,
    method: str,
    keepdims: bool,
) -> ndarray:
    a = views.require(a)
    check_sortable(a.dtype)
    wire, lengths, kind = _probabilities(q, scale)
    if len(lengths) > 1:
        raise ValueError(f"Expected q to have a dimension of 1.\nActual: {len(lengths)} != 1")
    _check_method(method)
    axes = normalize_axes(axis, a.ndim)
    rest = _reduction.reduced_shape(a.shape, axes, bool(keepdims))
    shape = rest if keepdims and lengths == (1,) else (*lengths, *rest)
    dtype = a.dtype if method in _TAKES_ELEMENTS else np.result_type(a.dtype, kind)
    kwargs: dict[str, Any] = {"method": method}
    if axis is not None:
        kwargs["axis"] = axes if isinstance(axis, (tuple, list)) else axes[0]
    if keepdims:
        kwargs["keepdims"] = True
    if overwrite_input:
        kwargs["overwrite_input"] = True
    return calls.with_out(calls.call_one(name, (a, wire), kwargs, shape, dtype), out)


def percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    interpolation: Any = None,
) -> ndarray:
    """Return percentiles along axes; those of several `q` lie on a new first axis.

    Args:
        q: one or several of 0 to 100.
        overwrite_input: the input may be left in another order.
        method: "linear", "lower", "higher", "midpoint" or "nearest".

    Raises:
        ValueError: `q` out of range (that of a device array: at the next wait), other methods.
    """
    if interpolation is not None:
        method = _old_name(method, interpolation, "percentile")
    return _quantile("percentile", 100, a, q, axis, out, overwrite_input, method, keepdims)


def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    interpolation: Any = None,
) -> ndarray:
    """Return quantiles along axes; as `percentile`, with `q` of 0 to 1."""
    if interpolation is not None:
        method = _old_name(method, interpolation, "quantile")
    return _quantile("quantile", 1, a, q, axis, out, overwrite_input, method, keepdims)
