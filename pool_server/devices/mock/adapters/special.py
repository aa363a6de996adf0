"""Where CuPy differs from SciPy in the chapter `proto.operations.special`.

SciPy chooses its loops by other lists: small integers and float16 go to float32 where CuPy
computes in float64. Inputs are converted to the precision of the promised result first.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from cupool.pool_server.devices.base import Layout
from cupool.pool_server.devices.mock import elementwise
from cupool.pool_server.devices.mock.calls import ADAPTERS, adapter, named
from cupool.proto.operations.special import OPERATIONS

NpArray = np.ndarray[Any, Any]
Outs = Sequence[Layout | None]

_WIDE: dict[str, np.dtype[Any]] = {char: np.dtype(char) for char in "efdFD"}
_COUNTS = frozenset("yn bdtr bdtrc bdtri nbdtr nbdtrc nbdtri pdtri".split())
"""Functions whose integer arguments SciPy takes as integers."""


@cache
def _scipy(name: str) -> Callable[..., Any]:
    return named(f"scipy.special.{name}")


def _widened(value: Any, promised: str, keeps_integers: bool) -> Any:
    """Convert an input to the type of the result, complex ones to that precision."""
    kind = np.asarray(value).dtype.kind
    if promised not in _WIDE or kind not in "biufc":
        return value
    if kind in "iu" and keeps_integers and np.asarray(value).dtype.itemsize >= 4:
        return value
    wanted = _WIDE[promised.upper() if kind == "c" else promised]
    return np.asarray(value).astype(wanted, copy=False)


def _elementwise(name: str) -> Callable[..., Any]:
    keeps = name in _COUNTS

    def run(*args: Any, outs: Outs, **kwargs: Any) -> Any:
        promised = outs[0].dtype.char if outs and outs[0] is not None else _result_of(kwargs)
        values = [_widened(a, promised, keeps) for a in args]
        with np.errstate(all="ignore"):
            if not keeps:
                return elementwise.run(_scipy(name), values, kwargs, outs)
            with warnings.catch_warnings():  # SciPy frowns at counts in floating point
                warnings.simplefilter("ignore")
                return elementwise.run(_scipy(name), values, kwargs, outs)

    return run


def _result_of(kwargs: dict[str, Any]) -> str:
    """Return what the loop computes if the results go into given arrays: no less than they hold."""
    given = kwargs.get("out")
    first = given[0] if isinstance(given, (tuple, list)) else given
    char = first.dtype.char if isinstance(first, np.ndarray) else "d"
    return char if char in "dD" else ""


for _row in OPERATIONS:
    if _row.kind == "ufunc" and _row.name.startswith("scipy."):
        adapter(_row.name, wants_outs=True)(_elementwise(_row.name.rpartition(".")[2]))


_real_exprel = ADAPTERS["scipy.special.exprel"].function


@adapter("scipy.special.exprel", wants_outs=True)
def exprel(x: Any, *, outs: Outs, **kwargs: Any) -> Any:
    """SciPy has it for real numbers alone."""
    if np.asarray(x).dtype.kind != "c":
        return _real_exprel(x, outs=outs, **kwargs)
    return elementwise.run(_complex_exprel, [np.asarray(x)], kwargs, outs)


def _complex_exprel(x: NpArray) -> NpArray:
    small = np.abs(x) < 1e-16
    result = np.expm1(x) / np.where(small, 1, x)
    return np.where(small, 1, result).astype(x.dtype)


@adapter("rsqrt", casts=True)
def rsqrt(x: Any) -> Any:
    with np.errstate(all="ignore"):
        return 1 / np.sqrt(x)


def _function(name: str) -> Callable[..., Any]:
    """Do a function of arrays in the promised precision."""

    def run(*args: Any, outs: Outs, **kwargs: Any) -> Any:
        promised = outs[0].dtype if outs[0] is not None else np.dtype("d")
        first = _widened(args[0], promised.char, False)
        with np.errstate(all="ignore"):
            result = _scipy(name)(first, *args[1:], **kwargs)
        return _promised(result, outs)

    return run


def _promised(result: Any, outs: Outs) -> list[NpArray]:
    parts = result if isinstance(result, tuple) else (result,)
    return [
        np.asarray(part) if out is None else np.asarray(part).astype(out.dtype, copy=False)
        for part, out in zip(parts, outs, strict=True)
    ]


for _name in ("log_softmax", "logsumexp", "softmax"):
    adapter(f"scipy.special.{_name}", wants_outs=True)(_function(_name))


@adapter("scipy.special.lambertw", casts=True)
def lambertw(z: Any, k: Any, tol: Any) -> Any:
    return _scipy("lambertw")(z, k, tol)


@adapter("scipy.special.polygamma", casts=True)
def polygamma(n: Any, x: Any) -> Any:
    n, x = np.broadcast_arrays(n, x)
    with np.errstate(all="ignore"):
        return _scipy("polygamma")(n.astype(np.float64), x.astype(np.float64))


@adapter("scipy.special.sph_harm_y", casts=True)
def sph_harm_y(n: Any, m: Any, theta: Any, phi: Any) -> Any:
    """SciPy mirrors the orders beyond n; CuPy gives nan."""
    result = np.asarray(_scipy("sph_harm_y")(n, m, theta, phi))
    return np.where(np.abs(m) > np.asarray(n), np.nan, result)


@adapter("scipy.special.spherical_yn", casts=True)
def spherical_yn(n: Any, z: Any, derivative: bool) -> Any:
    with np.errstate(all="ignore"):
        return _scipy("spherical_yn")(n, np.asarray(z).astype(np.float64), derivative)
