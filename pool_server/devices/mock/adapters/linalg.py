"""Linear algebra: on a GPU bad values do not raise unless that is asked for; they show in results.

`_tolerant` computes a stack in one go, and matrix by matrix only where NumPy refuses one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cupool.pool_server.devices.base import Layout
from cupool.pool_server.devices.mock.calls import adapter

NpArray = np.ndarray[Any, Any]
Outs = Sequence[Layout | None]


class _State(threading.local):
    linalg = "ignore"


_state = _State()


@adapter("linalg.seterr")
def seterr(linalg: str) -> None:
    if linalg not in ("ignore", "raise"):
        raise NotImplementedError(f"linalg={linalg!r}")
    _state.linalg = linalg


def _single(a: NpArray) -> NpArray:
    """Convert float16, which LAPACK lacks, to float32."""
    return a.astype(np.float32) if a.dtype.char == "e" else a


def _tolerant(function: Callable[..., Any], arrays: Sequence[NpArray], outs: Outs) -> list[NpArray]:
    """Call a function of stacks of matrices; what it cannot do becomes nan."""
    try:
        result = function(*arrays)
    except np.linalg.LinAlgError:
        if _state.linalg == "raise":
            raise
        return _one_by_one(function, arrays, outs)
    results = list(result) if isinstance(result, tuple) else [np.asarray(result)]
    return [_as_promised(r, out) for r, out in zip(results, outs, strict=True)]


def _one_by_one(
    function: Callable[..., Any], arrays: Sequence[NpArray], outs: Outs
) -> list[NpArray]:
    batch = arrays[0].shape[:-2]
    made = [np.full(o.shape, np.nan, o.dtype) for o in outs if o is not None]
    for index in np.ndindex(*batch):
        try:
            part = function(*(x[index] if x.ndim > 2 else x for x in arrays))
        except np.linalg.LinAlgError:
            continue
        parts = part if isinstance(part, tuple) else (part,)
        for whole, piece in zip(made, parts, strict=True):
            whole[index] = piece
    return [_as_promised(r, out) for r, out in zip(made, outs, strict=True)]


def _as_promised(result: Any, out: Layout | None) -> NpArray:
    if out is None:
        return np.asarray(result)
    order: Any = out.order if isinstance(out.order, str) else "C"
    return np.asarray(result, dtype=out.dtype, order=order)


def _register(name: str, function: Callable[..., Any], matrices: int = 1) -> None:
    """Let a NumPy function with `matrices` leading arrays do the operation of its name."""

    def run(*args: Any, outs: Outs, **kwargs: Any) -> Any:
        arrays = [_single(np.asarray(a)) for a in args[:matrices]]
        options = args[matrices:]
        return _tolerant(lambda *a: function(*a, *options, **kwargs), arrays, outs)

    adapter(f"linalg.{name}", wants_outs=True)(run)


for _name in ("cholesky", "eig", "eigh", "eigvals", "eigvalsh", "inv", "det", "slogdet"):
    _register(_name, getattr(np.linalg, _name))
for _name in ("norm", "matrix_power", "matrix_rank"):
    _register(_name, getattr(np.linalg, _name))
_register("solve", np.linalg.solve, matrices=2)
_register("pinv", lambda a, rcond: np.linalg.pinv(a, rcond))


def _svd(a: NpArray, full_matrices: bool, compute_uv: bool) -> Any:
    decompose: Any = np.linalg.svd
    result: Any = decompose(a, full_matrices, compute_uv)
    return tuple(result) if compute_uv else result


def _qr(a: NpArray, mode: str) -> Any:
    factor: Any = np.linalg.qr
    result: Any = factor(a, mode)
    return tuple(result) if mode != "r" else result


_register("svd", _svd)
_register("qr", _qr)


def _cond(x: NpArray, p: Any) -> NpArray:
    if p is None or p in (2, -2):
        return np.asarray(np.linalg.cond(x, p))
    with np.errstate(all="ignore"):
        return np.asarray(np.linalg.cond(x, p))


_register("cond", _cond)


@adapter("linalg.lstsq")
def lstsq(a: NpArray, b: NpArray, rcond: Any = None) -> tuple[NpArray, ...]:
    """By singular values, as CuPy does; a rank below N gives no residuals."""
    m, n = a.shape
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    if rcond is None:
        rcond = np.finfo(s.dtype).eps * max(m, n)
    elif rcond <= 0 or rcond >= 1:
        rcond = np.finfo(s.dtype).eps
    small = s <= rcond * s.max() if s.size else np.zeros(0, bool)
    with np.errstate(all="ignore"):
        inverse = np.where(small, s.dtype.type(0), 1 / s)
    rank = np.asarray(s.size - small.sum(), np.int32)
    x = vh.T.conj() @ (np.dot(b.T, u.conj()) * inverse).T
    residuals = np.empty(0, s.dtype)
    if m > n and rank == n:
        error = b - a.dot(x)
        residuals = np.atleast_1d(np.sum(np.abs(error.T) ** 2, axis=-1))
    return np.asarray(x, order="C"), residuals, rank, s


@adapter("einsum", wants_outs=True)
def einsum(subscripts: str, *operands: NpArray, dtype: Any, optimize: Any, outs: Outs) -> NpArray:
    arrays = [a.astype(dtype, copy=False) for a in operands]
    if not optimize and len(arrays) > 2:
        optimize = "greedy"
    result = np.einsum(subscripts, *arrays, optimize=optimize)
    return _as_promised(result, outs[0])


@adapter("cross")
def cross(a: NpArray, b: NpArray, axisa: int = -1, axisb: int = -1, axisc: int = -1) -> NpArray:
    """Vectors of two components as well, which NumPy took until 2.4."""
    dtype = np.promote_types(a.dtype, b.dtype)  # first: minus an unsigned number would wrap
    a, b = (np.moveaxis(x.astype(dtype), i, -1) for x, i in ((a, axisa), (b, axisb)))
    if a.shape[-1] == b.shape[-1] == 3:
        return np.moveaxis(np.cross(a, b), -1, axisc)
    plane = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    if a.shape[-1] == b.shape[-1] == 2:
        return np.asarray(plane)
    if a.shape[-1] == 2:
        parts = (a[..., 1] * b[..., 2], -a[..., 0] * b[..., 2], plane)
    else:
        parts = (-a[..., 2] * b[..., 1], a[..., 2] * b[..., 0], plane)
    return np.moveaxis(np.stack(np.broadcast_arrays(*parts), -1), -1, axisc)
