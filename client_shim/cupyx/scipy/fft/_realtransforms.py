"""Cosine and sine transforms of types 2 and 3, which are those that CuPy has."""

from __future__ import annotations

import operator
from numbers import Number
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls, core
from cupool.client_shim.cupy._core._dtype import to_inexact

__all__ = ["dct", "dctn", "dst", "dstn", "idct", "idctn", "idst", "idstn"]
ndarray = core.ndarray


def _check(name: str, type: Any, norm: Any) -> None:
    if type in (1, 4):
        kind = "DST" if "dst" in name else "DCT"
        raise NotImplementedError(f"Only {kind}-II and {kind}-III have been implemented.")
    if type not in (2, 3):
        raise ValueError(f"invalid {'DST' if 'dst' in name else 'DCT'} type")
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueError(f'Invalid norm value "{norm}", should be "backward", "ortho" or "forward"')


def _dtype(x: ndarray) -> np.dtype[Any]:
    return np.promote_types(to_inexact(x.dtype), np.float32)


def _one(name: str, x: Any, type: int, n: Any, axis: int, norm: Any) -> ndarray:
    _check(name, type, norm)
    if not -x.ndim <= axis < x.ndim:
        raise np.exceptions.AxisError("axis out of range")
    if n is not None and n < 1:
        raise ValueError(f"invalid number of data points ({n}) specified")
    shape = list(x.shape)
    shape[axis] = shape[axis] if n is None else int(n)
    if shape[axis] < 1:
        raise ValueError(f"invalid number of data points ({shape[axis]}) specified")
    args = (x, int(type), n, int(axis), norm)
    return calls.call_one(f"scipy.fft.{name}", args, None, tuple(shape), _dtype(x))


def _integers(value: Any, name: str) -> list[int]:
    if isinstance(value, Number):
        value = (value,)
    try:
        return [operator.index(v) for v in value]
    except TypeError:
        raise ValueError(f"{name} must be a scalar or iterable of integers") from None


def _several(name: str, x: Any, type: int, s: Any, axes: Any, norm: Any) -> ndarray:
    if axes is not None:
        axes = [a + x.ndim if a < 0 else a for a in _integers(axes, "axes")]
        if any(not 0 <= a < x.ndim for a in axes):
            raise ValueError("axes exceeds dimensionality of input")
        if len(set(axes)) != len(axes):
            raise ValueError("all axes must be unique")
    if s is not None:
        s = _integers(s, "shape")
        if axes and len(axes) != len(s):
            raise ValueError("when given, axes and shape arguments have to be of the same length")
        if axes is None:
            if len(s) > x.ndim:
                raise ValueError("shape requires more axes than are present")
            axes = list(range(x.ndim - len(s), x.ndim))
        s = [x.shape[a] if n == -1 else n for n, a in zip(s, axes, strict=False)]
    else:
        axes = list(range(x.ndim)) if axes is None else axes
        s = [x.shape[a] for a in axes]
    if any(n < 1 for n in s):
        raise ValueError(f"invalid number of data points ({s}) specified")
    if not axes:
        return x.astype(_dtype(x), copy=False)  # type: ignore[no-any-return]
    _check(name, type, norm)
    shape = list(x.shape)
    for a, n in zip(axes, s, strict=True):
        shape[a] = n
    args = (x, int(type), tuple(s), tuple(axes), norm)
    return calls.call_one(f"scipy.fft.{name}", args, None, tuple(shape), _dtype(x))


def dct(
    x: Any,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    overwrite_x: bool = False,
) -> ndarray:
    """Return the cosine transform of an axis, cut or padded with zeros to `n` points.

    Args:
        type: 2 or 3.
        norm: "backward" (default), "ortho" or "forward": which direction divides.
        overwrite_x: accepted; `x` stays as it is.

    Raises:
        NotImplementedError: types 1 and 4.
        ValueError: another type or norm, no points.
        AxisError: no such axis.
    """
    return _one("dct", x, type, n, axis, norm)


def idct(
    x: Any,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    overwrite_x: bool = False,
) -> ndarray:
    """Transform back what `dct` gave."""
    return _one("idct", x, type, n, axis, norm)


def dst(
    x: Any,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    overwrite_x: bool = False,
) -> ndarray:
    """Return the sine transform of an axis; see `dct`."""
    return _one("dst", x, type, n, axis, norm)


def idst(
    x: Any,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    overwrite_x: bool = False,
) -> ndarray:
    """Transform back what `dst` gave."""
    return _one("idst", x, type, n, axis, norm)


def dctn(
    x: Any,
    type: int = 2,
    s: Any = None,
    axes: Any = None,
    norm: str | None = None,
    overwrite_x: bool = False,
) -> ndarray:
    """Return the cosine transform of several axes, of lengths `s`; see `dct`."""
    return _several("dctn", x, type, s, axes, norm)


def idctn(
    x: Any,
    type: int = 2,
    s: Any = None,
    axes: Any = None,
    norm: str | None = None,
    overwrite_x: bool = False,
) -> ndarray:
    """Transform back what `dctn` gave."""
    return _several("idctn", x, type, s, axes, norm)


def dstn(
    x: Any,
    type: int = 2,
    s: Any = None,
    axes: Any = None,
    norm: str | None = None,
    overwrite_x: bool = False,
) -> ndarray:
    """Return the sine transform of several axes; see `dctn`."""
    return _several("dstn", x, type, s, axes, norm)


def idstn(
    x: Any,
    type: int = 2,
    s: Any = None,
    axes: Any = None,
    norm: str | None = None,
    overwrite_x: bool = False,
) -> ndarray:
    """Transform back what `dstn` gave."""
    return _several("idstn", x, type, s, axes, norm)
