"""The functions of `cupyx.scipy.special` that are not universal functions."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls, core
from cupool.client_shim.cupy._core._kernel import broadcast_shapes, operand, ufunc
from cupool.client_shim.cupy._core._loops import Loops, kind_of
from cupool.client_shim.cupy._core._reduction import reduced_shape
from cupool.client_shim.cupy._core.routines_indexing import normalize_axes
from cupool.client_shim.cupy._creation.from_data import asarray

__all__ = [
    "btdtr",
    "btdtri",
    "lambertw",
    "log_softmax",
    "logsumexp",
    "multigammaln",
    "polygamma",
    "softmax",
    "sph_harm",
    "sph_harm_y",
    "spherical_yn",
]
ndarray = core.ndarray
ufuncs: dict[str, ufunc] = {}
"""Those of the package, which puts them here."""

_FLOAT64 = np.dtype(np.float64)
_LAMBERTW = Loops("lambertw", ("Dld->D", "Fif->f"))
_HARMONICS = Loops("sph_harm", ("iiff->F", "iidd->D", "llff->F", "lldd->D"))
_SPHERICAL = Loops("spherical_yn", ("id->d", "ld->d"))


def _elementwise(name: str, loops: Loops, inputs: list[Any], *options: Any) -> ndarray:
    """Queue a function of arrays that broadcast, with the dtype of one of CuPy's loops."""
    values = [operand(x) for x in inputs]
    kinds = [kind_of(x) for x in values]
    loop = loops.by_inputs(tuple(k[0] for k in kinds), tuple(k[1] for k in kinds))
    shape = broadcast_shapes([x.shape for x in values if isinstance(x, ndarray)] or [()])
    return calls.call_one(name, (*values, *options), None, shape, loop.outs[0])


def lambertw(z: Any, k: Any = 0, tol: Any = 1e-8) -> ndarray:
    """Return the branch `k` of Lambert's W, complex."""
    return _elementwise("scipy.special.lambertw", _LAMBERTW, [z, k, tol])


def spherical_yn(n: Any, z: Any, derivative: bool = False) -> ndarray:
    """Return the spherical Bessel function of the second kind and order `n`, or its derivative.

    Raises:
        NotImplementedError: complex `z`.
    """
    if isinstance(z, complex) or getattr(getattr(z, "dtype", None), "kind", "") == "c":
        raise NotImplementedError
    return _elementwise("scipy.special.spherical_yn", _SPHERICAL, [n, z], bool(derivative))


def sph_harm_y(n: Any, m: Any, theta: Any, phi: Any, *, diff_n: int = 0) -> ndarray:
    """Return spherical harmonics of degree `n` and order `m`.

    Args:
        theta, phi: polar and azimuthal angle.

    Raises:
        NotImplementedError: `diff_n` asks for derivatives.
    """
    if diff_n != 0:
        raise NotImplementedError("Derivatives not implemented.")
    return _elementwise("scipy.special.sph_harm_y", _HARMONICS, [n, m, theta, phi])


def sph_harm(m: Any, n: Any, theta: Any, phi: Any, out: ndarray | None = None) -> ndarray:
    """Return spherical harmonics; deprecated for `sph_harm_y`, which names the angles otherwise."""
    warnings.warn(
        "`cupyx.scipy.special.sph_harm` is deprecated in CuPy v14 and will be removed; "
        "use sph_harm_y",
        DeprecationWarning,
        stacklevel=2,
    )
    return calls.with_out(sph_harm_y(n, m, phi, theta), out)


def btdtr(a: Any, b: Any, x: Any, out: ndarray | None = None) -> Any:
    """Return the cumulative beta distribution; deprecated for `betainc`."""
    warnings.warn("Use cupyx.scipy.special.betainc instead.", DeprecationWarning, stacklevel=2)
    return ufuncs["betainc"](a, b, x, out=out)


def btdtri(a: Any, b: Any, p: Any, out: ndarray | None = None) -> Any:
    """Return the quantile of the beta distribution; deprecated for `betaincinv`."""
    warnings.warn("Use cupyx.scipy.special.betaincinv instead.", DeprecationWarning, stacklevel=2)
    return ufuncs["betaincinv"](a, b, p, out=out)


def polygamma(n: Any, x: Any) -> ndarray:
    """Return derivatives of order `n` of `digamma`."""
    n, x = (value if isinstance(value, ndarray) else asarray(value) for value in (n, x))
    order = np.result_type(n.dtype, 1.0) if n.dtype.kind == "f" else _FLOAT64
    zeta = ufuncs["zeta"]._loops.by_inputs((order, x.dtype), (None, None)).outs[0]
    gamma = ufuncs["gamma"]._loops.by_inputs((order,), (None,)).outs[0]
    digamma = ufuncs["digamma"]._loops.by_inputs((x.dtype,), (None,)).outs[0]
    made = np.result_type(order, gamma, zeta, digamma)
    shape = broadcast_shapes([n.shape, x.shape])
    return calls.call_one("scipy.special.polygamma", (n, x), None, shape, made)


def multigammaln(a: Any, d: Any) -> ndarray:
    """Return the logarithm of the multivariate gamma function of dimension `d`; waits once.

    Raises:
        ValueError: `d` is not whole, or an element of `a` is not above ``(d - 1) / 2``.
    """
    if not np.isscalar(d) or math.floor(d) != d:  # type: ignore[arg-type]
        raise ValueError("d should be a positive integer (dimension)")
    size = int(d)  # type: ignore[arg-type]
    if np.isscalar(a):
        a = asarray(a, dtype=float)
    if bool((a <= 0.5 * (size - 1)).any()):
        raise ValueError("condition a > 0.5 * (d-1) not met")
    gammaln = ufuncs["gammaln"]
    total = gammaln(a)
    if a.dtype.kind != "f":
        total = total.astype(_FLOAT64)
    total = np.float64(size * (size - 1) * 0.25 * math.log(math.pi)) + total
    for step in range(1, size):
        total += gammaln(a - step / 2)
    return total  # type: ignore[no-any-return]


# ------------------------------------------------------------------- along axes


def _check(x: Any) -> Any:
    if not isinstance(x, ndarray):
        raise TypeError(f"Unsupported type {type(x)}")
    return x


def _exponential(x: ndarray) -> np.dtype[Any]:
    """Return the dtype of exp(x), which is float16 for bytes and int8."""
    from cupool.client_shim.cupy._core._ufuncs import ALL

    made: np.dtype[Any] = ALL["exp"]._loops.by_inputs((x.dtype,), (None,)).outs[0]
    return made


def softmax(x: Any, axis: Any = None) -> ndarray:
    """Return exp(x), divided by its sum along axes (all by default)."""
    x = _check(x)
    normalize_axes(axis, x.ndim)
    return calls.call_one("scipy.special.softmax", (x, axis), None, x.shape, _exponential(x))


def log_softmax(x: Any, axis: Any = None) -> ndarray:
    """Return the logarithm of `softmax` without loss of precision."""
    x = _check(x)
    normalize_axes(axis, x.ndim)
    return calls.call_one("scipy.special.log_softmax", (x, axis), None, x.shape, _exponential(x))


def logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    """Return log(sum(b * exp(a))) along axes, without overflow.

    Args:
        b: factors that broadcast with `a`; 1 by default.
        return_sign: return the result of the sum's size, and its sign (complex: its phase).
    """
    a = _check(a)
    dtype = _FLOAT64 if a.dtype.kind in "biu" else a.dtype
    shape = a.shape
    if b is not None:
        b = _check(b)
        shape = broadcast_shapes([shape, b.shape])
        dtype = np.result_type(dtype, b.dtype)
    axes = normalize_axes(axis, len(shape))
    lowered = reduced_shape(shape, axes, bool(keepdims))
    options = {"axis": axis, "b": b, "keepdims": bool(keepdims), "return_sign": bool(return_sign)}
    specs: list[calls.Spec] = [(lowered, dtype, "C")]
    if return_sign:
        real = np.empty(0, dtype).real.dtype
        specs = [(lowered, real, "C"), (lowered, dtype, "C")]
    results = calls.call("scipy.special.logsumexp", (a,), options, *specs)
    return tuple(results) if return_sign else results[0]
