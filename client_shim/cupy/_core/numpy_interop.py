"""NumPy functions called on our arrays: answered by the function of the same name, or refused."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import _operators, core

_ROOT = "cupool.client_shim.cupy"

_COMPARISONS = frozenset("equal not_equal less less_equal greater greater_equal".split())


def _is_boxed(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 0


def array_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: Any) -> Any:
    """Return CuPy's answer, or NotImplemented where CuPy has none (NumPy raises TypeError then).

    Outputs that are not device arrays, and NumPy arrays among the inputs, are refused by the
    ufunc itself with CuPy's TypeError.
    """
    name = {"conj": "conjugate", "abs": "absolute", "divide": "true_divide"}.get(
        ufunc.__name__, ufunc.__name__
    )
    for value in inputs:
        if isinstance(value, (core.ndarray, np.generic, np.ndarray)):
            continue
        if getattr(value, "__array_ufunc__", None) is not None:
            return NotImplemented
    own = getattr(_operators.ufuncs, name, None)
    if own is None:
        special = importlib.import_module("cupool.client_shim.cupyx.scipy.special")
        own = vars(special)["_UFUNCS"].get({"psi": "digamma"}.get(name, name))
    if own is None:
        return NotImplemented
    if name in _COMPARISONS:  # NumPy hands a scalar on the left over as an array
        inputs = tuple(x.item() if _is_boxed(x) else x for x in inputs)
    out = kwargs.get("out")
    if isinstance(out, tuple) and len(out) == 1:
        kwargs = {**kwargs, "out": out[0]}
    if method == "__call__":
        return own(*inputs, **kwargs)
    if method in ("outer", "at", "reduce", "accumulate", "reduceat"):
        return getattr(own, method)(*inputs, **kwargs)
    return NotImplemented


def array_function(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """Return CuPy's answer for a NumPy function, by its module path and name."""
    for kind in types:
        if not issubclass(kind, (core.ndarray, np.ndarray)):
            return NotImplemented
    module = func.__module__.split(".")
    if module[0] != "numpy":
        return NotImplemented
    target: Any = sys.modules[_ROOT]
    for part in module[1:]:
        target = getattr(target, part, None)
        if target is None:
            return NotImplemented
    own = getattr(target, func.__name__, None)
    if own is None or own is func:
        return NotImplemented
    return own(*args, **kwargs)
