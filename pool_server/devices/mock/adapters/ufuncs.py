"""Ufuncs that NumPy lacks as ufuncs, or that CuPy computes otherwise.

Those of kind "ufunc" take arrays alone: `mock.elementwise` does the keywords.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cupool.pool_server.devices.mock.adapters.indexing import _wrapped
from cupool.pool_server.devices.mock.calls import adapter

NpArray = np.ndarray[Any, Any]


def _signed(compute: Callable[..., Any]) -> Callable[..., Any]:
    """CuPy computes these of bool in int8, where NumPy has no loop or another one."""

    def run(*args: Any) -> Any:
        arrays = map(np.asarray, args)
        numbers = [a.astype(np.int8) if a.dtype.kind == "b" else a for a in arrays]
        return compute(*numbers, order="C")

    return run


def _sign(a: NpArray, order: Any) -> Any:
    """Of complex numbers x / |x|, each part by itself: infinite ones have none, unlike NumPy's."""
    if a.dtype.kind != "c":
        return np.sign(a, order=order)
    size = np.abs(a)
    signs = np.zeros_like(a, order=order)
    np.divide(a.real, size, out=signs.real, where=size != 0)
    np.divide(a.imag, size, out=signs.imag, where=size != 0)
    return signs


for _name in ("conjugate", "reciprocal", "square"):
    adapter(_name, casts=True)(_signed(getattr(np, _name)))
adapter("sign", casts=True)(_signed(_sign))

adapter("fix", casts=True)(np.trunc)
adapter("i0", casts=True)(np.i0)
adapter("sinc", casts=True)(np.sinc)


@adapter("clip", casts=True)
def clip(a: Any, low: Any, high: Any) -> Any:
    array = np.asarray(a)
    lowest, highest = (_within(x, array.dtype) for x in (low, high))
    return np.minimum(np.maximum(array, lowest), highest)


def _within(bound: Any, dtype: np.dtype[Any]) -> Any:
    return bound


@adapter("power", casts=True)
def power(a: Any, b: Any) -> Any:
    """Integers to negative powers give 0, of 1 and -1 the exact result."""
    kind = np.result_type(a, b)
    if kind.kind != "i" or not np.any(np.less(b, 0)):
        return np.power(a, b)
    base, exponent = np.broadcast_arrays(np.asarray(a, kind), np.asarray(b, kind))
    negative = exponent < 0
    result = np.power(base, np.where(negative, 0, exponent))
    unit = np.where(base == 1, 1, np.where(base == -1, np.where(exponent % 2 == 0, 1, -1), 0))
    return np.where(negative, unit, result).astype(kind)


@adapter("angle", casts=True)
def angle(z: Any, deg: bool) -> Any:
    return np.angle(z, deg)


@adapter("around", casts=True)
def around(a: NpArray, decimals: int) -> Any:
    return np.around(a, decimals)


def _at(compute: np.ufunc) -> Callable[[NpArray, Any, Any], None]:
    def run(array: NpArray, key: Any, value: Any) -> None:
        compute.at(array, _wrapped(array, key), np.asarray(value).astype(array.dtype, copy=False))

    return run


for _name in ("add", "subtract", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor"):
    adapter(f"{_name}.at")(_at(getattr(np, _name)))
