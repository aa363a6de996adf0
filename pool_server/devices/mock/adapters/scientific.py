"""Where CuPy differs from SciPy in the chapter `proto.operations.scientific`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from cupool.pool_server.devices.base import Layout
from cupool.pool_server.devices.mock.adapters.linalg import _tolerant
from cupool.pool_server.devices.mock.calls import adapter, named

NpArray = np.ndarray[Any, Any]
Outs = Sequence[Layout | None]


@cache
def _scipy(name: str) -> Callable[..., Any]:
    """Import a function of SciPy on its first use: its packages are large."""
    return named(f"scipy.{name}")


def _quietly(name: str) -> Callable[..., Any]:
    """Call SciPy's function of the same arguments without its warnings."""

    def run(*args: Any, **kwargs: Any) -> Any:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return _scipy(name)(*args, **kwargs)

    return run


def _promised(result: Any, outs: Outs) -> list[NpArray]:
    """Cast and lay out results as they were promised."""
    parts = result if isinstance(result, (tuple, list)) else (result,)
    made = []
    for part, out in zip(parts, outs, strict=True):
        order: Any = "C" if out is None or not isinstance(out.order, str) else out.order
        made.append(np.asarray(part, dtype=None if out is None else out.dtype, order=order))
    return made


# ------------------------------------------------------------------- matrices

for _name in (
    "block_diag circulant companion convolution_matrix dft fiedler fiedler_companion hadamard "
    "hankel helmert hilbert leslie toeplitz"
).split():
    adapter(f"scipy.linalg.{_name}", casts=True)(_quietly(f"linalg.{_name}"))


@adapter("scipy.linalg.expm", wants_outs=True)
def expm(a: NpArray, outs: Outs) -> list[NpArray]:
    wide = a if a.dtype.kind in "fc" else a.astype(np.float64)
    return _promised(_quietly("linalg.expm")(wide), outs)


@adapter("scipy.linalg.lu", wants_outs=True)
def lu(a: NpArray, permute_l: bool, overwrite_a: bool, check_finite: bool, outs: Outs) -> Any:
    return _promised(_quietly("linalg.lu")(a, permute_l, check_finite=False), outs)


@adapter("scipy.linalg.lu_factor", wants_outs=True)
def lu_factor(a: NpArray, overwrite_a: bool, check_finite: bool, outs: Outs) -> Any:
    return _promised(_quietly("linalg.lu_factor")(a, check_finite=False), outs)


@adapter("scipy.linalg.lu_solve", wants_outs=True)
def lu_solve(
    lu_and_piv: Any, b: NpArray, trans: int, overwrite_b: bool, check_finite: bool, outs: Outs
) -> Any:
    factors, pivots = lu_and_piv
    b = b.astype(factors.dtype)
    solve = _quietly("linalg.lu_solve")
    return _promised(solve((factors, pivots), b, trans, check_finite=False), outs)


@adapter("scipy.linalg.solve_triangular", wants_outs=True)
def solve_triangular(
    a: NpArray,
    b: NpArray,
    trans: Any,
    lower: bool,
    unit_diagonal: bool,
    overwrite_b: bool,
    check_finite: bool,
    outs: Outs,
) -> Any:
    """A zero on the diagonal divides, which SciPy refuses to do."""
    promised = outs[0]
    dtype = np.result_type(a, b) if promised is None else promised.dtype
    matrix = (np.tril if lower else np.triu)(a).astype(dtype)
    if unit_diagonal:
        index = np.arange(a.shape[-1])
        matrix[..., index, index] = 1
    if trans in (1, 2, "T", "C"):
        matrix = matrix.swapaxes(-1, -2)
        matrix = matrix.conj() if trans in (2, "C") else matrix
    vectors = b.ndim == a.ndim - 1
    right = (b[..., None] if vectors else b).astype(dtype)
    x = _tolerant(np.linalg.solve, [matrix, right], [Layout(right.shape, dtype, "C")])[0]
    return _promised(x[..., 0] if vectors else x, outs)


# ------------------------------------------------------------------- lapack


def _solve_stack(solve: Callable[..., Any], a: NpArray, b: NpArray, outs: Outs) -> list[NpArray]:
    """Solve a stack of systems whose right sides are vectors or matrices."""
    promised = outs[0]
    dtype = np.result_type(a, b) if promised is None else promised.dtype
    vectors = b.ndim == a.ndim - 1
    right = (b[..., None] if vectors else b).astype(dtype)
    layout = Layout(right.shape, dtype, "C")
    x = _tolerant(solve, [a.astype(dtype), right], [layout])[0]
    return _promised(x[..., 0] if vectors else x, outs)


def _positive_definite(a: NpArray, b: NpArray) -> NpArray:
    lower = np.linalg.cholesky(a)
    return np.linalg.solve(lower @ lower.swapaxes(-1, -2).conj(), b)


@adapter("lapack.posv", wants_outs=True)
def posv(a: NpArray, b: NpArray, outs: Outs) -> Any:
    return _solve_stack(_positive_definite, a, b, outs)


@adapter("lapack.potrs", wants_outs=True)
def potrs(factor: NpArray, b: NpArray, lower: bool, outs: Outs) -> Any:
    if lower:
        left = np.tril(factor)
    else:
        left = np.triu(factor).swapaxes(-1, -2).conj()
    return _solve_stack(np.linalg.solve, left @ left.swapaxes(-1, -2).conj(), b, outs)


@adapter("lapack.gels", wants_outs=True)
def gels(a: NpArray, b: NpArray, outs: Outs) -> Any:
    return _promised(np.linalg.lstsq(a, b, rcond=None)[0], outs)


@adapter("lapack.gesv")
def gesv(a: NpArray, b: NpArray) -> None:
    factors, _ = _quietly("linalg.lu_factor")(a, check_finite=False)
    b[...] = np.linalg.solve(a, b)
    a[...] = factors


# ------------------------------------------------------------------- real transforms


def _transform(name: str) -> Callable[..., Any]:
    def run(x: NpArray, type: int, length: Any, axis: Any, norm: Any, outs: Outs) -> Any:
        wide = x.astype(np.float32) if x.dtype.char == "e" else x
        return _promised(_quietly(f"fft.{name}")(wide, type, length, axis, norm), outs)

    return run


for _name in ("dct", "dst", "idct", "idst", "dctn", "dstn", "idctn", "idstn"):
    adapter(f"scipy.fft.{_name}", wants_outs=True)(_transform(_name))
for _name in ("fht", "ifht"):
    adapter(f"scipy.fft.{_name}", casts=True)(_quietly(f"fft.{_name}"))


def _packed(name: str) -> Callable[..., Any]:
    def run(x: NpArray, length: int, axis: int, outs: Outs) -> Any:
        wide = x.astype(np.float32) if x.dtype.char == "e" else x
        return _promised(_scipy(f"fftpack.{name}")(wide, length, axis), outs)

    return run


for _name in ("rfft", "irfft"):
    adapter(f"scipy.fftpack.{_name}", wants_outs=True)(_packed(_name))


# ------------------------------------------------------------------- statistics

for _name in ("boxcox_llf", "entropy", "trim_mean", "zmap"):
    adapter(f"scipy.stats.{_name}", casts=True)(_quietly(f"stats.{_name}"))
