"""`corrcoef`, `correlate`, `cov`."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls, core, views
from cupool.client_shim.cupy._core._dtype import get_dtype

__all__ = ["corrcoef", "correlate", "cov"]
ndarray = core.ndarray


def corrcoef(
    a: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: Any = None,
    ddof: Any = None,
    *,
    dtype: Any = None,
) -> ndarray:
    """Return the matrix of correlation coefficients of the variables in `a` (and `y`).

    Raises:
        ValueError: more than two axes.
    """
    if bias is not None or ddof is not None:
        warnings.warn(
            "bias and ddof have no effect and are deprecated", DeprecationWarning, stacklevel=2
        )
    shape, made = _layout(a, y, rowvar, dtype)
    kwargs: dict[str, Any] = {"rowvar": bool(rowvar)}
    if dtype is not None:
        kwargs["dtype"] = get_dtype(dtype)
    return calls.call_one("corrcoef", (a, y), kwargs, shape, made)


def _layout(a: Any, y: Any, rowvar: bool, dtype: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return the shape and dtype of a covariance matrix."""
    a = views.require(a)
    if a.ndim > 2:
        raise ValueError("Input must be <= 2-d")
    made = np.promote_types(a.dtype, np.float64)
    variables = _variables(a, rowvar)
    if y is not None:
        y = views.require(y)
        if y.ndim > 2:
            raise ValueError("y must be <= 2-d")
        made = np.promote_types(made, y.dtype)
        if variables and _observations(a, rowvar) != _observations(y, rowvar or y.shape[0] == 1):
            raise ValueError("All arrays must have same shape except the axis to concatenate")
        if variables:
            variables += _variables(y, rowvar or y.ndim < 2 or y.shape[0] == 1)
    if not variables:
        return (0, 0), np.dtype(np.float64)
    if dtype is not None:
        made = get_dtype(dtype)
        if made.kind in "biu":
            raise TypeError(
                f"Cannot cast output operand from {np.dtype(float)!r} to {made!r} according to the"
                " rule 'same_kind'"
            )
    return (() if variables == 1 else (variables, variables)), made


def _variables(a: ndarray, rowvar: bool) -> int:
    if a.ndim < 2:
        return 1
    return a.shape[0] if rowvar else a.shape[1]


def _observations(a: ndarray, rowvar: bool) -> int:
    if a.ndim < 2:
        return a.size if a.ndim else 1
    return a.shape[1] if rowvar else a.shape[0]


def _check_weights(name: str, weights: Any, observations: int) -> None:
    if not isinstance(weights, ndarray):
        raise TypeError(f"{name} must be a cupy.ndarray")
    if name == "fweights" and weights.dtype.kind not in "iu":
        raise TypeError("fweights must be integer")
    if weights.ndim > 1:
        raise RuntimeError(f"cannot handle multidimensional {name}")
    if weights.shape[0] != observations:
        raise RuntimeError(f"incompatible numbers of samples and {name}")


def cov(
    a: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> ndarray:
    """Return the covariance matrix of the variables in `a` (and `y`); 0-d for one variable.

    Args:
        fweights: how often each observation counts, integers.
        aweights: the weight of each observation.

    Raises:
        ValueError: more than two axes, a `ddof` that is not whole.
        TypeError, RuntimeError: weights that do not fit.
    """
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    shape, made = _layout(a, y, rowvar, dtype)
    kwargs: dict[str, Any] = {"rowvar": bool(rowvar), "bias": bool(bias), "ddof": ddof}
    observations = _observations(a, rowvar)
    for name, weights in (("fweights", fweights), ("aweights", aweights)):
        if weights is not None:
            _check_weights(name, weights, observations)
            kwargs[name] = weights
            made = np.promote_types(made, np.float64)
    freedom = observations - ((0 if bias else 1) if ddof is None else ddof)
    if shape != (0, 0) and freedom <= 0 and fweights is None and aweights is None:
        warnings.warn("Degrees of freedom <= 0 for slice", RuntimeWarning, stacklevel=2)
    if dtype is not None:
        kwargs["dtype"] = get_dtype(dtype)
    return calls.call_one("cov", (a, y), kwargs, shape, made)


def correlate(a: Any, v: Any, mode: str = "valid") -> ndarray:
    """Return the cross-correlation of two vectors.

    Raises:
        ValueError: an empty input, more than one axis, an unknown mode.
    """
    from cupool.client_shim.cupy._math.misc import convolved_size

    a, v = views.require(a), views.require(v)
    if a.size == 0 or v.size == 0:
        raise ValueError("Array arguments cannot be empty")
    if a.ndim != 1 or v.ndim != 1:
        raise ValueError("object too deep for desired array")
    shape = (convolved_size(a.size, v.size, mode),)
    return calls.call_one("correlate", (a, v, mode), None, shape, np.result_type(a.dtype, v.dtype))
