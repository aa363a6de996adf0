"""`clip`, `convolve`, `interp`, `nan_to_num`, `real_if_close`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim import shadow as _shadow
from cupool.client_shim.cupy._core import calls, core, views
from cupool.client_shim.cupy._core._kernel import broadcast_shapes
from cupool.client_shim.cupy._creation.from_data import array, asarray

__all__ = ["clip", "convolve", "interp", "nan_to_num", "real_if_close"]
ndarray = core.ndarray

_FLOAT = np.dtype(np.float64)
_COMPLEX = np.dtype(np.complex128)


def clip(a: Any, a_min: Any, a_max: Any, out: Any = None) -> Any:
    """Return the elements limited to an interval; a bound of None is none."""
    return a.clip(a_min, a_max, out=out)


def convolved_size(n: int, m: int, mode: str) -> int:
    """Return the length of the convolution of `n` with `m` elements.

    Raises:
        ValueError: an unknown mode.
    """
    n, m = max(n, m), min(n, m)
    if mode == "full":
        return n + m - 1
    if mode == "same":
        return n
    if mode == "valid":
        return n - m + 1
    raise ValueError("acceptable mode flags are `valid`, `same`, or `full`.")


def convolve(a: Any, v: Any, mode: str = "full") -> ndarray:
    """Return the discrete convolution of two vectors.

    Args:
        mode: "full", "same" or "valid".

    Raises:
        ValueError: an empty input, more than one axis, an unknown mode.
    """
    a, v = views.require(a), views.require(v)
    if a.size == 0:
        raise ValueError("a cannot be empty")
    if v.size == 0:
        raise ValueError("v cannot be empty")
    if v.ndim > 1:
        raise ValueError("v cannot be multidimensional array")
    a, v = views.ravel(a), views.ravel(v)
    shape = (convolved_size(a.size, v.size, mode),)
    return calls.call_one("convolve", (a, v, mode), None, shape, np.result_type(a.dtype, v.dtype))


def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> ndarray:
    """Return `x` with nan and infinities replaced, by default with 0 and the largest numbers.

    Args:
        copy: False replaces in `x` itself.
    """
    if not isinstance(x, ndarray):
        x = array(x)
        if x.ndim:
            raise TypeError(f"Unsupported type {type(x)}")
        copy = True
    values = tuple(_host_scalar(v) for v in (nan, posinf, neginf))
    shapes = [v.shape for v in values if isinstance(v, ndarray)]
    if broadcast_shapes([x.shape, *shapes]) != x.shape:
        raise ValueError("Out shape is mismatched")
    if copy:
        order = _shadow.keep_order_strides(x._shadow)
        return calls.call_one("nan_to_num", (x, True, *values), None, x.shape, x.dtype, order)
    calls.call_into("nan_to_num", (x, False, *values))
    return x  # type: ignore[no-any-return]


def _host_scalar(value: Any) -> Any:
    if value is None or isinstance(value, (ndarray, bool, int, float, complex, np.generic)):
        return value
    return asarray(value)


def real_if_close(a: Any, tol: float = 100) -> Any:
    """Return the real part if all imaginary parts are below `tol` machine precisions.

    The answer depends on data: complex input waits.
    """
    if a.dtype.kind != "c":
        return a
    if tol > 1:
        tol = float(np.finfo(a.dtype).eps) * tol
    return a.real if bool((abs(a.imag) < tol).all()) else a


def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> ndarray:
    """Interpolate linearly between the points (xp, fp), of increasing xp.

    Args:
        left, right: values outside, by default the first and last of `fp`.
        period: of the coordinates; then `xp` need not increase.

    Returns:
        float64, or complex128 for complex `fp`, in the shape of `x`.

    Raises:
        ValueError: vectors that do not fit, a period of zero.
        TypeError: complex coordinates.
        NotImplementedError: `x` is not C-contiguous.
    """
    x, xp, fp = views.require(x), views.require(xp), views.require(fp)
    if xp.ndim != 1 or fp.ndim != 1:
        raise ValueError("xp and fp must be 1D arrays")
    if xp.size != fp.size:
        raise ValueError("fp and xp are not of the same length")
    if xp.size == 0:
        raise ValueError("array of sample points is empty")
    if not x.flags.c_contiguous:
        raise NotImplementedError("Non-C-contiguous x is currently not supported")
    if x.dtype.kind == "c" or xp.dtype.kind == "c":
        raise TypeError(
            "Cannot cast array data from complex128 to float64 according to the rule 'safe'"
        )
    if period is not None and period == 0:
        raise ValueError("period must be a non-zero value")
    dtype = _COMPLEX if fp.dtype.kind == "c" else _FLOAT
    kwargs = {"left": left, "right": right, "period": period}
    return calls.call_one("interp", (x, xp, fp), kwargs, x.shape, dtype)
